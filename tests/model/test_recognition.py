"""Patches that are told which words of the sentence they are taken for."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from locater.model.checkpoint import from_pretrained, save_pretrained
from locater.model.locater import Locater
from locater.model.recognition import COLOUR_WEIGHT, COLOURS, Recognition
from locater.model.visual.efficientnet import EfficientNetLite
from locater.model.visual.recogniser import class_names
from locater.text.colour_names import COLOUR_WORDS
from locater.text.table import WordTable
from tests.support.made_words import words_of
from tests.support.recognising import LISTED, recognising


def test_at_first_it_changes_nothing() -> None:
    recognition = Recognition(4, 6)
    patches = torch.randn(2, 3, 5, 6)
    words = replace(words_of(torch.randn(2, 7, 6), [7, 3]), meanings=torch.randn(2, 7, 4 + COLOURS))
    assert torch.equal(recognition(patches, torch.randn(2, 3, 5, 4 + COLOURS), words), patches)


@torch.no_grad()
def test_a_patch_takes_in_the_words_that_it_is_like_and_no_others() -> None:
    recognition = Recognition(4, 6)
    recognition.from_words.weight.copy_(torch.eye(6))
    features = torch.randn(1, 3, 6)
    said = torch.eye(4)[None, :3] * torch.tensor([1.0, 1.0, 0.0])[:, None]
    words = replace(words_of(features, [2]), meanings=F.pad(said, (0, COLOURS)))
    meanings = torch.tensor([[0.9, 0.1, 0.0, 0.0], [0.0, 0.7, 0.6, 0.0], [0.0, 0.0, 0.9, 0.0]])

    found = recognition(torch.zeros(1, 1, 3, 6), F.pad(meanings, (0, COLOURS))[None, None], words)[0, 0]

    torch.testing.assert_close(found[0], 0.7 * features[0, 0])  # likeness .9, of which .2 is anybody's
    torch.testing.assert_close(found[1], 0.5 * features[0, 1])
    assert not found[2].any()  # the third word is padding


@torch.no_grad()
def test_a_patch_takes_in_the_word_for_its_colour_and_no_other_colour() -> None:
    recognition = Recognition(4, 6)
    recognition.from_words.weight.copy_(torch.eye(6))
    features = torch.randn(1, 2, 6)
    red, blue = (F.one_hot(torch.tensor(COLOUR_WORDS.index(word)), COLOURS).float() for word in ("red", "blue"))
    nothing = torch.zeros(4)
    words = replace(words_of(features, [2]), meanings=torch.stack([torch.cat([nothing, c]) for c in (red, blue)])[None])
    patches = torch.stack([torch.cat([nothing, colour]) for colour in (red, 0.5 * blue, 0.05 * red)])

    found = recognition(torch.zeros(1, 1, 3, 6), patches[None, None], words)[0, 0]

    torch.testing.assert_close(found[0], (COLOUR_WEIGHT - 0.2) * features[0, 0])
    torch.testing.assert_close(found[1], (0.5 * COLOUR_WEIGHT - 0.2) * features[0, 1])
    assert not found[2].any()  # too little of it


def test_a_word_names_one_colour_exactly(tmp_path: Path) -> None:
    model = recognising(tmp_path)
    meanings = model.text(model.read(["the red car grey"])).meanings
    assert meanings is not None
    named = meanings[0, :, -COLOURS:]
    assert named[[0, 2]].abs().sum() == 0
    assert [COLOUR_WORDS[int(row.argmax())] for row in named[[1, 3]]] == ["red", "gray"] and named.sum() == 2


@torch.no_grad()
def test_a_patch_has_the_colours_of_its_own_pixels(tmp_path: Path) -> None:
    model = recognising(tmp_path)
    frames = torch.zeros(1, 2, 3, 64, 96)
    frames[:, 1, :, 16:32, 32:48] = torch.tensor([200 / 255, 30 / 255, 35 / 255])[:, None, None]
    found = model.visual(frames)
    assert found.meanings is not None and found.grid == (4, 6)
    shares = found.meanings[0, :, :, -COLOURS:]
    red, black = (shares[..., COLOUR_WORDS.index(word)] for word in ("red", "black"))
    assert red[1, 1 * 6 + 2] > 0.9 and black[1, 1 * 6 + 2] < 0.01
    assert red.sum() - red[1, 8] < 0.2 and black[0].min() > 0.9


def test_a_class_begins_with_the_meaning_of_its_name(tmp_path: Path) -> None:
    model = recognising(tmp_path)
    assert isinstance(model.visual, EfficientNetLite) and model.visual.recogniser is not None
    classes = model.visual.recogniser.meanings.weight.T
    words = model.text(model.read(["the flamingo"])).meanings
    assert words is not None

    torch.testing.assert_close(classes[class_names().index("flamingo")], words[0, 1, :-COLOURS])
    table = WordTable.load(tmp_path / "words.safetensors").vectors()
    torch.testing.assert_close(words[0, 1, :-COLOURS], F.normalize(table[1] - table.mean(0), dim=0))
    assert not words[0, 2:].any()


@torch.no_grad()
def test_what_is_recognised_reaches_the_mask_and_travels_with_the_checkpoint(tmp_path: Path) -> None:
    model = recognising(tmp_path).eval()
    frames, times = torch.rand(1, 1, 3, 64, 64), torch.zeros(1, 1, 2)

    def logits(network: Locater) -> torch.Tensor:
        tokens = network.read(["the flamingo"])
        found: torch.Tensor = network(frames, times, frames[:, :0], times[:, :0], tokens).logits
        return found

    before = logits(model)
    assert model.recognition is not None
    model.recognition.from_words.weight.normal_()
    model.recognition.least.fill_(-1.0)  # so that every word is called
    after = logits(model)
    assert not torch.allclose(before, after)

    save_pretrained(model, tmp_path / "checkpoint")
    torch.testing.assert_close(logits(from_pretrained(tmp_path / "checkpoint")), after)


@pytest.mark.parametrize("sentence", ["the flamingo", "the unheardof", "the"])
def test_a_word_outside_the_table_means_nothing(tmp_path: Path, sentence: str) -> None:
    meanings = recognising(tmp_path).text(recognising(tmp_path).read([sentence])).meanings
    assert meanings is not None
    sizes = meanings[0].norm(dim=-1)
    known = [word in LISTED for word in sentence.split()]
    torch.testing.assert_close(sizes[: len(known)], torch.tensor(known).float())
    assert not sizes[len(known) :].any()
