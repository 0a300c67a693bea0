import pytest

from locater.text.mirror import mirror_sentence


@pytest.mark.parametrize(
    ("sentence", "mirrored"),
    [
        ("the dog on the left of the right cat", "the dog on the right of the left cat"),
        ("Left dog, RIGHT cat", "Right dog, LEFT cat"),
        ("leftmost, right-hand, leftwards, right-most", "rightmost, left-hand, rightwards, left-most"),
        ("the bright light of leftovers and the upright man", "the bright light of leftovers and the upright man"),
        ("turning clockwise", "turning counterclockwise"),
        ("turning anti-clockwise", "turning clockwise"),
    ],
)
def test_both_sides_change_at_once_and_only_whole_words(sentence: str, mirrored: str) -> None:
    assert mirror_sentence(sentence) == mirrored


@pytest.mark.parametrize("sentence", ["the dog on the LEFT", "Rightmost red ring", "no sides here"])
def test_mirroring_twice_changes_nothing(sentence: str) -> None:
    assert mirror_sentence(mirror_sentence(sentence)) == sentence
