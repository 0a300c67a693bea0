"""The pairs of a built set, as the page shows them: two clips, two sentences, two outlines."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from locater.contrast.build import BUILD
from locater.contrast.layouts import Layout, Record, open_layout
from locater.contrast.review.outlines import outline_path
from locater.contrast.review.pictures import Picture, Pictures
from locater.datasets.a2d_plus import open_a2d_plus
from locater.errors import LocaterError
from locater.io.coco_masks import decode_segmentation
from locater.records import Dataset, Mask, SampleInfo

_JOINED = ("S", "T")  # the first that holds a pair is shown: in T the contrast is squeezed to the query's shape


class NotThereError(Exception):
    """The set holds no such pair, frame or outline."""


@dataclass(frozen=True)
class Listed:
    """A pair, known without its record."""

    sequence: str
    subset: str  # whose files are shown
    subsets: tuple[str, ...]  # where it was joined
    is_relaxed: bool
    is_doubtful: bool

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"sequence": self.sequence, "is_flagged": self.is_relaxed or self.is_doubtful}


class BuiltPairs:
    """What `locater contrast build` left in a folder; everything is read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.about = _read_build(folder)
        self._layout = open_layout(folder, str(self.about.get("format")), str(self.about.get("video")))
        self.listed = {each.sequence: each for each in _list_pairs(folder, self._layout)}
        if not self.listed:
            raise LocaterError(f"{folder} holds no pair to check; build S or T there first.")
        self._pictures = Pictures()
        self._record = lru_cache(maxsize=4)(self._read_record)  # outlines are asked for frame by frame

    def pair(self, sequence: str) -> dict[str, Any]:
        """All that the page needs to show a pair, but for its pictures and outlines."""
        record = self._record(sequence)
        listed = self.listed[sequence]
        shared = {(each["role"], each["phrase"]) for each in record["pair"]["shared"]}
        query, contrast = record["queries"][0], record["contrast"]
        return {
            "sequence": sequence,
            "subsets": list(listed.subsets),
            "frames_per_second": record["frames_per_second"],
            "rank": record["pair"]["rank"],
            "is_relaxed": record["pair"]["relaxed"],
            "is_doubtful": record["pair"]["doubtful"],
            "query": {**_sentence(query, shared), **_clip(record["halves"]["query"], query["masks"])},
            "contrast": {**_sentence(contrast, shared), **_clip(record["halves"]["contrast"], contrast["masks"])},
        }

    def picture(self, sequence: str, index: int) -> Picture:
        """A frame of the joined video."""
        record = self._record(sequence)
        if index >= record["frame_count"]:
            raise NotThereError(f"{sequence} has {record['frame_count']} frames, so none with the index {index}.")
        folder = self._layout.folder(self.listed[sequence].subset)
        video = (folder / record["video"]).resolve()
        if not video.is_relative_to(self.folder.resolve()):
            raise NotThereError(f"The record of {sequence} names a video outside {self.folder}; build it again.")
        # The half that comes later in T is read from its own beginning.
        first = max(half["first_frame"] for half in record["halves"].values() if half["first_frame"] <= index)
        try:
            return self._pictures.picture(video, index, first)
        except OSError as error:
            raise LocaterError(f"{video} cannot be read: {(error.strerror or str(error)).lower()}.") from None

    def outline(self, sequence: str, half: str, place: int) -> str:
        """The outline of what a half's sentence means, in that half's pixels; `place` counts the half's frames."""
        record = self._record(sequence)
        if half not in record["halves"]:
            raise NotThereError(f"{sequence} has no half called {half}.")
        box = record["halves"][half]
        mask = self._mask(record, half, box["first_frame"] + place)
        if mask is None:
            raise NotThereError(f"Frame {place} of the {half} of {sequence} has no mask.")
        rows, columns = slice(box["top"], box["top"] + box["height"]), slice(box["left"], box["left"] + box["width"])
        return outline_path(mask[rows, columns])

    def _mask(self, record: Record, half: str, index: int) -> Mask | None:
        if half == "contrast":
            outline = record["contrast"]["masks"].get(str(index))
            return None if outline is None else decode_segmentation(outline, 0, 0, record["sequence"])
        dataset, infos = self._samples[self.listed[record["sequence"]].subset]
        return dataset.load(infos[record["sequence"]]).masks.get(index)

    @cached_property
    def _samples(self) -> dict[str, tuple[Dataset, dict[str, SampleInfo]]]:
        """Each subset shown as a dataset, which knows how masks are kept in either layout."""
        opened = {
            subset: open_a2d_plus(self.folder, subset) for subset in {each.subset for each in self.listed.values()}
        }
        return {
            subset: (dataset, {info.video: info for info in dataset.samples()}) for subset, dataset in opened.items()
        }

    def _read_record(self, sequence: str) -> Record:
        listed = self.listed.get(sequence)
        record = None if listed is None else self._layout.record(listed.subset, sequence)
        if record is None:
            raise NotThereError(f"There is no pair {sequence} here; if it was built anew, start the review again.")
        return record


def _read_build(folder: Path) -> Mapping[str, Any]:
    path = folder / BUILD
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise LocaterError(
            f"{folder} is no folder that `locater contrast build` made; give the one named by its --out."
        )
    return found


def _list_pairs(folder: Path, layout: Layout) -> list[Listed]:
    """The pairs that are there, in the order of the dataset."""
    path = folder / "pairs.jsonl"
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
    except FileNotFoundError:
        raise LocaterError(f"The build in {folder} is not finished; run its command again, then review.") from None
    except (OSError, ValueError):
        raise LocaterError(f"{path} cannot be read; run the build's command again, then review.") from None
    there = {subset: set(layout.sequences(subset)) for subset in _JOINED}
    listed: list[Listed] = []
    for line in lines:
        subsets = tuple(subset for subset in _JOINED if line.get("sequence") in there[subset])
        if subsets:
            listed.append(Listed(line["sequence"], subsets[0], subsets, line["relaxed"], line["doubtful"]))
    return listed


def _sentence(described: Mapping[str, Any], shared: set[tuple[str, str]]) -> dict[str, Any]:
    roles: Sequence[Mapping[str, Any]] = described["roles"]
    return {
        "video": described["source"]["video"],
        "expression": described["expression"],
        "roles": [{**each, "is_shared": (each["role"], each["phrase"]) in shared} for each in roles],
    }


def _clip(half: Mapping[str, Any], masks: Mapping[str, Any]) -> dict[str, Any]:
    """Where a clip lies in the joined video, and which of its own frames have a mask."""
    places = (int(index) - half["first_frame"] for index in masks)
    return {"box": half, "masked": sorted(place for place in places if 0 <= place < half["frame_count"])}
