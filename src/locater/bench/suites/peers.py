"""(f) Models a user would pick instead, built from `transformers` configs with random weights, beside ours."""

from collections.abc import Callable

import torch

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check, agreement
from locater.bench.harness.clip import at_once, captured_clip, chunks_of, make_clip, network_masks, preset_model
from locater.bench.harness.peer_models import PEERS, Peer
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.timing import measure

FRAMES = 36
AIM = 5.0  # times the frames/s of every peer
PAPER_SIZE = 512  # the protocol's frames


def run(request: BenchRequest) -> Report:
    """Frames per second of ours and of every peer that the installed transformers has."""
    frames = 3 if request.is_quick else FRAMES
    own_row, check = _own_row(request, frames, None if request.is_quick else PAPER_SIZE)
    theirs: list[Row] = []
    notes: list[str] = []
    for peer in PEERS:
        row, note = _peer_row(request, peer, frames)
        theirs.append(row)
        notes += [f"{peer.name}: {note}"] if note else []
    checks = [check, *_compare(request, frames, own_row, theirs)]
    rows = [own_row, *theirs]
    speeds = {row["model"]: row["frames/s"] for row in rows if row.get("frames/s")}
    return Report(
        name="peers",
        title=f"{frames} frames, one sentence or one object, {request.precision}, random weights, nothing downloaded",
        timed="from float frames at each model's own size on the device to its mask logits on the device. Ours also "
        "resizes and thresholds. The peers run by their own code, in the precision request for throughout, with frames "
        "in as large a batch as that code takes (the column says which parts are batched). `ours there` is ours on "
        "frames of the peer's size.",
        columns=(
            "model",
            "reads",
            "size",
            "batched",
            "million",
            "median_ms",
            "lowest_ms",
            "highest_ms",
            "frames/s",
            "ours / theirs",
            "ours there",
            "there / theirs",
        ),
        chart=Bars("Frames per second beside peers", "frames/s", speeds),
        rows=rows,
        checks=checks,
        notes=[*notes, f"Aim: at least {AIM:g} times the frames/s of every peer."],
    )


def _compare(request: BenchRequest, frames: int, own: Row, theirs: list[Row]) -> list[Check]:
    """Put ours beside each peer, at our size and, where it sees frames in one size, at its own; the runs' checks."""
    checks: list[Check] = []
    at_sizes: dict[str, float] = {}  # ours, frames/s
    for row in theirs:
        if not row.get("frames/s"):
            continue
        row["ours / theirs"] = own["frames/s"] / row["frames/s"]
        size = str(row["size"])
        if not size.isdigit():
            continue
        if size not in at_sizes:
            ours, check = _own_row(request, frames, int(size))
            at_sizes[size] = ours["frames/s"]
            checks.append(check)
        row["ours there"] = at_sizes[size]
        row["there / theirs"] = at_sizes[size] / row["frames/s"]
    return checks


def _own_row(request: BenchRequest, frames: int, side: int | None) -> tuple[Row, Check]:
    chunks = chunks_of(request, preset_model(request, side))
    model = chunks.model
    clip = make_clip(model, frames, 1, request.device)
    size = model.config.image_size
    with torch.inference_mode():
        reference = at_once(chunks, clip)
        work = captured_clip(chunks, clip) if request.is_cuda else (lambda: at_once(chunks, clip))
        check = agreement(f"ours at {size} pixels against its eager run", reference, work(), request.dtype)
        timing = measure(lambda: network_masks(work(), size), request.device, request.repeats)
    row: Row = {
        "model": f"LOCATER, {request.preset}",
        "reads": "words, the whole video",
        "size": f"{size}",
        "batched": "whole clip" + (", one CUDA graph" if request.is_cuda else ""),
        "million": millions(model),
        **timing.milliseconds(),
        "frames/s": frames / timing.median,
    }
    return row, check


def _peer_row(request: BenchRequest, peer: Peer, frames: int) -> tuple[Row, str]:
    """A row, and what must be said of it; a peer that is not there, or that breaks, gets a row without numbers."""
    import transformers

    missing = [name for name in peer.needs if getattr(transformers, name, None) is None]
    if missing:
        return {"model": f"{peer.name} (missing)"}, f"transformers {transformers.__version__} lacks {missing[0]}"
    try:
        try:
            return _measured(request, peer, frames, is_autocast=False), peer.note
        except RuntimeError:  # some code mixes in float32 of its own
            if request.dtype == torch.float32:
                raise
            note = f"{peer.note}; under autocast, as its code does not run in {request.precision} throughout"
            return _measured(request, peer, frames, is_autocast=True), note
    except Exception as error:  # theirs, not ours: another version's signature, a missing package, no room
        if request.is_cuda:
            torch.cuda.empty_cache()
        reason = " ".join(str(error).split())[:200]
        return {"model": f"{peer.name} (failed)"}, f"could not be run: {type(error).__name__}: {reason}"


def _measured(request: BenchRequest, peer: Peer, frames: int, is_autocast: bool) -> Row:
    torch.manual_seed(0)
    built = peer.build(request.is_quick, request.device, torch.float32 if is_autocast else request.dtype)
    work = built.on(frames)
    with torch.inference_mode(), torch.autocast(request.device.type, request.dtype, enabled=is_autocast):
        _check_finite(work)
        # A peer's clip takes seconds, and three measurements show their spread.
        timing = measure(work, request.device, min(request.repeats, 3), warm_ups=1)
    return {
        "model": peer.name,
        "reads": peer.reads,
        "size": built.size,
        "batched": peer.batched,
        "million": built.millions,
        **timing.milliseconds(),
        "frames/s": frames / timing.median,
    }


def millions(model: torch.nn.Module) -> float:
    """Parameters."""
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


def _check_finite(work: Callable[[], torch.Tensor]) -> None:
    """Nothing, when the peer gives masks of numbers."""
    found = work()
    if not bool(torch.isfinite(found.float()).all()):
        raise ValueError("its masks hold values that are not numbers")
