"""Objects are found again by how they look, near where they were last, and by no more than was said of them."""

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.inference.correction.following import (
    UNKNOWN,
    corrected_in,
    found_again,
    labels_of,
    looks_of,
    nobody_followed,
    seen,
)
from locater.records import Followed

GRID = (8, 12)
NOTHING = torch.full((2, 16, 24), -8.0)


def picture(*places: tuple[int, int]) -> Tensor:
    """Features (1, 16, 8, 12): a thing of 2 x 2 cells at each place, one look, on a ground of another."""
    image = torch.randn(1, 16, 1, 1, generator=torch.Generator().manual_seed(0)).repeat(1, 1, *GRID)
    thing = torch.randn(16, 1, 1, generator=torch.Generator().manual_seed(1))
    for row, column in places:
        image[0, :, row : row + 2, column : column + 2] = thing
    return image


def mask(row: int, column: int) -> Tensor:
    """Logits (16, 24) of the thing at one place."""
    logits = torch.full((16, 24), -8.0)
    logits[2 * row : 2 * row + 4, 2 * column : 2 * column + 4] = 8.0
    return logits


def followed_from(row: int, column: int, *others: tuple[int, int]) -> Followed:
    """The second of two expressions, corrected in a picture with the thing at one place."""
    (looks,) = looks_of(picture((row, column), *others))
    state = corrected_in(nobody_followed(2, looks), 1, looks, labels_of(mask(row, column)[None], GRID)[0], trust=0.0)
    return seen(state, looks, torch.stack([NOTHING[0], mask(row, column)]), NOTHING, GRID)


def overlap(logits: Tensor, expected: Tensor) -> float:
    found, right = logits > 0, expected > 0
    return float((found & right).sum() / (found | right).sum())


def test_a_thing_that_moved_is_found_and_the_other_expression_is_left_alone() -> None:
    (looks,) = looks_of(picture((3, 5)))
    own = torch.stack([mask(6, 0), NOTHING[1]])
    first, second = found_again(followed_from(3, 3), looks, own, GRID)
    assert torch.equal(first, own[0])
    assert overlap(second, mask(3, 5)) > 0.5


def test_a_look_alike_farther_away_is_not_it() -> None:
    """Both look like the one that was corrected; only the one near the last place is found."""
    (looks,) = looks_of(picture((3, 4), (3, 10)))
    _, found = found_again(followed_from(3, 3, (3, 10)), looks, NOTHING, GRID)
    assert (found[7:9, 9:11] > 0).all() and not (found[:, 16:] > 0).any()


def test_what_has_gone_is_not_found_and_found_when_it_is_back_elsewhere() -> None:
    state = followed_from(3, 3)
    (empty,) = looks_of(picture((7, 11)) * 0 + picture()[:, :, :1, :1])
    gone = found_again(state, empty, NOTHING, GRID)
    (back,) = looks_of(picture((5, 9)))
    after = seen(state, empty, NOTHING, NOTHING, GRID)
    assert overlap(found_again(after, back, NOTHING, GRID)[1], mask(5, 9)) > 0.5
    assert gone.shape == NOTHING.shape


def test_the_networks_own_answer_counts_as_far_as_it_is_trusted() -> None:
    (looks,) = looks_of(picture((3, 3)))
    elsewhere = torch.stack([NOTHING[0], mask(6, 8)])
    state = followed_from(3, 3)
    doubted = found_again(state, looks, elsewhere, GRID)[1]
    trusted = found_again(Followed(**{**vars(state), "trust": torch.ones(2)}), looks, elsewhere, GRID)[1]
    assert not (doubted[12:16, 16:20] > 0).any() and (trusted[12:16, 16:20] > 0).all()


def test_the_network_is_trusted_as_far_as_it_comes_to_mark_what_is_followed() -> None:
    (looks,) = looks_of(picture((3, 3)))
    state = followed_from(3, 3)
    marked = torch.stack([NOTHING[0], mask(3, 3)])
    right, wrong = marked.clone(), torch.stack([mask(3, 3), mask(6, 8)])
    assert state.trust.tolist() == [0, 0]
    for _ in range(20):
        state = seen(state, looks, marked, right, GRID)
    assert state.trust[1] > 0.95 and state.trust[0] == 0  # nobody follows the first
    gone = seen(state, looks, NOTHING, NOTHING, GRID)
    assert torch.equal(gone.trust, state.trust)  # where there is nothing, nothing is told
    for _ in range(20):
        state = seen(state, looks, marked, wrong, GRID)
    assert state.trust[1] < 0.05


def test_the_network_goes_on_looking_where_only_what_is_not_meant_was_told() -> None:
    (looks,) = looks_of(picture((3, 3), (6, 8)))
    not_here = UNKNOWN * (1 - labels_of(mask(3, 3)[None], GRID)[0])
    state = corrected_in(nobody_followed(2, looks), 1, looks, not_here, trust=1.0)
    wrong = torch.stack([NOTHING[0], mask(3, 3)])
    for _ in range(30):  # marked every time, and taken out
        state = seen(state, looks, NOTHING, wrong, GRID)
    assert not (found_again(state, looks, NOTHING, GRID)[1] > 0).any()
    assert overlap(found_again(state, looks, torch.stack([NOTHING[0], mask(6, 8)]), GRID)[1], mask(6, 8)) > 0.9


def test_looks_have_one_length_and_fixed_size() -> None:
    looks = looks_of(picture((1, 1)))
    assert looks.shape == (1, 96, 16) and looks.dtype == torch.float16
    torch.testing.assert_close(looks.float().norm(dim=-1), torch.ones(1, 96), atol=1e-2, rtol=0)
    assert F.cosine_similarity(looks[0, 12 + 1].float(), looks[0, 0].float(), dim=0) < 0.5
