"""Bilinear upsampling as two matrix products."""

import torch
from torch import Tensor
from torch.nn import functional as F


def upsample(maps: Tensor, size: tuple[int, int]) -> Tensor:
    """Maps (..., h, w) at `size`, equal to F.interpolate's bilinear (align_corners=False) up to rounding.

    Its backward pass is two matrix products too, where the library's adds up by atomics: slow on a GPU, and in an
    order that changes from run to run.
    """
    if torch.compiler.is_exporting():  # of the products, a tracer would fix the sizes
        return F.interpolate(maps[:, None], size=size, mode="bilinear", align_corners=False)[:, 0]
    return upsample_rows(maps, size[0]) @ _weights(maps, maps.shape[-1], size[1])


def upsample_rows(maps: Tensor, rows: int) -> Tensor:
    """Maps (..., h, w) with `rows` rows, likewise."""
    return _weights(maps, maps.shape[-2], rows).T @ maps


def _weights(maps: Tensor, inputs: int, outputs: int) -> Tensor:
    """(inputs, outputs): how much each input counts for each output."""
    exact = torch.promote_types(maps.dtype, torch.float32)
    identity = torch.eye(inputs, device=maps.device, dtype=exact)
    return F.interpolate(identity[None], size=outputs, mode="linear", align_corners=False)[0].to(maps.dtype)
