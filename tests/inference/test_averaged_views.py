"""Test-time augmentation in the one loop: what is averaged, what is remembered, and what it costs."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from locater.bench.harness.peaks import LiveTensors
from locater.bench.harness.processes import measured
from locater.config import preset
from locater.errors import LocaterError
from locater.inference.demo import clip_for
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.records import Correction, FrameResult, VideoState, Views
from locater.video.reader import open_source
from locater.video.transforms import frame_times, frames_to_tensor
from locater.worlds.shapes import ShapesWorld
from tests.support.randomised import randomise

LEFT, RIGHT, NEITHER = "the dog on the left", "the dog on the right", "a dog"
WORDS = ["a", "dog", "left", "on", "right", "the"]
SIX = Views((0.5, 0.75, 1.0, 1.25, 1.5, 1.75), flip=True)  # the paper's, section 5.6


def tiny(**changes: object) -> Segmenter:
    model = build(preset("tiny", {"text": {"vocabulary": WORDS}, "memory": {"interval": 4}, **changes}), seed=0)
    randomise(model.decoder)
    return Segmenter(model, "cpu")


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return tiny()


@pytest.fixture(scope="module")
def video() -> npt.NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (13, 36, 50, 3), dtype=np.uint8)


def softs(results: Iterator[FrameResult]) -> npt.NDArray[np.float32]:
    return np.stack([each.soft_masks for each in results if each.soft_masks is not None])


@torch.no_grad()
def test_soft_masks_of_all_views_are_averaged_before_the_threshold(
    segmenter: Segmenter, video: npt.NDArray[np.uint8]
) -> None:
    """Computed again, whole clip by whole clip, with the network alone."""
    model, texts = segmenter.model, [LEFT, NEITHER]
    source = open_source(video, 10)
    times = frame_times(list(source.frames()), source.info.duration)[None]
    totals: list[Tensor] = []
    for side in (96, 64, 32):
        frames = frames_to_tensor(list(video), (side, side))[None]
        for shown, said in ((frames, texts), (frames.flip(-1), [RIGHT, NEITHER])):
            words = model.text(model.read(said))
            clip = model.fuse(model.visual(shown), times, words)
            sampled = model.fuse(model.visual(shown[:, ::4]), times[:, ::4], words)
            soft = model.unroll(clip, words, sampled).logits.sigmoid()
            soft = soft if said is texts else soft.flip(-1)
            totals.append(F.interpolate(soft, totals[0].shape[-2:], mode="bilinear") if totals else soft)
    mean = F.interpolate(torch.stack(totals).mean(0), (36, 50), mode="bilinear").transpose(0, 1).numpy()
    views = Views((0.5, 1.0, 1.5), flip=True)
    results = list(segmenter.segment(video, texts, soft=True, frames_per_second=10, views=views))
    np.testing.assert_allclose(softs(iter(results)), mean, atol=2e-5)
    for result in results:
        assert result.soft_masks is not None and np.array_equal(result.soft_masks > 0.5, result.masks)
        assert [word for word, _ in result.word_attention[0]] == LEFT.split()
        assert sum(weight for _, weight in result.word_attention[0]) == pytest.approx(1.0)


def test_the_plain_view_alone_is_the_plain_path_bit_for_bit(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    plain = list(segmenter.segment(video, [LEFT, NEITHER], soft=True))
    alone = list(segmenter.segment(video, [LEFT, NEITHER], soft=True, views=Views((1.0,))))
    assert np.array_equal(softs(iter(alone)), softs(iter(plain)))
    assert torch.equal(alone[-1].state.local_cells, plain[-1].state.local_cells)
    assert (
        plain[-1].state.nbytes == 2 * segmenter.chunks.model.initial_state(segmenter.read_words((LEFT,), True)).nbytes
    )


def test_mirrored_sides_come_out_right() -> None:
    """Of two look-alikes the left one is marked in the mirror image too: there it is the right one."""
    world = ShapesWorld("test", 30, kinds=("position",), frame_count=12)
    infos = [info for info in world.samples() if {"left", "right"} & set(info.expression.split())][:4]
    segmenter = Segmenter.from_pretrained("shapes", "cpu")
    found: dict[Views, list[float]] = {Views(): [], Views((1.0,), flip=True): []}
    for views, overlaps in found.items():
        for info in infos:
            sample = world.load(info)
            for result in segmenter.segment(sample.frames, info.expression, views=views):
                mask, true = result.masks[0], sample.masks[result.frame.index]
                overlaps.append((mask & true).sum() / max(1, (mask | true).sum()))
    plain, both = (np.mean(each) for each in found.values())
    assert len(infos) == 4 and plain > 0.75
    assert both > plain - 0.05, "were the words not mirrored, the two views would mark different things"


@pytest.mark.parametrize("mode", ["file", "live"])
@pytest.mark.parametrize("stop", [2, 7])
def test_resumed_equals_uninterrupted_bit_for_bit(
    video: npt.NDArray[np.uint8], tmp_path: Path, mode: str, stop: int
) -> None:
    segmenter = tiny(decoder={"upsampling": "fine", "fine_width": 8, "presence": True})
    views = Views((0.5, 1.0, 1.25), flip=True)
    asked = {"soft": True, "chunk_frames": 6, "views": views}
    whole = list(segmenter.segment(video, [LEFT, RIGHT], mode=mode, **asked))  # type: ignore[arg-type]
    whole[stop].state.save(tmp_path / "state.safetensors")
    state = VideoState.load(tmp_path / "state.safetensors")
    assert state.views == views
    assert state.nbytes == whole[-1].state.nbytes and len(state.local_cells) == 12
    rest = softs(segmenter.segment(video, [LEFT, RIGHT], state=state, **asked))  # type: ignore[arg-type]
    assert np.array_equal(rest, softs(iter(whole[stop + 1 :])))
    with pytest.raises(LocaterError, match=r"belongs to the scales 1.25,1,0.5 and mirrored"):
        segmenter.segment(video, [LEFT, RIGHT], state=state)


def test_six_scales_with_flips_are_twelve_passes_and_no_larger_a_chunk(video: npt.NDArray[np.uint8]) -> None:
    """The refiner, which asks no words, runs once for all of them: thirteen passes at most.

    A chunk has at least one frame, which is as large as three at scale 1.
    """
    segmenter = tiny(refiner={"enlarged": 1.0})
    encoder, refiner = segmenter.chunks.model.visual, segmenter.chunks.model.refiner
    shapes: dict[str, list[tuple[int, ...]]] = {"encoder": [], "refiner": []}
    assert refiner is not None
    for name, part in (("encoder", encoder), ("refiner", refiner)):
        part.register_forward_pre_hook(lambda _, given, name=name: shapes[name].append(tuple(given[0].shape)))
    frames, most = {}, {}
    for views in (Views(), SIX):
        assert len(list(segmenter.segment(video, [LEFT], views=views, chunk_frames=4))) == 13
        frames[views] = {name: sum(shape[1] for shape in each) for name, each in shapes.items()}
        most[views] = max(shape[1] * shape[-1] * shape[-2] for shape in shapes["encoder"])
        shapes["encoder"].clear()
        shapes["refiner"].clear()
    assert frames[SIX] == {"encoder": 12 * frames[Views()]["encoder"], "refiner": 13}
    assert most[SIX] <= most[Views()]


def test_six_scales_with_flips_take_at_most_twice_the_memory(segmenter: Segmenter) -> None:
    """Of tensors at the worst moment, where the plain view takes four frames at once."""
    frames = np.random.default_rng(0).integers(0, 256, (12, 128, 128, 3), dtype=np.uint8)
    counters = LiveTensors(), LiveTensors()
    for views, counter in zip((Views(), SIX), counters, strict=True):
        with counter:
            for _ in segmenter.segment(frames, "a dog", views=views, anyway=True, chunk_frames=4):
                pass
    plain, six = (counter.peak for counter in counters)
    assert six <= 2 * plain


@pytest.mark.proof
@pytest.mark.parametrize("name", ["shapes", "default"])
def test_shipped_checkpoints_take_at_most_twice_the_memory(name: str, tmp_path: Path) -> None:
    """Resident, of the whole command."""
    clip = clip_for(name, tmp_path / "clip.mp4")
    command = ["segment", str(clip.path), clip.expressions[0], "--checkpoint", name, "--anyway"]
    wide = ["--scales", ",".join(str(scale) for scale in SIX.scales), "--flip"]
    plain, six = (
        measured([*command, "--out", str(tmp_path / f"out{len(more)}"), *more], torch.get_num_threads()).peak_bytes
        for more in ([], wide)
    )
    print(f"{name}: {plain / 1e6:.0f} MB in the plain view, {six / 1e6:.0f} MB in twelve")
    assert six <= 2 * plain


def test_what_cannot_be_is_refused(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    assert Views((1, 0.5, 1.0)) == Views((0.5, 1.0)) and Views((0.5, 1.0)).scales == (1.0, 0.5)
    for scales in ((), (0.0,), (float("nan"),), (1.0, 9.0)):
        with pytest.raises(LocaterError, match="Scales lie between"):
            Views(scales)
    mask = np.zeros((36, 50), dtype=np.bool_)
    with pytest.raises(LocaterError, match="in the plain view"):
        segmenter.segment(video, LEFT, views=SIX, corrections=[Correction(0, mask=mask)])
