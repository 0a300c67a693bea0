"""Every bad file behind a video, one line each, without stopping at the first."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from locater.datasets.reading.lazy import LazyMasks, LazySource
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder
from locater.errors import LocaterError
from locater.io.pictures import picture_file
from locater.records import Dataset, SampleInfo


def sample_problems(dataset: Dataset, infos: Sequence[SampleInfo]) -> Iterator[str]:
    """One line for each bad file behind one video's questions, each object's masks read once."""
    sources: list[LazySource] = []
    masks: list[LazyMasks] = []
    for info in {info.object_id: info for info in infos}.values():
        try:
            sample = dataset.load(info)
        except LocaterError as error:
            yield str(error)
            continue
        if isinstance(sample.frames, LazySource):
            sources.append(sample.frames)
        if isinstance(sample.masks, LazyMasks):
            masks.append(sample.masks)
    if sources:
        yield from video_problems(sources[0], masks)


def video_problems(source: LazySource, masks: Iterable[LazyMasks]) -> Iterator[str]:
    """One line for each bad picture and each bad mask; masks are held against the frames' size and number."""
    size: tuple[int, int] | None = None
    frame_count: int | None = None
    try:
        frames = source.opened
        if isinstance(frames, PictureSequence):
            lines, size = _picture_problems(frames.paths)
            frame_count = len(frames.paths)
            yield from lines
        else:
            frame_count = frames.info.frame_count
            if frames.info.height is not None and frames.info.width is not None:
                size = frames.info.height, frames.info.width
    except LocaterError as error:
        yield str(error)
    for each in masks:
        yield from _mask_problems(each, size, frame_count)


def _picture_problems(paths: Sequence[Path]) -> tuple[list[str], tuple[int, int] | None]:
    """One line for each bad picture, and the height and width of the first good one."""
    lines: list[str] = []
    first: tuple[int, int] | None = None
    need_folder(paths[0].parent)  # one line for a whole missing folder
    for path in paths:
        try:
            with picture_file(path) as image:
                width, height = image.size
                # An eighth of the size: the whole file is still read, so a cut one is noticed, in a third of the time.
                image.draft("RGB", (max(1, width // 8), max(1, height // 8)))
                image.load()
        except LocaterError as error:
            lines.append(str(error))
            continue
        first = first or (height, width)
        if (height, width) != first:
            lines.append(f"{path} is {width} x {height}, the video's other frames are {first[1]} x {first[0]}.")
    return lines, first


def _mask_problems(masks: LazyMasks, size: tuple[int, int] | None, frame_count: int | None) -> Iterator[str]:
    try:
        files = masks.files
    except LocaterError as error:
        yield str(error)
        return
    for index, file in files.items():
        if frame_count is not None and not 0 <= index < frame_count:
            yield f"{file.name} is a mask for frame {index + 1}, but the video has {frame_count} frames."
            continue
        try:
            mask = file.read()
        except LocaterError as error:
            yield str(error)
            continue
        if size is not None and mask.shape != size:
            yield f"{file.name}: the mask is {mask.shape[1]} x {mask.shape[0]}, its frame {size[1]} x {size[0]}."
