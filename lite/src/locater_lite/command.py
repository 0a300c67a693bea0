"""`locater-lite EXPORTED clip.mp4 "the dog on the left" --out masks`."""

import argparse
import re
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from locater_lite.errors import LocaterError
from locater_lite.lite import Lite, Segmented
from locater_lite.pixels import Array
from locater_lite.sources import open_source


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; what a person can put right ends it with one sentence and 2."""
    asked = _parser().parse_args(arguments)
    warnings.showwarning = lambda message, *_, **__: print(f"Note: {message}", file=sys.stderr)
    try:
        _write(asked)
    except LocaterError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("Interrupted; nothing half-written is left.", file=sys.stderr)
        raise SystemExit(130) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("locater-lite", description="Segment a video by sentences, without PyTorch.")
    parser.add_argument("exported", type=Path, help="Folder that `locater export` made.")
    parser.add_argument("video", type=Path, help="Video file (with PyAV) or folder of pictures.")
    parser.add_argument("sentences", nargs="+", help="What to segment, as 'the dog on the left'.")
    parser.add_argument("--out", type=Path, required=True, help="New folder for the masks, one PNG per frame.")
    parser.add_argument("--fps", type=float, default=24.0, help="Frames per second of a folder of pictures.")
    parser.add_argument("--best", action="store_true", help="Refine masks in whole frames: slower, a little sharper.")
    parser.add_argument("--live", action="store_true", help="Read the video once, as a stream comes.")
    parser.add_argument("--anyway", action="store_true", help="Go on where a noun is not understood.")
    parser.add_argument("--threads", type=int, help="CPU threads; all cores by default.")
    return parser


def _write(asked: argparse.Namespace) -> None:
    started = time.perf_counter()
    if asked.out.exists():
        raise LocaterError(f"{asked.out} exists; choose another folder, or remove it.")
    if not asked.fps > 0:
        raise LocaterError(f"{asked.fps} frames per second is not possible; give a number above zero.")
    if asked.threads is not None and asked.threads < 1:
        raise LocaterError(f"{asked.threads} threads cannot compute; give a number above zero.")
    source = open_source(asked.video, asked.fps)
    lite = Lite(asked.exported, best=asked.best, threads=asked.threads)
    results = lite.segment(source, asked.fps, asked.sentences, live=asked.live, anyway=asked.anyway)
    try:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        # In a folder of its own beside it, so that it is there whole or not at all.
        with TemporaryDirectory(prefix=f".{asked.out.name}.", dir=asked.out.parent) as scratch:
            found = _written(results, asked.sentences, Path(scratch) / "masks", started)
            if not found.frames:
                raise LocaterError(f"{asked.video} holds no frames; give a video with at least one.")
            (Path(scratch) / "masks").rename(asked.out)
    except OSError as error:
        raise LocaterError(f"{asked.out} cannot be written: {(error.strerror or str(error)).lower()}.") from None
    for text, count, total in zip(asked.sentences, found.marked, found.scores, strict=True):
        told = "" if np.isnan(total) else f", mean score {total / found.frames:.2f}"
        print(f"{text}: marked in {count} of {found.frames} frames{told}")
    seconds = time.perf_counter() - started
    print(f"{found.frames} frames in {seconds:.1f} s, the first after {found.first:.1f} s: {asked.out}")


@dataclass
class _Found:
    """What was written: of each sentence, in how many frames it is marked, and its scores' sum."""

    marked: Array
    scores: Array
    frames: int = 0
    first: float = 0.0  # seconds until the first frame was there


def _written(results: Iterable[Segmented], sentences: Sequence[str], folder: Path, started: float) -> _Found:
    """What is found, once each frame's masks are in a folder for each sentence in a new folder."""
    folders = [folder / f"{row}_{_plain(text)}" for row, text in enumerate(sentences, start=1)]
    for each in folders:
        each.mkdir(parents=True)
    found = _Found(np.zeros(len(folders), int), np.zeros(len(folders)))
    for index, result in enumerate(results):
        found.frames += 1
        found.first = found.first or time.perf_counter() - started
        found.marked += result.masks.any((1, 2))
        found.scores += np.nan if result.scores is None else result.scores
        for each, mask in zip(folders, result.masks, strict=True):
            Image.fromarray(mask).save(each / f"{index:05d}.png")
    return found


def _plain(text: str) -> str:
    """A sentence as a file's name."""
    return re.sub(r"\W+", "_", text)[:40].strip("_")
