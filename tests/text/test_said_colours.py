"""Which colours a sentence says the thing itself has."""

import pytest

from locater.text.said_colours import said_colours
from locater.text.words import split_words


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("the red car", ("red",)),
        ("the black and white cat on the left", ("black", "white")),
        ("a silver van parked beside the blue boat", ("gray",)),
        ("the man in a dark blue shirt with a hockey stick", ("blue",)),
        ("the man in light blue jeans and a brown sweater", ("blue", "brown")),
        ("the person wearing a green vest standing on the hill", ("green",)),
        ("the woman in red", ("red",)),
        ("the white horse with a rider in a black helmet", ("white",)),  # of a helmet little may be seen
        ("the dog on the green grass", ()),
        ("the boat in the blue water", ()),
        ("the car in the red garage", ()),
        ("the man on a blue motorbike", ()),
        ("the duck with a yellow beak", ()),
        ("the orange", ()),  # a fruit
        ("the dog", ()),
        ("the red one", ("red",)),
        ("this", ()),
        ("the black man in a yellow shirt", ("yellow",)),  # pixels of a face are not black
        ("the white woman", ()),
        ("the white dog", ("white",)),
        ("the red haired woman in green", ("green",)),
        ("the red haired", ()),  # nor where the woman is left out
        ("the red striped shirt", ()),
        ("the white bed", ("white",)),
        ("a brown shed behind the red sled", ("brown",)),
        ("the red bed frame", ("red",)),
        ("the man in a red t-shirt", ("red",)),
        ("the man in a white polo shirt", ("white",)),
        ("the man in the black top hat", ()),
        ("the woman in a black top", ("black",)),
    ],
)
def test_colours_of_the_thing_alone_are_told(sentence: str, expected: tuple[str, ...]) -> None:
    assert tuple(colour.word for colour in said_colours(split_words(sentence))) == expected


def test_colours_of_clothes_are_told_as_such() -> None:
    assert said_colours(split_words("the white dog in a red sweater")) == (("white", False), ("red", True))
    assert said_colours(split_words("the red man in a red sweater")) == (("red", False),)  # the stricter one
