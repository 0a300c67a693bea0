"""Two samples as one, joined while they are read: what `build` writes to disk, for whoever only wants to look."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice

import numpy as np

from locater.contrast.joining import BrokenSourceError, Half, Joint, OneAfterTheOther, SideBySide, fitted_width
from locater.datasets.reading.lazy import LazyMasks, MaskFile
from locater.errors import LocaterError
from locater.frames import check_stride
from locater.records import Frame, Mask, Sample, SampleInfo, VideoInfo


def side_by_side(info: SampleInfo, query: Sample, contrast: Sample, query_first: bool) -> Sample:
    """The two along the width, the query left or right; true is the query's mask on its half alone."""

    def joined_info() -> VideoInfo:
        ours, others = query.frames.info, contrast.frames.info
        width, height, _ = _measures(ours)
        other_width, other_height, _ = _measures(others)
        return replace(ours, name=info.video, width=width + fitted_width(other_width, other_height, height))

    frames = JoinedSource(lambda: SideBySide(query, contrast, query_first), joined_info)

    def masks() -> dict[int, MaskFile]:
        width, height, count = _measures(query.frames.info)
        left = 0 if query_first else _measures(frames.info)[0] - width
        return _placed(query, frames, Half(left, 0, width, height, 0, count))

    return Sample(info, frames, LazyMasks(masks))


def one_after_the_other(info: SampleInfo, query: Sample, contrast: Sample, query_first: bool) -> Sample:
    """The two along time, the query first or last; true is the query's mask, and nothing on the other's frames."""

    def joined_info() -> VideoInfo:
        ours = query.frames.info
        duration = None if ours.duration is None else 2 * ours.duration
        return replace(ours, name=info.video, frame_count=2 * _measures(ours)[2], duration=duration)

    frames = JoinedSource(lambda: OneAfterTheOther(query, contrast, query_first), joined_info)

    def masks() -> dict[int, MaskFile]:
        width, height, count = _measures(query.frames.info)
        half = Half(0, 0, width, height, 0 if query_first else count, count)
        nothing = MaskFile(f"{contrast.info.video}, of which nothing is meant", partial(_empty, height, width))
        others = dict.fromkeys(range(count - half.first_frame, 2 * count - half.first_frame), nothing)
        return dict(sorted({**_placed(query, frames, half), **others}.items()))

    return Sample(info, frames, LazyMasks(masks))


class JoinedSource:
    """The joined frames as a source; each reading joins anew, so that neither video is ever held."""

    is_repeatable = True

    def __init__(self, join: Callable[[], Joint], describe: Callable[[], VideoInfo]) -> None:
        self._join = join
        self._describe = describe

    @cached_property
    def info(self) -> VideoInfo:
        """What is known before reading."""
        return self._describe()

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ...; those between are joined all the same."""
        check_stride(start, every)
        return self._frames(start, every)

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        try:
            yield from islice(self._join().frames(), start, None, every)
        except BrokenSourceError as error:
            raise LocaterError(str(error)) from None


def _measures(info: VideoInfo) -> tuple[int, int, int]:
    """Width, height and number of frames, without which the other half has no place."""
    if info.width is None or info.height is None or info.frame_count is None:
        raise LocaterError(f"The video {info.name} does not say its size and length; join it with: contrast build.")
    return info.width, info.height, info.frame_count


def _placed(query: Sample, frames: JoinedSource, half: Half) -> dict[int, MaskFile]:
    """The query's masks where its half lies."""
    width, height, _ = _measures(frames.info)
    return {
        half.first_frame + index: MaskFile(
            f"{query.info.video}, frame {index}", partial(_placed_mask, query, half, index, height, width)
        )
        for index in query.masks
    }


def _placed_mask(query: Sample, half: Half, index: int, height: int, width: int) -> Mask:
    return half.place(query.masks[index], height, width)


def _empty(height: int, width: int) -> Mask:
    return np.zeros((height, width), dtype=np.bool_)
