"""Masks drawn over frames for people to look at: tints, contours, a legend, and a sheet of small pictures."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from locater.records import Pixels
from locater.video.fonts import Font, font_for

_TINT = 0.42  # the mask's share of a tinted pixel: the object stays recognisable
_RIM = (16, 16, 16)  # a dark rim parts the bright line from bright videos
_PANEL = (18, 20, 24)
_TEXT = (238, 240, 243)
_QUIET_TEXT = (150, 156, 165)


def _voc_colormap() -> npt.NDArray[np.uint8]:
    """The PASCAL VOC colours, (256, 3): the index's bits dealt to red, green and blue, highest first."""
    index = np.arange(256)
    colours = np.zeros((256, 3), dtype=np.uint8)
    for place in range(8):
        for channel in range(3):
            bit = (index >> (3 * place + channel)) & 1
            colours[:, channel] |= (bit << (7 - place)).astype(np.uint8)
    return colours


DAVIS_PALETTE = _voc_colormap()  # DAVIS stores its masks with VOC's colours


def _bright_colours() -> npt.NDArray[np.uint8]:
    """The palette's different hues at full brightness, in its order: (128, 0, 0) and (64, 0, 0) would look alike."""
    kept: list[npt.NDArray[np.uint8]] = []
    for colour in DAVIS_PALETTE[1:].astype(np.float64):
        bright = np.round(colour * 255 / colour.max()).astype(np.uint8)
        if all(np.abs(bright.astype(int) - other).max() > 96 for other in kept):
            kept.append(bright)
    return np.stack(kept)


_COLOURS = _bright_colours()


def colour_of(expression: int) -> tuple[int, int, int]:
    """The RGB colour in which the `expression`-th mask, counted from 0, is drawn."""
    red, green, blue = _COLOURS[expression % len(_COLOURS)].tolist()
    return red, green, blue


def draw(pixels: Pixels, masks: npt.NDArray[np.bool_], first: int = 0) -> Pixels:
    """A copy of the frame with every mask (E, H, W) tinted and outlined; the first has the `first`-th colour."""
    picture = pixels.copy()
    line = max(1 if min(pixels.shape[:2]) < 160 else 2, round(min(pixels.shape[:2]) / 270))
    for number, mask in enumerate(masks, start=first):
        _draw_mask(picture, mask, colour_of(number), line)
    return picture


def _draw_mask(picture: Pixels, mask: npt.NDArray[np.bool_], colour: tuple[int, int, int], line: int) -> None:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows.size == 0:
        return
    # Only the mask's surroundings are touched: most masks are small, and this is done for every frame.
    rim = max(1, line // 2)
    top, left = max(0, rows[0] - rim), max(0, columns[0] - rim)
    window = (slice(top, rows[-1] + rim + 1), slice(left, columns[-1] + rim + 1))
    part, inside = picture[window], mask[window]
    # Pillow's table and pastes: picking out the pixels with numpy took four times as long.
    drawn = Image.fromarray(part)
    drawn.paste(drawn.point(_tints(colour)), mask=Image.fromarray(inside))
    # The frame's border is no edge of the object, so the line is left open there.
    core = ~_grown(~inside, line)
    drawn.paste(colour, mask=Image.fromarray(inside & ~core))
    drawn.paste(_RIM, mask=Image.fromarray(_grown(inside, rim) & ~inside))
    part[:] = np.asarray(drawn)


@lru_cache(maxsize=32)
def _tints(colour: tuple[int, int, int]) -> list[int]:
    """What each value of red, then of green, then of blue becomes under a mask of this colour, as Pillow takes it."""
    values = np.arange(256)[None] * (1 - _TINT) + np.array(colour)[:, None] * _TINT
    return values.round().astype(int).flatten().tolist()


def _grown(region: npt.NDArray[np.bool_], steps: int) -> npt.NDArray[np.bool_]:
    """The region with all pixels reached in `steps` moves, across edges and corners by turns: nearly a disc."""
    for step in range(steps):
        wider = region.copy()
        wider[1:] |= region[:-1]
        wider[:-1] |= region[1:]
        source = wider.copy() if step % 2 else region
        wider[:, 1:] |= source[:, :-1]
        wider[:, :-1] |= source[:, 1:]
        region = wider
    return region


# ---- The legend ------------------------------------------------------------------------------------------------------


def captioned(picture: Pixels, expressions: Sequence[str], first: int = 0) -> Pixels:
    """The picture with a band below it that names each colour; the first has the `first`-th."""
    height, width = picture.shape[:2]
    return np.concatenate([picture, _legend(tuple(expressions), first, width, height)])


@lru_cache(maxsize=32)  # drawn once per video, and put under every frame
def _legend(expressions: tuple[str, ...], first: int, width: int, height: int) -> Pixels:
    """A band as wide as the picture, hardly ever higher, that makes the whole height even, as H.264 needs it."""
    size = max(9, min(round(height / 26), 40))
    line, swatch = round(size * 1.5), round(size * 0.8)
    fonts = [font_for(each, size) for each in expressions]
    room = max(1, (height - size // 2) // line)
    entries = [
        wrap(each, font, width - 2 * size - swatch, min(3, room)) for each, font in zip(expressions, fonts, strict=True)
    ]
    lengths = [font.getlength(entry[0]) for entry, font in zip(entries, fonts, strict=True)]
    places = _places(entries, [length + 2.5 * size + swatch for length in lengths], width)
    ends = [row + len(entry) for (row, _), entry in zip(places, entries, strict=True)]
    shown = len(entries) if max(ends, default=0) <= room else max(1, sum(end < room for end in ends))
    rows = max(ends[:shown], default=1)
    band_height = (rows + (shown < len(entries))) * line + size // 2
    strip = Image.new("RGB", (width, band_height + (height + band_height) % 2), _PANEL)
    pen = ImageDraw.Draw(strip)
    for number, (entry, (row, left)) in enumerate(zip(entries[:shown], places, strict=False), start=first):
        middle = size // 4 + row * line + line // 2
        corner = left + size // 2, middle - swatch // 2
        pen.rectangle((*corner, corner[0] + swatch, corner[1] + swatch), fill=colour_of(number))
        for below, text in enumerate(entry):
            place = left + size + swatch, middle + below * line
            pen.text(place, text, fill=_TEXT, font=fonts[number - first], anchor="lm")
    if shown < len(entries):
        middle = size // 4 + rows * line + line // 2
        pen.text((size // 2, middle), f"+ {len(entries) - shown} more", _QUIET_TEXT, font_for("+", size), "lm")
    return np.asarray(strip)


def _places(entries: Sequence[Sequence[str]], lengths: Sequence[float], width: int) -> list[tuple[int, int]]:
    """Each entry's row and left edge: side by side where they fit, and those of several lines alone."""
    row, left, places = 0, 0, []
    for entry, length in zip(entries, lengths, strict=True):
        if left and (len(entry) > 1 or left + length > width):
            row, left = row + 1, 0
        places.append((row, left))
        if len(entry) > 1:
            row += len(entry)
        else:
            left += round(length)
    return places


def wrap(text: str, font: Font, width: float, most: int) -> list[str]:
    """The text on one line or more, at most so many, the last one cut with an ellipsis where it is too long."""
    words = printable(text).split()
    lines: list[str] = []
    while words and len(lines) < most - 1:
        count = 1
        while count < len(words) and font.getlength(" ".join(words[: count + 1])) <= width:
            count += 1
        lines.append(shorten(" ".join(words[:count]), font, width))
        words = words[count:]
    return [*lines, shorten(" ".join(words), font, width)] if words or not lines else lines


def shorten(text: str, font: Font, width: float) -> str:
    """The text on one line, cut with an ellipsis where it is wider than `width` pixels; any Unicode is safe."""
    clean = " ".join(printable(text).split())
    if font.getlength(clean) <= width:
        return clean
    low, high = 0, len(clean)
    while low < high:
        middle = (low + high + 1) // 2
        if font.getlength(clean[:middle].rstrip() + "…") <= width:
            low = middle
        else:
            high = middle - 1
    return clean[:low].rstrip() + "…" if low else ""


def printable(text: str) -> str:
    """The text with spaces for control characters and lone surrogates, which break lines, fonts, XML and UTF-8."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


# ---- The contact sheet -----------------------------------------------------------------------------------------------


class ContactSheet:
    """Evenly spaced small pictures of a video of unknown length, in constant memory.

    Every `stride`-th frame is kept; when four times the sheet's pictures have come together, every other one goes and
    the stride doubles. So the sheet can always choose from twice as many as it shows, or more.
    """

    def __init__(self, title: str = "", columns: int = 4, rows: int = 3, thumbnail_side: int = 320) -> None:
        self._title = title
        self._columns = columns
        self._shown = columns * rows
        self._thumbnail_side = thumbnail_side
        self._kept: list[tuple[float, Image.Image]] = []
        self._stride = 1
        self._seen = 0

    @property
    def is_next_kept(self) -> bool:
        """Whether the next frame will be kept, so that the others need not be drawn."""
        return self._seen % self._stride == 0

    def skip(self) -> None:
        """Count a frame that will not be kept."""
        self._seen += 1

    def add(self, pixels: Pixels, timestamp: float) -> None:
        """Offer the next frame; it is kept when its turn has come."""
        if self.is_next_kept:
            height, width = pixels.shape[:2]
            scale = self._thumbnail_side / max(height, width)
            size = (max(1, round(width * scale)), max(1, round(height * scale)))
            small = Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR)  # Pillow's is antialiased
            self._kept.append((timestamp, small))
            if len(self._kept) > 4 * self._shown:
                self._kept = self._kept[::2]
                self._stride *= 2
        self._seen += 1

    def image(self) -> Image.Image:
        """The grid, in reading order, each picture with its time; fewer pictures make a smaller grid."""
        chosen = self._chosen()
        columns = max(1, min(self._columns, len(chosen)))
        thumbnail = chosen[0][1].size if chosen else (self._thumbnail_side, 1)
        return _grid(chosen, columns, thumbnail, self._title)

    def _chosen(self) -> list[tuple[float, Image.Image]]:
        if len(self._kept) <= self._shown:
            return self._kept
        places = np.linspace(0, len(self._kept) - 1, self._shown).round().astype(int)
        return [self._kept[place] for place in places]


def _grid(
    pictures: Sequence[tuple[float, Image.Image]], columns: int, thumbnail: tuple[int, int], title: str
) -> Image.Image:
    width, height = thumbnail
    gap, caption = 10, 24
    header = 46 if title else gap
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (gap + columns * (width + gap), header + rows * (height + caption) + gap // 2), _PANEL)
    pen = ImageDraw.Draw(sheet)
    if title:
        font = font_for(title, 20)
        pen.text((gap, header // 2), shorten(title, font, sheet.width - 2 * gap), _TEXT, font, anchor="lm")
    small = font_for("0:", 14)
    for place, (timestamp, picture) in enumerate(pictures):
        left = gap + (place % columns) * (width + gap)
        top = header + (place // columns) * (height + caption)
        sheet.paste(picture, (left, top))
        pen.text((left, top + height + 10), clock_text(timestamp), _QUIET_TEXT, small, anchor="lm")
    return sheet


def clock_text(seconds: float) -> str:
    """Seconds as a person reads a player: 0:07.25, 1:02:07.25."""
    hundredths = round(seconds * 100)
    minutes, rest = divmod(hundredths, 6000)
    hours, minutes = divmod(minutes, 60)
    end = f"{rest // 100:02d}.{rest % 100:02d}"
    return f"{hours}:{minutes:02d}:{end}" if hours else f"{minutes}:{end}"
