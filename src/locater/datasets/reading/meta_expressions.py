"""The `meta_expressions.json` that Refer-YouTube-VOS introduced and MeViS follows."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.picture_sequence import PictureSequence
from locater.io.text_files import as_published, one_line, read_json
from locater.records import FrameSource, SampleInfo

# Every fifth frame of 30 per second in Refer-YouTube-VOS; MeViS, which follows its layout, publishes no clock.
_FRAMES_PER_SECOND = 6.0


@dataclass(frozen=True)
class Expression:
    """One sentence and what it means; the ids are empty where they were not published."""

    text: str
    object_ids: tuple[str, ...]
    annotation_ids: tuple[str, ...] | None  # MeViS's; None: not published, empty: nothing is meant


@dataclass(frozen=True)
class DescribedVideo:
    """One video's frame names, in order, and its sentences by their ids."""

    frames: tuple[str, ...]
    expressions: Mapping[str, Expression]

    @property
    def object_count(self) -> int | None:
        """How many objects the sentences speak of; None where that was not published."""
        objects = {each for expression in self.expressions.values() for each in expression.object_ids}
        return len(objects) or None


def read_meta_expressions(path: Path) -> dict[str, DescribedVideo]:
    """Every video of the file, in its order."""
    content = read_json(path)
    with as_published(path):
        return {str(video): _video(entry) for video, entry in content["videos"].items()}


def _video(entry: Mapping[str, Any]) -> DescribedVideo:
    return DescribedVideo(
        frames=tuple(sorted(str(frame) for frame in entry["frames"])),
        expressions={str(number): _expression(each) for number, each in entry["expressions"].items()},
    )


def _expression(entry: Mapping[str, Any]) -> Expression:
    return Expression(
        text=one_line(entry["exp"]),
        object_ids=_ids(entry.get("obj_id")),
        annotation_ids=_ids(entry["anno_id"]) if "anno_id" in entry else None,
    )


def _ids(value: Any) -> tuple[str, ...]:
    """Refer-YouTube-VOS writes one id, MeViS a list."""
    if value is None:
        return ()
    return tuple(str(each) for each in value) if isinstance(value, list) else (str(value),)


class DescribedDataset(ListedDataset):
    """A split that such a file describes: one question per sentence, key `<video>/<expression id>`."""

    @cached_property
    @abstractmethod
    def _videos(self) -> dict[str, DescribedVideo]:
        """The split's videos, in the file's order."""

    @abstractmethod
    def _object_id(self, expression: Expression) -> str | None:
        """What a sentence means; None where that is nothing, or was not published."""

    def _kind(self, _expression: Expression) -> str:
        """What reports group a sentence by; nothing."""
        return ""

    def _object_count(self, video: str) -> int | None:
        """How many objects a video has, as far as its sentences tell."""
        return self._videos[video].object_count

    def _listed(self) -> Iterable[SampleInfo]:
        return [
            SampleInfo(
                key=f"{name}/{number}",
                video=name,
                expression=expression.text,
                kind=self._kind(expression),
                object_count=self._object_count(name),
                object_id=self._object_id(expression),
            )
            for name, video in self._videos.items()
            for number, expression in video.expressions.items()
        ]

    def _frames(self, video: str) -> FrameSource:
        folder = self.root / self.split / "JPEGImages" / video
        names = self._videos[video].frames
        return PictureSequence(video, [folder / f"{name}.jpg" for name in names], _FRAMES_PER_SECOND)
