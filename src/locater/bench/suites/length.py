"""(c) Peak memory by the length of the video, streamed through the real segmenter."""

import gc
import time
from collections.abc import Iterator

import numpy as np
import torch

from locater.bench.harness.chart import Lines
from locater.bench.harness.checks import Check
from locater.bench.harness.clip import preset_model, sentences_of
from locater.bench.harness.peaks import can_tell_process_peak, process_peak, restart_process_peak
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.errors import LocaterError
from locater.inference.segmenter import Segmenter
from locater.records import Frame, VideoInfo

LENGTHS = (100, 1_000, 10_000)
# The GPU's allocator counts to the byte what was request for (what it holds depends on which blocks were free: peaks of
# equal videos differed by 3 MB). A process also keeps what its libraries and the interpreter have freed.
CUDA_LIMIT, PROCESS_LIMIT = 0.0, 32.0  # MB


class GeneratedFrames:
    """A video of any length whose frames are made as they are read: a few pictures, over and over."""

    is_repeatable = True

    def __init__(self, count: int, size: int) -> None:
        self.info = VideoInfo("generated", size, size, count, 24.0, count / 24)
        self._count = count
        self._pictures = np.random.default_rng(0).integers(0, 256, (4, size, size, 3), dtype=np.uint8)

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..."""
        for index in range(start, self._count, every):
            yield Frame(index, index / 24, self._pictures[index % len(self._pictures)])


def run(request: BenchRequest) -> Report:
    """Peak memory and time per frame of short and long videos."""
    if not request.is_cuda and not can_tell_process_peak():
        raise LocaterError("Peak memory is told by Linux or by a CUDA device alone; run this benchmark on one.")
    lengths = (40, 80) if request.is_quick else LENGTHS
    segmenter = Segmenter(preset_model(request), request.device, request.precision)
    size = segmenter.config.image_size
    # Libraries take what they keep, and graphs are captured, those of pass one too: it needs two chunks of samples.
    _peak_of(segmenter, GeneratedFrames(lengths[1], size), request)
    rows: list[Row] = []
    for length in lengths:
        began = time.perf_counter()
        peak, above, state_bytes = _peak_of(segmenter, GeneratedFrames(length, size), request)
        rows.append(
            {
                "frames": length,
                "peak_MB": peak / 1e6,
                "above_start_MB": above / 1e6,
                "state_MB": state_bytes / 1e6,
                "ms per frame": 1e3 * (time.perf_counter() - began) / length,
            }
        )
    kind = "what was request of the GPU's allocator, its" if request.is_cuda else "the process's resident"
    grown = rows[-1]["peak_MB"] - rows[0]["peak_MB"]
    limit = CUDA_LIMIT if request.is_cuda else PROCESS_LIMIT
    return Report(
        name="length",
        title=f"preset {request.preset} at {size} pixels, one sentence, {request.precision}, chunks as the segmenter's",
        timed=f"peak is {kind} highest memory while the whole video is streamed through Segmenter.segment, both "
        "passes; frames are made as they are read and masks are dropped. The time is of the whole loop, with resizing "
        "on the CPU.",
        columns=("frames", "peak_MB", "above_start_MB", "state_MB", "ms per frame"),
        chart=Lines("Peak memory by video length", "frames", "MB", {kind: [(r["frames"], r["peak_MB"]) for r in rows]}),
        rows=rows,
        checks=[Check(f"MB more at {lengths[-1]:,} frames than at {lengths[0]:,}", max(0.0, grown), limit)],
    )


def _peak_of(segmenter: Segmenter, source: GeneratedFrames, request: BenchRequest) -> tuple[int, int, int]:
    """The highest memory during one video, how much of it is above the memory before, and the state's bytes."""
    gc.collect()
    if request.is_cuda:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    else:
        before = restart_process_peak()
    state_bytes = 0
    for result in segmenter.segment(source, sentences_of(1), anyway=True):
        state_bytes = result.state.nbytes
    peak = torch.cuda.memory_stats()["requested_bytes.all.peak"] if request.is_cuda else process_peak()
    return peak, peak - before, state_bytes
