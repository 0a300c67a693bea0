"""An explanation against the segmenter itself, and its page."""

import re

import numpy as np
import pytest
import torch

from locater.config import preset
from locater.explain.explanation import Explanation, explain
from locater.explain.page import explanation_page
from locater.explain.pictures import words_figure
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.video.reader import open_source

SENTENCE = "the dog <on> the left"
VIDEO = np.random.default_rng(0).integers(0, 256, (5, 36, 50, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    """Every frame is written to its global memory, as every explained one is."""
    words = ["a", "dog", "left", "on", "right", "the"]
    return Segmenter(build(preset("tiny", {"text": {"vocabulary": words}, "memory": {"interval": 1}}), seed=0), "cpu")


@pytest.fixture(scope="module")
def explanation(segmenter: Segmenter) -> Explanation:
    return explain(segmenter, open_source(VIDEO, 10), SENTENCE, most_frames=5, anyway=False)


def test_masks_and_words_are_the_segmenters_with_and_without_each_word(
    segmenter: Segmenter, explanation: Explanation
) -> None:
    assert [each.word for each in explanation.removed] == ["dog", "left"]
    sentences = [SENTENCE, "the on the left", "the dog on the"]
    assert [each.sentence for each in explanation.removed] == sentences[1:]
    results = list(segmenter.segment(VIDEO, sentences, frames_per_second=10))
    masks = np.stack([result.masks for result in results], axis=1)
    assert masks[0].any() and not masks[0].all()
    np.testing.assert_array_equal(explanation.masks, masks[0])
    for each, expected in zip(explanation.removed, masks[1:], strict=True):
        np.testing.assert_array_equal(each.masks, expected)
        common, either = (expected & masks[0]).sum((1, 2)), (expected | masks[0]).sum((1, 2))
        np.testing.assert_allclose(each.overlaps, np.where(either == 0, 1, common / np.maximum(either, 1)))
    told = [[weight for _, weight in result.word_attention[0]] for result in results]
    np.testing.assert_allclose(explanation.word_attention, told, rtol=1e-4)


def test_what_is_read_comes_from_written_frames_alone(explanation: Explanation) -> None:
    whole, local = explanation.global_memory, explanation.local_memory
    assert whole is not None and local is not None
    assert whole.origins.shape == (5, 5, 8, 8) and local.origins.shape == (4, 5, 8, 8)
    for memory in (whole, local):
        torch.testing.assert_close(memory.frame_shares.sum(-1), torch.ones(len(memory.origins)))
        torch.testing.assert_close(memory.cells.sum(-1), torch.ones(len(memory.origins)))
        assert memory.cells_in_use.ge(1).all() and memory.cells_in_use.le(memory.cells.shape[-1] + 1e-3).all()
    assert whole.frame_shares.gt(0).all()
    is_earlier = torch.arange(5) <= torch.arange(4)[:, None]  # row t is the frame t + 1
    assert torch.equal(local.frame_shares > 0, is_earlier)


def test_a_longer_video_is_looked_at_here_and_there(segmenter: Segmenter) -> None:
    found = explain(segmenter, open_source(VIDEO, 10), "dog", most_frames=2, anyway=False)
    assert [frame.index for frame in found.frames] == [0, 3] and found.removed == ()


def test_the_page_holds_everything_and_asks_for_nothing(explanation: Explanation) -> None:
    page = explanation_page(explanation, "clip.mp4", "tiny")
    assert "the dog &lt;on&gt; the left" in page and "<on>" not in page
    assert not re.search(r"https?:|<script|<link|url\(", page)
    sources = re.findall(r'src="([^"]{12})', page)
    assert len(sources) > 5 and all(source.startswith("data:image/") for source in sources)
    assert words_figure(explanation, explanation.word_attention).size[0] > 500
