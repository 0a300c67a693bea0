"""The training loss (Eq. 12), with dice beside it as an option."""

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.compute.processes import mean_over_processes
from locater.compute.rows import expand_to_expressions
from locater.compute.upsample import upsample
from locater.model.locater import ClipPrediction


class Supervision(Protocol):
    """What is true of a batch; `Batch` says it pixel by pixel."""

    @property
    def masks(self) -> Tensor:
        """(B * E, T, h, w) in [0, 1]."""
        ...

    @property
    def is_seen(self) -> Tensor:
        """(B * E, T) bool, as `Batch.is_seen`."""
        ...

    @property
    def is_annotated(self) -> Tensor:
        """(B * E, T) bool."""
        ...

    @property
    def motion_targets(self) -> Tensor | None:
        """(B, T, C + 1, h, w), as `Batch.motion_targets`."""
        ...


def clip_loss(
    prediction: ClipPrediction,
    batch: Supervision,
    auxiliary_weight: float,
    dice_weight: float,
    motion_target_weight: float,
    presence_weight: float = 1.0,
) -> dict[str, Tensor]:
    """The loss of a clip and its terms, over annotated frames alone, at the masks' own size.

    Logits are upsampled rather than probabilities: the same zero set between equal neighbours, and a gradient that
    does not die where a sigmoid is sure and wrong.
    """
    # A weight per frame rather than a selection of frames: shapes stay, and the GPU is not asked how many there are.
    # Every process divides by the same number: gradients are means over processes, and so that of the whole batch.
    share = batch.is_annotated / mean_over_processes(batch.is_annotated.sum())  # (B, T)

    def mean(a_frame: Tensor) -> Tensor:
        return (a_frame * share).sum()

    final = _at_mask_size(prediction.logits, batch.masks)
    terms = {"mask": mean(cross_entropy(final, batch.masks))}
    total = terms["mask"]
    if dice_weight:
        terms["dice"] = mean(dice(final.sigmoid(), batch.masks))
        total = total + dice_weight * terms["dice"]
    if prediction.auxiliary is not None and auxiliary_weight:
        modules = [mean(cross_entropy(_at_mask_size(x, batch.masks), batch.masks)) for x in prediction.auxiliary]
        terms["auxiliary"] = torch.stack(modules).sum()
        total = total + auxiliary_weight * terms["auxiliary"]
    if prediction.motion_targets is not None and batch.motion_targets is not None and motion_target_weight:
        terms["motion_targets"] = motion_target_error(
            prediction.motion_targets, expand_to_expressions(batch.motion_targets, len(prediction.motion_targets))
        )
        total = total + motion_target_weight * terms["motion_targets"]
    if prediction.presence is not None and presence_weight:
        # Of the whole clip: a thing that is hidden for a while is there all the same.
        is_there = (batch.is_seen & batch.is_annotated).any(1, keepdim=True).float()  # (B, 1)
        error = F.binary_cross_entropy_with_logits(
            prediction.presence.float(), is_there.expand_as(prediction.presence), reduction="none"
        )
        terms["presence"] = mean(error)
        total = total + presence_weight * terms["presence"]
    return {"loss": total, **terms}


def with_classes_kept(terms: dict[str, Tensor], scores: Tensor, before: Tensor, weight: float) -> dict[str, Tensor]:
    """The terms of a loss that also counts, by its weight, how far classes are told otherwise than `before`."""
    divergence = class_divergence(scores, before)
    return {**terms, "loss": terms["loss"] + weight * divergence, "recognition": divergence}


def class_divergence(scores: Tensor, before: Tensor) -> Tensor:
    """How far classes are told otherwise than `before`, both logits (N, r, c, classes): the mean place's divergence."""
    told, known = (each.float().log_softmax(-1).flatten(0, -2) for each in (scores, before))
    return F.kl_div(told, known, reduction="batchmean", log_target=True)


def cross_entropy(logits: Tensor, truth: Tensor) -> Tensor:
    """Pixel-wise binary cross-entropy per frame, (B, T)."""
    return F.binary_cross_entropy_with_logits(logits, truth, reduction="none").mean((-2, -1))


DICE_MARGIN = 0.01  # of the frame


def dice(soft: Tensor, truth: Tensor) -> Tensor:
    """One minus the Dice overlap per frame, (B, T); an empty truth asks for an empty mask.

    The margin is the size of a small thing. With one pixel, as is usual, whatever is marked of an absent thing costs
    nearly 1 and a little less of it no less: such a loss does not teach to leave a mask empty.
    """
    overlap = (soft * truth).mean((-2, -1)) / DICE_MARGIN
    size = (soft + truth).mean((-2, -1)) / DICE_MARGIN
    return 1 - (2 * overlap + 1) / (size + 1)


STILL = 0.25  # an object all of whose motion targets are smaller does nothing


def motion_target_error(told: Tensor, truth: Tensor) -> Tensor:
    """How far predicted motion targets (B, T, rows, columns, C) are off `Batch.motion_targets`, smooth L1.

    The mean over places of objects that do something and that over places of those that do not weigh the same: most
    objects rest, and telling nothing of anybody would be right most of the time.
    """
    batch, frames, rows, columns, _ = told.shape
    pooled = F.adaptive_avg_pool2d(truth.flatten(0, 1), (rows, columns)).view(batch, frames, -1, rows, columns)
    weight = pooled[:, :, -1]  # (B, T, rows, columns)
    mean = pooled[:, :, :-1] / weight.unsqueeze(2).clamp(min=1e-3)
    error = F.smooth_l1_loss(told.float().permute(0, 1, 4, 2, 3), mean, reduction="none").mean(2)
    is_busy = mean.abs().amax(2) > STILL
    shares = (weight * is_busy, weight * ~is_busy)
    halves = [(error * share).sum() / mean_over_processes(share.sum()).clamp(min=1e-3) for share in shares]
    return torch.stack(halves).mean()


def _at_mask_size(logits: Tensor, truth: Tensor) -> Tensor:
    height, width = truth.shape[-2:]
    return upsample(logits.float(), (height, width))
