"""Frames from whatever a person has: a video file, pictures in files or in memory, a live stream of pictures."""

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image
from torch import Tensor

from locater.errors import LocaterError
from locater.records import Frame, FrameSource, VideoState
from locater.video.array_source import ArraySequence, ArrayStream
from locater.video.file_source import VideoFile
from locater.video.finding import is_named_as_video
from locater.video.folder_source import PictureFiles, picture_folder
from locater.video.guarded.limits import Limits
from locater.video.guarded.processes import can_guard
from locater.video.guarded.source import guarded_folder, guarded_pictures, guarded_video

DEFAULT_FRAMES_PER_SECOND = 24.0  # for sources without a clock: DAVIS and most films run at 24

Mode = Literal["auto", "file", "live"]


def open_source(source: object, frames_per_second: float | None = None) -> FrameSource:
    """The frames behind `source`, read one at a time.

    `source` is a path to a video file or to a folder of pictures, a list of picture files in their order, pictures
    (a Pillow image, a sequence or a (T, H, W, 3) array of uint8 RGB, a torch tensor (T, H, W, 3) or (T, 3, H, W), uint8
    or float from 0 to 1), or an iterator of pictures, which can be read only once. A source that is already open comes
    back as it is. `frames_per_second` is for sources that carry no times of their own: all but video files.
    """
    if frames_per_second is not None and not (math.isfinite(frames_per_second) and frames_per_second > 0):
        raise LocaterError(f"{frames_per_second} frames per second is not possible; give a number above zero.")
    rate = frames_per_second or DEFAULT_FRAMES_PER_SECOND
    if isinstance(source, str) and "://" in source:
        raise LocaterError(f"{source} is an address; download it first, or segment it as it comes with `locater live`.")
    if isinstance(source, (str, Path)):
        return _open_path(Path(source).expanduser(), rate, is_rate_given=frames_per_second is not None)
    if isinstance(source, FrameSource):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        raise LocaterError("Cannot read frames from bytes; save them to a file and give its path.")
    if isinstance(source, Image.Image):
        return ArraySequence([source], rate)
    if isinstance(source, Sequence) and source and all(isinstance(each, (str, Path)) for each in source):
        if any(is_named_as_video(each) for each in source):
            raise LocaterError("A list of paths is a video's pictures, one file a frame; give each video by itself.")
        paths = [Path(each).expanduser() for each in source]
        return guarded_pictures(paths, rate) if can_guard() else PictureFiles(paths, rate)
    if isinstance(source, (np.ndarray, Tensor, Sequence)):
        return ArraySequence(source, rate)
    if isinstance(source, Iterable):
        return ArrayStream(source, rate)
    raise LocaterError(
        f"Cannot read frames from a {type(source).__name__}; give a path to a video or a folder, or RGB arrays."
    )


def open_video(path: Path, limits: Limits | None = None) -> FrameSource:
    """A video file, decoded in a process of its own where the system allows it; by default with the usual limits."""
    return guarded_video(path, limits) if can_guard() else VideoFile(path)


def _open_path(path: Path, rate: float, is_rate_given: bool) -> FrameSource:
    try:
        if path.is_dir():
            return guarded_folder(path, rate) if can_guard() else picture_folder(path, rate)
        if is_rate_given:
            raise LocaterError(f"{path} has times of its own; leave out the frames per second for a video file.")
        path.stat()  # what the system says of the path it says here
        return open_video(path)
    except FileNotFoundError:
        raise LocaterError(f"There is no file {path}; check the path.") from None
    except OSError as error:  # no permission, a name too long, a disk that went away
        raise LocaterError(f"Cannot read {path}: {(error.strerror or str(error)).lower()}; check the path.") from error


def is_live_mode(frames: FrameSource, mode: Mode, state: VideoState | None) -> bool:
    """Whether a source is read once, as asked for, as it must be, or as the state's video was."""
    if mode == "file" and not frames.is_repeatable:
        raise LocaterError("A stream cannot be read twice; use mode='live', or give a file or a list of frames.")
    if state is not None:
        return not state.is_global_complete and state.global_index is None
    return mode == "live" or not frames.is_repeatable


def whole_video(source: FrameSource, chunk: int) -> list[Frame]:
    """All frames of a video that fits into one chunk; none of any other. A container's own count may be wrong."""
    count = source.info.frame_count
    if count is None or count > chunk:
        return []
    frames = list(islice(source.frames(), chunk + 1))
    return frames if len(frames) <= chunk else []
