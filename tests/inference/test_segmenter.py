"""The one loop: streamed, whole, resumed and live give the same masks; the state never grows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

import locater
from locater.config import preset
from locater.errors import LocaterError
from locater.inference.chunk_length import chunk_frames_of
from locater.inference.segmenter import NotUnderstoodWarning, Segmenter
from locater.model.build import build
from locater.model.visual.encoder import VisualEncoder
from locater.records import Frame, FrameResult, VideoState, VisualFeatures
from locater.video.guarded.source import GuardedSource
from locater.video.mp4 import Mp4File
from locater.video.reader import open_source
from locater.video.transforms import frame_times, frames_to_tensor

WORDS = ["a", "dog", "left", "on", "right", "the"]
DOG, OTHER = "the dog on the left", "a dog on the right"


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return Segmenter(build(preset("tiny", {"text": {"vocabulary": WORDS}, "memory": {"interval": 4}}), seed=0), "cpu")


@pytest.fixture(scope="module")
def video() -> npt.NDArray[np.uint8]:
    """Twenty-one frames that differ from one another."""
    return np.random.default_rng(0).integers(0, 256, (21, 36, 50, 3), dtype=np.uint8)


def softs(results: Iterator[FrameResult]) -> npt.NDArray[np.float32]:
    frames = [result.soft_masks for result in results]
    return np.stack([frame for frame in frames if frame is not None])


def test_results_have_the_sources_size_and_everything_asked_for(
    segmenter: Segmenter, video: npt.NDArray[np.uint8]
) -> None:
    results = list(segmenter.segment(video, [DOG, OTHER], soft=True, frames_per_second=10))
    assert len(results) == 21
    last = results[-1]
    assert last.masks.shape == (2, 36, 50) and last.masks.dtype == np.bool_
    assert last.frame.index == 20 and last.frame.timestamp == pytest.approx(2.0)
    assert last.soft_masks is not None and np.array_equal(last.soft_masks > 0.5, last.masks)
    assert [word for word, _ in last.word_attention[0]] == DOG.split()
    assert sum(weight for _, weight in last.word_attention[1]) == pytest.approx(1.0)
    assert all(0 <= score <= 1 for score in last.presence)
    assert next(segmenter.segment(video, DOG)).soft_masks is None


@pytest.mark.parametrize("stop", [0, 3, 7, 12, 20])
@pytest.mark.parametrize("mode", ["file", "live"])
def test_resumed_equals_uninterrupted_bit_for_bit(
    segmenter: Segmenter, video: npt.NDArray[np.uint8], tmp_path: Path, mode: str, stop: int
) -> None:
    assert mode in ("file", "live")
    whole = list(segmenter.segment(video, [DOG], soft=True, mode=mode, chunk_frames=4))  # type: ignore[arg-type]
    results = segmenter.segment(video, [DOG], soft=True, mode=mode, chunk_frames=4)  # type: ignore[arg-type]
    for result in results:
        if result.frame.index == stop:
            result.state.save(tmp_path / "state.safetensors")
            break
    state = VideoState.load(tmp_path / "state.safetensors")
    rest = list(segmenter.segment(video, [DOG], soft=True, chunk_frames=4, state=state))
    assert [result.frame.index for result in rest] == list(range(stop + 1, 21))
    for ours, theirs in zip(rest, whole[stop + 1 :], strict=True):
        assert np.array_equal(ours.soft_masks, theirs.soft_masks)  # type: ignore[arg-type]


def test_pass_one_resumes_from_every_chunk_bit_for_bit(
    segmenter: Segmenter, video: npt.NDArray[np.uint8], tmp_path: Path
) -> None:
    states: list[VideoState] = []
    whole = softs(segmenter.segment(video, [DOG, OTHER], soft=True, chunk_frames=2, on_global_state=states.append))
    interval = segmenter.model.config.memory.interval
    assert [state.global_index for state in states] == [2 * interval, 4 * interval, 6 * interval]
    for number, state in enumerate(states, start=1):
        state.save(tmp_path / "state.safetensors")
        later: list[VideoState] = []
        resumed = segmenter.segment(
            video,
            [DOG, OTHER],
            soft=True,
            chunk_frames=2,
            state=VideoState.load(tmp_path / "state.safetensors"),
            on_global_state=later.append,
        )
        assert np.array_equal(softs(resumed), whole)
        assert len(later) == len(states) - number  # what was looked at is not looked at again


def test_a_file_a_list_and_a_stream_agree_bit_for_bit_in_live_mode(
    segmenter: Segmenter, video: npt.NDArray[np.uint8]
) -> None:
    whole = softs(segmenter.segment(video, DOG, soft=True, mode="live", chunk_frames=5))
    stream = softs(segmenter.segment((frame for frame in video), DOG, soft=True, chunk_frames=5))
    assert np.array_equal(whole, stream)


def test_an_mp4_streamed_frame_by_frame_equals_the_mp4(
    segmenter: Segmenter, video: npt.NDArray[np.uint8], tmp_path: Path
) -> None:
    with Mp4File(tmp_path / "clip.mp4", 25) as file:
        for index, pixels in enumerate(video):
            file.write(pixels, index / 25)
    path = tmp_path / "clip.mp4"
    decoded = [frame.pixels for frame in open_source(path).frames()]
    whole = softs(segmenter.segment(path, DOG, soft=True, mode="live"))
    stream = softs(segmenter.segment(iter(decoded), DOG, soft=True, frames_per_second=25))
    assert len(whole) == 21 and np.array_equal(whole, stream)
    twice = softs(segmenter.segment(path, DOG, soft=True))
    listed = softs(segmenter.segment(decoded, DOG, soft=True, frames_per_second=25))
    assert np.array_equal(twice, listed)


def test_a_stream_resumes_where_it_stopped(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    whole = list(segmenter.segment(iter(video), DOG, soft=True))
    rest = list(segmenter.segment(iter(video[9:]), DOG, soft=True, state=whole[8].state))
    assert [result.frame.index for result in rest] == list(range(9, 21))
    for ours, theirs in zip(rest, whole[9:], strict=True):
        assert np.array_equal(ours.soft_masks, theirs.soft_masks)  # type: ignore[arg-type]
        assert ours.frame.timestamp == theirs.frame.timestamp


@pytest.mark.parametrize("mode", ["file", "live"])
def test_other_chunk_sizes_agree(segmenter: Segmenter, video: npt.NDArray[np.uint8], mode: str) -> None:
    runs = [softs(segmenter.segment(video, DOG, soft=True, mode=mode, chunk_frames=n)) for n in (1, 4, 7, 64)]  # type: ignore[arg-type]
    for run in runs[1:]:
        np.testing.assert_allclose(run, runs[0], atol=1e-5)


def test_expressions_together_agree_with_one_at_a_time(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    together = softs(segmenter.segment(video, [DOG, OTHER], soft=True))
    for place, text in enumerate([DOG, OTHER]):
        np.testing.assert_allclose(
            together[:, place], softs(segmenter.segment(video, text, soft=True))[:, 0], atol=1e-5
        )


def test_file_mode_knows_the_end_and_live_mode_cannot(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    other_end = video.copy()
    other_end[16:] = 255 - other_end[16:]
    file = [softs(segmenter.segment(v, DOG, soft=True, mode="file"))[:8] for v in (video, other_end)]
    live = [softs(segmenter.segment(v, DOG, soft=True, mode="live"))[:8] for v in (video, other_end)]
    assert not np.array_equal(file[0], file[1])
    assert np.array_equal(live[0], live[1])


@pytest.mark.parametrize("chunk_frames", [3, 64])
@torch.no_grad()
def test_every_nth_frame_is_in_the_global_memory_and_no_other(
    segmenter: Segmenter, video: npt.NDArray[np.uint8], chunk_frames: int
) -> None:
    """In file mode those of the whole video before the first mask; live, those that have been seen by then."""
    model = segmenter.model
    words = model.text(model.read([DOG]))
    source = open_source(video, 10)
    frames = list(source.frames())
    shots = frames_to_tensor([frame.pixels for frame in frames], (64, 64))[None]

    def remembered(places: range, duration: float | None) -> Tensor:
        features = model.fuse(model.visual(shots), frame_times(frames, duration)[None], words)
        return model.write_global(features.positioned[:, list(places)], model.initial_state(words)).global_cells

    for mode in ("file", "live"):
        results = segmenter.segment(video, DOG, mode=mode, chunk_frames=chunk_frames, frames_per_second=10)
        for result in results:
            last = 20 if mode == "file" else result.frame.index
            expected = remembered(range(0, last + 1, 4), source.info.duration if mode == "file" else None)
            torch.testing.assert_close(result.state.global_cells, expected, rtol=1e-4, atol=1e-5)


def test_the_state_has_the_same_bytes_after_8_and_5000_frames(segmenter: Segmenter) -> None:
    frame = np.zeros((16, 16, 3), dtype=np.uint8)
    sizes = {}
    for result in segmenter.segment((frame for _ in range(5000)), DOG, chunk_frames=50):
        sizes[result.frame.index + 1] = result.state.nbytes
    assert sizes[8] == sizes[5000] == 2 * 32 * 32 * 4
    assert len(sizes) == 5000


def test_a_window_encoder_streams_like_any_other(video: npt.NDArray[np.uint8]) -> None:
    """Whole windows whatever the chunk: the masks do not depend on it, and resuming keeps them."""

    class Windowed(VisualEncoder):
        def __init__(self, inner: VisualEncoder) -> None:
            super().__init__(
                patch_size=8, width=32, pixels=HALF, early_channels=inner.early_channels,
                early_strides=inner.early_strides, window=4,
            )  # fmt: skip
            self.inner = inner

        def forward(self, frames: Tensor) -> VisualFeatures:
            features: VisualFeatures = self.inner(frames)
            windows = torch.split(features.patches, self.window, dim=1)
            mixed = [w + w.mean(1, keepdim=True) for w in windows]  # every frame sees its whole window
            return replace(features, patches=torch.cat(mixed, dim=1))

    from locater.model.visual.encoder import HALF_STATISTICS as HALF

    model = build(preset("tiny", {"text": {"vocabulary": WORDS}, "memory": {"interval": 3}}), seed=0)
    model.visual = Windowed(model.visual)
    windowed = Segmenter(model, "cpu")
    runs = [softs(windowed.segment(video, DOG, soft=True, chunk_frames=n)) for n in (1, 4, 6, 12)]
    for run in runs[1:]:
        np.testing.assert_allclose(run, runs[0], atol=1e-5)
    whole = list(windowed.segment(video, DOG, soft=True, chunk_frames=4))
    rest = softs(windowed.segment(video, DOG, soft=True, chunk_frames=4, state=whole[9].state))
    assert np.array_equal(rest, np.stack([r.soft_masks for r in whole[10:] if r.soft_masks is not None]))


def test_a_track_holds_what_segment_yields(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    track = segmenter.track(video, [DOG, OTHER])
    results = list(segmenter.segment(video, [DOG, OTHER]))
    assert len(track) == 21 and track.expressions == (DOG, OTHER)
    for index, result in enumerate(results):
        assert np.array_equal(track.mask(index, 1), result.masks[1])
    assert track.masks(1).shape == (21, 36, 50)
    assert track.areas(1) == [int(result.masks[1].sum()) for result in results]


def test_a_checkpoint_gives_the_same_masks(segmenter: Segmenter, video: npt.NDArray[np.uint8], tmp_path: Path) -> None:
    segmenter.save_pretrained(tmp_path / "c")
    loaded = locater.load(tmp_path / "c", device="cpu", quality="best")
    ours, theirs = (softs(s.segment(video[:5], DOG, soft=True)) for s in (loaded, segmenter))
    assert np.array_equal(ours, theirs)


def test_bfloat16_stays_close(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    reduced = softs(Segmenter(segmenter.model, "cpu", "bfloat16").segment(video, DOG, soft=True))
    assert np.abs(reduced - softs(segmenter.segment(video, DOG, soft=True))).max() < 0.1


def test_words_that_were_not_understood_are_named(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    with pytest.warns(NotUnderstoodWarning, match="der, Hund, links"):
        next(segmenter.segment(video, "der Hund links", anyway=True))
    with pytest.warns(NotUnderstoodWarning, match="brown"):  # no noun: the sentence can do without it
        next(segmenter.segment(video, "the brown dog"))
    with pytest.warns(NotUnderstoodWarning, match="380 more"):
        next(segmenter.segment(video, "dog " * 400))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"expressions": ""}, "holds no words"),
        ({"expressions": []}, "No expression"),
        ({"expressions": [DOG, "the cat on the left"]}, "not understood: cat; use other English words"),
        ({"chunk_frames": -1}, "at least 1"),
        ({"source": iter([]), "mode": "file"}, "cannot be read twice"),
    ],
)
def test_bad_calls_fail_before_any_frame_is_read(
    segmenter: Segmenter, video: npt.NDArray[np.uint8], arguments: dict[str, object], told: str
) -> None:
    with pytest.raises(LocaterError, match=told):
        segmenter.segment(**{"source": video, "expressions": DOG, **arguments})  # type: ignore[arg-type]


def test_an_empty_stream_and_a_foreign_state_are_refused(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    with pytest.raises(LocaterError, match="no frames"):
        segmenter.track(iter([]), DOG)
    state = next(segmenter.segment(video, DOG)).state
    with pytest.raises(LocaterError, match="belongs to"):
        segmenter.segment(video, OTHER, state=state)


def test_a_refiner_redraws_masks_and_leaves_the_memory_alone(video: npt.NDArray[np.uint8]) -> None:
    settings = {"text": {"vocabulary": WORDS}, "memory": {"interval": 4}, "refiner": {"enlarged": 1.0}}
    model = build(preset("tiny", settings), seed=0)
    refining = Segmenter(model, "cpu")
    refined = list(refining.segment(video, [DOG, OTHER], soft=True, chunk_frames=4))
    by_ones = softs(refining.segment(video, [DOG, OTHER], soft=True, chunk_frames=1))
    np.testing.assert_allclose(by_ones, softs(iter(refined)), atol=1e-4)
    resumed = softs(refining.segment(video, [DOG, OTHER], soft=True, chunk_frames=4, state=refined[5].state))
    assert np.array_equal(resumed, softs(iter(refined[6:])))

    model.refiner = None
    plain = list(Segmenter(model, "cpu").segment(video, [DOG, OTHER], soft=True, chunk_frames=4))
    assert not np.array_equal(softs(iter(plain)), softs(iter(refined)))
    for ours, theirs in zip(refined, plain, strict=True):
        assert torch.equal(ours.state.local_cells, theirs.state.local_cells)


# ---- Files are decoded as rarely as can be ---------------------------------------------------------------------------


def test_a_short_file_is_decoded_once_and_a_long_one_twice(
    segmenter: Segmenter, video: npt.NDArray[np.uint8], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Mp4File(tmp_path / "clip.mp4", 24.0) as file:
        for index, pixels in enumerate(video):
            file.write(pixels, index / 24)
    readings: list[tuple[int, int]] = []

    class Spied(GuardedSource):
        def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
            readings.append((start, every))
            return super().frames(start, every)

    monkeypatch.setattr("locater.video.guarded.source.GuardedSource", Spied)
    kept = softs(segmenter.segment(tmp_path / "clip.mp4", [DOG], soft=True))
    assert readings == [(0, 1)]
    monkeypatch.setattr("locater.inference.segmenter.KEPT_BYTES", {False: 0, True: 0})
    again = softs(segmenter.segment(tmp_path / "clip.mp4", [DOG], soft=True))
    assert readings == [(0, 1), (0, 4), (0, 1)]
    assert len(kept) == 21 and np.array_equal(kept, again)


def test_large_frames_are_segmented_in_smaller_chunks() -> None:
    cpu = torch.device("cpu")
    sides = [(640, 360), (1920, 1080), (3840, 2160), (10_000, 10_000)]
    assert [chunk_frames_of(cpu, 1, 3 * width * height) for width, height in sides] == [2, 2, 1, 1]


def test_exact_weights_are_read_again_where_a_lower_precision_computes(segmenter: Segmenter, tmp_path: Path) -> None:
    segmenter.save_pretrained(tmp_path / "checkpoint")
    loaded = Segmenter.from_pretrained(tmp_path / "checkpoint", "cpu", "bfloat16")
    assert loaded.chunks.model.memory.local_start.dtype == torch.bfloat16
    exact, own = loaded.model.state_dict(), segmenter.model.state_dict()
    assert exact.keys() == own.keys() and all(torch.equal(exact[name], own[name]) for name in own)
    assert loaded.model is loaded.model
