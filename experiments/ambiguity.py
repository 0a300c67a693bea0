"""Does asking again tell that a sentence fits two? `python -m experiments.ambiguity --checkpoint shapes --out FILE`.

Each question of the failure types, and of the shapes world's own kinds, is answered, its answer painted over, and asked
again (`locater segment --ask-again`). Of questions that fit two things it is also measured what the first answer's soft
masks have on either of them: could they tell as well?
"""

import argparse
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

import locater
from locater.inference.averaged_views import PLAIN
from locater.inference.telling.asking_again import AskingAgain
from locater.records import FrameResult, Mask, Sample
from locater.worlds.composed import ComposedWorld
from locater.worlds.failures.composed import ComposedFailures
from locater.worlds.failures.shapes import ShapesFailures
from locater.worlds.failures.world import FailureWorld
from locater.worlds.shapes import ShapesWorld


def main() -> None:
    """Ask, ask again, and print a row for each kind of question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", default="shapes")
    parser.add_argument("--pack", help="of cut-outs; else shapes are drawn")
    parser.add_argument("--count", type=int, default=50, help="scenes of each failure type")
    parser.add_argument("--ordinary", type=int, default=90, help="videos of the world's own kinds, in turn")
    parser.add_argument("--out", type=Path, required=True, help="JSON with every answer")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    segmenter = locater.load(asked.checkpoint, "cpu", "float32")
    failures: FailureWorld[Any] = ShapesFailures("test", asked.count)
    ordinary: ShapesWorld | ComposedWorld = ShapesWorld("test", asked.ordinary)
    if asked.pack:
        failures = ComposedFailures(Path(asked.pack), "test", asked.count)
        ordinary = ComposedWorld(Path(asked.pack), "test", asked.ordinary)
    rows = []
    for info in failures.samples():
        rows.append(_answered(segmenter, failures.load(info), failures.meant(info)))
        asked.out.write_text(json.dumps(rows))
    for info in ordinary.samples():
        rows.append(_answered(segmenter, ordinary.load(info), ()))
        asked.out.write_text(json.dumps(rows))
    for kind in dict.fromkeys(row["kind"] for row in rows):
        print(_line(kind, [row for row in rows if row["kind"] == kind]))


def _answered(segmenter: locater.Segmenter, sample: Sample, meant: Sequence[Mapping[int, Mask]]) -> dict[str, Any]:
    info = sample.info
    results = list(segmenter.segment(sample.frames, info.expression, soft=True, mode="file", anyway=True))
    again = AskingAgain()
    for result in results:
        again.take(result)
    return {
        "kind": info.kind,
        "key": info.key,
        "expression": info.expression,
        "marked": sum(int(result.masks.sum()) for result in results),
        "says_two": again.fits_second(segmenter, info.expression, 0, sample.frames.info, PLAIN),
        "soft": sorted((_soft_on(results, masks) for masks in meant), reverse=True),
    }


def _soft_on(results: Sequence[FrameResult], masks: Mapping[int, Mask]) -> float:
    """The mean of the soft masks on a thing, over all frames."""
    total = pixels = 0.0
    for index, result in enumerate(results):
        assert result.soft_masks is not None  # asked for
        total += float(result.soft_masks[0][masks[index]].sum())
        pixels += float(masks[index].sum())
    return total / max(1.0, pixels)


def _line(kind: str, rows: Sequence[dict[str, Any]]) -> str:
    marked = [row for row in rows if row["marked"]]
    said = sum(row["says_two"] for row in rows)
    told = f"{kind:<12}{len(rows):>4} questions, {len(marked):>3} marked, {said:>3} said two"
    pairs = [row["soft"] for row in marked if len(row["soft"]) == 2]
    if pairs:
        stronger, weaker = (sum(pair[place] for pair in pairs) / len(pairs) for place in (0, 1))
        told += f"; soft mask on the stronger {stronger:.3f}, on the weaker {weaker:.3f}"
    return told


if __name__ == "__main__":
    main()
