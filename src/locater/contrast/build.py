"""Builds M, S and T of a dataset: one sequence after the other, each whole or not at all, and goes on after a kill."""

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from locater.contrast.decisions import rejected_sequences
from locater.contrast.joining import BrokenSourceError
from locater.contrast.layouts import FORMATS, VIDEOS, Layout, Record, open_layout
from locater.contrast.plan import Plan, plan
from locater.contrast.sequence import ORDERS, SUBSETS, Task, is_query_first, tasks_of, write_sequence
from locater.contrast.statistics import Counts, count_joined, count_several, statistics_json, statistics_markdown
from locater.errors import LocaterError
from locater.io.atomic import atomic_path
from locater.io.results_folder import claim_folder
from locater.records import Dataset
from locater.text.roles import RoleLabeler

BUILD = "build.json"
_FOR_TABLES = ("sequence", "frame_count", "frames_per_second", "object_count", "queries")

Listener = Callable[[int, int], None]  # sequences done, and how many there are


@dataclass(frozen=True)
class BuildRequest:
    """What to build, and where."""

    out: Path
    subsets: tuple[str, ...] = SUBSETS
    seed: int = 0
    order: str = ORDERS[0]
    format: str = FORMATS[0]
    video: str = VIDEOS[0]


@dataclass(frozen=True)
class Skipped:
    """A sequence that could not be built."""

    subset: str
    sequence: str
    reason: str


@dataclass(frozen=True)
class Built:
    """What is there now."""

    sequences: Mapping[str, int]  # by subset
    skipped: tuple[Skipped, ...]
    statistics: dict[str, Any]


def build(dataset: Dataset, labeler: RoleLabeler, request: BuildRequest, listen: Listener | None = None) -> Built:
    """Build what is not there yet; a source that cannot be read costs its own sequences alone."""
    subsets = check_subsets(request.subsets)
    is_query_first(request.order, request.seed, "")
    layout = open_layout(request.out, request.format, request.video)
    planned = plan(dataset, labeler, request.seed, rejected_sequences(request.out))
    tasks = {subset: tasks_of(planned, subset) for subset in subsets}
    with _claimed(request.out, _identity(planned, request)):
        for subset in subsets:
            layout.clear_leftovers(subset)
        skipped = _write_sequences(
            dataset, layout, planned, request, [task for each in tasks.values() for task in each], listen
        )
        return _finish(layout, planned, tasks, skipped)


def check_subsets(subsets: Sequence[str]) -> tuple[str, ...]:
    """The subsets asked for, each once, in the order M, S, T."""
    unknown = [each for each in subsets if each not in SUBSETS]
    if unknown or not subsets:
        raise LocaterError(f"There is no subset '{','.join(unknown)}'; choose from {', '.join(SUBSETS)}.")
    return tuple(each for each in SUBSETS if each in subsets)


def _identity(planned: Plan, request: BuildRequest) -> dict[str, Any]:
    """What must not change between the parts of one build; people's decisions may."""
    return {
        "dataset": planned.dataset_name,
        "samples": planned.source_digest,
        "subsets": list(check_subsets(request.subsets)),
        "seed": request.seed,
        "order": request.order,
        "format": request.format,
        "video": request.video,
        "locater": version("locater"),
        "labeler": planned.labeler,
    }


@contextmanager
def _claimed(folder: Path, identity: Mapping[str, Any]) -> Iterator[None]:
    """The folder, for this build and this process alone."""
    path = folder / BUILD
    claim_folder(path, identity, "another build")
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocaterError(f"Another build is at work in {folder}; wait for it, or choose another --out.") from None
        except OSError:  # a file system without locks
            pass
        yield


def _write_sequences(
    dataset: Dataset,
    layout: Layout,
    planned: Plan,
    request: BuildRequest,
    tasks: Sequence[Task],
    listen: Listener | None,
) -> list[Skipped]:
    provenance = {
        "dataset": planned.dataset_name,
        "seed": request.seed,
        "order": request.order,
        "locater": version("locater"),
        "labeler": planned.labeler,
    }
    skipped: list[Skipped] = []
    for done, task in enumerate(tasks, start=1):
        if not layout.record_path(task.subset, task.sequence).exists():
            try:
                write_sequence(dataset, layout, task, provenance)
            except BrokenSourceError as error:
                skipped.append(Skipped(task.subset, task.sequence, " ".join(str(error).split())))
        if listen is not None:
            listen(done, len(tasks))
    return skipped


def _finish(layout: Layout, planned: Plan, tasks: Mapping[str, Sequence[Task]], skipped: Sequence[Skipped]) -> Built:
    """Write what names the sequences, then take away those that are not wanted any more."""
    columns: dict[str, Counts] = {}
    sequences: dict[str, int] = {}
    for subset, wanted in tasks.items():
        records = [_for_table(layout.record(subset, task.sequence)) for task in wanted]
        there = {record["sequence"] for record in records if record is not None}
        layout.write_table(subset, [record for record in records if record is not None])
        sequences[subset] = len(there)
        columns[subset] = (
            count_several([each for each in planned.several if each.sequence in there])
            if subset == "M"
            else count_joined([pair for pair in planned.pairs if pair.sequence in there])
        )
    found = statistics_json(planned, columns)
    _write_json(layout.root / "statistics.json", found)
    with atomic_path(layout.root / "statistics.md") as partial:
        partial.write_text(statistics_markdown(found), "utf-8")
    with atomic_path(layout.root / "pairs.jsonl") as partial:
        partial.write_text(pairs_jsonl(planned), "utf-8")
    listed = [{"subset": each.subset, "sequence": each.sequence, "reason": each.reason} for each in skipped]
    _write_json(layout.root / "report.json", {"sequences": sequences, "skipped": listed})
    for subset, wanted in tasks.items():
        for sequence in set(layout.sequences(subset)) - {task.sequence for task in wanted}:
            layout.remove(subset, sequence)
    if skipped and not any(sequences.values()):
        raise LocaterError(f"None of {len(skipped)} sequences could be built; the first: {skipped[0].reason}")
    return Built(sequences, tuple(skipped), found)


def pairs_jsonl(planned: Plan) -> str:
    """The text of `pairs.jsonl`: what became of each query."""
    return "".join(json.dumps(outcome.as_json(), ensure_ascii=False) + "\n" for outcome in planned.outcomes)


def _for_table(record: Record | None) -> Record | None:
    """The part of a record that tables need: outlines of thousands of sequences would fill the memory."""
    return None if record is None else {name: record[name] for name in _FOR_TABLES}


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_path(path) as partial:
        partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
