import pytest

from locater.text.base_forms import base_forms


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("dogs", "dog"),
        ("horses", "horse"),
        ("boxes", "box"),
        ("puppies", "puppy"),
        ("cookies", "cookie"),
        ("wolves", "wolf"),
        ("knives", "knife"),
        ("woman's", "woman"),
        ("babies’s", "baby"),
        ("jumping", "jump"),
        ("riding", "ride"),
        ("dancing", "dance"),
        ("running", "run"),
        ("lying", "lie"),
        ("jumped", "jump"),
        ("carried", "carry"),
        ("kissed", "kiss"),
    ],
)
def test_the_base_form_is_among_the_candidates(word: str, base: str) -> None:
    assert base in base_forms(word)


@pytest.mark.parametrize(("word", "base", "other"), [("biting", "bite", "bit"), ("toed", "toe", "to")])
def test_of_two_words_the_right_one_comes_first(word: str, base: str, other: str) -> None:
    forms = list(base_forms(word))
    assert forms.index(base) < forms.index(other)


@pytest.mark.parametrize("word", ["is", "his", "bus", "glass", "dog", "left"])
def test_a_word_that_only_looks_like_a_form_has_none(word: str) -> None:
    assert list(base_forms(word)) == []
