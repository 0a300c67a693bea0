"""Words for colours: how well each of them fits a pixel, by the nearest of its prototypes in CIELAB."""

from collections.abc import Mapping

import torch
from torch import Tensor

# sRGB; several where a word spans much, as brown from tan to dark wood.
PROTOTYPES: tuple[tuple[str, tuple[int, int, int]], ...] = (
    ("red", (200, 30, 35)), ("red", (140, 20, 25)), ("red", (225, 70, 65)),
    ("red", (160, 45, 40)), ("red", (115, 35, 32)),
    ("orange", (240, 130, 30)), ("orange", (225, 105, 25)),
    ("yellow", (245, 215, 50)), ("yellow", (215, 185, 40)), ("yellow", (250, 230, 130)),
    ("green", (50, 140, 55)), ("green", (30, 80, 40)), ("green", (130, 180, 80)), ("green", (85, 100, 45)),
    ("cyan", (70, 200, 205)), ("cyan", (30, 130, 135)),
    ("blue", (35, 70, 180)), ("blue", (25, 40, 95)), ("blue", (100, 150, 215)),
    ("purple", (110, 50, 150)), ("purple", (165, 120, 200)), ("purple", (70, 35, 90)),
    ("pink", (240, 130, 180)), ("pink", (235, 175, 190)), ("pink", (225, 75, 140)),
    ("white", (245, 245, 245)), ("white", (222, 222, 220)),
    ("black", (15, 15, 15)), ("black", (42, 41, 42)),
    ("gray", (120, 120, 120)), ("gray", (165, 165, 165)), ("gray", (85, 85, 87)),
    ("brown", (110, 70, 40)), ("brown", (70, 45, 30)), ("brown", (160, 115, 75)), ("brown", (195, 155, 110)),
    ("brown", (135, 80, 50)),
)  # fmt: skip
COLOUR_WORDS = tuple(dict.fromkeys(word for word, _ in PROTOTYPES))
# Other words that are taken for one of them.
SAME_COLOURS: Mapping[str, str] = {
    "crimson": "red",
    "golden": "yellow",
    "turquoise": "cyan",
    "violet": "purple",
    "grey": "gray",
    "silver": "gray",
}
SOFTNESS = 7.0  # CIELAB units within which two words are about as good
_TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
_WHITE = (0.95047, 1.0, 1.08883)  # D65


def to_lab(pixels: Tensor) -> Tensor:
    """CIELAB of sRGB pixels in [0, 1], (..., 3), in float32."""
    rgb = pixels.float()
    linear = torch.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    # Sums of products, not a matrix product: that would be done in fewer bits where a network runs in them.
    red, green, blue = linear.unbind(-1)
    x, y, z = ((r * red + g * green + b * blue) / white for (r, g, b), white in zip(_TO_XYZ, _WHITE, strict=True))
    x, y, z = (torch.where(v > 0.008856, v.clamp(min=1e-6) ** (1 / 3), 7.787 * v + 16 / 116) for v in (x, y, z))
    return torch.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], dim=-1)


def colour_shares(pixels: Tensor) -> Tensor:
    """(..., C): how well each of `COLOUR_WORDS` fits each of the pixels (..., 3), summing to 1."""
    lightness, green_red, blue_yellow = to_lab(pixels).unbind(-1)
    nearest: dict[str, Tensor] = {}
    for word, place in zip((word for word, _ in PROTOTYPES), PLACES, strict=True):
        off = (lightness - place[0]) ** 2 + (green_red - place[1]) ** 2 + (blue_yellow - place[2]) ** 2
        nearest[word] = torch.minimum(nearest[word], off) if word in nearest else off
    distances = torch.stack([nearest[word] for word in COLOUR_WORDS], dim=-1).sqrt()
    return (-distances / SOFTNESS).softmax(dim=-1)


PLACES: list[list[float]] = to_lab(torch.tensor([rgb for _, rgb in PROTOTYPES]) / 255).tolist()
