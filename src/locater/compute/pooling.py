"""The mean of what lies in each cell of a grid."""

import torch
from torch import Tensor
from torch.nn import functional as F


def pooled(maps: Tensor, grid: tuple[int, int]) -> Tensor:
    """Maps (..., h, w) as their means in the cells of a `grid`, (..., rows, columns)."""
    if torch.compiler.is_exporting():  # ONNX has the mean of fixed cells alone, and whole ones are all that occur
        return F.avg_pool2d(maps, (maps.shape[-2] // grid[0], maps.shape[-1] // grid[1]))
    return F.adaptive_avg_pool2d(maps, grid)
