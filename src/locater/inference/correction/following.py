"""Where a corrected object is in the next frame: each place asks the places most like it in frames that are known."""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.compute.upsample import upsample
from locater.model.visual.refiner import SUREST
from locater.records import Followed
from locater.video.overlap import iou

ALIKE = 8  # places of a known frame that are asked
SHARPNESS = 0.07  # differences of cosine likeness that count
REACH = 0.15  # of the longer side: how far an object is looked for from where it was in the last frame
UNKNOWN = 0.5
PACE = 0.2  # of trust in the network, a frame
LENIENCE = 0.5  # on a logit: it is more often overlooked than seen where it is not
_LEAST = 1e-3  # a probability below it says no more


def looks_of(image: Tensor) -> Tensor:
    """How places look, (T, P, D) float16 of length 1, from features (T, D, r, c) less what all have in common."""
    features = image.float().flatten(2)
    return F.normalize(features - features.mean(2, keepdim=True), dim=1).transpose(1, 2).half()


def labels_of(logits: Tensor, grid: tuple[int, int]) -> Tensor:
    """How much of each place is the object's, (..., P), from logits (..., h, w).

    Of the mask, not of the soft mask: a doubt that is handed from frame to frame grows until nothing is left.
    """
    return F.adaptive_avg_pool2d((logits > 0).float(), grid).flatten(-2)


def nobody_followed(rows: int, looks: Tensor) -> Followed:
    """A state of `rows` expressions of which none was corrected, in frames that look like `looks` (P, D)."""
    labels = looks.new_zeros(rows, looks.shape[0], dtype=torch.float32)
    return Followed(
        is_followed=torch.zeros(rows, dtype=torch.bool, device=looks.device),
        first_looks=looks.new_zeros(rows, *looks.shape),
        first_labels=labels,
        last_looks=looks,
        last_labels=labels.clone(),
        trust=labels.new_zeros(rows),
    )


def corrected_in(followed: Followed, row: int, looks: Tensor, labels: Tensor, trust: float) -> Followed:
    """The state with a row that is followed from a frame `looks` (P, D) with `labels` (P,) on."""
    here = torch.arange(len(followed.trust), device=looks.device) == row
    return replace(
        followed,
        is_followed=followed.is_followed | here,
        first_looks=torch.where(here[:, None, None], looks, followed.first_looks),
        first_labels=torch.where(here[:, None], labels, followed.first_labels),
        trust=torch.where(here, trust, followed.trust),
    )


def forgotten(followed: Followed, rows: Tensor) -> Followed:
    """The state without the objects of some rows (B,) bool."""
    return replace(followed, is_followed=followed.is_followed & ~rows)


def seen(followed: Followed, looks: Tensor, logits: Tensor, own: Tensor, grid: tuple[int, int]) -> Followed:
    """The state after a frame whose masks are `logits` (B, h, w), where the network's own were `own`.

    The network was wrong where it was corrected, and may be right elsewhere: as far as it comes to mark what is
    followed, it is trusted. Where nobody said what the object is, it alone looks for it, and stays trusted.
    """
    ours, theirs = logits > 0, own > 0
    is_known = (followed.first_labels > UNKNOWN).any(1)
    tells = followed.is_followed & is_known & (ours | theirs).flatten(1).any(1)
    trust = torch.where(tells, followed.trust.lerp(iou(ours, theirs).to(followed.trust), PACE), followed.trust)
    return replace(followed, last_looks=looks, last_labels=labels_of(logits, grid), trust=trust)


def found_again(followed: Followed, looks: Tensor, own: Tensor, grid: tuple[int, int]) -> Tensor:
    """Each followed row's logits (B, h, w) in a frame `looks` (P, D), the network's `own` being (B, h, w); others' own.

    The corrected frame is asked wherever in it a place lies, the last one only nearby; where the object was not in the
    last frame, only the corrected one. The network's own answer counts as far as it was right where it was corrected.
    """
    distance = _distances(grid, looks.device)
    answers = []
    for row, is_followed in enumerate(followed.is_followed.tolist()):
        if not is_followed:
            answers.append(own[row])
            continue
        belief = _asked(looks, followed.first_looks[row], followed.first_labels[row])
        last = followed.last_labels[row]
        if (last > UNKNOWN).any():
            nearby = _asked(looks, followed.last_looks, last, (distance / REACH) ** 2)
            belief = (belief + nearby) / 2
        matched = (belief.clamp(_LEAST, 1 - _LEAST).logit() + LENIENCE).view(1, *grid)
        matched = upsample(matched, (own.shape[-2], own.shape[-1]))[0]
        answers.append(matched + followed.trust[row] * own[row].float().clamp(-SUREST, SUREST))
    return torch.stack([answer.to(own.dtype) for answer in answers])


def _asked(looks: Tensor, known: Tensor, labels: Tensor, malus: Tensor | float = 0.0) -> Tensor:
    """What the places of a known frame (P, D) most like each place say of it, (P,)."""
    likeness = looks.float() @ known.float().T / SHARPNESS - malus
    best, places = likeness.topk(min(ALIKE, likeness.shape[-1]), dim=-1)
    return (best.softmax(-1) * labels[places]).sum(-1)


def _distances(grid: tuple[int, int], device: torch.device) -> Tensor:
    """(P, P): how far places lie apart, in fractions of the longer side."""
    rows, columns = (torch.arange(side, device=device, dtype=torch.float32) for side in grid)
    places = torch.cartesian_prod(rows, columns) / max(grid)
    return torch.cdist(places, places)
