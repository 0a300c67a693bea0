"""What is replayed is what would be computed; a stand-in captures where there is no GPU."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from locater.compute.cuda_graph import CapturedGraph, Replays, TensorFunction
from locater.config import preset
from locater.inference.async_results import packed, unpacked
from locater.inference.chunk_length import chunk_frames_of
from locater.inference.chunks import Chunks, Plan
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.model.cast_model import cast_model
from locater.model.locater import Locater

WORDS = ["a", "dog", "left", "on", "right", "the"]
SENTENCES = ["the dog on the left", "a dog"]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


class Stand:
    """Captures like a CUDA graph: the inputs are copied into the examples' place, the outputs are always the same."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, function: TensorFunction, *examples: Tensor) -> TensorFunction:
        self.made += 1
        inputs = tuple(example.clone() for example in examples)
        outputs = tuple(output.clone() for output in function(*inputs))

        def replay(*tensors: Tensor) -> tuple[Tensor, ...]:
            for own, given in zip(inputs, tensors, strict=True):
                own.copy_(given)
            for own, found in zip(outputs, function(*inputs), strict=True):
                own.copy_(found)
            return outputs

        return replay


def model_of(**changes: Any) -> Locater:
    return build(preset("tiny", {"text": {"vocabulary": WORDS}, "memory": {"interval": 4}, **changes}), seed=0).eval()


@pytest.fixture
def video() -> npt.NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (19, 36, 50, 3), dtype=np.uint8)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Segmenter], Stand]:
    """Makes a segmenter replay its chunks as on a GPU; what stands in for capturing comes back."""

    def changed(segmenter: Segmenter) -> Stand:
        stand = Stand()
        monkeypatch.setattr(segmenter.chunks, "_replays", Replays(segmenter.chunks._computed, stand))
        return stand

    return changed


def test_the_second_call_of_a_shape_is_captured_and_later_ones_replay_it() -> None:
    calls: list[tuple[int, int]] = []

    def scaled(how: int, values: Tensor) -> tuple[Tensor]:
        calls.append((how, len(values)))
        return (how * values,)

    stand = Stand()
    replays = Replays(scaled, stand, room=2)
    results = [replays(3, torch.full((2,), float(value)))[0] for value in range(4)]
    assert [result.tolist() for result in results] == [[0, 0], [3, 3], [6, 6], [9, 9]]  # none was overwritten
    assert stand.made == 1 and set(calls) == {(3, 2)}
    assert replays(2, torch.ones(2))[0].tolist() == [2, 2]  # another computation of the same shape
    assert replays(2, torch.ones(5))[0].tolist() == [2] * 5  # and now the first has no room any more
    assert replays(3, torch.ones(2))[0].tolist() == [3, 3]
    assert stand.made == 1


def test_what_is_captured_may_be_a_faster_twin() -> None:
    """Shapes that come once are left to the function itself: a twin that is compiled would be so for each of them."""
    made_by: list[str] = []

    def own(_: int, values: Tensor) -> tuple[Tensor]:
        made_by.append("own")
        return (2 * values,)

    def twin(_: int, values: Tensor) -> tuple[Tensor]:
        made_by.append("twin")
        return (values + values,)

    replays = Replays(own, Stand(), captured=twin)
    for size in (3, 5, 3, 3):
        assert replays(0, torch.ones(size))[0].tolist() == [2] * size
    assert made_by[:2] == ["own", "own"] and set(made_by[2:]) == {"twin"}


def test_only_what_is_replayed_is_compiled(video: npt.NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[nn.Module] = []
    monkeypatch.setattr(nn.Module, "compile", lambda part, **_: compiled.append(part))
    monkeypatch.setattr("locater.inference.chunks.captured_in_shared_pool", Stand)
    plain = Segmenter(model_of(), "cpu")
    expected = list(plain.segment(video, SENTENCES, chunk_frames=4))
    segmenter = Segmenter(model_of(), "cpu")
    segmenter.chunks = Chunks(segmenter.model, is_replayed=True, is_compiled=True)
    own = set(segmenter.model.modules())
    assert compiled and own.isdisjoint(compiled)
    weights = {each.data_ptr() for each in segmenter.model.parameters()}
    assert {each.data_ptr() for part in compiled for each in part.parameters()} <= weights  # none is held twice
    found = list(segmenter.segment(video, SENTENCES, chunk_frames=4))
    assert all(np.array_equal(ours.masks, theirs.masks) for ours, theirs in zip(found, expected, strict=True))


@pytest.mark.parametrize("mode", ["file", "live"])
@pytest.mark.parametrize("memory", [{}, {"local_ratio": 0.0}, {"global_ratio": 0.0, "local_ratio": 0.0}])
def test_a_replayed_video_is_the_plain_one(
    video: npt.NDArray[np.uint8], replayed: Callable[[Segmenter], Stand], mode: Any, memory: dict[str, float]
) -> None:
    segmenter = Segmenter(model_of(memory={"interval": 2, **memory}), "cpu")
    plain = list(segmenter.segment(video, SENTENCES, soft=True, mode=mode, chunk_frames=4))
    stand = replayed(segmenter)
    again = list(segmenter.segment(video, SENTENCES, soft=True, mode=mode, chunk_frames=4))
    has_global = bool(segmenter.model.config.global_cells)
    assert stand.made == 1 + (has_global and mode == "file")  # 19 frames: four full chunks; ten samples: two
    for ours, theirs in zip(again, plain, strict=True):
        assert np.array_equal(ours.soft_masks, theirs.soft_masks)  # type: ignore[arg-type]
        assert ours.word_attention == theirs.word_attention and ours.presence == theirs.presence
        assert torch.equal(ours.state.local_cells, theirs.state.local_cells)
        assert torch.equal(ours.state.global_cells, theirs.state.global_cells)
        assert ours.state.frame_index == theirs.state.frame_index == ours.frame.index + 1


@pytest.mark.parametrize(("chunk", "seen_last"), [(8, 8), (9, 1)])
def test_a_last_chunk_is_replayed_like_those_before_unless_it_is_much_shorter(
    video: npt.NDArray[np.uint8], replayed: Callable[[Segmenter], Stand], chunk: int, seen_last: int
) -> None:
    segmenter = Segmenter(model_of(), "cpu")
    plain = list(segmenter.segment(video, SENTENCES, soft=True, chunk_frames=chunk))
    stand, seen = replayed(segmenter), list[int]()
    segmenter.model.visual.register_forward_hook(lambda _, given, __: seen.append(given[0].shape[1]))
    again = list(segmenter.segment(video, SENTENCES, soft=True, chunk_frames=chunk))
    assert stand.made == 1 and seen[-1] == seen_last  # 19 frames
    assert len(again) == len(plain) == 19
    for ours, theirs in zip(again, plain, strict=True):
        np.testing.assert_allclose(ours.soft_masks, theirs.soft_masks, atol=1e-5)  # type: ignore[arg-type]
        assert ours.state.frame_index == theirs.state.frame_index
        assert torch.allclose(ours.state.local_cells, theirs.state.local_cells, atol=1e-5)


def test_a_last_chunk_stays_as_it_is_where_nothing_was_captured(
    video: npt.NDArray[np.uint8], replayed: Callable[[Segmenter], Stand]
) -> None:
    segmenter = Segmenter(model_of(), "cpu")
    stand, seen = replayed(segmenter), list[int]()
    segmenter.model.visual.register_forward_hook(lambda _, given, __: seen.append(given[0].shape[1]))
    assert len(list(segmenter.segment(video, SENTENCES, chunk_frames=13))) == 19
    assert stand.made == 0 and seen[-2:] == [13, 6]


def test_results_one_chunk_late_are_the_same(video: npt.NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch) -> None:
    segmenter = Segmenter(model_of(), "cpu")
    plain = list(segmenter.segment(video, SENTENCES, chunk_frames=4))
    monkeypatch.setattr(Segmenter, "_is_ahead", lambda *_: True)
    late = list(segmenter.segment(video, SENTENCES, chunk_frames=4))
    assert [result.frame.index for result in late] == list(range(19))
    for ours, theirs in zip(late, plain, strict=True):
        assert np.array_equal(ours.masks, theirs.masks)
        assert torch.equal(ours.state.local_cells, theirs.state.local_cells)


def test_a_video_of_one_chunk_is_read_and_encoded_once(video: npt.NDArray[np.uint8]) -> None:
    segmenter = Segmenter(model_of(), "cpu")
    seen: list[int] = []
    segmenter.model.visual.register_forward_hook(lambda _, given, __: seen.append(given[0].shape[1]))
    heard: list[int] = []
    at_once = list(segmenter.segment(video, SENTENCES, soft=True, chunk_frames=19, on_global_frame=heard.append))
    assert seen == [19] and heard == [18]
    assert all(result.state.is_global_complete for result in at_once)
    in_two_passes = list(segmenter.segment(video, SENTENCES, soft=True, chunk_frames=18))
    assert seen[1:] == [5, 18, 1]
    for ours, theirs in zip(at_once, in_two_passes, strict=True):
        np.testing.assert_allclose(ours.soft_masks, theirs.soft_masks, atol=1e-5)  # type: ignore[arg-type]
    rest = list(segmenter.segment(video, SENTENCES, soft=True, chunk_frames=19, state=at_once[6].state))
    for ours, theirs in zip(rest, at_once[7:], strict=True):
        assert np.array_equal(ours.soft_masks, theirs.soft_masks)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [1, 8, 13, 50])
def test_masks_travel_as_bits(width: int) -> None:
    masks = torch.rand(2, 3, width) > 0.5
    bits = packed(masks)
    assert bits.dtype == torch.uint8 and bits.shape == (2, 3, -(-width // 8))
    found = unpacked(bits, width)
    assert found.dtype == np.bool_ and np.array_equal(found, masks.numpy())


@pytest.mark.parametrize(
    ("samples", "expected"), [((), [(0, 5)]), ((0,), [(0, 5)]), ((2, 4), [(0, 2), (2, 4), (4, 5)])]
)
def test_a_live_chunk_is_cut_where_the_global_memory_changes(
    samples: tuple[int, ...], expected: list[tuple[int, int]]
) -> None:
    assert Plan(samples, is_live=True).spans(5) == expected
    assert Plan(samples).spans(5) == [(0, 5)]


VARIANTS: list[dict[str, Any]] = [
    {},
    {"memory": {"write": "paper", "read_mlp": True}, "decoder": {"upsampling": "bilinear"}},
    {"memory": {"write": "sum", "refine_blocks": 1}, "decoder": {"readout": "cosine"}},
    {"memory": {"local_ratio": 0.0}, "fusion": {"kind": "concat"}, "decoder": {"query": "text"}},
    {"visual": {"kind": "efficientnet_lite"}},
    {"visual": {"kind": "tiny_vit"}, "decoder": {"readout": "encoder_only"}},
    {"image_size": 56, "visual": {"kind": "dinov2", "patch_size": 14, "width": 48, "depth": 1, "heads": 3}},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=[str(changes) for changes in VARIANTS])
def test_every_network_computes_in_a_lower_precision_throughout(
    video: npt.NDArray[np.uint8], changes: dict[str, Any]
) -> None:
    model = model_of(**changes)
    segmenter = Segmenter(model, "cpu", "bfloat16")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}  # what is saved stays as it was
    exact = list(Segmenter(model, "cpu").segment(video[:6], SENTENCES, soft=True, chunk_frames=4))
    reduced = list(segmenter.segment(video[:6], SENTENCES, soft=True, chunk_frames=4))
    assert reduced[-1].state.local_cells.dtype == torch.bfloat16
    for ours, theirs in zip(reduced, exact, strict=True):
        assert np.abs(ours.soft_masks - theirs.soft_masks).max() < 0.1  # type: ignore[operator]
    resumed = list(segmenter.segment(video[:6], SENTENCES, soft=True, chunk_frames=4, state=exact[2].state))
    assert len(resumed) == 3  # a state of another precision is taken


def test_what_rounding_would_harm_stays_exact() -> None:
    copied = cast_model(model_of(), torch.bfloat16)
    assert copied.memory.time is not None and copied.memory.place is not None
    assert copied.memory.time.get_buffer("per_second").dtype == torch.float32
    assert {parameter.dtype for parameter in copied.text.parameters()} == {torch.float32}
    assert copied.memory.local_start.dtype == copied.visual.normalise(torch.rand(1, 1, 3, 8, 8)).dtype == torch.bfloat16
    model = model_of()
    assert cast_model(model, torch.float32) is model


def test_a_gpu_takes_more_frames_at_once_but_not_for_many_sentences() -> None:
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    assert [chunk_frames_of(cpu, 1), chunk_frames_of(cuda, 1), chunk_frames_of(cuda, 2)] == [2, 36, 18]
    assert chunk_frames_of(cuda, 100) == 8


@pytest.mark.gpu
@needs_gpu
def test_a_captured_function_is_the_plain_one() -> None:
    def double(values: Tensor) -> tuple[Tensor]:
        return (2 * values.sin(),)

    first, second = torch.rand(2, 100, device="cuda")
    captured = CapturedGraph(double, first)
    for values in (first, second):
        assert torch.equal(captured(values)[0], double(values)[0])


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("mode", ["file", "live"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("changes", VARIANTS, ids=[str(changes) for changes in VARIANTS])
def test_a_gpu_replays_what_it_computes(changes: dict[str, Any], precision: Any, mode: Any) -> None:
    video = np.random.default_rng(0).integers(0, 256, (40, 36, 50, 3), dtype=np.uint8)
    segmenter = Segmenter(model_of(**changes), "cuda", precision)
    assert segmenter.chunks._replays is not None
    found = list(segmenter.segment(video, SENTENCES, soft=True, mode=mode, chunk_frames=4))
    assert any(segmenter.chunks._replays._known.values())
    segmenter.chunks = Chunks(segmenter.chunks.model, is_replayed=False)
    plain = list(segmenter.segment(video, SENTENCES, soft=True, mode=mode, chunk_frames=4))
    limit = 1e-4 if precision == "float32" else 0.05
    for ours, theirs in zip(found, plain, strict=True):
        assert np.abs(ours.soft_masks - theirs.soft_masks).max() < limit  # type: ignore[operator]
        assert ours.state.frame_index == theirs.state.frame_index
