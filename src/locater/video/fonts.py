"""The font for a text: Pillow's own where it has all letters, else the first on this machine that has.

Nothing is shipped: Pillow brings Latin letters, matplotlib, where it is installed, DejaVu Sans with Greek and Cyrillic,
and the system whatever its people read.
"""

import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from PIL import ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

_NOWHERE = "\U0010ffff"  # no font has it, so its picture is the one for what is missing
# Regular faces with many letters go first, so that a text does not come in bold italics.
_WIDE = ("notosans-", "dejavusans.", "arialunicode", "notosanscjk", "pingfang", "msyh", "malgun", "arial.", "freesans.")
_UGLY = ("bold", "italic", "oblique", "mono", "serif", "condensed", "light", "thin", "black", "emoji")
_MOST_FONTS = 400  # looked at, of a machine with thousands


def font_for(text: str, size: int) -> Font:
    """A font in which every letter of `text` can be drawn, or most of them; what is missing is warned of."""
    path, missing = _choice("".join(sorted({letter for letter in text if not letter.isspace()})))
    if missing:
        warnings.warn(
            f"No font on this machine has {' '.join(missing[:8])}, so boxes stand for them; install one that has, such "
            "as Noto Sans CJK.",
            stacklevel=2,
        )
    return _loaded(path, size)


@lru_cache(maxsize=64)
def _choice(letters: str) -> tuple[str | None, str]:
    """The file of the first font with all letters, or of that which misses fewest, and what it misses."""
    best: tuple[str | None, str] = (None, _missing(_loaded(None, 20), letters))
    if not best[1]:
        return best
    for path in _font_files():
        try:
            missing = _missing(_loaded(path, 20), letters)
        except OSError:  # a file that FreeType does not read
            continue
        if len(missing) < len(best[1]):
            best = path, missing
        if not missing:
            break
    return best


@lru_cache(maxsize=32)
def _loaded(path: str | None, size: int) -> Font:
    return ImageFont.load_default(size) if path is None else ImageFont.truetype(path, size)


def _missing(font: Font, letters: str) -> str:
    nothing = _drawn(font, _NOWHERE)
    return "".join(letter for letter in letters if letter.isprintable() and _drawn(font, letter) == nothing)


def _drawn(font: Font, letter: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(letter)
    return mask.size, bytes(mask)


@lru_cache(maxsize=1)
def _font_files() -> tuple[str, ...]:
    """The machine's fonts, the likeliest first."""
    found = [path for folder in _folders() for path in _files_below(folder)]
    return tuple(sorted(dict.fromkeys(found), key=_rank)[:_MOST_FONTS])


def _rank(path: str) -> tuple[int, int, str]:
    name = Path(path).name.lower()
    wide = next((place for place, part in enumerate(_WIDE) if name.startswith(part)), len(_WIDE))
    return sum(word in name for word in _UGLY), wide, name


def _files_below(folder: Path) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (str(Path(place) / name) for name in names if _is_font(name.lower()))


def _is_font(name: str) -> bool:
    # Fonts of last resort have a box for everything, which is no letter.
    return name.endswith((".ttf", ".otf", ".ttc")) and not name.startswith(("lastresort", "adobeblank"))


def _folders() -> list[Path]:
    home = Path.home()
    folders = {
        "darwin": [home / "Library/Fonts", Path("/Library/Fonts"), Path("/System/Library/Fonts")],
        "win32": [Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts"],
    }.get(sys.platform, [home / ".local/share/fonts", home / ".fonts", Path("/usr/share/fonts")])
    plots = importlib.util.find_spec("matplotlib")  # found without being imported
    if plots is not None and plots.origin is not None:
        folders.append(Path(plots.origin).parent / "mpl-data/fonts/ttf")
    return folders
