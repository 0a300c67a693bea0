"""Which words decide: what the object's patches look at, weighted by its mask."""

from dataclasses import replace

import torch
from torch.nn import functional as F

from locater.config import preset
from locater.model.build import build
from locater.model.locater import ClipFeatures, Locater
from locater.records import FramePrediction

TEXTS = ["the dog on the left", "a dog"]


def decoded(model: Locater) -> tuple[ClipFeatures, list[FramePrediction]]:
    """Two sentences on three frames."""
    torch.manual_seed(1)
    words = model.text(model.read(TEXTS))
    size = model.config.image_size
    clip = model.fuse(model.visual(torch.rand(1, 3, 3, size, size)), torch.rand(1, 3, 2), words, True)
    return clip, model.decode_clip(clip, words, model.initial_state(words))[0]


def tiny(**changes: object) -> Locater:
    vocabulary = sorted({word for text in TEXTS for word in text.split()})
    return build(preset("tiny", {"text": {"vocabulary": vocabulary}, **changes}), seed=0).eval()


@torch.no_grad()
def test_words_are_weighted_by_what_the_object_looks_at() -> None:
    model = tiny(decoder={"upsampling": "fine"})
    clip, predictions = decoded(model)
    found = model.deciding_words(clip, predictions)
    assert clip.word_attention is not None and found.shape == (*clip.word_attention.shape[:2], 20)
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 3))
    assert found[1, :, 2:].eq(0).all()  # padding
    inside = F.adaptive_avg_pool2d(predictions[2].logits.sigmoid(), clip.grid).flatten(1)
    expected = torch.einsum("bp,bpw->bw", inside, clip.word_attention[:, 2])
    torch.testing.assert_close(found[:, 2], expected / expected.sum(-1, keepdim=True))


@torch.no_grad()
def test_of_an_empty_mask_what_comes_nearest_is_looked_at() -> None:
    model = tiny(decoder={"upsampling": "bilinear"})
    clip, predictions = decoded(model)
    assert clip.word_attention is not None
    nothing = torch.full_like(predictions[0].logits, -500.0)  # a sigmoid of which is zero
    nothing[:, 3, 4] = -200.0
    found = model.deciding_words(clip.frame(0), [replace(predictions[0], logits=nothing)])[:, 0]
    place = 3 * clip.grid[1] + 4
    expected = clip.word_attention[:, 0, place]
    torch.testing.assert_close(found, expected / expected.sum(-1, keepdim=True))


@torch.no_grad()
def test_without_a_fusion_that_looks_at_words_the_querys_attention_is_told() -> None:
    model = tiny(fusion={"kind": "concat"})
    clip, predictions = decoded(model)
    expected = torch.stack([prediction.query_attention for prediction in predictions], dim=1)
    assert torch.equal(model.deciding_words(clip, predictions), expected)
