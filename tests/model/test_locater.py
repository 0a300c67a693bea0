"""The network, whole."""

import math

import pytest
import torch
from torch import Tensor

from locater.config import preset
from locater.model.build import build
from locater.model.locater import Locater
from locater.model.memory import WriteController

VOCABULARY = ["a", "dog", "left", "on", "the"]


def tiny(**changes: object) -> Locater:
    return build(preset("tiny", {"text": {"vocabulary": VOCABULARY}, **changes}), seed=0).eval()


def clip(frames: int = 3, size: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(2, frames, 3, size, size, generator=generator), torch.rand(2, frames, 2, generator=generator)


VARIANTS: list[dict[str, object]] = [
    {},
    {"memory": {"write": "paper", "time_embedding": False, "place_embedding": False}},
    {"memory": {"write": "sum", "refine_blocks": 1}},
    {"memory": {"read_mlp": True}},
    {"memory": {"read_mlp": True, "global_ratio": 0.0, "local_ratio": 0.0}},
    {"memory": {"global_ratio": 0.0}},
    {"memory": {"local_ratio": 0.0}},
    {"memory": {"global_ratio": 0.0, "local_ratio": 0.0}},
    {"memory": {"global_ratio": 3.0, "local_ratio": 1.0}},
    {"fusion": {"kind": "concat"}},
    {"fusion": {"norm": "post", "auxiliary": False}},
    {"decoder": {"upsampling": "bilinear"}},
    {"decoder": {"readout": "cosine"}},
    {"decoder": {"readout": "encoder_only", "query": "text"}},
    {"image_size": 56, "visual": {"kind": "dinov2", "patch_size": 14, "width": 48, "depth": 1, "heads": 3}},
    {"visual": {"kind": "efficientnet_lite"}},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=[str(changes) for changes in VARIANTS])
def test_every_switch_runs_and_every_weight_learns(changes: dict[str, object]) -> None:
    model = tiny(**changes)
    size = model.config.image_size
    frames, times = clip(size=size)
    prediction = model(frames, times, frames[:, :2], times[:, :2], model.read(["the dog on the left", "a dog"]))
    side = size // 2 if model.config.decoder.upsampling == "fine" else model.config.grid
    assert prediction.logits.shape == (2, 3, side, side)
    loss = prediction.logits.square().mean() + prediction.query_attention.square().mean()
    if prediction.auxiliary is not None:
        assert prediction.auxiliary.shape == (model.config.fusion.modules, 2, 3, model.config.grid, model.config.grid)
        loss = loss + prediction.auxiliary.square().mean()
    loss.backward()
    unlearned = {name for name, p in model.named_parameters() if p.grad is None and p.numel()}
    encoder_only = model.config.decoder.readout == "encoder_only"
    may_stay = {"decoder.query.from_context.weight"} if encoder_only else set()
    assert unlearned <= may_stay


def test_the_unrolled_forward_is_the_step_frame_by_frame() -> None:
    model = tiny()
    frames, times = clip()
    texts = ["the dog on the left", "a dog"]
    whole = model(frames, times, frames, times, model.read(texts))
    words = model.text(model.read(texts))
    state = model.write_global(model.fuse(model.visual(frames), times, words).positioned, model.initial_state(words))
    for t in range(3):
        features = model.fuse(model.visual(frames[:, t : t + 1]), times[:, t : t + 1], words)
        prediction, state = model.step(features.frame(0), words, state)
        torch.testing.assert_close(prediction.logits, whole.logits[:, t], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(state.local_cells, whole.state.local_cells, rtol=1e-4, atol=1e-5)
    assert state.frame_index == 3


@pytest.mark.parametrize("changes", VARIANTS[:14], ids=[str(changes) for changes in VARIANTS[:14]])
@pytest.mark.parametrize("is_fine", [True, False])
@torch.no_grad()
def test_a_chunks_steps_are_the_frames_one_by_one(changes: dict[str, object], is_fine: bool) -> None:
    """Also from the middle of a chunk, and for several sentences on one clip."""
    model = tiny(**changes)
    for parameter in model.memory.parameters():  # identities and small gates would hide a wrong order
        parameter.add_(0.1 * torch.randn_like(parameter))
    frames, times = clip(4)
    words = model.text(model.read(["the dog on the left", "a dog", "the dog", "the left dog"]))
    for clips in (1, 2):
        features = model.fuse(model.visual(frames[:clips]), times[:clips], words)
        start = model.write_global(features.positioned[:, ::2], model.initial_state(words))
        predictions, states = model.decode_clip(features, words, start, is_fine=is_fine)
        assert [state.frame_index for state in states] == [1, 2, 3, 4]
        state = start
        for t in range(4):
            alone, state = model.step(features.frame(t), words, state, is_fine)
            for name in ("logits", "query_attention", "context"):
                torch.testing.assert_close(getattr(predictions[t], name), getattr(alone, name), rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(states[t].local_cells, state.local_cells, rtol=1e-4, atol=1e-4)
        rest, last = model.decode_clip(features, words, states[1], first=2, is_fine=is_fine)
        assert all(torch.equal(ours.logits, theirs.logits) for ours, theirs in zip(rest, predictions[2:], strict=True))
        assert torch.equal(last[-1].local_cells, states[-1].local_cells) and last[-1].frame_index == 4


def test_without_global_frames_the_clips_own_are_remembered() -> None:
    model = tiny()
    frames, times = clip()
    tokens = model.read(["the dog on the left", "a dog"])
    own = model(frames, times, frames[:, :0], times[:, :0], tokens)
    torch.testing.assert_close(own.logits, model(frames, times, frames, times, tokens).logits, rtol=1e-4, atol=1e-5)
    other = model(frames, times, frames[:, :1], times[:, :1], tokens)
    assert not torch.allclose(own.logits, other.logits, rtol=1e-3)


def test_several_sentences_of_a_clip_are_as_good_as_each_alone() -> None:
    model = tiny(decoder={"upsampling": "fine"})
    frames, times = clip()
    texts = ["the dog on the left", "a dog", "the dog", "the left dog"]
    together = model(frames, times, frames, times, model.read(texts)).logits
    for place, text in enumerate(texts):
        one = slice(place // 2, place // 2 + 1)
        alone = model(frames[one], times[one], frames[one], times[one], model.read([text])).logits
        torch.testing.assert_close(together[place : place + 1], alone, rtol=1e-4, atol=1e-5)


def test_a_step_changes_no_weight_and_no_state_it_was_given() -> None:
    model = tiny()
    frames, times = clip(1)
    words = model.text(model.read(["a dog", "the dog"]))
    features = model.fuse(model.visual(frames), times, words).frame(0)
    before = model.initial_state(words)
    copies = before.global_cells.clone(), before.local_cells.clone()
    first, _ = model.step(features, words, before)
    second, after = model.step(features, words, before)
    assert torch.equal(first.logits, second.logits)
    assert torch.equal(before.global_cells, copies[0]) and torch.equal(before.local_cells, copies[1])
    assert after.frame_index == 1 and before.frame_index == 0


def test_other_input_sizes_keep_the_number_of_cells() -> None:
    model = tiny()
    frames, times = clip(2, size=96)
    prediction = model(frames, times, frames, times, model.read(["a dog", "the dog"]))
    assert prediction.logits.shape == (2, 2, 48, 48)
    assert prediction.state.global_cells.shape[1] == 32


def test_the_mask_feeds_back_into_the_local_memory() -> None:
    model = tiny(decoder={"upsampling": "bilinear", "readout": "product"})
    cells = model.memory.initial_state(1)[1]
    writes = model.memory.prepare_local(torch.randn(1, 1, 64, 32))
    assert writes
    empty, full = (model.memory.write_local(writes, 0, torch.full((1, 8, 8), v), (8, 8), cells) for v in (0.0, 1.0))
    assert (empty - full).abs().max() > 1e-4


def literal_write(write: WriteController, values: Tensor, mask: tuple[Tensor, Tensor] | None, cells: Tensor) -> Tensor:
    """Eq. 5, and with the embedded mask and its weight Eq. 6: every cell with every patch, then their mean."""
    seen = [] if mask is None else [mask]
    pooled = cells.mean(1, keepdim=True).expand_as(values)
    parts = [(values, write.from_values.weight), *seen, (pooled, write.from_summary.weight)]
    c = torch.cat([part for part, _ in parts], dim=-1) @ torch.cat([weight for _, weight in parts], dim=1).T
    o = torch.einsum("bpd,de,bne->bnp", c, write.gate.weight.T, cells).sigmoid()[..., None]
    return (o * c[:, None] + (1 - o) * cells[:, :, None]).mean(2)


@torch.no_grad()
def test_a_clip_is_the_papers_equations_one_after_another() -> None:
    """Eq. 5 to 11 as printed, by the loop that trains and segments: each frame's own soft mask is written with it."""
    paper = {"write": "paper", "heads": 1, "time_embedding": False, "place_embedding": False, "local_ratio": 0.75}
    model = tiny(memory=paper, fusion={"centre": False}, decoder={"upsampling": "bilinear"}).double()
    memory, query = model.memory, model.decoder.query
    assert memory.global_write and memory.local_write and memory.from_mask and memory.mask_embedding
    for parameter in memory.parameters():  # cells, gates and masks that start small would hide a wrong part
        parameter.add_(0.3 * torch.randn_like(parameter))
    frames, times = (x.double() for x in clip(3))
    words = model.text(model.read(["the dog on the left", "a dog"]))
    features = model.fuse(model.visual(frames), times, words)
    state = model.write_global(features.positioned[:, ::2], model.initial_state(words))
    m_global, m_local = memory.initial_state(2)
    for t in (0, 2):
        m_global = literal_write(memory.global_write, features.values[:, t], None, m_global)
    torch.testing.assert_close(state.global_cells, m_global, rtol=1e-9, atol=1e-9)
    predictions, states = model.decode_clip(features, words, state)
    for t in range(3):
        v = features.values[:, t]
        read = [(v @ cells.mT / math.sqrt(v.shape[-1])).softmax(-1) @ cells for cells in (m_global, m_local)]  # Eq. 7
        g = v + sum(read)  # Eq. 8
        z = torch.cat([v.mean(1), m_global.mean(1), m_local.mean(1)], dim=-1)  # Eq. 9
        logits = (query.from_words(words.features) @ query.from_context(z)[..., None]).squeeze(-1)
        attention = logits.masked_fill(words.is_padding, -torch.inf).softmax(-1)  # Eq. 10
        q = (attention[..., None] * words.features).sum(1)
        mask = (g @ q[..., None]).view(2, 8, 8)  # Eq. 11, before its sigmoid
        torch.testing.assert_close(predictions[t].query_attention, attention, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(predictions[t].logits, mask, rtol=1e-9, atol=1e-9)
        s = memory.mask_embedding.layers(mask.sigmoid()[:, None]).flatten(2).mT
        m_local = literal_write(memory.local_write, v, (s, memory.from_mask.weight), m_local)  # Eq. 6
        torch.testing.assert_close(states[t].local_cells, m_local, rtol=1e-9, atol=1e-9)


def test_the_head_of_doings_answers_training_alone_and_learns_through_the_memory() -> None:
    model = tiny(memory={"motion_targets": 5, "read_mlp": True}).train()
    frames, times = clip()
    tokens = model.read(["the dog on the left", "a dog"])
    prediction = model(frames, times, frames, times, tokens)
    assert prediction.motion_targets is not None and prediction.motion_targets.shape == (2, 3, 8, 8, 5)
    prediction.motion_targets.square().mean().backward()
    assert model.memory.global_write and model.memory.global_write.from_values.weight.grad is not None
    assert model.eval()(frames, times, frames, times, tokens).motion_targets is None


def test_a_coarse_stage_trains_the_patch_grids_logits_that_the_fine_ones_build_on() -> None:
    model = tiny(decoder={"upsampling": "fine"})
    frames, times = clip()
    tokens = model.read(["the dog on the left", "a dog"])
    assert model(frames, times, frames, times, tokens).logits.shape[-2:] == (32, 32)
    assert model(frames, times, frames, times, tokens, is_fine=False).logits.shape[-2:] == (8, 8)


def test_paper_has_the_papers_shapes() -> None:
    with torch.device("meta"):
        model = build(preset("paper"))
    memory = model.memory
    assert memory.global_write and memory.local_write and memory.from_mask
    assert memory.global_start.shape == (600, 768) and memory.local_start.shape == (800, 768)
    assert memory.global_write.from_values.weight.shape == (768, 768)  # W_c^g = [W_v, W_a] is D x 2D
    assert memory.global_write.gate.weight.shape == (768, 768)
    assert model.decoder.query.from_context.weight.shape == (768, 3 * 768)
    assert len(model.fusion.steps) == 3  # type: ignore[arg-type]
    assert model.decoder.upsampler is None and memory.time is None
    words = model.text.max_words
    assert words == 20
