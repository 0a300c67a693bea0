"""Counts of what was built, beside the paper's Table 2."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from locater.contrast.plan import Pair, Plan, SeveralActors
from locater.published.tables import printed_table

_PAPERS_SOURCE = "a2d-sentences-test"
_PAPERS_COLUMNS = {"source": "A2D-S test", "M": "M", "S": "S", "T": "T"}


@dataclass(frozen=True)
class Counts:
    """One column of the table."""

    videos: int
    queries: int
    objects_per_video: float | None  # None where no video's objects were counted

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"videos": self.videos, "queries": self.queries, "objects_per_video": self.objects_per_video}


def count_source(plan: Plan) -> Counts:
    """The dataset itself."""
    infos = [outcome.query.info for outcome in plan.outcomes]
    return _counts({info.video: info.object_count for info in infos}, len(infos))


def count_several(several: Sequence[SeveralActors]) -> Counts:
    """M."""
    return _counts({each.video: each.object_count for each in several}, sum(len(each.queries) for each in several))


def count_joined(pairs: Sequence[Pair]) -> Counts:
    """S or T; two queries to one video with contrasts in one other video make one joined video, as in the paper."""
    objects = {(pair.query.info.video, pair.contrast.info.video): pair.object_count for pair in pairs}
    return _counts(objects, len(pairs))


def _counts(objects: Mapping[Any, int | None], queries: int) -> Counts:
    known = [count for count in objects.values() if count is not None]
    return Counts(len(objects), queries, sum(known) / len(known) if known else None)


def statistics_json(plan: Plan, columns: Mapping[str, Counts]) -> dict[str, Any]:
    """Everything counted; `columns` has a subset each."""
    found: dict[str, Any] = {
        "dataset": plan.dataset_name,
        "labeler": plan.labeler,
        "seed": plan.seed,
        "source": count_source(plan).as_json(),
        "subsets": {name: counts.as_json() for name, counts in columns.items()},
        "pairing": {
            "queries": len(plan.outcomes),
            "paired": len(plan.pairs),
            "relaxed": sum(pair.is_relaxed for pair in plan.pairs),
            "doubtful": sum(pair.is_doubtful for pair in plan.pairs),
            "shared_roles": dict(
                Counter("+".join(sorted({str(role) for role, _ in pair.shared})) for pair in plan.pairs).most_common()
            ),
            "left_out": dict(Counter(each.reason for each in plan.outcomes if each.pair is None).most_common()),
        },
    }
    if plan.dataset_name == _PAPERS_SOURCE:
        found["paper"] = {name: _printed_counts(column).as_json() for name, column in _PAPERS_COLUMNS.items()}
    return found


def _printed_counts(column: str) -> Counts:
    cells = {row.name: row.cells[column] for row in printed_table("statistic").rows}
    return Counts(int(cells["videos"]), int(cells["queries"]), float(cells["objects per video"]))


def statistics_markdown(found: Mapping[str, Any]) -> str:
    """The same for a person."""
    ours = {"source": found["source"], **found["subsets"]}
    paper = found.get("paper", {})
    head = ["", *(found["dataset"] if name == "source" else name for name in ours)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for title, field in (("videos", "videos"), ("queries", "queries"), ("objects per video", "objects_per_video")):
        lines.append(_row(title, [each[field] for each in ours.values()]))
        if paper:
            lines.append(_row(f"{title}, the paper's", [paper[name][field] for name in ours]))
    pairing = found["pairing"]
    text = [
        "\n".join(lines),
        f"{pairing['paired']} of {pairing['queries']} queries have a contrast: {pairing['relaxed']} of another "
        f"structure (relaxed), {pairing['doubtful']} whose video may fit the sentence too (doubtful). "
        f"Labeler: {found['labeler']}; seed {found['seed']}.",
    ]
    if pairing["left_out"]:
        text.append("\n".join(["Left out of S and T:", *_list(pairing["left_out"])]))
    if pairing["shared_roles"]:
        text.append("\n".join(["Shared by query and contrast:", *_list(pairing["shared_roles"])]))
    return "\n\n".join(text) + "\n"


def _list(counted: Mapping[str, int]) -> list[str]:
    return [f"- {count}: {name}" for name, count in counted.items()]


def _row(title: str, values: Sequence[float | int | None]) -> str:
    cells = ["-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.2f}" for value in values]
    return "| " + " | ".join([title, *cells]) + " |"
