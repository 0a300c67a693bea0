"""One sequence on disk: the joined frames, the masks of its queries, and a record of where all of it comes from."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from locater.contrast.joining import (
    Alone,
    BrokenSourceError,
    Half,
    Joint,
    OneAfterTheOther,
    SideBySide,
    evenly_spaced,
    rate_of,
    reading,
)
from locater.contrast.layouts import Layout, SequenceFiles
from locater.contrast.names import file_names
from locater.contrast.pairing import Described
from locater.contrast.plan import Pair, Plan, pair_json, roles_json, source_json
from locater.errors import LocaterError
from locater.io import rle
from locater.records import Dataset, Mask, Sample

SUBSETS = ("M", "S", "T")
ORDERS = ("query-first", "query-last", "mixed")


@dataclass(frozen=True)
class Task:
    """A sequence to write."""

    subset: str
    sequence: str
    queries: tuple[Described, ...]
    object_count: int | None
    pair: Pair | None = None  # M has none


def tasks_of(plan: Plan, subset: str) -> list[Task]:
    """Every sequence of a subset, in the order of the dataset."""
    if subset == "M":
        return [Task("M", each.sequence, each.queries, each.object_count) for each in plan.several]
    return [Task(subset, pair.sequence, (pair.query,), pair.object_count, pair) for pair in plan.pairs]


def is_query_first(order: str, seed: int, sequence: str) -> bool:
    """Whether the query comes first: left in S, ahead in T; `mixed` tosses a coin that depends on nothing else."""
    if order not in ORDERS:
        raise LocaterError(f"--order is '{order}'; choose {', '.join(ORDERS[:-1])} or {ORDERS[-1]}.")
    if order == "mixed":
        return hashlib.sha256(f"{seed}\0{sequence}".encode()).digest()[0] % 2 == 0
    return order == "query-first"


def write_sequence(dataset: Dataset, layout: Layout, task: Task, provenance: Mapping[str, Any]) -> None:
    """Write it whole; BrokenSourceError where a video or its masks cannot be read, and then nothing is left."""
    samples = [_load(dataset, query) for query in task.queries]
    contrast = None if task.pair is None else _load(dataset, task.pair.contrast)
    query_first = is_query_first(provenance["order"], provenance["seed"], task.sequence)
    joint = _joint(task.subset, samples[0], contrast, query_first)
    rate = rate_of(samples[0])
    with layout.writing(task.subset, task.sequence, rate) as files:
        size = (0, 0)
        for frame in joint.frames():
            files.write_frame(frame)
            size = frame.pixels.shape[:2]
        canvas = _Canvas(*size, layout.pads_to_even)
        names = _object_names(task.queries)
        record = {
            "sequence": task.sequence,
            "subset": task.subset,
            "video": files.video,
            "frame_count": max(half.first_frame + half.frame_count for half in joint.halves.values()),
            "width": canvas.full_width,
            "height": canvas.full_height,
            "frames_per_second": rate,
            "object_count": task.object_count,
            "queries": [
                {
                    **_sentence(query),
                    "object": name,
                    "masks": _write_masks(files, name, sample, joint, canvas),
                }
                for query, name, sample in zip(task.queries, names, samples, strict=True)
            ],
            "contrast": None,
            "pair": None if task.pair is None else pair_json(task.pair),
            "halves": {name: half.as_json() for name, half in joint.halves.items()},
            "provenance": dict(provenance),
        }
        if task.pair is not None and contrast is not None:
            outlines = _outlines(contrast, joint.halves["contrast"], canvas)
            record["contrast"] = {**_sentence(task.pair.contrast), "masks": outlines}
        files.record.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")


@dataclass(frozen=True)
class _Canvas:
    """The joined picture, and what is added to it at the right and below."""

    height: int
    width: int
    pads_to_even: bool

    @property
    def full_height(self) -> int:
        return self.height + (self.height % 2 if self.pads_to_even else 0)

    @property
    def full_width(self) -> int:
        return self.width + (self.width % 2 if self.pads_to_even else 0)

    def draw(self, mask: Mask, half: Half) -> Mask:
        """A half's mask on it; what is added repeats the edge, as it does in the picture."""
        placed = half.place(mask, self.height, self.width)
        padding = (0, self.full_height - self.height), (0, self.full_width - self.width)
        drawn: Mask = np.pad(placed, padding, mode="edge")
        return drawn

    def empty(self) -> Mask:
        return np.zeros((self.full_height, self.full_width), dtype=np.bool_)


def _joint(subset: str, query: Sample, contrast: Sample | None, query_first: bool) -> Joint:
    if contrast is None:
        return Alone(query)
    return (SideBySide if subset == "S" else OneAfterTheOther)(query, contrast, query_first)


def _load(dataset: Dataset, described: Described) -> Sample:
    return reading(described.info.video, lambda: dataset.load(described.info))


def _write_masks(files: SequenceFiles, name: str, sample: Sample, joint: Joint, canvas: _Canvas) -> dict[str, str]:
    """The query's masks, and in T as many empty ones evenly spaced over the other half; their files by frame."""
    half = joint.halves["query"]
    indices = _annotated(sample)
    if not indices:
        raise BrokenSourceError(f"{sample.info.video}: no frame of {sample.info.key} is annotated.")
    if indices[-1] >= half.frame_count:
        raise BrokenSourceError(
            f"{sample.info.video}: it has {half.frame_count} frames, but frame {indices[-1]} (from 0) is annotated."
        )
    written: dict[int, str] = {}
    for index in indices:
        drawn = canvas.draw(_mask(sample, index), half)
        written[half.first_frame + index] = files.write_mask(name, half.first_frame + index, drawn)
    other = joint.halves.get("contrast")
    if other is not None and other.first_frame != half.first_frame:
        for place in evenly_spaced(len(indices), other.first_frame, other.frame_count):
            written[place] = files.write_mask(name, place, canvas.empty())
    return {str(place): written[place] for place in sorted(written)}


def _outlines(contrast: Sample, half: Half, canvas: _Canvas) -> dict[str, Any]:
    """What the contrast's own sentence means, for people who check the pair; none where it cannot be read."""
    outlines: dict[str, Any] = {}
    try:
        for index in _annotated(contrast):
            if index < half.frame_count:
                counts = rle.encode(canvas.draw(_mask(contrast, index), half)).decode("ascii")
                size = [canvas.full_height, canvas.full_width]
                outlines[str(half.first_frame + index)] = {"size": size, "counts": counts}
    except BrokenSourceError:
        return {}
    return outlines


def _annotated(sample: Sample) -> list[int]:
    return reading(sample.info.video, lambda: sorted(sample.masks))


def _mask(sample: Sample, index: int) -> Mask:
    return reading(sample.info.video, lambda: sample.masks[index])


def _sentence(described: Described) -> dict[str, Any]:
    return {
        "source": source_json(described),
        "expression": described.info.expression,
        "roles": roles_json(described.roles.phrases),
    }


def _object_names(queries: tuple[Described, ...]) -> list[str]:
    """A name for each query's masks: its object's, numbered where several sentences mean one object."""
    ids = [str(place) if each.info.object_id is None else each.info.object_id for place, each in enumerate(queries)]
    names = file_names(ids)
    seen: dict[str, int] = {}
    for each in ids:
        seen[each] = seen.get(each, 0)
    numbered: list[str] = []
    for each in ids:
        seen[each] += 1
        numbered.append(names[each] if seen[each] == 1 else f"{names[each]}.{seen[each]}")
    return numbered
