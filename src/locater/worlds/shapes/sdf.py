"""Signed distances to the outlines of shapes of radius about one: negative inside; x to the right, y up.

After Inigo Quilez, "2D distance functions" (iquilezles.org/articles/distfunctions2d), written for many at once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from locater.worlds.shapes.looks import PANEL, SHAPES

Distance = Callable[[Tensor, Tensor, Tensor], Tensor]  # x (K, S, S), y (K, S, S), parameters (3, K, 1, 1) -> (K, S, S)

SHAPE_IDS = {shape: index for index, shape in enumerate((*SHAPES, PANEL))}


def annulus(x: Tensor, y: Tensor, parameters: Tensor) -> Tensor:
    """A band around a circle: its middle radius, half its width."""
    middle, half_width, _ = parameters.unbind(0)
    return (torch.hypot(x, y) - middle).abs() - half_width


def star(x: Tensor, y: Tensor, parameters: Tensor) -> Tensor:
    """A star or regular polygon: number of points, sharpness (2 is a polygon), radius."""
    points, sharpness, radius = parameters.unbind(0)
    half_turn = math.pi / points
    slant = math.pi / sharpness
    bearing = torch.remainder(torch.atan2(x, y), 2 * half_turn) - half_turn
    length = torch.hypot(x, y)
    along = length * torch.cos(bearing) - radius * torch.cos(half_turn)
    across = length * torch.sin(bearing).abs() - radius * torch.sin(half_turn)
    slant_x, slant_y = torch.cos(slant), torch.sin(slant)
    reach = torch.minimum((-(along * slant_x + across * slant_y)).clamp(min=0), radius * torch.sin(half_turn) / slant_y)
    along = along + slant_x * reach
    return torch.hypot(along, across + slant_y * reach) * torch.sign(along)


def box(x: Tensor, y: Tensor, parameters: Tensor) -> Tensor:
    """A rectangle: half its width, half its height."""
    half_width, half_height, _ = parameters.unbind(0)
    return _box(x, y, half_width, half_height)


def cross(x: Tensor, y: Tensor, parameters: Tensor) -> Tensor:
    """Two bars: half their length, half their width."""
    half_length, half_width, _ = parameters.unbind(0)
    return torch.minimum(_box(x, y, half_length, half_width), _box(x, y, half_width, half_length))


def heart(x: Tensor, y: Tensor, parameters: Tensor) -> Tensor:
    """A heart: how much larger than the one of height 1.1, and how far its tip lies below the middle."""
    scale, tip, _ = parameters.unbind(0)
    x, y = x.abs() / scale, (y + tip) / scale
    top = torch.hypot(x - 0.25, y - 0.75) - math.sqrt(2) / 4
    foot = 0.5 * (x + y).clamp(min=0)
    side = torch.minimum(torch.hypot(x, y - 1), torch.hypot(x - foot, y - foot)) * torch.sign(x - y)
    return torch.where(x + y > 1, top, side) * scale


def crescent(x: Tensor, y: Tensor, parameters: Tensor) -> Tensor:
    """A disc less a disc: radius, the second one's radius, how far it is aside."""
    radius, bite, aside = parameters.unbind(0)
    return torch.maximum(torch.hypot(x, y) - radius, bite - torch.hypot(x - aside, y))


def arrow(x: Tensor, y: Tensor, parameters: Tensor) -> Tensor:
    """An arrow upwards: half its length, half the width of its head, half that of its shaft."""
    half_length, half_head, half_shaft = parameters.unbind(0)
    shaft = _box(x, y + 0.45 * half_length, half_shaft, 0.55 * half_length)
    steep = torch.hypot(half_head, half_length)
    head = torch.maximum((half_length * x.abs() + half_head * (y - half_length)) / steep, -y)
    return torch.minimum(shaft, head)


def _box(x: Tensor, y: Tensor, half_width: Tensor, half_height: Tensor) -> Tensor:
    along, up = x.abs() - half_width, y.abs() - half_height
    outside = torch.hypot(along.clamp(min=0), up.clamp(min=0))
    return outside + torch.maximum(along, up).clamp(max=0)


# Each shape's function and parameters; the radii make areas alike. No outline lies outside 1.2 (scene.OUTER_RADIUS).
OUTLINES: dict[str, tuple[Distance, tuple[float, float, float]]] = {
    "circle": (annulus, (0.0, 0.98, 0.0)),
    "ring": (annulus, (0.76, 0.27, 0.0)),
    "square": (star, (4.0, 2.0, 1.18)),
    "triangle": (star, (3.0, 2.0, 1.2)),
    "star": (star, (5.0, 3.0, 1.2)),
    "hexagon": (star, (6.0, 2.0, 1.06)),
    "cross": (cross, (1.08, 0.40, 0.0)),
    "heart": (heart, (1.75, 1.0, 0.0)),
    "crescent": (crescent, (1.1, 0.92, 0.62)),
    "arrow": (arrow, (1.15, 0.95, 0.36)),
    PANEL: (box, (1.0, 1.0, 0.0)),  # replaced by the actor's extent
}
_FUNCTIONS: tuple[Distance, ...] = (annulus, star, cross, heart, crescent, arrow, box)
FUNCTION_OF_SHAPE = torch.tensor([_FUNCTIONS.index(OUTLINES[shape][0]) for shape in SHAPE_IDS])
PARAMETERS_OF_SHAPE = torch.tensor([OUTLINES[shape][1] for shape in SHAPE_IDS])  # (shapes, 3)


@dataclass(frozen=True)
class Outlines:
    """Which objects of a flat list have which kind of outline, so that each is computed by its own function only."""

    members: Sequence[tuple[Distance, Tensor]]  # function, indices on the device

    @classmethod
    def of(cls, shape_ids: Tensor, device: torch.device) -> "Outlines":
        """Sort objects by function; `shape_ids` is (K,) on the CPU, so that a GPU never waits."""
        functions = FUNCTION_OF_SHAPE[shape_ids]
        members = []
        for index, function in enumerate(_FUNCTIONS):
            chosen = torch.nonzero(functions == index).flatten()
            if len(chosen):
                members.append((function, chosen.to(device, non_blocking=True)))
        return cls(members)

    def distances(self, x: Tensor, y: Tensor, parameters: Tensor) -> Tensor:
        """Distance of each object's own points (K, S, S) to its outline; `parameters` is (K, 3)."""
        result = torch.empty_like(x)
        for function, chosen in self.members:
            values = parameters[chosen].T[..., None, None]  # (3, K', 1, 1)
            result[chosen] = function(x[chosen], y[chosen], values)
        return result
