"""Frames from picture files: a folder's, in the order a person would number them, or a list in its own order."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from locater.errors import LocaterError
from locater.frames import Frame, VideoInfo, check_stride
from locater.io.pictures import SUFFIXES, numbered_pictures, picture_file, upright_pixels
from locater.video.file_source import Bounds

_EXIF_ORIENTATION = 0x0112
_SIDEWAYS = frozenset({5, 6, 7, 8})  # EXIF orientations that exchange width and height


def picture_folder(folder: Path, frames_per_second: float, bounds: Bounds | None = None) -> "PictureFiles":
    """A folder's pictures as a video, frame2 before frame10."""
    paths = numbered_pictures(folder)
    if not paths:
        kinds = ", ".join(sorted(suffix[1:] for suffix in SUFFIXES))
        raise LocaterError(f"The folder {folder} holds no pictures; put the frames there as {kinds} files.")
    return PictureFiles(paths, frames_per_second, folder, bounds)


class PictureFiles:
    """Pictures as a video, in their order; every header is read at once, so that an odd one fails before the work."""

    is_repeatable = True

    def __init__(
        self,
        paths: Sequence[Path],
        frames_per_second: float,
        folder: Path | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self._paths = paths
        self._frames_per_second = frames_per_second
        bounds = bounds or Bounds()
        width, height = _upright_size(self._paths[0])
        bounds.check_size(width, height)
        for path in self._paths:
            bounds.on_packet()
            if (size := _upright_size(path)) != (width, height):
                raise LocaterError(
                    f"{path.name} is {size[0]} x {size[1]}, but {self._paths[0].name} is {width} x {height}; "
                    "all pictures of a video must have the same size."
                )
        self.info = VideoInfo(
            name="pictures" if folder is None else folder.resolve().name,
            width=width,
            height=height,
            frame_count=len(self._paths),
            frames_per_second=frames_per_second,
            duration=len(self._paths) / frames_per_second,
            path=None if folder is None else folder.absolute(),
        )

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ...; the pictures between are not read."""
        check_stride(start, every)
        return self._frames(start, every)

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        for index in range(start, len(self._paths), every):
            path = self._paths[index]
            yield Frame(index, index / self._frames_per_second, upright_pixels(path), path.name)


def _upright_size(path: Path) -> tuple[int, int]:
    with picture_file(path) as image:
        width, height = image.size
        is_sideways = image.getexif().get(_EXIF_ORIENTATION) in _SIDEWAYS
    return (height, width) if is_sideways else (width, height)
