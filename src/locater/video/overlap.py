"""Overlap of masks, as pure functions."""

import torch
from torch import Tensor

from locater.records import Mask


def iou(predicted: Tensor, truth: Tensor) -> Tensor:
    """Intersection over union of boolean masks (..., H, W), float64; two empty masks agree wholly."""
    intersection = (predicted & truth).sum((-2, -1))
    union = (predicted | truth).sum((-2, -1))
    return torch.where(union == 0, 1.0, intersection.double() / union.clamp(min=1))


def mask_iou(one: Mask, other: Mask) -> float:
    """The same of two masks (H, W)."""
    return float(iou(torch.from_numpy(one), torch.from_numpy(other)))
