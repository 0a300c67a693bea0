"""Which files are videos, by their names: what a folder of videos holds."""

import mimetypes
from pathlib import Path

from locater.errors import LocaterError
from locater.io.pictures import natural_order, numbered_pictures

# Those that not every system's table of types knows.
_SUFFIXES = frozenset((".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpg", ".mts", ".mxf"))
_MORE_SUFFIXES = frozenset((".ogv", ".ts", ".vob", ".webm", ".wmv", ".y4m"))


def is_named_as_video(path: str | Path) -> bool:
    """Whether a name ends as those of video files do."""
    is_known = Path(path).suffix.lower() in _SUFFIXES | _MORE_SUFFIXES
    return is_known or (mimetypes.guess_type(str(path))[0] or "").startswith("video/")


def videos_in(folder: Path) -> list[Path]:
    """The videos that a folder stands for: itself, where it holds pictures, else each video file in it."""
    files = [path for path in folder.iterdir() if is_named_as_video(path) and path.name[0] != "." and path.is_file()]
    if not files:
        return [folder]  # the frames of one, or whatever the reader will say of it
    if numbered_pictures(folder):
        raise LocaterError(
            f"{folder} holds both pictures and videos; name the videos, as in '{folder / '*'}{files[0].suffix}', or "
            "keep the pictures in a folder of their own."
        )
    return sorted(files, key=natural_order)
