"""Makes one pack of several, such as one by `locater data compose` and one by `python -m tools.coco_pack`.

    python -m tools.merge_packs base coco --out merged

Encoded pictures are copied as they are. Where two packs have something of the same source picture, the later pack's is
kept. Classes that one of them holds out are held out of all. Photographs must have one size; of several sizes of
cut-outs the largest becomes the pack's.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from locater.errors import LocaterError
from locater.io.atomic import atomic_entries
from locater.io.text_files import read_json
from locater.worlds.composed.pack.holdout import HoldOut
from locater.worlds.composed.pack.nouns import broader_nouns
from locater.worlds.composed.pack.pack import CUTOUTS, FORMAT, INDEX, PHOTOGRAPHS, Bytes, Pack

FILES = {"cutouts": CUTOUTS, "photographs": PHOTOGRAPHS}
Index = dict[str, Any]


def merge(folders: Sequence[Path], out: Path) -> Pack:
    """The pack that is written to `out`."""
    packs = [Pack(folder) for folder in folders]  # refuses what is no pack
    if len({pack.photograph_side for pack in packs}) > 1:
        sides = ", ".join(f"{pack.photograph_side} in {pack.folder}" for pack in packs)
        raise LocaterError(f"The packs' photographs differ in size ({sides}); make them again with one size.")
    indices: list[Index] = [read_json(folder / INDEX) for folder in folders]
    held_out = sorted({noun for pack in packs for noun in pack.held_out})
    merged: Index = {
        "format": FORMAT,
        "cutout_side": max(pack.cutout_side for pack in packs),
        "photograph_side": packs[0].photograph_side,
        "held_out": held_out,
    }
    with atomic_entries(out) as partial:
        for kind, file in FILES.items():
            data = [np.load(folder / file, mmap_mode="r") for folder in folders]
            merged[kind], joined = _joined(kind, indices, data, HoldOut.of(held_out))
            np.save(partial / file, joined)
        (partial / INDEX).write_text(json.dumps(merged, separators=(",", ":")), encoding="utf-8")
    return Pack(out)


def _joined(kind: str, indices: Sequence[Index], data: Sequence[Bytes], hold_out: HoldOut) -> tuple[list[Index], Bytes]:
    """The entries that are kept, each with its new places, and the file that these lie in."""
    entries: list[Index] = []
    pieces: list[bytes] = []
    size = 0
    for number, entry in _kept(kind, indices):
        moved = dict(entry)
        for key in ("place", "numbers_place"):
            start, end = entry.get(key, (0, 0))
            if end > start:  # a photograph without things has no map of numbers
                pieces.append(data[number][start:end].tobytes())
                moved[key] = [size, size + end - start]
                size += end - start
        if _is_held(moved, hold_out):
            moved["split"] = "heldout"
        entries.append(moved)
    return entries, np.frombuffer(b"".join(pieces), dtype=np.uint8)


def _kept(kind: str, indices: Sequence[Index]) -> Iterator[tuple[int, Index]]:
    """Each entry whose source no later pack has, with the number of its pack."""
    for number, index in enumerate(indices):
        later = {entry["source"] for other in indices[number + 1 :] for each in FILES for entry in other[each]}
        yield from ((number, entry) for entry in index[kind] if entry["source"] not in later)


def _is_held(entry: Mapping[str, Any], hold_out: HoldOut) -> bool:
    """Whether a cut-out is of a held-out class, or a photograph shows one."""
    named = [(thing["noun"], thing["broader"]) for thing in entry.get("things", [entry])]
    named += [(noun, broader_nouns(noun)) for noun in entry.get("vague", ())]
    return any(hold_out.covering(noun, broader) for noun, broader in named)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the pack is written."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.merge_packs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packs", type=Path, nargs="+", help="Folders of packs, the one that gives way first.")
    parser.add_argument("--out", type=Path, required=True, help="The merged pack's folder.")
    given = parser.parse_args(arguments)
    try:
        pack = merge(given.packs, given.out)
    except LocaterError as error:
        sys.exit(str(error))
    things = sum(len(each.things) for each in pack.photographs)
    print(
        f"{given.out}: {len(pack.photographs)} photographs, {things} things, {len(pack.cutouts)} cut-outs, "
        f"{len(pack.nouns.broader)} nouns"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
