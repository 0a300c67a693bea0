"""Which questions are answered in one pass over a video, and which process does it."""

from collections.abc import Sequence
from dataclasses import dataclass

from locater.records import SampleInfo

EXPRESSIONS_AT_ONCE = 8  # bounds the memory where a video has dozens of sentences (MeViS)


@dataclass(frozen=True)
class Pass:
    """Questions to one video that are answered together, so that the visual encoder runs once for all."""

    video: str
    infos: tuple[SampleInfo, ...]


def plan_passes(infos: Sequence[SampleInfo]) -> list[Pass]:
    """The passes over a dataset, in its order; one annotation's sentences stay together, as their masks compete."""
    of_video: dict[str, dict[str, list[SampleInfo]]] = {}
    for info in infos:
        of_video.setdefault(info.video, {}).setdefault(info.annotation, []).append(info)
    passes: list[Pass] = []
    for video, of_annotation in of_video.items():
        plain = of_annotation.pop("", [])
        for first in range(0, len(plain), EXPRESSIONS_AT_ONCE):
            passes.append(Pass(video, tuple(plain[first : first + EXPRESSIONS_AT_ONCE])))
        passes += [Pass(video, tuple(of_annotation[annotation])) for annotation in of_annotation]
    return passes


def shard(passes: Sequence[Pass], rank: int, world_size: int) -> list[Pass]:
    """The passes of one process; a video belongs to one process alone."""
    order: dict[str, int] = {}
    for each in passes:
        order.setdefault(each.video, len(order))
    return [each for each in passes if order[each.video] % world_size == rank]
