"""Which unknown words a sentence cannot do without."""

import pytest

from locater.text.unknown_nouns import unknown_nouns


@pytest.mark.parametrize(
    ("sentence", "unknown", "nouns"),
    [
        ("the corgi is eating some leaves", ["corgi"], ["corgi"]),
        ("guy in brown hoodie standing on the hill", ["hoodie"], ["hoodie"]),
        ("seagull", ["seagull"], ["seagull"]),
        ("Guy is eating a Burger", ["Burger"], ["Burger"]),
        ("the man in the halloween suit is eating", ["halloween"], []),  # before its noun
        ("a metallic ball is moving", ["metallic"], []),
        ("the green ball occluded by the man", ["occluded"], []),  # a participle
        ("boy with number 22 standing there", ["22"], []),
        ("the dog on the left", [], []),
        ("pies po lewej stronie", ["po", "lewej", "stronie"], ["po", "lewej", "stronie"]),
        ("le chat qui saute", ["qui", "saute"], ["qui", "saute"]),
        ("il cane", [], ["il"]),  # an English cane is not meant
        ("UN soldiers walking", [], []),
        ("la", [], []),
    ],
)
def test_nouns_and_other_languages_are_found(sentence: str, unknown: list[str], nouns: list[str]) -> None:
    assert unknown_nouns(sentence.split(), unknown) == nouns
