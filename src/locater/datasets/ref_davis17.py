"""Ref-DAVIS17: DAVIS 2017 with four sentences per object.

Khoreva et al., "Video Object Segmentation with Language Referring Expressions", ACCV 2018: two annotators, each once
from the first frame and once from the whole video.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from locater.datasets.annotated import Figures
from locater.datasets.reading.lazy import MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.mask_pictures import palette_mask_file
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder, pictures_in
from locater.errors import LocaterError
from locater.io.text_files import as_published, find, need, one_line, read_lines
from locater.records import FrameSource, SampleInfo

PUBLISHED: Mapping[str, Figures] = {
    "val": {"videos": 30, "objects": 61, "sentences": 244},
    "train": {"videos": 60, "objects": 144, "sentences": 576},
}

ANNOTATIONS = ("annot1", "annot1_full_video", "annot2", "annot2_full_video")
_FRAMES_PER_SECOND = 24.0
_MISSPELT = {"clasic-car": "classic-car", "dog-scale": "dogs-scale", "motor-bike": "motorbike"}  # in the text files


class RefDavis17(ListedDataset):
    """One question per object and annotation, key `<video>/<object>/<annotation>`; every frame has its mask."""

    label = "ref-davis17"

    def _listed(self) -> Iterable[SampleInfo]:
        """Every sentence: the split's videos in their order, object by object, the four annotations in turn."""
        texts = {annotation: self._read_annotation(annotation) for annotation in ANNOTATIONS}
        infos: list[SampleInfo] = []
        for video in read_lines(need(self.root, _davis(f"ImageSets/2017/{self.split}.txt"))):
            objects = {number for text in texts.values() for number in text.get(video, {})}
            infos.extend(
                SampleInfo(
                    key=f"{video}/{number}/{annotation}",
                    video=video,
                    expression=texts[annotation][video][number],
                    object_count=len(objects),
                    object_id=str(number),
                    annotation=annotation,
                )
                for number in sorted(objects)
                for annotation in ANNOTATIONS
                if number in texts[annotation].get(video, {})
            )
        return tuple(infos)

    def _read_annotation(self, annotation: str) -> dict[str, dict[int, str]]:
        """One text file: sentences by video and object."""
        file = f"davis_text_annotations/Davis17_{annotation}.txt"
        path = need(self.root, (file, *_davis(file)))
        sentences: dict[str, dict[int, str]] = {}
        # The second annotator's files are in latin-1.
        for number, line in enumerate(read_lines(path, ("utf-8", "latin-1")), start=1):
            with as_published(path):
                parts = line.split(maxsplit=2)
                if len(parts) != 3 or not parts[1].isdecimal():
                    raise ValueError(f'line {number} is not: video object "sentence"')
                video, object_number, quoted = parts
                sentences.setdefault(_MISSPELT.get(video, video), {})[int(object_number)] = one_line(quoted.strip('"'))
        return sentences

    def _frames(self, video: str) -> FrameSource:
        return PictureSequence(video, pictures_in(self._picture_root / video), _FRAMES_PER_SECOND)

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        folder = need_folder(self._mask_root / info.video)
        numbers = frozenset({int(str(info.object_id))})
        try:
            names = [path.stem for path in pictures_in(self._picture_root / info.video)]
        except LocaterError:  # masks can be scored without the frames
            names = [path.stem for path in pictures_in(folder)]
        return {index: palette_mask_file(folder / f"{name}.png", numbers) for index, name in enumerate(names)}

    @cached_property
    def _picture_root(self) -> Path:
        places = _davis("JPEGImages/480p")
        return find(self.root, places) or self.root / places[0]

    @cached_property
    def _mask_root(self) -> Path:
        # The unsupervised set first: it is what the peers score against.
        places = (*_davis("Annotations_unsupervised/480p"), *_davis("Annotations/480p"))
        return find(self.root, places) or self.root / places[0]


def _davis(place: str) -> tuple[str, str]:
    """Where DAVIS is unpacked inside the folder, or is the folder."""
    return f"DAVIS/{place}", place
