"""Which words of a sentence name the thing that is meant."""

import pytest

from locater.text.head_noun import carriers, head_noun
from locater.text.words import split_words


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("the dog", "dog"),
        ("a small brown dog on the left", "dog"),
        ("the dog that chases a cat", "dog"),
        ("the man in a red jacket", "man"),
        ("the woman riding a horse", "woman"),
        ("a man runs to the right", "man"),
        ("the black and white cat is eating", "cat"),
        ("the parked white scooter", "scooter"),
        ("the girl dressed in blue", "girl"),
        ("the bird closest to the camera", "bird"),
        ("two girls dancing", "girls"),
        ("the fire hydrant next to the road", "fire hydrant"),
        ("the tennis player", "tennis player"),
        ("the traffic light on the left", "traffic light"),
        ("the bed", "bed"),
        ("the building behind the tree", "building"),
        ("the glass", "glass"),
        ("the left one", "one"),
        ("the white", "white"),
        ("dog", "dog"),
        ("", ""),
    ],
)
def test_the_noun_is_found(sentence: str, named: str) -> None:
    words = split_words(sentence)
    assert " ".join(words[place] for place in head_noun(words)) == named


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("the woman riding a horse", ["horse"]),
        ("the man on a red motorbike on the left", ["motorbike", "left"]),
        ("the dog next to the car", []),
        ("riding", []),
    ],
)
def test_what_a_thing_is_on_is_found(sentence: str, named: list[str]) -> None:
    words = split_words(sentence)
    assert [" ".join(words[place] for place in places) for places in carriers(words)] == named
