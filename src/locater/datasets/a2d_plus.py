"""A2D-S+, the paper's harder test sets: M (several actors), S (joined along the width) and T (joined along time).

Two layouts are read: the plain folder format, which our own builder writes, and the authors' own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from locater.datasets.annotated import AnnotatedDataset, Figures
from locater.datasets.folder import TABLES, FolderDataset, read_table
from locater.datasets.reading.lazy import MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder
from locater.errors import LocaterError
from locater.io.text_files import as_published, find, need, one_line, read_json
from locater.records import FrameSource, Mask, Sample, SampleInfo
from locater.video.reader import DEFAULT_FRAMES_PER_SECOND

PUBLISHED: Mapping[str, Figures] = {
    # The paper prints 257 videos for M; the official sentences hold 298 with more than one query.
    "M": {"videos": (257, 298), "sentences": 856},
    "S": {"sentences": 1295},
    "T": {"sentences": 1295},
    "N": {"videos": 737, "sentences": 1295},  # A2D-S itself, in the authors' layout
    "all": {"sentences": 856 + 1295 + 1295},  # M, S and T
}

_AUTHORS_NAMES = {"M": "MUL", "S": "SPAT", "T": "TEMP", "N": "NORM"}
_SUBSETS = ("M", "S", "T")


def open_a2d_plus(root: Path, split: str) -> AnnotatedDataset:
    """A subset in whichever of the two layouts lies there; `all`: those of M, S and T that are there, as one."""
    if split != "all":
        return _open_subset(root, split)
    there = [subset for subset in _SUBSETS if _is_there(root, subset)] or _SUBSETS
    return Subsets(f"{_label(root)}-all", {subset: _open_subset(root, subset) for subset in there})


def _open_subset(root: Path, subset: str) -> AnnotatedDataset:
    folder = _plain_folder(root, subset)
    return AuthorsA2DPlus(root, subset) if folder is None else PlainA2DPlus(folder, subset, _label(root))


def _plain_folder(root: Path, subset: str) -> Path | None:
    return next((folder for folder in (root, root / subset) if find(folder, TABLES) is not None), None)


def _is_there(root: Path, subset: str) -> bool:
    table = find(root, TABLES)
    if table is not None:
        return any(row.kind == subset for row in read_table(table))
    return _plain_folder(root, subset) is not None or find(root, _authors_places(subset)) is not None


def _label(root: Path) -> str:
    """What a set is called in reports: the paper's name if it is made from A2D-S test, as the builder notes."""
    note = root / "build.json"
    if not note.exists():
        return "a2d-s+"
    content = read_json(note)
    with as_published(note):
        source = str(content["dataset"])
    return "a2d-s+" if source == "a2d-sentences-test" else f"contrast-{source}"


def _authors_places(subset: str) -> list[str]:
    name = _AUTHORS_NAMES[subset]
    # Their README has A2D_SUBSET/A2D_MUL, their code A2D_SUBSET/MUL.
    folders = [f"{outer}{inner}" for outer in ("A2D_SUBSET/", "") for inner in (f"A2D_{name}/", f"{name}/")]
    return [f"{folder}A2D_{name}_test_expressions.json" for folder in (*folders, "")]


class PlainA2DPlus(FolderDataset):
    """A subset in the folder format: the lines whose kind is its letter."""

    def __init__(self, root: Path, subset: str, label: str) -> None:
        super().__init__(root, kind=subset)
        self._label = label

    @property
    def name(self) -> str:
        """A short name for reports."""
        return f"{self._label}-{self.kind}"


class Subsets:
    """Several subsets as one dataset; their letter is each sample's kind, and goes before its key and video."""

    def __init__(self, name: str, parts: Mapping[str, AnnotatedDataset]) -> None:
        self.name = name
        self._parts = parts

    def samples(self) -> Sequence[SampleInfo]:
        """Every sentence, subset by subset."""
        return self._samples

    @cached_property
    def _samples(self) -> tuple[SampleInfo, ...]:
        # One video may be in two subsets, with other frames: S and T name a pair alike.
        return tuple(
            replace(info, key=f"{subset}/{info.key}", video=f"{subset}/{info.video}", kind=subset)
            for subset, part in self._parts.items()
            for info in part.samples()
        )

    def load(self, info: SampleInfo) -> Sample:
        """What its subset gives."""
        return replace(self._parts[info.kind].load(_within(info)), info=info)

    def problems(self, infos: Sequence[SampleInfo]) -> Iterator[str]:
        """One line for each missing or broken file behind one video's questions."""
        return self._parts[infos[0].kind].problems([_within(info) for info in infos])


def _within(info: SampleInfo) -> SampleInfo:
    """The sample as its own subset knows it."""
    return replace(info, key=info.key.partition("/")[2], video=info.video.partition("/")[2])


class AuthorsA2DPlus(ListedDataset):
    """The authors' layout: a json of sequences, PNG frames, each mask a pickled tensor; key `<sequence>/<object>`."""

    label = "a2d-s+"

    def __init__(self, root: Path, split: str) -> None:
        super().__init__(root, split)
        self._path = need(root, _authors_places(split))

    def _listed(self) -> Iterable[SampleInfo]:
        """Every sentence, sequence by sequence."""
        with as_published(self._path):
            return tuple(
                SampleInfo(
                    key=f"{sequence}/{number}",
                    video=sequence,
                    expression=one_line(entry["exp"]),
                    kind=self.split,
                    # Our builder adds the count: a joined video has more objects than sentences.
                    object_count=video.get("object_count", len(video["expressions"])),
                    object_id=str(number),
                )
                for sequence, video in self._content.items()
                for number, entry in video["expressions"].items()
            )

    @cached_property
    def _content(self) -> Any:
        return read_json(self._path)

    def _names(self, sequence: str) -> list[str]:
        with as_published(self._path):
            return sorted({Path(str(name)).stem for name in self._content[sequence]["frames"]})

    def _frames(self, sequence: str) -> FrameSource:
        folder = self._path.parent / "allPngs320H" / sequence
        paths = [folder / f"{name}.png" for name in self._names(sequence)]
        return PictureSequence(sequence, paths, DEFAULT_FRAMES_PER_SECOND)

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        folder = need_folder(self._path.parent / "mask")
        indices = {name: index for index, name in enumerate(self._names(info.video))}
        files: dict[int, MaskFile] = {}
        with as_published(self._path):
            labels: Any = self._content[info.video]["expressions"][str(info.object_id)]["labels"]
            if not isinstance(labels, list):
                raise TypeError(f"the labels of {info.key} are no list")
            for label in sorted({Path(str(label)).stem for label in labels}):
                if label not in indices:
                    raise ValueError(f"the labelled frame {label} of {info.key} is none of its frames")
                path = folder / f"{info.video.replace('/', '_')}_{info.object_id}_{label}.pth"
                files[indices[label]] = MaskFile(str(path), partial(_read_tensor, path))
        return files


def _read_tensor(path: Path) -> Mask:
    """A mask that torch has pickled, (H, W).

    The one place where a pickle is read, because the authors published nothing else; `weights_only` admits tensors
    and runs no code from the file.
    """
    try:
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise LocaterError(f"{path} is missing; download it again.") from None
    except Exception as error:  # torch raises a dozen kinds on a cut or foreign file
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise LocaterError(f"{path} is no tensor that can be read safely ({reason}).") from None
    if not isinstance(tensor, torch.Tensor):
        raise LocaterError(f"{path} holds a {type(tensor).__name__} where a mask is expected.")
    mask = np.squeeze(tensor.numpy())
    if mask.ndim != 2:
        raise LocaterError(f"{path} holds a tensor of shape {tuple(tensor.shape)} where a mask is expected.")
    return mask > 0
