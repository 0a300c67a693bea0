"""The worlds we draw, opened as datasets are: how many videos of a split, how large, and where they are drawn."""

from dataclasses import dataclass
from pathlib import Path

import torch

from locater.records import Dataset
from locater.worlds.composed import ComposedWorld
from locater.worlds.composed.position_world import PositionWorld
from locater.worlds.failures.composed import ComposedFailures
from locater.worlds.failures.shapes import ShapesFailures
from locater.worlds.seeds import KINDS
from locater.worlds.shapes.world import ShapesWorld

SPLITS = ("test", "heldout", "validation")  # to evaluate on; never train: its videos have been seen
TRAINING_SPLIT, VALIDATION_SPLIT = "train", "validation"


@dataclass(frozen=True)
class Drawing:
    """How a world's videos are drawn; datasets have no use for it."""

    count: int | None = None  # videos per kind of sentence, of positions scenes; None: the world's usual number
    size: int = 128  # pixels per side
    device: str | torch.device = "cpu"


def open_shapes(_: Path | None, split: str, count: int, drawing: Drawing) -> Dataset:
    """`count` videos of each kind of sentence; nothing is read."""
    return ShapesWorld(split, count * len(KINDS), size=drawing.size, device=drawing.device)


def open_composed(pack: Path | None, split: str, count: int, drawing: Drawing) -> Dataset:
    """`count` videos of each kind of sentence, drawn from a pack."""
    assert pack is not None  # the catalog has asked for it
    return ComposedWorld(pack, split, count * len(KINDS), size=drawing.size, device=drawing.device)


def open_positions(pack: Path | None, split: str, count: int, drawing: Drawing) -> Dataset:
    """`count` scenes, drawn from a pack, each asked about on its left and on its right."""
    assert pack is not None
    return PositionWorld(pack, split, count, size=drawing.size, device=drawing.device)


def open_failures(pack: Path | None, split: str, count: int, drawing: Drawing) -> Dataset:
    """`count` scenes of each failure type: of shapes, or drawn from a pack where one is given."""
    if pack is None:
        return ShapesFailures(split, count, size=drawing.size, device=drawing.device)
    return ComposedFailures(pack, split, count, size=drawing.size, device=drawing.device)
