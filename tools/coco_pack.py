"""Makes a pack of the composed world from COCO's boxes with masks that a network found in them.

    python -m tools.coco_pack --objects train2017_*.jsonl.xz --pictures train2017 --leave-out instances.json --out coco

An objects file is JSON lines, compressed by xz, one line per picture:
  id             the picture is the file `id`.jpg, squashed to 256 x 256 pixels
  width, height  of the picture before it was squashed
  size           [256, 256]: rows and columns of the masks
  objects        [name, x0, y0, x1, y1, predicted IoU, stability, counts] each: a box in pixels, the network's two
                 scores of its mask, and the mask as COCO's compressed run lengths, "" where no good one was found
  small          [name, x0, y0, x1, y1] each: boxes too small for a mask
What follows in a list is not read. Crowds are not marked; they are guessed from the boxes inside them.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from locater.errors import LocaterError
from locater.io.pictures import pixels_of
from locater.worlds.composed.pack.cutouts import CutOut, Pixels, cut_out
from locater.worlds.composed.pack.holdout import HoldOut
from locater.worlds.composed.pack.nouns import broader_nouns, plain
from locater.worlds.composed.pack.pack import PackWriter
from locater.worlds.composed.pack.photographs import Marked, photograph
from locater.worlds.composed.pack.sources import MOST_TOUCHING, NOT_CUT, touching
from tools.coco_selection import SIDE, Candidate, Thing, Trust, candidates, select, sources_of

CUTOUT_SIDE = 160
MOST_CUT, MOST_PEOPLE_CUT = 150, 500  # cut-outs of a noun in train
MOST_WATCHED, MOST_HELD = 12, 72  # and in each of validation and test; of a held-out noun
MOST_HIDDEN = 0.12  # of a cut-out, inside the box of a thing that has no mask


def build(chosen: Sequence[Candidate], pictures: Path, hold_out: Sequence[str]) -> PackWriter:
    """A pack of the chosen photographs with their own things, and of their best cut-outs."""
    writer = PackWriter(CUTOUT_SIDE, SIDE, hold_out)
    offers: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
    for number, each in enumerate(chosen):
        named = [(place, thing, plain(thing.name)) for place, thing in enumerate(each.things)]
        marked = [Marked(thing.mask(), noun, broader_nouns(noun)) for p, thing, noun in named if p in each.trusted]
        vague = [noun for place, _, noun in named if place not in each.trusted]
        vague += [plain(thing.name) for thing in each.small]
        shot = photograph(_picture(pictures, each), marked, vague, each.source, SIDE)
        writer.add(replace(shot, aspect=each.aspect))
        for place, trust in each.trusted.items():
            thing, noun = each.things[place], named[place][2]
            if _may_be_cut(thing, noun, trust):
                rank = sum(thing.scores) + trust.fit + 0.5 * min(trust.share / 0.15, 1.0)
                offers[noun].append((rank, number, place))
    for noun, of_noun in sorted(offers.items()):
        most = {"train": MOST_PEOPLE_CUT if noun == "person" else MOST_CUT, "heldout": MOST_HELD}
        kept: Counter[str] = Counter()
        for _, number, place in sorted(of_noun, reverse=True):
            each = chosen[number]
            if kept[each.split] < most.get(each.split, MOST_WATCHED):
                cut = _cut(each, place, noun, pictures)
                if cut is not None:
                    writer.add(cut)
                    kept[each.split] += 1
    return writer


def _picture(pictures: Path, each: Candidate) -> Pixels:
    path = pictures / f"{each.source}.jpg"
    pixels = pixels_of(path)
    if pixels.shape != (SIDE, SIDE, 3):
        raise LocaterError(f"{path} is not {SIDE} x {SIDE} pixels; squash the pictures to that size first.")
    return pixels


def _may_be_cut(thing: Thing, noun: str, trust: Trust) -> bool:
    is_within = min(thing.box) > 2 and max(thing.box) < SIDE - 2
    is_good = thing.scores[0] >= 0.9 and thing.scores[1] >= 0.88 and trust.fit >= 0.8 and 0.012 <= trust.share <= 0.5
    return is_within and is_good and noun not in NOT_CUT and noun != "animal"


def _cut(each: Candidate, place: int, noun: str, pictures: Path) -> CutOut | None:
    """The cut-out in its picture's own shape; None where something lies on it or it is not whole."""
    mask = each.things[place].mask()
    unmasked = [*(thing for p, thing in enumerate(each.things) if p not in each.trusted), *each.small]
    for x0, y0, x1, y1 in (thing.box for thing in unmasked):
        if mask[y0:y1, x0:x1].sum() > MOST_HIDDEN * mask.sum():
            return None
    covered = np.sum([each.things[p].mask() for p in each.trusted], axis=0)
    if touching(mask, covered) > MOST_TOUCHING:
        return None
    size = (round(SIDE * max(each.aspect, 1.0)), round(SIDE * max(1 / each.aspect, 1.0)))  # no side gets shorter
    upright = np.asarray(Image.fromarray(_picture(pictures, each)).resize(size, Image.Resampling.BICUBIC))
    soft = Image.fromarray(mask.astype(np.uint8) * 255).resize(size, Image.Resampling.BILINEAR)
    alpha = np.asarray(soft, dtype=np.float32) / np.float32(255)
    return cut_out(upright, alpha, CUTOUT_SIDE, noun, broader_nouns(noun), each.source)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the pack is written."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.coco_pack", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objects", type=Path, nargs="+", required=True, help="Files of boxes and masks, as above.")
    parser.add_argument("--pictures", type=Path, required=True, help="The folder with the pictures.")
    parser.add_argument("--leave-out", type=Path, help="A COCO instance file whose pictures another pack has.")
    parser.add_argument(
        "--photographs", type=int, default=36_000, help="In train; validation and test get a fortieth of it each."
    )
    parser.add_argument("--hold-out", default="zebra,giraffe", help="Classes to hold out, as `locater data compose`.")
    parser.add_argument("--out", type=Path, required=True, help="The pack's folder.")
    given = parser.parse_args(arguments)
    try:
        if given.photographs < 1:
            raise LocaterError("A pack needs a photograph at least; give --photographs a number from 1.")
        hold_out = HoldOut.of(given.hold_out.split(","))
        left_out = sources_of(given.leave_out) if given.leave_out else frozenset()
        found = candidates(given.objects, left_out, hold_out)
        if not found:
            raise LocaterError("The --objects have no picture with anything to ask about; name others.")
        writer = build(select(found, given.photographs, hold_out), given.pictures, given.hold_out.split(","))
        writer.save(given.out)
    except LocaterError as error:
        sys.exit(str(error))
    things = sum(len(each.things) for each in writer.photographs)
    print(f"{given.out}: {len(writer.photographs)} photographs, {things} things, {len(writer.cutouts)} cut-outs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
