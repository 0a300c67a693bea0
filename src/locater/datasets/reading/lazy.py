"""A sample's frames and masks, opened when somebody looks: listing and scoring touch no pixel they do not need."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from locater.datasets.reading.picture_sequence import PictureSequence
from locater.records import Frame, FrameSource, Mask, VideoInfo


class LazySource:
    """Frames whose files are opened at the first look, so that masks can be scored where the videos are absent."""

    is_repeatable = True

    def __init__(self, open_frames: Callable[[], FrameSource]) -> None:
        self._open_frames = open_frames

    @cached_property
    def opened(self) -> FrameSource:
        """The frames themselves."""
        return self._open_frames()

    @property
    def info(self) -> VideoInfo:
        """What is known before reading."""
        return self.opened.info

    @property
    def frame_names(self) -> tuple[str, ...] | None:
        """The published name of each frame (00005), which submissions ask for; None for a video file."""
        return self.opened.frame_names if isinstance(self.opened, PictureSequence) else None

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..."""
        return self.opened.frames(start, every)

    def size(self) -> tuple[int, int]:
        """Height and width, for a mask that is empty and has no file of its own."""
        info = self.info
        if info.height is not None and info.width is not None:
            return info.height, info.width
        return next(self.frames()).pixels.shape[:2]


@dataclass(frozen=True)
class MaskFile:
    """Where one frame's mask is, and how it is read."""

    name: str  # of the file, for messages
    read: Callable[[], Mask]


class LazyMasks(Mapping[int, Mask]):
    """Masks by frame index, found at the first look and read one at a time; none is kept."""

    def __init__(self, find: Callable[[], Mapping[int, MaskFile]]) -> None:
        self._find = find

    @cached_property
    def files(self) -> Mapping[int, MaskFile]:
        """Every annotated frame's file."""
        return self._find()

    def __getitem__(self, index: int) -> Mask:
        return self.files[index].read()

    def __contains__(self, index: object) -> bool:  # Mapping's own would read the mask
        return index in self.files

    def __iter__(self) -> Iterator[int]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)
