"""One mask sequence out of several and their scores: the best, a vote, or the first with its gaps filled in."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from locater.errors import LocaterError
from locater.inference.ensemble.scoring import Candidate
from locater.records import Mask

How = Literal["select", "fuse", "fill"]
HOWS: tuple[How, ...] = get_args(How)
SHARPNESS = 0.1  # differences of score that count in a vote
DOUBTED = 0.5  # a score below which the first member's answer gives way to a better one


def checked_how(text: str) -> How:
    """One of the ways to join candidates."""
    for how in HOWS:
        if how == text:
            return how
    raise LocaterError(f"There is no way '{text}' to join candidates; choose {', '.join(HOWS)}.")


def weights_of(scores: Sequence[float], how: How, doubt: float = DOUBTED) -> list[float]:
    """How much each candidate counts, of sum 1.

    `select`: the best alone. `fuse`: each by its score. `fill`: the first, unless its score is below `doubt` and
    another's is higher: of what it never learned, others may know more.
    """
    if how == "fuse":
        votes = np.exp((np.array(scores) - max(scores)) / SHARPNESS)
        return [float(vote) for vote in votes / votes.sum()]
    best = int(np.argmax(scores))
    chosen = 0 if how == "fill" and scores[0] >= doubt else best
    return [float(place == chosen) for place in range(len(scores))]


def fused(candidates: Sequence[Candidate], weights: Sequence[float]) -> Mapping[int, Mask]:
    """The weighted majority's mask in every frame that any candidate has; one that has none says nothing there."""
    masks: dict[int, Mask] = {}
    for index in sorted(set().union(*candidates)):
        told = [(each[index], weight) for each, weight in zip(candidates, weights, strict=True) if index in each]
        total = sum(weight for _, weight in told)
        if len({mask.shape for mask, _ in told}) > 1:
            raise LocaterError(
                f"The candidates' masks of frame {index} have different sizes; write them at the video's."
            )
        if total <= 0:  # only members that do not count have this frame
            masks[index] = np.zeros_like(told[0][0])
            continue
        vote = sum(weight * mask.astype(np.float64) for mask, weight in told)
        masks[index] = np.asarray(vote > total / 2, dtype=np.bool_)
    return masks
