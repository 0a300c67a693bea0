"""Where a patch is."""

import math

import torch
from torch import Tensor, nn


class PlaceEmbedding(nn.Module):
    """Says *where*: sinusoids of a place in the frame, the same for grids of any size.

    It starts at the size of normalised values: in the memory look-alikes write to and read from cells of their own only
    if their places weigh as much as their looks do, and what an encoder leaves of its positions does not.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        waves = math.pi * torch.tensor([0.5, 1.0, 2.0, 4.0, 8.0])
        self.register_buffer("per_side", waves, persistent=False)
        self.project = nn.Linear(4 * len(waves), width)
        nn.init.normal_(self.project.weight, std=(2 * len(waves)) ** -0.5)

    def forward(self, grid: tuple[int, int]) -> Tensor:
        """(P, D) of a grid of patches, row by row."""
        device = self.get_buffer("per_side").device
        rows, columns = ((torch.arange(n, device=device) + 0.5) / n for n in grid)
        return self.at(torch.cartesian_prod(rows, columns))

    def at(self, places: Tensor) -> Tensor:
        """(N, D) of places (N, 2): how far down and how far along, in [0, 1]."""
        angles = (places.unsqueeze(-1) * self.get_buffer("per_side")).flatten(1)
        embedded: Tensor = self.project(torch.cat([angles.sin(), angles.cos()], dim=-1))
        return embedded
