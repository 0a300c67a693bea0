"""Frames from a list of picture files: what a dataset's own index names, in its order, and nothing else."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from locater.errors import LocaterError
from locater.frames import check_stride
from locater.io.pictures import numbered_pictures, stored_size, upright_pixels
from locater.records import Frame, VideoInfo
from locater.video.array_source import check_size


class PictureSequence:
    """Pictures as a video; unlike `PictureFiles`, only the first header is read before the frames are."""

    is_repeatable = True

    def __init__(self, name: str, paths: Sequence[Path], frames_per_second: float) -> None:
        if not paths:
            raise LocaterError(f"The video {name} has no frames; download it again.")
        self.name = name
        self.paths = tuple(paths)
        self._frames_per_second = frames_per_second

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Each frame's published name."""
        return tuple(path.stem for path in self.paths)

    @cached_property
    def info(self) -> VideoInfo:
        """What is known before reading."""
        need_folder(self.paths[0].parent)
        # As stored: none of these datasets turns pictures by EXIF, and `frames` would notice.
        width, height = stored_size(self.paths[0])
        return VideoInfo(
            name=self.name,
            width=width,
            height=height,
            frame_count=len(self.paths),
            frames_per_second=self._frames_per_second,
            duration=len(self.paths) / self._frames_per_second,
        )

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ...; the pictures between are not read."""
        check_stride(start, every)
        return self._frames(start, every)

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        size: tuple[int, int] | None = None
        for index in range(start, len(self.paths), every):
            need_folder(self.paths[index].parent)
            pixels = upright_pixels(self.paths[index])
            size = size or (pixels.shape[1], pixels.shape[0])
            check_size(pixels, size, index)
            yield Frame(index, index / self._frames_per_second, pixels)


def pictures_in(folder: Path) -> list[Path]:
    """The pictures of a dataset's folder, frame2 before frame10."""
    return numbered_pictures(need_folder(folder))


def need_folder(folder: Path) -> Path:
    """The folder; when a whole branch is missing, the error names the branch, once for all that is in it."""
    if folder.is_dir():
        return folder
    lacking = folder
    while not lacking.parent.exists():
        lacking = lacking.parent
    raise LocaterError(f"There is no folder {lacking}; download it, or check the folder you gave.")
