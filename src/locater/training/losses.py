"""The training loss (Eq. 12), with dice beside it as an option."""

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.model.locater import ClipPrediction
from locater.records import Batch


def clip_loss(
    prediction: ClipPrediction, batch: Batch, auxiliary_weight: float, dice_weight: float
) -> dict[str, Tensor]:
    """The loss of a clip and its terms, over annotated frames alone, at the masks' own size.

    Logits are upsampled rather than probabilities: the same zero set between equal neighbours, and a gradient that
    does not die where a sigmoid is sure and wrong.
    """
    truth = batch.masks[batch.is_annotated]  # (M, H, W)
    final = _at_mask_size(prediction.logits[batch.is_annotated], truth)
    terms = {"mask": F.binary_cross_entropy_with_logits(final, truth)}
    total = terms["mask"]
    if dice_weight:
        terms["dice"] = dice(final.sigmoid(), truth)
        total = total + dice_weight * terms["dice"]
    if prediction.auxiliary is not None and auxiliary_weight:
        early = [_at_mask_size(logits[batch.is_annotated], truth) for logits in prediction.auxiliary]
        terms["auxiliary"] = torch.stack([F.binary_cross_entropy_with_logits(x, truth) for x in early]).sum()
        total = total + auxiliary_weight * terms["auxiliary"]
    return {"loss": total, **terms}


def dice(soft: Tensor, truth: Tensor) -> Tensor:
    """One minus the Dice overlap of soft masks (M, H, W), averaged; an empty truth asks for an empty mask."""
    overlap = (soft * truth).sum((-2, -1))
    size = soft.sum((-2, -1)) + truth.sum((-2, -1))
    return (1 - (2 * overlap + 1) / (size + 1)).mean()


def _at_mask_size(logits: Tensor, truth: Tensor) -> Tensor:
    upsampled = F.interpolate(logits.float().unsqueeze(1), size=truth.shape[-2:], mode="bilinear", align_corners=False)
    return upsampled.squeeze(1)
