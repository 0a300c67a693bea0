"""(d) The time of several sentences on one clip: the visual encoder runs once for all."""

from collections.abc import Callable

import torch
from torch import Tensor

from locater.bench.harness.chart import Lines
from locater.bench.harness.checks import Check, agreement
from locater.bench.harness.clip import at_once, captured_clip, chunks_of, make_clip, network_masks, preset_model
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.timing import measure

FRAMES = 36
COUNTS = (1, 2, 4, 8)
AIM = 5.0  # times one sentence for eight of them, preset paper; sharing the visual encoder allows 4.5


def run(request: BenchRequest) -> Report:
    """The time of 1, 2, 4 and 8 sentences, and how many times that of one it is."""
    frames, counts = (3, (1, 2)) if request.is_quick else (FRAMES, COUNTS)
    chunks = chunks_of(request, preset_model(request))
    model = chunks.model
    size = model.config.image_size
    rows: list[Row] = []
    checks: list[Check] = []
    alone: dict[str, float] = {}
    with torch.inference_mode():
        first = at_once(chunks, make_clip(model, frames, 1, request.device))  # (1, T, h, w)
    for count in counts:
        clip = make_clip(model, frames, count, request.device)
        ways: dict[str, Callable[[], Callable[[], Tensor]]] = {"eager": lambda: lambda: at_once(chunks, clip)}  # noqa: B023
        if request.is_cuda:
            ways["CUDA graph"] = lambda: captured_clip(chunks, clip)  # noqa: B023
        for way, make in ways.items():
            with torch.inference_mode():
                work = make()
                check = agreement(f"{way}, {count} sentences, the first one's masks", first, work()[:1], request.dtype)
                checks.append(check)
                if not check.holds:
                    continue
                timing = measure(lambda work=work: network_masks(work(), size), request.device, request.repeats)  # type: ignore[misc]
            alone.setdefault(way, timing.median)
            rows.append(
                {
                    "sentences": count,
                    "way": way,
                    **timing.milliseconds(),
                    "times one": timing.median / alone[way],
                    "frames/s": frames / timing.median,
                }
            )
    series = {way: [(r["sentences"], r["times one"]) for r in rows if r["way"] == way] for way in alone}
    return Report(
        name="expressions",
        title=f"preset {request.preset} at {size} pixels, {frames} frames, sentences of 20 words, {request.precision}",
        timed="as in fps, the whole clip at once, for all sentences together.",
        columns=("sentences", "way", "median_ms", "lowest_ms", "highest_ms", "times one", "frames/s"),
        chart=Lines("Time of several sentences, in times of one", "sentences", "times one", series),
        rows=rows,
        checks=checks,
        notes=[f"Aim for eight sentences: at most {AIM:g} times one; the arithmetic bound of `paper` is 4.5."],
    )
