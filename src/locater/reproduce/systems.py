"""What stands behind a table's cells: a network, what it is trained and scored on, and which score each cell is."""

from collections.abc import Iterable
from dataclasses import dataclass

from locater.inference.averaged_views import PLAIN
from locater.records import Views

A2D, PLUS, JHMDB, YTVOS, CHALLENGE = (
    "a2d-sentences",
    "a2d-s+",
    "jhmdb-sentences",
    "refer-youtube-vos",
    "refer-youtube-vos test-challenge",
)

Path = tuple[str | int, ...]  # into results.json
MIOU: Path = ("scores", "miou")
AVERAGE: Path = ("average", "miou")  # of M, S and T
PRECISIONS: dict[str, Path] = {
    **{f"P@0.{tenths}": ("scores", f"p@0.{tenths}") for tenths in range(5, 10)},
    "mAP": ("scores", "map_of_precisions"),
    "oIoU": ("scores", "oiou"),
    "mIoU": MIOU,
}
REGIONS: dict[str, Path] = {"J&F": ("scores", "j&f"), "J": ("scores", "j"), "F": ("scores", "f")}


@dataclass(frozen=True)
class Cell:
    """A cell of a printed table, and the score of ours that stands beside it."""

    row: str
    column: str
    data: str  # the paper's name of what is scored
    path: Path


@dataclass(frozen=True)
class System:
    """A network of ours, by its preset and what is changed in it, and the cells that it fills."""

    preset: str
    train_on: str
    cells: tuple[Cell, ...]
    changes: tuple[str, ...] = ()
    views: Views = PLAIN  # in which videos are segmented

    @property
    def scored_on(self) -> tuple[str, ...]:
        """The data of its cells, each once."""
        return tuple(dict.fromkeys(cell.data for cell in self.cells))


@dataclass(frozen=True)
class ScoredTable:
    """A table of trained networks' scores."""

    label: str
    printed: str  # its file in `published`
    title: str
    systems: tuple[System, ...]
    note: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The data to train and to score on, each once."""
        named = [name for each in self.systems for name in (each.train_on, *each.scored_on)]
        return tuple(dict.fromkeys(named))


def cells_of(row: str, data: str, paths: dict[str, Path]) -> tuple[Cell, ...]:
    """One row's cells, by column."""
    return tuple(Cell(row, column, data, path) for column, path in paths.items())


def subset_cells(row: str) -> tuple[Cell, ...]:
    """M, S and T of A2D-S+."""
    scores = {"mAP": "map_of_precisions", "oIoU": "oiou", "mIoU": "miou"}
    return tuple(
        Cell(row, f"{subset} {title}", PLUS, ("by", "kind", subset, score))
        for subset in ("M", "S", "T")
        for title, score in scores.items()
    )


def object_cells(row: str, columns: Iterable[str]) -> tuple[Cell, ...]:
    """mIoU by number of objects; the first column is that of A2D-S with one."""
    one, *others = columns
    thirds = [Cell(row, column, PLUS, ("thirds", column[0], place // 2, "miou")) for place, column in enumerate(others)]
    return (Cell(row, one, A2D, ("by", "object_count", "1", "miou")), *thirds)
