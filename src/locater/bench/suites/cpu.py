"""The time of a frame on the CPU: plain float32 against each way that may be faster."""

import copy
import tempfile
from collections.abc import Callable
from dataclasses import replace
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
from locater.bench.suites.precision import overlap
from locater.export.onnx_files import export
from locater.export.runtime import ExportedModel
from locater.inference.chunks import Chunks
from locater.inference.segmenter import CHUNK_FRAMES
from locater.model.cast_model import cast_model
from locater.model.checkpoint import from_pretrained
from locater.model.compiled import compile_parts
from locater.model.locater import Locater
from locater.video.transforms import frame_times, frames_to_tensor
from locater.worlds.shapes import ShapesWorld

PLAIN = "float32, eager"
AIM = 2.0  # times as fast as plain float32
LEAST_IOU = 0.98  # of masks with plain float32's; precision says more
Run = Callable[[], Tensor]  # logits (1, T, h, w)


def run(request: BenchRequest) -> Report:
    """Milliseconds per frame of every way, and how many times as fast as plain float32 it is."""
    request = replace(request, device=torch.device("cpu"))
    model = from_pretrained(request.trained).float().eval()
    clip = shapes_clip(model, CHUNK_FRAMES if request.is_quick else 2 * CHUNK_FRAMES)
    frames, size = clip.frames.shape[1], model.config.image_size
    with torch.inference_mode():
        reference = in_chunks(Chunks(model, is_replayed=False), clip)
    rows: list[Row] = []
    checks: list[Check] = []
    notes: list[str] = []
    plain = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, make, is_reduced in _ways(request, model, clip, Path(folder)):
            with torch.inference_mode():
                try:
                    work = make()
                    logits = work()
                except Exception as error:  # a compiler or a package that this machine lacks
                    notes.append(f"{name}: missing here ({' '.join(str(error).split())[:160]})")
                    rows.append({"way": f"{name} (missing)"})
                    continue
                check = _check(name, reference, logits, size, is_reduced)
                checks.append(check)
                if not check.holds:
                    rows.append({"way": f"{name} (disagrees)"})
                    continue
                timing = measure(work, request.device, request.repeats)
            plain = plain or timing.median
            rows.append({"way": name, **timing.milliseconds(frames), "times as fast": plain / timing.median})
    return Report(
        name="cpu",
        title=f"checkpoint {request.trained} at {size} pixels, {torch.get_num_threads()} threads, one sentence",
        timed="milliseconds per frame of the model alone: resized float frames to logits, in chunks of "
        f"{CHUNK_FRAMES}, the global memory's pass and the text encoder included.",
        columns=("way", "median_ms", "lowest_ms", "highest_ms", "times as fast"),
        chart=Bars(
            "The model on the CPU", "ms per frame", {r["way"]: r["median_ms"] for r in rows if "median_ms" in r}
        ),
        rows=rows,
        checks=checks,
        notes=[*notes, f"Aim: {AIM:g} times as fast as plain float32."],
    )


def shapes_clip(model: Locater, frames: int) -> DeviceClip:
    """The first frames of a rendered video, at the network's size, with a sentence that is true of it."""
    size = model.config.image_size
    world = ShapesWorld("test", count=1, size=size)
    info = world.samples()[0]
    source = world.load(info).frames
    pictures = list(islice(source.frames(), frames))
    return DeviceClip(
        frames=frames_to_tensor([frame.pixels for frame in pictures], (size, size))[None],
        times=frame_times(pictures, source.info.duration)[None],
        tokens=model.text.tokenize([info.expression]),
    )


def _check(name: str, reference: Tensor, logits: Tensor, size: int, is_reduced: bool) -> Check:
    """Logits where both are float32, masks where one is rounded."""
    if not is_reduced:
        return agreement(f"{name}, logits", reference, logits)
    ours, theirs = (network_masks(each, size)[0].numpy() for each in (reference, logits))
    return Check(f"{name}, 1 - IoU of masks", 1 - float(overlap(list(ours), list(theirs))["mean"]), 1 - LEAST_IOU)


def _ways(
    request: BenchRequest, model: Locater, clip: DeviceClip, folder: Path
) -> list[tuple[str, Callable[[], Run], bool]]:
    """A name, what makes the work, and whether it is done in bfloat16."""

    def plain(network: Locater) -> Run:
        chunks = Chunks(network, is_replayed=False)
        return lambda: in_chunks(chunks, clip)

    def channels_last() -> Run:
        return plain(copy.deepcopy(model).to(memory_format=torch.channels_last))  # type: ignore[call-overload]

    def compiled() -> Run:
        fused = copy.deepcopy(model)
        compile_parts(fused)
        return plain(fused)

    ways: list[tuple[str, Callable[[], Run], bool]] = [
        (PLAIN, lambda: plain(model), False),
        ("float32, channels last", channels_last, False),
        ("bfloat16", lambda: plain(cast_model(model, torch.bfloat16)), True),
    ]
    if request.is_quick:  # exporting and compiling take a minute
        return ways
    ways.append(("float32, onnxruntime", lambda: exported_run(model, clip, folder), False))
    if request.is_compiled:
        ways.append(("float32, compiled", compiled, False))
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
