"""A network that tells whether the thing said is there: the evidence travels with the state, however a video comes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.torch import load_file

from locater.config import preset
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.records import FrameResult, VideoState
from locater.text.table import WordTable

WORDS = ["a", "dog", "left", "on", "right", "the"]
DOG, OTHER = "the dog on the left", "a dog on the right"
MEMORIES: dict[str, dict[str, Any]] = {"both memories": {}, "no local memory": {"local_ratio": 0.0}}
Mode = Literal["file", "live"]


def made(memory: dict[str, Any], has_head: bool = True) -> Segmenter:
    settings = {"text": {"vocabulary": WORDS}, "memory": {"interval": 4, **memory}, "decoder": {"presence": has_head}}
    model = build(preset("tiny", settings), seed=0)
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in () if model.presence is None else model.presence.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))  # or all evidence would look alike
    return Segmenter(model, "cpu")


@pytest.fixture(scope="module", params=MEMORIES)
def segmenter(request: pytest.FixtureRequest) -> Segmenter:
    return made(MEMORIES[request.param])


@pytest.fixture(scope="module")
def video() -> npt.NDArray[np.uint8]:
    """Eleven frames that differ from one another, the later ones darker."""
    noise = np.random.default_rng(0).integers(0, 256, (11, 36, 50, 3))
    return (noise * np.linspace(1, 0.2, 11)[:, None, None, None]).astype(np.uint8)


def softs(results: Iterator[FrameResult]) -> npt.NDArray[np.float32]:
    return np.stack([result.soft_masks for result in results if result.soft_masks is not None])


@pytest.mark.parametrize("stop", [0, 4, 9])
@pytest.mark.parametrize("mode", ["file", "live"])
def test_a_saved_state_resumes_bit_for_bit(
    segmenter: Segmenter, video: npt.NDArray[np.uint8], tmp_path: Path, mode: Mode, stop: int
) -> None:
    whole = list(segmenter.segment(video, [DOG, OTHER], soft=True, mode=mode, chunk_frames=4))
    whole[stop].state.save(tmp_path / "state.safetensors")
    assert set(load_file(tmp_path / "state.safetensors")) == {"global_cells", "local_cells", "evidence"}
    state = VideoState.load(tmp_path / "state.safetensors")
    assert state.evidence is not None and state.evidence.shape == (2, 33) and state.evidence[:, -1].gt(0).all()
    rest = list(segmenter.segment(video, [DOG, OTHER], soft=True, chunk_frames=4, state=state))
    assert np.array_equal(softs(iter(rest)), softs(iter(whole[stop + 1 :])))
    assert rest[-1].state.evidence is not None and whole[-1].state.evidence is not None
    assert torch.equal(rest[-1].state.evidence, whole[-1].state.evidence)


def test_the_evidence_is_what_resuming_needs(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    """Without it the masks are others: the tests above compare something."""
    whole = list(segmenter.segment(video, DOG, soft=True, mode="live", chunk_frames=4))
    state = whole[5].state
    assert state.evidence is not None
    forgetful = replace(state, evidence=torch.zeros_like(state.evidence))
    rest = softs(segmenter.segment(video, DOG, soft=True, chunk_frames=4, state=forgetful))
    assert np.abs(rest - softs(iter(whole[6:]))).max() > 1e-3


@pytest.mark.parametrize("mode", ["file", "live"])
def test_chunks_do_not_matter_nor_how_many_sentences_are_asked(
    segmenter: Segmenter, video: npt.NDArray[np.uint8], mode: Mode
) -> None:
    runs = [softs(segmenter.segment(video, [DOG, OTHER], soft=True, mode=mode, chunk_frames=n)) for n in (1, 4, 64)]
    for run in runs[1:]:
        np.testing.assert_allclose(run, runs[0], atol=1e-5)
    for place, text in enumerate([DOG, OTHER]):
        alone = softs(segmenter.segment(video, text, soft=True, mode=mode, chunk_frames=4))
        np.testing.assert_allclose(runs[1][:, place], alone[:, 0], atol=1e-5)


def test_a_stream_is_the_same_video_and_its_state_never_grows(
    segmenter: Segmenter, video: npt.NDArray[np.uint8]
) -> None:
    live = softs(segmenter.segment(video, DOG, soft=True, mode="live", chunk_frames=4))
    results = list(segmenter.segment(iter(video), DOG, soft=True, chunk_frames=4))
    assert np.array_equal(softs(iter(results)), live)
    cells = segmenter.model.config.global_cells + segmenter.model.config.local_cells
    assert {result.state.nbytes for result in results} == {(cells * 32 + 33) * 4}


def test_masks_are_empty_where_the_head_says_no(video: npt.NDArray[np.uint8]) -> None:
    """And soft masks are no surer than it: what people see is what `answer` gives."""
    doubting = made({})
    assert doubting.model.presence is not None
    last = doubting.model.presence.head[-1]
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(-2.0)
    results = list(doubting.segment(video, [DOG, OTHER], soft=True))
    believed = softs(iter(results))
    assert believed.max() <= torch.tensor(-2.0).sigmoid().item() + 1e-6
    assert not any(result.masks.any() for result in results)
    with torch.no_grad():
        last.bias.fill_(2.0)
    assert softs(doubting.segment(video, [DOG, OTHER], soft=True)).max() > believed.max()


def test_bfloat16_stays_close(segmenter: Segmenter, video: npt.NDArray[np.uint8]) -> None:
    reduced = softs(Segmenter(segmenter.model, "cpu", "bfloat16").segment(video, DOG, soft=True))
    assert np.abs(reduced - softs(segmenter.segment(video, DOG, soft=True))).max() < 0.1


def test_a_network_without_a_head_keeps_states_as_before(video: npt.NDArray[np.uint8], tmp_path: Path) -> None:
    plain = made({}, has_head=False)
    whole = list(plain.segment(video, DOG, soft=True, chunk_frames=4))
    whole[4].state.save(tmp_path / "state.safetensors")
    assert set(load_file(tmp_path / "state.safetensors")) == {"global_cells", "local_cells"}
    state = VideoState.load(tmp_path / "state.safetensors")
    assert state.evidence is None
    rest = softs(plain.segment(video, DOG, soft=True, chunk_frames=4, state=state))
    assert np.array_equal(rest, softs(iter(whole[5:])))


def test_a_state_without_evidence_goes_on_under_a_head(video: npt.NDArray[np.uint8]) -> None:
    state = next(made({}, has_head=False).segment(video, DOG, mode="live")).state
    headed = made({})
    rest = list(headed.segment(video, DOG, soft=True, state=state))
    assert len(rest) == 10 and rest[-1].state.evidence is not None


def test_evidence_that_nobody_asks_for_changes_nothing(video: npt.NDArray[np.uint8]) -> None:
    state = next(made({}).segment(video, DOG, mode="live")).state
    plain = made({}, has_head=False)
    ours, theirs = (
        softs(plain.segment(video, DOG, soft=True, state=each)) for each in (state, replace(state, evidence=None))
    )
    assert np.array_equal(ours, theirs)


def test_evidence_and_meanings_are_not_mistaken_for_each_other(video: npt.NDArray[np.uint8], tmp_path: Path) -> None:
    """Of a network that recognises as well, both travel with a chunk, and either may be missing from a state."""
    torch.manual_seed(0)
    WordTable.of_vectors(("the", "dog", "left"), torch.randn(3, 12)).save(tmp_path / "words.safetensors")
    text = {"kind": "vectors", "max_words": 5, "embedding_width": 8, "table": str(tmp_path / "words.safetensors")}
    settings = {"text": text, "visual": {"kind": "efficientnet_lite", "deep": True, "recognises": True}}

    def recognising(has_head: bool) -> Segmenter:
        model = build(preset("tiny", {**settings, "decoder": {"presence": has_head}}), seed=0)
        assert model.recognition is not None
        return Segmenter(model, "cpu")

    headed, plain = recognising(True), recognising(False)
    with_evidence, without = (next(each.segment(video, "the dog", mode="live")).state for each in (headed, plain))
    assert with_evidence.evidence is not None and without.evidence is None
    empty = replace(without, evidence=torch.zeros_like(with_evidence.evidence))
    ours, theirs = (softs(headed.segment(video, "the dog", soft=True, state=each)) for each in (without, empty))
    assert np.array_equal(ours, theirs)
    forgotten = replace(with_evidence, evidence=None)
    ours, theirs = (
        softs(plain.segment(video, "the dog", soft=True, state=each)) for each in (with_evidence, forgotten)
    )
    assert np.array_equal(ours, theirs)
