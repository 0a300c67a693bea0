"""Plurals, by rule and by heart."""

import pytest

from locater.text.plurals import plural


@pytest.mark.parametrize(
    "noun, many",
    [
        ("dog", "dogs"),
        ("person", "people"),
        ("man", "men"),
        ("woman", "women"),
        ("snowman", "snowmen"),
        ("human", "humans"),
        ("doberman", "dobermans"),
        ("child", "children"),
        ("lady", "ladies"),
        ("boy", "boys"),
        ("donkey", "donkeys"),
        ("bus", "buses"),
        ("glass", "glasses"),
        ("rhinoceros", "rhinoceroses"),
        ("oasis", "oases"),
        ("fox", "foxes"),
        ("couch", "couches"),
        ("toothbrush", "toothbrushes"),
        ("knife", "knives"),
        ("giraffe", "giraffes"),
        ("wolf", "wolves"),
        ("scarf", "scarves"),
        ("surfboard", "surfboards"),
        ("mouse", "mice"),
        ("goldfish", "goldfish"),
        ("sheep", "sheep"),
        ("tv", "tvs"),
    ],
)
def test_the_plural_of_a_noun(noun: str, many: str) -> None:
    assert plural(noun) == many


def test_of_several_words_the_last_changes() -> None:
    assert plural("wine glass") == "wine glasses"
    assert plural("baseball player") == "baseball players"


@pytest.mark.parametrize("noun", ["skis", "scissors", "tennis shoes", "people", "men", "fries"])
def test_what_is_many_already_has_none(noun: str) -> None:
    assert plural(noun) == ""
