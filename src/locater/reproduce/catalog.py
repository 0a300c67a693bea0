"""Every table and figure of the paper: what it shows, what it needs, and what makes it here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from locater.errors import LocaterError
from locater.report.tables import Table
from locater.reproduce.figures import attention_figure, qualitative_figure
from locater.reproduce.measured import efficiency, roles, statistic
from locater.reproduce.setup import Setup
from locater.reproduce.systems import A2D, ScoredTable
from locater.reproduce.tables import SCORED

ALL = "all"


@dataclass(frozen=True)
class MeasuredTable:
    """A table that needs no training."""

    label: str
    title: str
    needs: tuple[str, ...]  # the paper's names of data
    make: Callable[[Setup], Table]


@dataclass(frozen=True)
class Figure:
    """A picture, drawn with the shipped checkpoints on clips that come with the package."""

    label: str
    title: str
    draw: Callable[[Path], None]
    needs = ()


Item = ScoredTable | MeasuredTable | Figure


_ITEMS: tuple[Item, ...] = (
    *SCORED,
    MeasuredTable("tab:ablation:efficiency", "ms per frame, memory and Transformer block", (), efficiency),
    MeasuredTable("tab:statistic", "sizes of A2D-S and A2D-S+", (A2D,), statistic),
    MeasuredTable("tab:srl", "an example of semantic roles", (), roles),
    Figure("fig:queryattn", "words over time (Eq. 10)", attention_figure),
    Figure("fig:quali", "masks beside the truth and another system's", qualitative_figure),
)
ITEMS: Mapping[str, Item] = {item.label: item for item in _ITEMS}
# What another command makes, and why it is not among the items.
ELSEWHERE: Mapping[str, str] = {
    "fig:fail": "failure types (section 5.8): locater evaluate CHECKPOINT failures --out DIR",
    "fig:a2dexample": "examples of A2D-S+: locater contrast build DATA --out DIR, then locater contrast review DIR",
    "fig:moti, fig:pipe": "drawings of the idea and of the network; nothing to run",
}


def find_items(labels: list[str]) -> list[Item]:
    """The items of these labels, or every one."""
    if labels == [ALL]:
        return list(ITEMS.values())
    for label in labels:
        if label not in ITEMS:
            raise LocaterError(f"There is no '{label}' to run; choose from {', '.join(ITEMS)}, or {ALL}.")
    return [ITEMS[label] for label in dict.fromkeys(labels)]
