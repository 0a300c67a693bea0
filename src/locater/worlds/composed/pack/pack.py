"""A pack: everything the composed world needs, in one small folder that loads at once.

`index.json` describes; `cutouts.npy` and `photographs.npy` are WebP pictures one after the other, read through a
memory map and decoded when first drawn. Encoded, because raw pixels would be ten times as large, and packs travel.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from locater.errors import LocaterError
from locater.io.results_folder import check_results_folder, results_folder
from locater.worlds.composed.pack.cutouts import CutOut, Pixels
from locater.worlds.composed.pack.holdout import HoldOut
from locater.worlds.composed.pack.nouns import Nouns, broader_nouns
from locater.worlds.composed.pack.photographs import Photograph, Shown
from locater.worlds.composed.pack.roles import with_roles

FORMAT = 1
INDEX, CUTOUTS, PHOTOGRAPHS = "index.json", "cutouts.npy", "photographs.npy"
_FILES = (INDEX, CUTOUTS, PHOTOGRAPHS)
Bytes = npt.NDArray[np.uint8]
# Photographs are most of a pack: at 80 they were a quarter larger, for 2 dB more. AVIF was a tenth smaller than WebP at
# the same error, and eight times as slow to write.
_CUTOUT_QUALITY, _PHOTOGRAPH_QUALITY = 88, 70


@dataclass(frozen=True)
class CutOutEntry:
    """A cut-out without its pixels; `CutOut` says what the fields mean."""

    noun: str
    broader: tuple[str, ...]
    colour: str
    doubtful_colours: tuple[str, ...]
    source: str
    is_sprite: bool
    centre: tuple[float, float]
    radius: float
    reach: float
    tone: tuple[float, float, float]
    split: str
    place: tuple[int, int]  # in the file: from, to


@dataclass(frozen=True)
class PhotographEntry:
    """A photograph without its pixels; `Photograph` says what the fields mean."""

    aspect: float
    things: tuple[Shown, ...]
    vague: tuple[str, ...]
    source: str
    tones: tuple[tuple[float, ...], ...]
    split: str
    place: tuple[int, int]
    numbers_place: tuple[int, int]


def split_of(source: str) -> str:
    """The split of everything from one source image: four fifths train, a tenth validation, a tenth test."""
    share = int.from_bytes(hashlib.sha256(source.encode()).digest()[:4], "big") % 100
    return "train" if share < 80 else "validation" if share < 90 else "test"


class PackWriter:
    """Takes cut-outs and photographs one by one, and writes the pack."""

    def __init__(self, cutout_side: int, photograph_side: int, held_out: Sequence[str] = ()) -> None:
        self.cutout_side = cutout_side
        self.photograph_side = photograph_side
        self.hold_out = HoldOut.of(held_out)
        self.held_out: set[str] = set()  # classes met
        self.cutouts: list[CutOutEntry] = []
        self.photographs: list[PhotographEntry] = []
        self._cutout_files = _Files()
        self._photograph_files = _Files()

    def add(self, found: CutOut | Photograph) -> None:
        """Keep it."""
        if isinstance(found, CutOut):
            held = self.hold_out.covering(found.noun, found.broader)
            self.held_out |= {held} - {""}
            place = self._cutout_files.add(_encoded(found.pixels, _CUTOUT_QUALITY))
            facts = {key: value for key, value in vars(found).items() if key != "pixels"}
            self.cutouts.append(CutOutEntry(**facts, split="heldout" if held else split_of(found.source), place=place))
            return
        named = [(thing.noun, thing.broader) for thing in found.things]
        named += [(noun, broader_nouns(noun)) for noun in found.vague]
        is_held = any(self.hold_out.covering(noun, broader) for noun, broader in named)
        facts = {key: value for key, value in vars(found).items() if key not in ("pixels", "numbers")}
        numbers = self._photograph_files.add(_encoded(found.numbers, quality=None)) if found.things else (0, 0)
        place = self._photograph_files.add(_encoded(found.pixels, _PHOTOGRAPH_QUALITY))
        split = "heldout" if is_held else split_of(found.source)
        self.photographs.append(PhotographEntry(**facts, split=split, place=place, numbers_place=numbers))

    def save(self, folder: Path) -> None:
        """Write the pack, whole or not at all."""
        index = {
            "format": FORMAT,
            "cutout_side": self.cutout_side,
            "photograph_side": self.photograph_side,
            "held_out": sorted(self.held_out),
            "cutouts": [_short(asdict(entry)) for entry in self.cutouts],
            "photographs": [_short(asdict(entry)) for entry in self.photographs],
        }
        with results_folder(folder, "locater data compose", force=True, known_by=_FILES) as partial:
            (partial / INDEX).write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")
            np.save(partial / CUTOUTS, self._cutout_files.joined())
            np.save(partial / PHOTOGRAPHS, self._photograph_files.joined())


def check_pack_folder(folder: Path, force: bool) -> None:
    """Nothing, where a pack may be saved; an earlier one needs `force`."""
    check_results_folder(folder, force=force, known_by=_FILES)


class Pack:
    """What a `PackWriter` saved; pictures are decoded as they are asked for."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            index = json.loads((self.folder / INDEX).read_text(encoding="utf-8"))
            if index["format"] != FORMAT:
                raise LocaterError(f"{folder} is a pack of another version; make it again with `locater data compose`.")
            self.cutout_side = int(index["cutout_side"])
            self.photograph_side = int(index["photograph_side"])
            self.held_out = tuple(index["held_out"])
            self.cutouts = tuple(CutOutEntry(**_tuples(each)) for each in index["cutouts"])
            self.photographs = tuple(_photograph_entry(each) for each in index["photographs"])
            self._cutout_bytes: Bytes = np.load(self.folder / CUTOUTS, mmap_mode="r")
            self._photograph_bytes: Bytes = np.load(self.folder / PHOTOGRAPHS, mmap_mode="r")
        except (OSError, KeyError, TypeError, ValueError):
            raise LocaterError(f"{folder} is no pack of cut-outs; make one with `locater data compose`.") from None

    def __reduce__(self) -> tuple[type["Pack"], tuple[Path]]:
        return Pack, (self.folder,)  # worker processes map the files themselves

    @cached_property
    def nouns(self) -> Nouns:
        """Every noun of the pack."""
        named: dict[str, tuple[str, ...]] = {}
        for entry in self.cutouts:
            named[entry.noun] = entry.broader
        for photograph in self.photographs:
            named |= {thing.noun: thing.broader for thing in photograph.things}
        return Nouns(named)

    def cutout_pixels(self, number: int) -> Pixels:
        """A cut-out's (H, W, 4) pixels, not premultiplied."""
        return _decoded(self._cutout_bytes, self.cutouts[number].place, "RGBA")

    def photograph_pixels(self, number: int) -> Pixels:
        """A photograph's (S, S, 3) pixels."""
        return _decoded(self._photograph_bytes, self.photographs[number].place, "RGB")

    def photograph_numbers(self, number: int) -> Pixels:
        """The (S, S) map of which thing each pixel of a photograph belongs to."""
        place = self.photographs[number].numbers_place
        if place[0] == place[1]:
            return np.zeros((self.photograph_side, self.photograph_side), dtype=np.uint8)
        return np.ascontiguousarray(_decoded(self._photograph_bytes, place, "RGB")[..., 0])


class _Files:
    """Encoded pictures one after the other."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, encoded: bytes) -> tuple[int, int]:
        """Where it lies: from, to."""
        self._parts.append(encoded)
        start, self._size = self._size, self._size + len(encoded)
        return start, self._size

    def joined(self) -> Bytes:
        """All of them as one array."""
        return np.frombuffer(b"".join(self._parts), dtype=np.uint8)


def _encoded(pixels: Pixels, quality: int | None) -> bytes:
    """A WebP file; without a quality nothing is lost."""
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[..., None], 3, axis=2)
    file = io.BytesIO()
    image = Image.fromarray(pixels)
    if quality is None:
        image.save(file, "WEBP", lossless=True)
    else:
        image.save(file, "WEBP", quality=quality, method=4)
    return file.getvalue()


def _decoded(data: Bytes, place: tuple[int, int], mode: str) -> Pixels:
    with Image.open(io.BytesIO(data[place[0] : place[1]].tobytes())) as image:
        return np.asarray(image.convert(mode), dtype=np.uint8)


def _short(value: Any) -> Any:
    """The same with seven digits per number: a third of an index was digits that nobody needs."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    return [_short(each) for each in value] if isinstance(value, list | tuple) else value


def _photograph_entry(facts: Mapping[str, Any]) -> PhotographEntry:
    things = with_roles([Shown(**_tuples(thing)) for thing in facts["things"]])
    rest = _tuples({key: value for key, value in facts.items() if key != "things"})
    return PhotographEntry(things=things, **rest)


def _tuples(facts: Mapping[str, Any]) -> dict[str, Any]:
    """JSON's lists as the tuples they were."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
