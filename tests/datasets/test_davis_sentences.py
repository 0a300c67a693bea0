"""DAVIS with our sentences: the file itself, both layouts, and the real sequences."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from locater.datasets.catalog import open_dataset
from locater.datasets.davis import KINDS, DavisSentences, described_sequences
from locater.datasets.inspect.check import check_dataset
from locater.errors import LocaterError
from locater.text.words import split_words
from tests.support.datasets.making_datasets import real_data
from tests.support.datasets.making_davis import FRAMES, make_davis, true_mask


def test_every_sequence_has_three_sentences_of_its_own() -> None:
    described = described_sequences()
    assert len(described) == 30 and list(described) == sorted(described)
    sentences = [sentence for each in described.values() for sentence in each.sentences.values()]
    assert len(sentences) == len(set(sentences)) == 90
    for sequence, each in described.items():
        assert tuple(each.sentences) == KINDS and each.classes and all(each.classes)
        for sentence in each.sentences.values():
            assert sentence == " ".join(sentence.split()) and sentence.startswith("the "), sequence
            assert sentence.isascii() and sentence == sentence.lower() and len(split_words(sentence)) <= 20
    # A class that nobody shares and no sentence names would be a misspelt one.
    everything = " ".join(sentences)
    for each in described.values():
        for name in each.classes:
            is_shared = sum(name in other.classes for other in described.values()) > 1
            assert is_shared or name in everything, name


def test_every_sequence_has_wrong_sentences_that_name_nothing_of_it(tmp_path: Path) -> None:
    dataset = DavisSentences(tmp_path, "train")
    with_look_alikes = set()
    for sequence, each in described_sequences().items():
        wrong, crowd = dataset.wrong_sentences(sequence), dataset.crowd_sentences(sequence)
        assert (len(wrong["far"]), len(wrong["kin"])) == (2, 3), sequence
        assert set(wrong) <= {"far", "kin", "attribute"}
        # A look-alike asks for both: a wrong sentence that means it, and a right one that tells it from the object.
        assert bool(crowd) == ("attribute" in wrong), sequence
        if crowd:
            with_look_alikes.add(sequence)
        every = [*each.sentences.values(), *crowd, *(sentence for kind in wrong.values() for sentence in kind)]
        assert len(every) == len(set(every)), sequence
        for sentence in every:
            assert sentence == " ".join(sentence.split()) and sentence.startswith("the "), sentence
            assert sentence.isascii() and sentence == sentence.lower() and len(split_words(sentence)) <= 20
        for sentence in (*wrong["far"], *wrong["kin"]):
            assert not each.classes & set(split_words(sentence)), (sequence, sentence)
    assert len(with_look_alikes) == 8


@pytest.mark.parametrize(("inside", "leap", "rate"), [("", 2, 12.0), ("480p", 1, 24.0)])
def test_layouts(tmp_path: Path, inside: str, leap: int, rate: float) -> None:
    make_davis(tmp_path, inside, leap)
    dataset = open_dataset("davis", tmp_path, None)
    infos = dataset.samples()
    assert [info.key for info in infos[:4]] == ["bear/noun", "bear/attribute", "bear/action", "bmx-bumps/noun"]
    for info in infos[::7]:
        sample = dataset.load(info)
        assert sample.frames.info.frames_per_second == rate
        assert [frame.timestamp for frame in sample.frames.frames()] == [index / rate for index in range(FRAMES)]
        assert list(sample.masks) == list(range(FRAMES))
        assert all(np.array_equal(sample.masks[index], true_mask(info.video, index)) for index in range(FRAMES))
    assert check_dataset("davis", tmp_path, None).is_fine


def test_masks_of_any_value_count(tmp_path: Path) -> None:
    make_davis(tmp_path)
    mask = true_mask("bear", 0)
    for numbers in (mask.astype(np.uint8) * 255, mask.astype(np.uint8) * 3):
        Image.fromarray(numbers).save(tmp_path / "Annotations/bear/00000.png")
        dataset = open_dataset("davis", tmp_path, None)
        assert np.array_equal(dataset.load(dataset.samples()[0]).masks[0], mask)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match="JPEGImages/480p is missing"):
        open_dataset("davis", tmp_path, None).samples()
    make_davis(tmp_path)
    (tmp_path / "Annotations/bear/00002.png").unlink()
    for path in (tmp_path / "JPEGImages/boat").iterdir():
        path.unlink()
    problems = " ".join(check_dataset("davis", tmp_path, None).problems)
    assert "bear/00002.png is missing" in problems and "boat has no frames" in problems


def test_real_sequences() -> None:
    dataset = open_dataset("davis", real_data("davis2016_train_240p"), None)
    frames = 0
    for info in dataset.samples()[:: len(KINDS)]:
        sample = dataset.load(info)
        assert sample.frames.info.frames_per_second == 12.0  # every second frame
        assert len(sample.masks) == sample.frames.info.frame_count
        assert sample.masks[0].shape == next(sample.frames.frames()).pixels.shape[:2]
        assert sample.masks[0].any()
        frames += len(sample.masks)
    assert frames == 1044
