"""What locater-lite has from Locater, word for word, and what it may not import."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import locater
import locater_lite
from locater.export.onnx_files import SECOND_LOOK_RULES
from locater.inference import judging, seen_colours
from locater.inference.redrawing import ALIKE, ENLARGED, LARGE, redrawn
from locater.model.checkpoint import find_checkpoint, from_pretrained, load_second_look
from locater.model.text import LSTMEncoder
from locater.text import colour_names, words
from locater.text.roles import lexicon
from locater.text.said_colours import said_colours
from locater_lite import colours
from locater_lite.errors import LocaterError
from locater_lite.judging import asked, verdicts
from locater_lite.pixels import redrawn as their_redrawn
from locater_lite.sentences import Reader
from locater_lite.text import colour_names as their_colours
from locater_lite.text import lexicon as their_lexicon
from locater_lite.text.said_colours import said_colours as their_said_colours

OURS, LITE = Path(locater.__file__).parent, Path(locater_lite.__file__).parent
COPIES = {
    f"text/{name}.py": f"text/{name}.py"
    for name in ("words", "base_forms", "head_noun", "unknown_nouns", "said_colours", "people")
}
COPIES["square_crop.py"] = "video/square_crop.py"
SENTENCES = [
    "the dog on the left",
    "two puppies' snowmobile, red-haired women riding elephants",
    "the brwon dog of a paraglider",
    "a xyzzyx of the qwrtzp plugh",
    "der Hund",
    " ".join(["the very long sentence"] * 9),
]


def body(path: Path) -> list[str]:
    """A module's lines without its imports from either package."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith(("from locater.", "from locater_lite."))]


@pytest.mark.parametrize("copy", COPIES)
def test_copied_rules_are_the_originals(copy: str) -> None:
    assert body(LITE / copy) == body(OURS / COPIES[copy])


def test_lists_of_words_are_the_originals() -> None:
    assert their_colours.COLOUR_WORDS == colour_names.COLOUR_WORDS
    assert their_colours.SAME_COLOURS == colour_names.SAME_COLOURS
    assert their_lexicon.FUNCTION_WORDS == lexicon.FUNCTION_WORDS


def test_sentences_are_read_as_the_network_reads_them() -> None:
    text = from_pretrained(find_checkpoint("default")).text
    assert isinstance(text, LSTMEncoder) and isinstance(text.vocabulary, words.ForgivingVocabulary)
    settings = {"max_words": text.max_words, "vocabulary": text.vocabulary.words, "listed": text.vocabulary.listed}
    reader = Reader(settings)
    tokens = [text.tokenize([sentence]) for sentence in SENTENCES]
    assert any(each.not_understood for each in tokens) and any("read as" in str(each.notices) for each in tokens)
    for sentence, ours in zip(SENTENCES, tokens, strict=True):
        theirs = reader.read(sentence)
        assert theirs.numbers.tolist() == ours.numbers.tolist()
        assert theirs.word_of_token.tolist() == ours.word_of_token.tolist()
        assert sorted(theirs.notices) == sorted(ours.notices) and theirs.not_understood == ours.not_understood


def test_verdicts_are_those_of_the_second_look() -> None:
    look = load_second_look(find_checkpoint("default"))
    assert look is not None and look.rivals.any()
    random = np.random.default_rng(0)
    seen, taken_for = (random.normal(size=(6, width)).astype(np.float32) for width in (1280, look.familiar.shape[1]))
    taken_for /= np.linalg.norm(taken_for, axis=1, keepdims=True)
    strange = random.normal(size=(2, look.familiar.shape[1])).astype(np.float32)
    strange /= np.linalg.norm(strange, axis=1, keepdims=True)
    nouns = np.concatenate([look.familiar.numpy(), look.rare.numpy(), strange])
    weights = {name: tensor.numpy() for name, tensor in look.state_dict().items()}
    with torch.no_grad():
        ready = look.asked(torch.from_numpy(nouns))
        ours = look.verdicts(torch.from_numpy(seen), torch.from_numpy(taken_for), ready).numpy()
    theirs = verdicts(weights, SECOND_LOOK_RULES, seen, taken_for, asked(weights, SECOND_LOOK_RULES, nouns))
    assert np.abs(theirs - ours).max() < 1e-3


def test_colours_are_measured_as_locater_measures_them() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    mask = np.zeros((40, 50), np.bool_)
    mask[5:30, 10:40] = True
    ours = seen_colours.shares_of(pixels, mask)
    theirs = colours.shares_of(pixels, mask, SECOND_LOOK_RULES)
    assert np.abs(theirs - ours.numpy()).max() < 1e-4
    for said in ([], ["red", "car"], ["the", "pink", "man", "in", "a", "white", "shirt"]):
        told = colours.verdict_on(their_said_colours(said), theirs, SECOND_LOOK_RULES)
        expected = seen_colours.verdict_on(said_colours(said), ours, judging.CARRIER_DOUBTED)
        assert told == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("apart", [0, 11, 12, 200])
def test_the_same_frames_are_without_colours(apart: int) -> None:
    pixels = np.full((120, 160, 3), 50, np.uint8)
    pixels[:4, :, 0] += apart  # more than a hundredth
    said = said_colours(["the", "red", "and", "white", "car"])
    theirs = colours.measurable(their_said_colours(["the", "red", "and", "white", "car"]), pixels, SECOND_LOOK_RULES)
    assert [each.word for each in theirs] == (["red", "white"] if apart >= 12 else ["white"])
    assert [each.word for each in theirs] == [each.word for each in seen_colours.measurable(said, pixels)]


@pytest.mark.parametrize("size", [(72, 128), (240, 427), (720, 1280)])
def test_masks_are_redrawn_in_the_same_crops(size: tuple[int, int]) -> None:
    def unchanged(_: Any, first: Any) -> Any:
        return first

    pixels, logits, whole = np.zeros((*size, 3), np.uint8), np.full((48, 84), -5.0, np.float32), (22, 40)
    logits[20:30, 10:28] = 4.0
    refiner: Any = SimpleNamespace(features=lambda seen: seen, redrawn=unchanged)
    settings = {"own_enlarged": ENLARGED, "refined_cells": 400, "large": LARGE, "alike": ALIKE}
    _, (ours,) = redrawn(refiner, pixels, torch.from_numpy(logits)[None], 400, whole)
    _, theirs = their_redrawn(unchanged, pixels, logits, settings, whole)
    assert ours is not None and theirs is not None
    assert theirs.place == ours.place and theirs.logits.shape == (1, *ours.logits.shape)


def test_a_network_with_a_tokenizer_of_its_own_is_refused() -> None:
    with pytest.raises(LocaterError, match="tokenizer of its own"):
        Reader({"max_words": 5, "tokenizer": "tokenizer"})


def test_neither_package_imports_the_other() -> None:
    assert {"locater", "torch", "transformers"}.isdisjoint(imported_by(LITE))
    ours = [path for path in OURS.rglob("*.py") if "locater_lite" in path.read_text("utf-8")]
    assert ours == []


def imported_by(folder: Path) -> set[str]:
    trees = [ast.walk(ast.parse(path.read_text("utf-8"))) for path in folder.rglob("*.py")]
    nodes = [node for tree in trees for node in tree]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in plain | {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}}
