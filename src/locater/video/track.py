"""All masks of a video in memory: to look at, to ask, and to save in any format."""

import base64
import html
import importlib
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from locater.errors import LocaterError
from locater.io import rle
from locater.io.results_folder import results_folder
from locater.records import Frame, FrameMasks, FrameResult, FrameSource, Mask, Pixels, VideoInfo
from locater.video.overlay import ContactSheet, colour_of, draw
from locater.video.reader import open_source
from locater.video.writer import FORMATS, open_writers, with_images
from locater.video.writers.writing import bounding_box

_THUMBNAIL_SIDE = 200  # pixels; a sheet of them is some tens of kilobytes

Box = tuple[int, int, int, int]  # left, top, width, height in whole pixels


class MaskTrack:
    """Every frame's masks of every expression, held as run lengths; `track.mask(frame, "the dog")` is an array.

    An expression is given by its sentence or by its number, counted from 0. The frames themselves are not held: what
    needs them reads the source again, by the path in `info`, or as it is given again.
    """

    def __init__(self, expressions: Sequence[str], height: int, width: int, info: VideoInfo | None = None) -> None:
        self.expressions = tuple(expressions)
        self.height = height
        self.width = width
        self.info = info or VideoInfo("frames", width, height)
        self.timestamps: list[float] = []
        self.presence: list[tuple[float, ...]] = []
        self.scores: list[tuple[float, ...] | None] = []  # None where the checkpoint cannot tell
        self.word_attention: list[tuple[tuple[tuple[str, float], ...], ...]] = []
        self.names: list[str | None] = []  # pictures' own file names
        self._runs: list[tuple[bytes, ...]] = []
        self._sheet = ContactSheet(thumbnail_side=_THUMBNAIL_SIDE)

    def append(self, result: FrameResult) -> None:
        """Add the next frame."""
        expected = (len(self.expressions), self.height, self.width)
        if result.masks.shape != expected:
            raise ValueError(f"masks of shape {result.masks.shape} in a track of {expected}")
        self.timestamps.append(result.frame.timestamp)
        self.presence.append(result.presence)
        self.scores.append(result.score)
        self.word_attention.append(result.word_attention)
        self.names.append(result.frame.name)
        self._runs.append(tuple(rle.encode(mask) for mask in result.masks))
        if self._sheet.is_next_kept:
            self._sheet.add(_thumbnail(result), result.frame.timestamp)
        else:
            self._sheet.skip()

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        found = "; ".join(f"{name!r} in {self._found(number)}" for number, name in enumerate(self.expressions))
        return f"MaskTrack({self.info.name!r}, {len(self)} frames of {self.width} x {self.height}: {found})"

    def _repr_html_(self) -> str:
        """A contact sheet with the sentences below it, self-contained, as notebooks show it."""
        content = io.BytesIO()
        self._sheet.image().save(content, "JPEG", quality=85)
        picture = base64.b64encode(content.getvalue()).decode("ascii")
        rows = "".join(
            f'<li><span style="color:#{bytes(colour_of(number)).hex()}">&#9632;</span> {html.escape(name)}: '
            f"in {self._found(number)} of {len(self)} frames</li>"
            for number, name in enumerate(self.expressions)
        )
        about = f"{html.escape(self.info.name)}, {self.width} x {self.height}"
        return (
            f'<figure style="margin:0"><img alt="{about}" style="max-width:100%" '
            f'src="data:image/jpeg;base64,{picture}">'
            f'<figcaption>{about}<ul style="list-style:none;padding:0">{rows}</ul></figcaption></figure>'
        )

    def mask(self, frame: int, expression: int | str = 0) -> Mask:
        """One frame's mask, (H, W)."""
        return rle.decode(self._runs[self._place(frame)][self._number(expression)], self.height, self.width)

    def masks(self, expression: int | str = 0) -> npt.NDArray[np.bool_]:
        """All frames' masks, (T, H, W)."""
        if not self._runs:
            return np.zeros((0, self.height, self.width), dtype=np.bool_)
        return np.stack([self.mask(frame, expression) for frame in range(len(self))])

    def areas(self, expression: int | str = 0) -> list[int]:
        """Pixels inside the mask, frame by frame."""
        number = self._number(expression)
        return [rle.area(runs[number]) for runs in self._runs]

    def boxes(self, expression: int | str = 0) -> list[Box | None]:
        """The bounding box (left, top, width, height), frame by frame; None where nothing is marked."""
        number = self._number(expression)
        boxes: list[Box | None] = []
        for frame in range(len(self)):
            mask = self.mask(frame, number)
            if mask.any():
                left, top, width, height = bounding_box(mask)
                boxes.append((left, top, width, height))
            else:
                boxes.append(None)
        return boxes

    def overlay(self, frame: int, source: object = None) -> Pixels:
        """One frame, (H, W, 3), with its masks drawn on; read again from where it came, or from `source`."""
        place = self._place(frame)
        found = next(self._source(source).frames(start=place), None)
        if found is None:
            raise LocaterError(f"The source has no frame {place}; give the one that was tracked.")
        self._check_size(found)
        return draw(found.pixels, self._all_masks(place))

    def to_supervision(self, frame: int) -> Any:
        """One frame's masks as `supervision.Detections`; `class_id` is the expression's number."""
        try:
            supervision = importlib.import_module("supervision")
        except ImportError:
            raise LocaterError(
                "This needs supervision, which is not installed; run: pip install supervision."
            ) from None
        place = self._place(frame)
        masks = self._all_masks(place)
        confidence = self.scores[place] or self.presence[place]
        kept = np.flatnonzero(masks.any(axis=(1, 2)))
        return supervision.Detections(
            xyxy=supervision.mask_to_xyxy(masks[kept]).astype(np.float32).reshape(-1, 4),
            mask=masks[kept],
            confidence=np.array([confidence[number] for number in kept], dtype=np.float32),
            class_id=kept,
            data={"class_name": np.array([self.expressions[number] for number in kept], dtype=np.str_)},
        )

    def save(
        self, folder: str | Path, formats: str | Sequence[str] = ("overlay", "png", "rle"), source: object = None
    ) -> None:
        """Write the named formats (docs/outputs.md) into `folder`, all or nothing; earlier results there are replaced.

        Those with pixels in them read the source again, by its path or as `source` gives it. Soft masks are not held,
        so in indexed PNGs a pixel that two sentences mark is the earlier one's.
        """
        wanted = with_images([formats] if isinstance(formats, str) else formats)
        has_pixels = any(FORMATS[name].needs_pixels for name in wanted)
        frames = self._read_again(self._source(source)) if has_pixels else self._without_pixels()
        with (
            results_folder(Path(folder), "MaskTrack.save", force=True) as partial,
            open_writers(wanted, partial, self.info, self.expressions) as writers,
        ):
            for place, frame in enumerate(frames):
                masks, presence = self._all_masks(place), self.presence[place]
                writers.write(FrameMasks(frame, masks, None, presence, score=self.scores[place]))

    def _source(self, given: object) -> FrameSource:
        if given is None and self.info.path is None:
            raise LocaterError("The track does not hold the frames themselves; give them again as source=.")
        return open_source(self.info.path if given is None else given)

    def _read_again(self, source: FrameSource) -> Iterator[Frame]:
        count = 0
        for frame in islice(source.frames(), len(self)):
            self._check_size(frame)
            yield Frame(count, self.timestamps[count], frame.pixels, self.names[count])
            count += 1
        if count < len(self):
            raise LocaterError(
                f"The source has {count} frames, the track {len(self)}; give the video that was tracked."
            )

    def _without_pixels(self) -> Iterator[Frame]:
        """Every frame, black, for writers that look at masks alone; it takes no memory."""
        black = np.broadcast_to(np.uint8(0), (self.height, self.width, 3))
        for place, timestamp in enumerate(self.timestamps):
            yield Frame(place, timestamp, black, self.names[place])

    def _check_size(self, frame: Frame) -> None:
        height, width = frame.pixels.shape[:2]
        if (height, width) != (self.height, self.width):
            raise LocaterError(
                f"The source is {width} x {height}, the track {self.width} x {self.height}; give the video that was "
                "tracked."
            )

    def _all_masks(self, place: int) -> npt.NDArray[np.bool_]:
        masks = [rle.decode(runs, self.height, self.width) for runs in self._runs[place]]
        return np.stack(masks) if masks else np.zeros((0, self.height, self.width), dtype=np.bool_)

    def _found(self, number: int) -> int:
        """In how many frames something is marked."""
        return sum(rle.area(runs[number]) > 0 for runs in self._runs)

    def _number(self, expression: int | str) -> int:
        if isinstance(expression, str) and expression in self.expressions:
            return self.expressions.index(expression)
        if isinstance(expression, str) or not -len(self.expressions) <= expression < len(self.expressions):
            known = ", ".join(repr(name) for name in self.expressions)
            raise LocaterError(f"There is no sentence {expression!r} in this track; choose from {known}.")
        return expression

    def _place(self, frame: int) -> int:
        if not -len(self) <= frame < len(self):
            raise LocaterError(f"There is no frame {frame} in this track; it has {len(self)}.")
        return frame % len(self)


def _thumbnail(result: FrameMasks) -> Pixels:
    """The frame with its masks, small: drawn at that size, because it is done while the video is segmented."""
    height, width = result.masks.shape[1:]
    scale = min(1.0, _THUMBNAIL_SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = Image.fromarray(result.frame.pixels).resize(size, Image.Resampling.BILINEAR)
    masks = [np.asarray(Image.fromarray(mask).resize(size, Image.Resampling.NEAREST)) for mask in result.masks]
    return draw(np.array(small), np.stack(masks) if masks else np.zeros((0, *size[::-1]), dtype=np.bool_))
