"""`locater-lite EXPORTED clip.mp4 "the dog on the left" --out masks`."""

import argparse
import re
import shutil
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from locater_lite.errors import LocaterError
from locater_lite.lite import Lite
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
    started, first = time.perf_counter(), 0.0
    if asked.out.exists():
        raise LocaterError(f"{asked.out} exists; choose another folder, or remove it.")
    if not asked.fps > 0:
        raise LocaterError(f"{asked.fps} frames per second is not possible; give a number above zero.")
    source = open_source(asked.video, asked.fps)
    lite = Lite(asked.exported, best=asked.best, threads=asked.threads)
    results = lite.segment(source, asked.fps, asked.sentences, live=asked.live, anyway=asked.anyway)
    partial = asked.out.with_name(asked.out.name + ".partial")
    names = [f"{row}_{_plain(text)}" for row, text in enumerate(asked.sentences, start=1)]
    marked, scores, frames = np.zeros(len(names), int), np.zeros(len(names)), 0
    try:
        for name in names:
            (partial / name).mkdir(parents=True)
        for index, found in enumerate(results):
            frames += 1
            first = first or time.perf_counter() - started
            marked += found.masks.any((1, 2))
            scores += found.scores or np.nan
            for name, mask in zip(names, found.masks, strict=True):
                Image.fromarray(mask).save(partial / name / f"{index:05d}.png")
        if not frames:
            raise LocaterError(f"{asked.video} holds no frames; give a video with at least one.")
        partial.rename(asked.out)
    except OSError as error:
        raise LocaterError(f"{asked.out} cannot be written: {(error.strerror or str(error)).lower()}.") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    for text, count, total in zip(asked.sentences, marked, scores, strict=True):
        told = "" if np.isnan(total) else f", mean score {total / frames:.2f}"
        print(f"{text}: marked in {count} of {frames} frames{told}")
    print(f"{frames} frames in {time.perf_counter() - started:.1f} s, the first after {first:.1f} s: {asked.out}")


def _plain(text: str) -> str:
    """A sentence as a file's name."""
    return re.sub(r"\W+", "_", text)[:40].strip("_")
