"""Whether the thing that was said is there at all: the head against its definition, and what the network does by it."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from locater.config import preset
from locater.model.build import build
from locater.model.locater import ClipFeatures, Locater
from locater.model.presence import LONGEST_MEAN, PresenceHead
from locater.records import Batch, FramePrediction, VideoState, Words
from locater.training.losses import clip_loss

TEXTS = ["the dog on the left", "a dog"]
VARIANTS: list[dict[str, object]] = [
    {},
    {"memory": {"local_ratio": 0.0}},
    {"memory": {"global_ratio": 0.0, "local_ratio": 0.0}},
    {"decoder": {"upsampling": "fine"}},
    {"decoder": {"upsampling": "bilinear"}},
]


def tiny(changes: dict[str, Any] | None = None, has_head: bool = True) -> Locater:
    """A network whose head and memory do not hide anything behind small numbers."""
    changes = changes or {}
    decoder = {**changes.get("decoder", {}), "presence": has_head}
    text = {"vocabulary": ["a", "dog", "left", "on", "the"]}
    model = build(preset("tiny", {**changes, "text": text, "decoder": decoder}), seed=0).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.memory.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        if model.presence is not None:
            for parameter in model.presence.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
            last = model.presence.head[-1]
            assert isinstance(last, torch.nn.Linear)
            last.weight.mul_(0.2)
            last.bias.fill_(-2.0)  # where an untrained network's logits lie, so that some are surer than it
    return model


def always(model: Locater, logit: float) -> Locater:
    """The network with a head that says the same of everything."""
    assert model.presence is not None
    last = model.presence.head[-1]
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(logit)
    return model


def clip(frames: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(2, frames, 3, 64, 64, generator=generator), torch.rand(2, frames, 2, generator=generator)


def prepared(model: Locater) -> tuple[ClipFeatures, Words, VideoState]:
    """Two clips, one sentence each, and the state before their first frame."""
    frames, times = clip()
    words = model.text(model.read(TEXTS))
    features = model.fuse(model.visual(frames), times, words)
    return features, words, model.write_global(features.positioned, model.initial_state(words))


def frame_prediction(logits: Tensor, presence: Tensor | None) -> FramePrediction:
    nothing = torch.zeros(len(logits), 1, 1)
    return FramePrediction(logits, nothing[..., 0], nothing, nothing[..., 0], logits.flatten(1), presence)


@torch.no_grad()
def test_evidence_is_the_objects_mean_over_frames_by_how_sure_they_were() -> None:
    torch.manual_seed(0)
    head = PresenceHead(6)
    values, logits = torch.randn(5, 2, 7, 6), 2 * torch.randn(5, 2, 7)
    evidence = head.no_evidence(2)
    assert evidence.shape == (2, 7) and not evidence.any()
    for t in range(5):
        evidence = head.evidence_with(evidence, values[t], logits[t])
        soft = logits[: t + 1].sigmoid()
        objects = (soft[..., None] * values[: t + 1]).sum(2) / soft.sum(2)[..., None]  # (T, B, D)
        sure = soft.amax(2)  # (T, B): of a frame, its surest patch
        expected = (sure[..., None] * objects).sum(0) / sure.sum(0)[:, None]
        torch.testing.assert_close(evidence[:, :-1], expected)
        torch.testing.assert_close(evidence[:, -1], sure.sum(0))


@torch.no_grad()
def test_evidence_stands_for_so_many_frames_and_no_more() -> None:
    """After a long past a new frame counts for one in LONGEST_MEAN + 1, so that what comes late can change it."""
    head = PresenceHead(2)
    sure = torch.full((1, 1), 50.0)
    evidence = head.no_evidence(1)
    for _ in range(100):
        evidence = head.evidence_with(evidence, torch.tensor([[[1.0, 0.0]]]), sure)
    torch.testing.assert_close(evidence, torch.tensor([[1.0, 0.0, LONGEST_MEAN]]))
    late = head.evidence_with(evidence, torch.tensor([[[0.0, 1.0]]]), sure)
    share = 1 / (LONGEST_MEAN + 1)
    torch.testing.assert_close(late, torch.tensor([[1 - share, share, LONGEST_MEAN]]))


@torch.no_grad()
def test_frames_that_mark_nothing_are_no_evidence_and_no_nan() -> None:
    head = PresenceHead(4)
    torch.manual_seed(0)
    before = head.evidence_with(head.no_evidence(1), torch.randn(1, 3, 4), torch.zeros(1, 3))
    after = head.evidence_with(before, 100 * torch.randn(1, 3, 4), torch.full((1, 3), -200.0))
    assert torch.equal(before, after)
    nothing = head.evidence_with(head.no_evidence(1), torch.randn(1, 3, 4), torch.full((1, 3), -200.0))
    assert not nothing.any() and head(nothing, torch.randn(1, 4)).isfinite().all()


@torch.no_grad()
def test_the_logit_compares_the_mean_object_with_the_query() -> None:
    torch.manual_seed(0)
    head = PresenceHead(5)
    evidence, query = torch.randn(3, 6), torch.randn(3, 5)
    mean = torch.nn.functional.layer_norm(evidence[:, :5], (5,))
    thing = mean @ head.from_object.weight.T + head.from_object.bias
    said = query @ head.from_query.weight.T + head.from_query.bias
    expected = head.head(torch.cat([thing, said, thing * said], dim=1))[:, 0]
    torch.testing.assert_close(head(evidence, query), expected)
    fewer = torch.cat([evidence[:, :5], 1 + evidence[:, 5:].abs()], dim=1)
    assert torch.equal(head(fewer, query), head(evidence, query))  # by what was seen, not by how long


def test_an_answer_is_no_surer_than_the_presence() -> None:
    model = tiny()
    logits = torch.tensor([[[-3.0, 2.0], [0.5, 9.0]], [[-3.0, 2.0], [0.5, 9.0]]])
    gated = model.answer(frame_prediction(logits, torch.tensor([1.0, -5.0])))
    assert gated.tolist() == [[[-3.0, 1.0], [0.5, 1.0]], [[-5.0, -5.0], [-5.0, -5.0]]]
    assert model.answer(frame_prediction(logits, None)) is logits


@torch.no_grad()
def test_a_network_without_a_head_is_the_same_network() -> None:
    headed, plain = tiny(), tiny(has_head=False)
    assert plain.presence is None
    kept = {name: value for name, value in headed.state_dict().items() if not name.startswith("presence.")}
    plain.load_state_dict(kept)
    features, words, start = prepared(plain)
    assert start.evidence is None
    ours, states = plain.decode_clip(features, words, start)
    assert all(each.presence is None for each in ours) and states[-1].evidence is None
    sure, sure_states = always(headed, 1e4).decode_clip(*prepared(headed))  # a head that never doubts changes nothing
    for one, other in zip(ours, sure, strict=True):
        assert torch.equal(plain.answer(one), headed.answer(other))
    assert torch.equal(states[-1].local_cells, sure_states[-1].local_cells)


@torch.no_grad()
def test_what_is_not_believed_stays_out_of_the_local_memory() -> None:
    model = always(tiny(), -40.0)
    features, words, state = prepared(model)
    predictions, states = model.decode_clip(features, words, state)
    writes = model.memory.prepare_local(features.projected)
    assert writes
    empty = state.local_cells
    for t, (prediction, after) in enumerate(zip(predictions, states, strict=True)):
        nothing = torch.zeros_like(prediction.logits)
        empty = model.memory.write_local(writes, t, nothing, features.grid, empty)
        torch.testing.assert_close(after.local_cells, empty, rtol=1e-5, atol=1e-6)
    _, believed = always(model, 40.0).decode_clip(features, words, state)
    assert (believed[-1].local_cells - empty).abs().max() > 1e-3


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@torch.no_grad()
def test_each_frame_is_judged_by_the_evidence_up_to_it(changes: dict[str, Any]) -> None:
    """Against the head called by hand: V and the patch logits of each frame, in order, and its own q."""
    model = tiny(changes)
    assert model.presence is not None
    features, words, state = prepared(model)
    predictions, states = model.decode_clip(features, words, state)
    evidence = model.presence.no_evidence(2)
    for t, (prediction, after) in enumerate(zip(predictions, states, strict=True)):
        evidence = model.presence.evidence_with(evidence, features.values[:, t], prediction.patch_logits)
        torch.testing.assert_close(after.evidence, evidence)
        torch.testing.assert_close(prediction.presence, model.presence(evidence, prediction.query))
    # Patch logits are those before any upsampling; of a bilinear decoder they are the logits themselves.
    assert predictions[0].patch_logits.shape == (2, 64)
    if model.decoder.upsampler is None:
        assert torch.equal(predictions[0].patch_logits, predictions[0].logits.flatten(1))


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@torch.no_grad()
def test_frames_one_by_one_are_the_whole_clip(changes: dict[str, Any]) -> None:
    model = tiny(changes)
    features, words, start = prepared(model)
    predictions, states = model.decode_clip(features, words, start)
    state = start
    for t, whole in enumerate(predictions):
        alone, state = model.step(features.frame(t), words, state)
        torch.testing.assert_close(alone.presence, whole.presence, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(model.answer(alone), model.answer(whole), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(state.evidence, states[t].evidence, rtol=1e-4, atol=1e-4)
        assert state.nbytes == start.nbytes
    rest, last = model.decode_clip(features, words, states[1], first=2)  # a chunk that was interrupted
    for ours, theirs in zip(rest, predictions[2:], strict=True):
        assert torch.equal(model.answer(ours), model.answer(theirs))
    assert last[-1].evidence is not None and states[-1].evidence is not None
    assert torch.equal(last[-1].evidence, states[-1].evidence)
    frames, times = clip()
    answered = torch.stack([model.answer(each) for each in predictions], dim=1)
    forward = model(frames, times, frames, times, model.read(TEXTS))
    torch.testing.assert_close(forward.logits, answered, rtol=1e-4, atol=1e-4)
    assert forward.presence.shape == (2, 4)


@pytest.mark.parametrize("changes", VARIANTS[:3], ids=str)
@torch.no_grad()
def test_several_sentences_of_a_clip_are_judged_as_each_alone(changes: dict[str, Any]) -> None:
    model = tiny(changes)
    frames, times = clip()
    texts = [*TEXTS, "the dog", "the left dog"]
    together = model(frames, times, frames, times, model.read(texts))
    for place, text in enumerate(texts):
        one = slice(place // 2, place // 2 + 1)
        alone = model(frames[one], times[one], frames[one], times[one], model.read([text]))
        torch.testing.assert_close(together.presence[[place]], alone.presence, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(together.logits[[place]], alone.logits, rtol=1e-4, atol=1e-4)


def test_training_leaves_the_masks_ungated_and_teaches_the_head_by_its_own_loss_alone() -> None:
    model = tiny().train()
    assert model.presence is not None
    frames, times = clip()
    prediction = model(frames, times, frames, times, model.read(TEXTS))
    assert prediction.presence is not None
    assert (prediction.logits > prediction.presence[..., None, None]).any()  # or no test would tell it from gated
    no = torch.zeros(0)
    masks = torch.zeros(2, 4, 64, 64)
    masks[0, :, :20, :20] = 1
    batch = Batch(no, no, no, no, tuple(TEXTS), masks, torch.ones(2, 4, dtype=torch.bool))
    terms = clip_loss(prediction, batch, 0.4, 0.5, 0.0)
    weights = list(model.presence.parameters())
    for name in ("mask", "dice"):
        found = torch.autograd.grad(terms[name], weights, retain_graph=True, allow_unused=True)
        assert all(gradient is None for gradient in found), name
    for gradient in torch.autograd.grad(terms["presence"], weights, retain_graph=True):
        assert gradient.abs().max() > 0
    (total,) = torch.autograd.grad(terms["loss"], weights[-1:])
    assert total.abs().max() > 0
    gated = model.eval()(frames, times, frames, times, model.read(TEXTS))
    assert (gated.logits <= gated.presence[..., None, None]).all()


@torch.no_grad()
def test_a_state_of_a_network_without_a_head_begins_with_no_evidence() -> None:
    model = tiny()
    features, words, start = prepared(model)
    ours, states = model.decode_clip(features, words, replace(start, evidence=None))
    theirs, expected = model.decode_clip(features, words, start)
    assert states[-1].evidence is not None and expected[-1].evidence is not None
    assert torch.equal(states[-1].evidence, expected[-1].evidence)
    assert torch.equal(model.answer(ours[-1]), model.answer(theirs[-1]))
