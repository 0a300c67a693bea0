"""Builds a pack from sources: what `locater data compose` runs."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.errors import LocaterError
from locater.worlds.composed.pack.cutouts import CutOut
from locater.worlds.composed.pack.pack import PackWriter
from locater.worlds.composed.pack.photographs import TONE_CELLS
from locater.worlds.composed.pack.sources import Found, backgrounds, coco, masked_pictures, photo_cutouts, sprites

SIDE_STEP = 16  # sides are multiples of it: textures are halved four times


@dataclass(frozen=True)
class Sources:
    """What to cut out and what to compose on."""

    coco: Sequence[tuple[Path, Path]] = ()  # instance file, folder of images
    masks: Sequence[tuple[str, Path, Path]] = ()  # class, folder of images, folder of masks
    sprites: Sequence[Path] = ()
    backgrounds: Sequence[Path] = ()
    cutouts: Sequence[tuple[Path, Path]] = ()  # file of masks, folder of its photographs


@dataclass(frozen=True)
class Limits:
    """How large a pack may become."""

    per_noun: int = 100  # cut-outs of each source
    photographs: int = 1500  # of each source
    cutout_side: int = 160
    photograph_side: int = 256


@dataclass(frozen=True)
class Composed:
    """What a new pack holds."""

    cutouts: int
    nouns: int
    photographs: int
    things: int  # with their own masks in photographs
    held_out: int  # cut-outs of held-out classes
    megabytes: float


def compose(
    sources: Sources,
    out: Path,
    held_out: Sequence[str] = (),
    limits: Limits | None = None,
    listen: Callable[[int], None] | None = None,
) -> Composed:
    """Write a pack; `held_out` are nouns, and a share such as "5%"; `listen` hears how many pictures were looked at."""
    limits = limits or Limits()
    for side in (limits.cutout_side, limits.photograph_side):
        if side < 32 or side % SIDE_STEP or side % TONE_CELLS:
            raise LocaterError(f"A side of {side} pixels does not fit; choose a multiple of {SIDE_STEP} from 32 on.")
    writer = PackWriter(limits.cutout_side, limits.photograph_side, held_out)
    for stream in _streams(sources, limits):
        per_noun = Counter[str]()  # of each source: the first must not keep out what others have of the same noun
        photographs = 0
        for found in stream:
            if isinstance(found, CutOut):
                per_noun[found.noun] += 1
                if per_noun[found.noun] > limits.per_noun:
                    continue
            else:
                photographs += 1
                if listen is not None:
                    listen(photographs)
                if photographs > limits.photographs:
                    continue
            writer.add(found)
    if not writer.cutouts:
        raise LocaterError(
            "No cut-out was found; give --coco, --masks, --cutouts or --sprites with whole, large enough objects."
        )
    if not writer.photographs:
        raise LocaterError("There is nothing to compose on; give --backgrounds, --coco, --masks or --cutouts.")
    unknown = writer.hold_out.nouns - {noun for entry in writer.cutouts for noun in (entry.noun, *entry.broader)}
    if unknown:
        raise LocaterError(f"There is no cut-out of the held-out class '{min(unknown)}'; leave it out of --hold-out.")
    writer.save(out)
    return Composed(
        cutouts=len(writer.cutouts),
        nouns=len({entry.noun for entry in writer.cutouts}),
        photographs=len(writer.photographs),
        things=sum(len(entry.things) for entry in writer.photographs),
        held_out=sum(entry.split == "heldout" for entry in writer.cutouts),
        megabytes=sum(path.stat().st_size for path in out.iterdir()) / 1e6,
    )


def _streams(sources: Sources, limits: Limits) -> Iterator[Iterator[Found]]:
    cutout, photograph = limits.cutout_side, limits.photograph_side
    yield from (coco(file, images, cutout, photograph) for file, images in sources.coco)
    yield from (masked_pictures(name, images, masks, cutout, photograph) for name, images, masks in sources.masks)
    yield from (photo_cutouts(file, photos, cutout, photograph) for file, photos in sources.cutouts)
    yield from (sprites(folder, cutout) for folder in sources.sprites)
    yield from (iter(backgrounds(folder, photograph)) for folder in sources.backgrounds)
