"""How much of what was tuned to take: an average of the start and the tuned network, chosen by validation.

Between the two lie networks that have learned nearly as much and forgotten less (Wortsman et al., *Robust fine-tuning
of zero-shot models*, 2022). A folder says nothing of what else the start knew, so the least change that helps is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass

from locater.model.locater import Locater
from locater.training.average import average
from locater.training.finetune.settings import OWN_VECTORS
from locater.training.recipe import AverageConfig

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
WORTH = 0.02  # what a larger share has to bring in validation


@dataclass(frozen=True)
class Blend:
    """The network that was chosen, the share of what was tuned in it, and every share's validation score."""

    model: Locater
    share: float
    scores: dict[float, float]


def blend(start: Locater, tuned: Locater, ends: tuple[float, float], score: Callable[[Locater], float]) -> Blend:
    """The average with the smallest share of `tuned` that scores nearly as well as the best.

    `ends` are the scores of the start and of the tuned network, which training has computed.
    """
    known = {SHARES[0]: ends[0], SHARES[-1]: ends[1]}
    scores = {share: known[share] if share in known else score(blended(start, tuned, share)) for share in SHARES}
    best = max(scores.values())
    share = min(share for share, value in scores.items() if value >= best - WORTH)
    return Blend(blended(start, tuned, share), share, scores)


def blended(start: Locater, tuned: Locater, share: float) -> Locater:
    """The average; vectors that belong to single words are the tuned ones wherever anything is taken."""
    names = tuned.state_dict().keys()
    own = next((part for part in OWN_VECTORS if any(name.startswith(f"{part}.") for name in names)), None)
    parts: dict[str, tuple[float, ...]] = {own: (0.0, 1.0)} if own is not None and share else {}
    return average([start, tuned], AverageConfig(of=("start", "tuned"), weights=(1 - share, share), parts=parts))
