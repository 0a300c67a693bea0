"""The time of a frame on the CPU: plain float32 against each way that may be faster."""

import copy
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check, agreement
from locater.bench.harness.clip import DeviceClip, in_chunks, network_masks
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.timing import measure
from locater.bench.suites.precision import knows_the_demo, overlap
from locater.compute.precision import AUTO, dtype_of, find_precision
from locater.evaluation.metrics.packed_masks import PackedMask
from locater.export.onnx_files import export
from locater.export.runtime import ExportedModel
from locater.inference.chunk_length import CHUNK_FRAMES
from locater.inference.chunks import Chunks
from locater.inference.demo import demo_clip
from locater.inference.effort import Quality, effort_of
from locater.model.cast_model import cast_model
from locater.model.checkpoint import from_pretrained
from locater.model.compiled import compile_parts
from locater.model.locater import Locater
from locater.records import Frame
from locater.video.reader import open_source
from locater.worlds.shapes import ShapesWorld

PLAIN = "float32, eager"  # the quality best
# Of masks with plain float32's; `precision` says more of rounding, docs/results.md of what less work does to scores.
LEAST_IOU, LEAST_DEFAULT_IOU, LEAST_FAST_IOU = 0.98, 0.97, 0.9
Run = Callable[[], Tensor]  # logits (1, T, h, w)


def run(request: BenchRequest) -> Report:
    """Milliseconds per frame of every way, and how many times as fast as plain float32 it is."""
    request = replace(request, device=torch.device("cpu"))
    model = from_pretrained(request.trained).float().eval()
    video = _video(request, model)
    frames = len(video.frames)
    clip = video.seen_by(Chunks(model, is_replayed=False))
    rows: list[Row] = []
    checks: list[Check] = []
    notes: list[str] = []
    plain = 0.0
    reference: Tensor | None = None
    with tempfile.TemporaryDirectory() as folder:
        for name, make, least_iou in _ways(request, model, video, Path(folder)):
            with torch.inference_mode():
                try:
                    work = make()
                    logits = work()
                except Exception as error:  # a compiler or a package that this machine lacks
                    notes.append(f"{name}: missing here ({' '.join(str(error).split())[:160]})")
                    rows.append({"way": f"{name} (missing)"})
                    continue
                reference = logits if reference is None else reference
                check = _check(name, reference, logits, model.config.image_size, least_iou)
                checks.append(check)
                if not check.holds:
                    rows.append({"way": f"{name} (disagrees)"})
                    continue
                timing = measure(work, request.device, request.repeats)
            plain = plain or timing.median
            rows.append({"way": name, **timing.milliseconds(frames), "times as fast": plain / timing.median})
    height, width = clip.frames.shape[-2:]
    return Report(
        name="cpu",
        title=f"checkpoint {request.trained}, frames of {width} x {height}, {torch.get_num_threads()} threads, "
        "one sentence",
        timed="milliseconds per frame of the model alone: resized float frames to logits, in chunks of "
        f"{CHUNK_FRAMES}, the global memory's pass and the text encoder included, and of the qualities what redraws "
        "masks in crops of the video's own pixels.",
        columns=("way", "median_ms", "lowest_ms", "highest_ms", "times as fast"),
        chart=Bars(
            "The model on the CPU", "ms per frame", {r["way"]: r["median_ms"] for r in rows if "median_ms" in r}
        ),
        rows=rows,
        checks=checks,
        notes=notes,
    )


@dataclass(frozen=True)
class Video:
    """Some frames of a video at its own size, and a sentence that is true of it."""

    frames: Sequence[Frame]
    duration: float | None
    sentence: str

    def seen_by(self, chunks: Chunks) -> DeviceClip:
        """The video at the size in which a network sees it."""
        frames, times = chunks.input(self.frames, self.duration)
        return DeviceClip(frames, times, chunks.model.text.tokenize([self.sentence]))


def _video(request: BenchRequest, model: Locater) -> Video:
    """What the checkpoint is for: the demo clip, or a rendered video."""
    count = 8 if request.is_quick else 16
    if not knows_the_demo(model):
        return shapes_video(model.config.image_size, count)
    clip = demo_clip()
    source = open_source(clip.path)
    return Video(list(islice(source.frames(), count)), source.info.duration, clip.expressions[0])


def shapes_video(size: int, frames: int) -> Video:
    """The first frames of a rendered video."""
    world = ShapesWorld("test", count=1, size=size)
    info = world.samples()[0]
    source = world.load(info).frames
    return Video(list(islice(source.frames(), frames)), source.info.duration, info.expression)


def _check(name: str, reference: Tensor, logits: Tensor, size: int, least_iou: float | None) -> Check:
    """Logits where both are the same in float32, masks where one is rounded or made with less work."""
    if least_iou is None:
        return agreement(f"{name}, logits", reference, logits)
    ours, theirs = (map(PackedMask.of, network_masks(each, size)[0].numpy()) for each in (reference, logits))
    return Check(f"{name}, 1 - IoU of masks", 1 - float(overlap(ours, theirs)["mean"]), 1 - least_iou)


def _ways(
    request: BenchRequest, model: Locater, video: Video, folder: Path
) -> list[tuple[str, Callable[[], Run], float | None]]:
    """A name, what makes the work, and the IoU that its masks must have with plain float32's; None: equal logits."""

    def plain(network: Locater) -> Run:
        chunks = Chunks(network, is_replayed=False)
        clip = video.seen_by(chunks)
        return lambda: in_chunks(chunks, clip)

    def channels_last() -> Run:
        return plain(copy.deepcopy(model).to(memory_format=torch.channels_last))  # type: ignore[call-overload]

    def compiled() -> Run:
        fused = copy.deepcopy(model)
        compile_parts(fused)
        return plain(fused)

    def of_quality(quality: Quality) -> Run:
        network = cast_model(model, dtype_of(find_precision(AUTO, request.device)))
        chunks = Chunks(network, is_replayed=False, effort=effort_of(quality, request.device))
        clip = video.seen_by(chunks)
        return lambda: in_chunks(chunks, clip, own=video.frames)

    ways: list[tuple[str, Callable[[], Run], float | None]] = [
        (PLAIN, lambda: plain(model), None),
        ("float32, channels last", channels_last, None),
        ("bfloat16", lambda: plain(cast_model(model, torch.bfloat16)), LEAST_IOU),
        ("the quality default", lambda: of_quality("default"), LEAST_DEFAULT_IOU),
        ("the quality fast", lambda: of_quality("fast"), LEAST_FAST_IOU),
    ]
    if request.is_quick:  # exporting and compiling take a minute
        return ways
    clip = video.seen_by(Chunks(model, is_replayed=False))
    ways.append(("float32, onnxruntime", lambda: exported_run(model, clip, folder), None))
    if request.is_compiled:
        ways.append(("float32, compiled", compiled, None))
    return ways


def exported_run(model: Locater, clip: DeviceClip, folder: Path) -> Run:
    """The exported network in onnxruntime, with as many threads as PyTorch has."""
    with torch.inference_mode(False):
        export(copy.deepcopy(model), folder / "onnx")
    exported = ExportedModel(folder / "onnx", torch.get_num_threads())
    frames, times = clip.frames[0].numpy(), clip.times[0].numpy()
    sampled = range(0, len(frames), model.config.memory.interval)

    def logits() -> Tensor:
        words = exported.read(clip.tokens.numbers.numpy(), clip.tokens.word_of_token.numpy())
        found = exported.logits(frames, times, words, CHUNK_FRAMES, sampled)
        return torch.from_numpy(np.stack(list(found), axis=1))

    return logits
