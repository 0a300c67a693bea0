"""What `locater evaluate` can be given by name: the worlds we draw, and every dataset of the catalog."""

from collections.abc import Sequence
from pathlib import Path

import torch

from locater.datasets.annotated import ClassedDataset
from locater.errors import LocaterError
from locater.evaluation.run.contrasts import ContrastedDataset
from locater.records import Dataset

WORLDS = ("shapes", "composed", "positions")
_WORLD_SPLITS = ("test", "heldout", "validation")  # never train: its videos have been seen
DEFAULT_COUNT = 100  # videos a kind of sentence
DEFAULT_SCENES = 200  # of positions


def open_evaluated(
    name: str,
    root: Path | None,
    split: str | None,
    *,
    count: int | None = None,
    size: int = 128,
    device: str | torch.device = "cpu",
    contrasts: Sequence[str] = (),
) -> Dataset:
    """The dataset or world `name`; of a world `count` videos a kind are drawn, `size` pixels a side.

    Of positions `count` is the number of scenes.
    A dataset that knows what its videos show comes with wrong sentences, and with the `contrasts` asked for.
    """
    if name in WORLDS:
        _refuse_contrasts(name, contrasts)
        return _open_world(name, root, split, count, size, device)
    if count is not None:
        raise LocaterError("--count is for worlds; use --limit to score a dataset's first questions only.")
    from locater.datasets.catalog import dataset_names, open_dataset

    if name not in dataset_names():
        raise LocaterError(f"There is no dataset '{name}'; choose one of {', '.join((*WORLDS, *dataset_names()))}.")
    dataset = open_dataset(name, root, split)
    if isinstance(dataset, ClassedDataset):
        return ContrastedDataset(dataset, contrasts)
    _refuse_contrasts(name, contrasts)
    return dataset


def _refuse_contrasts(name: str, contrasts: Sequence[str]) -> None:
    if contrasts:
        raise LocaterError(
            f"--contrast needs to know what each video shows, which {name} does not say; leave it out, use davis, or "
            "make a contrast set with: locater contrast build."
        )


def _open_world(
    name: str, root: Path | None, split: str | None, count: int | None, size: int, device: str | torch.device
) -> Dataset:
    from locater.worlds.composed import ComposedWorld
    from locater.worlds.composed.position_world import PositionWorld
    from locater.worlds.seeds import KINDS
    from locater.worlds.shapes.world import ShapesWorld

    if name == "shapes" and root is not None:
        raise LocaterError(f"The shapes world is drawn, not read; leave {root} out.")
    if name != "shapes" and root is None:
        raise LocaterError(f"The world {name} needs its pack's folder; make one with `locater data compose`.")
    if split is not None and split not in _WORLD_SPLITS:
        raise LocaterError(f"There is no split '{split}' to evaluate on; choose one of {', '.join(_WORLD_SPLITS)}.")
    if count is not None and count < 1:
        raise LocaterError(f"--count is {count}; it must be at least 1.")
    if name == "positions" and root is not None:
        return PositionWorld(root, split or "heldout", count or DEFAULT_SCENES, size=size, device=device)
    videos = (count or DEFAULT_COUNT) * len(KINDS)
    if root is not None:
        return ComposedWorld(root, split or "test", videos, size=size, device=device)
    return ShapesWorld(split or "test", videos, size=size, device=device)
