"""What the demo's clip is made of: two cats, two cups, a table and a wall, cut out of three free photographs.

Outlines were found by U2-Netp and put right by hand: the cat's photograph ends at her ears and at her chest, so both
are continued with her own fur. docs/demo.md says where the photographs come from and under which licences.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from locater.io.pictures import opened, pixels_of
from locater.worlds.composed.pack.cutouts import Pixels

CAT, CUP, WALL = "chelsea.png", "coffee.png", "brick.png"

Colours = npt.NDArray[np.floating]  # (H, W, 3) in [0, 255]
Point = tuple[float, float]

# In pixels of the cat's photograph, which is 451 x 300; its border cuts her off on the left, above and below.
_LEFT, _ABOVE, _BELOW = 80, 100, 140  # pixels that are added there
_CAT_OUTLINE: tuple[Point, ...] = (
    (-62, 425), (-54, 340), (-44, 265), (-32, 205), (-12, 155), (12, 122), (32, 104),  # shoulder and neck
    (31, 80), (32, 50), (36, 20), (41, 0), (49, -40), (60, -72), (72, -84), (86, -74), (110, -38), (134, -14),  # an ear
    (165, -17), (205, -21), (250, -20), (285, -14), (308, -9),  # forehead
    (338, -30), (375, -58), (402, -70), (416, -64), (416, -42), (408, -18), (397, 2), (379, 34), (362, 60),  # an ear
    (358, 76), (362, 98), (364, 122), (360, 150), (348, 180), (333, 202), (321, 217),  # cheek
    (320, 240), (319, 262), (312, 284), (311, 310), (322, 350), (334, 420),  # chin and chest
)  # fmt: skip
_CAT_EYES = ((134, 84, 206, 148), (293, 106, 345, 166))


@dataclass(frozen=True)
class _Ear:
    """An ear above the photograph's border: its rows are those below the border, squeezed."""

    left: Point  # where its left edge crosses the border: x; how far it moves to the right by row upwards
    right: Point
    deepest: int  # the lowest row that shows only ear


_EARS = (_Ear((38, 0.36), (136, -0.56), 20), _Ear((306, 1.18), (398, 0.34), 14))

_CUP_OUTLINE: tuple[Point, ...] = (
    (270, 18), (248, 22), (223, 32), (197, 50), (180, 66), (172, 72), (127, 100), (103, 128), (86, 161), (78, 193),
    (78, 236), (89, 274), (105, 303), (124, 325), (162, 355), (200, 374), (235, 384), (278, 388), (319, 386),
    (360, 377), (393, 362), (423, 340), (441, 322), (461, 293), (472, 269), (478, 238), (477, 206), (467, 173),
    (453, 145), (436, 124), (417, 110), (424, 80), (423, 74), (418, 69), (406, 67), (398, 73), (369, 44), (337, 27),
    (299, 18),
)  # fmt: skip
_CUP_RIM = (173, 17, 408, 209)  # the ellipse of the white rim and all inside


def tabby_cat(folder: Path, scale: float) -> Pixels:
    """The cat as photographed, (H, W, 4)."""
    whole = _continued_cat(pixels_of(folder / CAT).astype(np.float32))
    bright = 255 * (whole / 255).clip(0, 1) ** 0.92
    return _cut(_contrasted(bright, 1.12), _moved(_CAT_OUTLINE, _LEFT, _ABOVE), 1.6, scale)


def grey_cat(folder: Path, scale: float) -> Pixels:
    """The same cat looking the other way, with grey fur; her eyes keep their colour."""
    whole = _continued_cat(pixels_of(folder / CAT).astype(np.float32))
    grey = whole @ np.array([0.2, 0.62, 0.18], dtype=np.float32)
    cool = _contrasted(grey[..., None] * np.array([0.97, 0.99, 1.03], dtype=np.float32), 1.45)
    eyes = Image.new("L", (whole.shape[1], whole.shape[0]))
    for left, top, right, bottom in _CAT_EYES:
        ImageDraw.Draw(eyes).ellipse((left + _LEFT, top + _ABOVE, right + _LEFT, bottom + _ABOVE), fill=255)
    kept = np.asarray(eyes.filter(ImageFilter.GaussianBlur(4)), dtype=np.float32)[..., None] / 255
    pixels = _cut(cool * (1 - kept) + 1.05 * whole * kept, _moved(_CAT_OUTLINE, _LEFT, _ABOVE), 1.6, scale)
    return np.ascontiguousarray(pixels[:, ::-1])


def red_cup(folder: Path, scale: float) -> Pixels:
    """The cup with its saucer and spoon, (H, W, 4)."""
    return _cut(pixels_of(folder / CUP).astype(np.float32), _CUP_OUTLINE, 0.8, scale)


def blue_cup(folder: Path, scale: float) -> Pixels:
    """The same in blue: red and blue change places outside the rim."""
    colours = pixels_of(folder / CUP).astype(np.float32)
    red, green, blue = colours[..., 0], colours[..., 1], colours[..., 2]
    changed = np.stack([blue * 0.9, green + 0.28 * (red - blue).clip(0), red * 0.98], axis=-1)
    rim = Image.new("L", (colours.shape[1], colours.shape[0]))
    ImageDraw.Draw(rim).ellipse(_CUP_RIM, fill=255)
    inside = np.asarray(rim.filter(ImageFilter.GaussianBlur(1)), dtype=np.float32)[..., None] / 255
    return _cut(changed * (1 - inside) + colours * inside, _CUP_OUTLINE, 0.8, scale)


def table(folder: Path, width: int, height: int) -> Pixels:
    """Wood from beside the cup, turned so that its grain runs away from the viewer, (H, W, 4) with a soft far edge."""
    angle = math.radians(33)  # of the grain in the photograph
    along = np.array([math.cos(angle), -math.sin(angle)])
    length, across, start = 138.0, 318.0, np.array([482.0, 80.0])
    down, origin = -along * length / height, start + along * length
    wood = opened(folder / CUP).convert("RGB")
    sheared = wood.transform(
        (width, height),
        Image.Transform.AFFINE,
        (0.0, down[0], origin[0], across / width, down[1], origin[1]),
        Image.Resampling.BICUBIC,
    )
    colours = np.asarray(sheared, dtype=np.float32)
    depth = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    lit = colours * (0.72 + 0.26 * depth) * _vignette(width, height, 0.25)[..., None]
    lit[:3] *= np.array([1.28, 1.2, 0.9], dtype=np.float32)[:, None, None]  # the far edge catches the light
    alpha = np.full((height, width, 1), 255, dtype=np.float32)
    alpha[0] = 128
    return _bytes(np.dstack([lit, alpha]))


def wall(folder: Path, side: int) -> Pixels:
    """Bricks out of focus in warm light, (S, S, 3)."""
    grey = np.asarray(opened(folder / WALL).convert("L").rotate(90).resize((side, side), Image.Resampling.BICUBIC))
    blurred = np.asarray(Image.fromarray(grey).filter(ImageFilter.GaussianBlur(side / 200)), dtype=np.float32)
    flat = (blurred - blurred.mean()) / blurred.std()
    y, x = np.mgrid[:side, :side] / side
    lamp = np.exp(-(((x - 0.5) / 0.42) ** 2) - ((y - 0.3) / 0.3) ** 2)
    strength = (0.42 + 0.5 * lamp)[..., None] * (1 + 0.16 * flat[..., None])
    return _bytes(strength * np.array([176.0, 132.0, 100.0]))


def _continued_cat(photograph: Colours) -> Colours:
    """The photograph with what its border cut off: fur mirrored at the side and above, drawn out below, and ears."""
    height, width = photograph.shape[:2]
    sides = np.pad(photograph, ((_ABOVE, 0), (_LEFT, 0), (0, 0)), mode="reflect")
    rows = np.linspace(height - 1, height - 9, _BELOW).round().astype(int) + _ABOVE
    chest = np.asarray(
        Image.fromarray(_bytes(sides[rows])).filter(ImageFilter.GaussianBlur(5)), dtype=np.float32
    ) * np.linspace(1, 0.62, _BELOW, dtype=np.float32).reshape(-1, 1, 1)
    whole = np.concatenate([sides, chest])
    for ear in _EARS:
        for up in range(1, _ABOVE):
            left, right = ear.left[0] + ear.left[1] * up, ear.right[0] + ear.right[1] * up
            columns = np.arange(max(math.floor(left) - 4, 0), min(math.ceil(right) + 4, width))
            share = ((columns - left) / max(right - left, 1.0)).clip(0, 1)
            below = round(ear.deepest * (1 - math.exp(-up / ear.deepest / 2)))
            places = (
                ear.left[0]
                - ear.left[1] * below
                + share * (ear.right[0] - ear.left[0] - (ear.right[1] - ear.left[1]) * below)
            )
            whole[_ABOVE - up, columns + _LEFT] = photograph[below, places.round().astype(int).clip(0, width - 1)]
    above = Image.fromarray(_bytes(whole[: _ABOVE + 2])).filter(ImageFilter.GaussianBlur(0.9))
    whole[:_ABOVE] = np.asarray(above, dtype=np.float32)[:_ABOVE]
    return whole


def _cut(colours: Colours, outline: Sequence[Point], feather: float, scale: float) -> Pixels:
    """What the outline holds, `scale` times as large, (H, W, 4)."""
    height, width = colours.shape[:2]
    fine = Image.new("L", (width * 4, height * 4))
    ImageDraw.Draw(fine).polygon([(4 * x, 4 * y) for x, y in _smooth(outline)], fill=255)
    hard = fine.resize((width, height), Image.Resampling.BOX)
    soft = ImageChops.multiply(hard.filter(ImageFilter.GaussianBlur(feather)), hard)  # never beyond the outline
    pixels = Image.fromarray(_bytes(np.dstack([colours, np.asarray(soft)])), "RGBA")
    size = (max(round(width * scale), 1), max(round(height * scale), 1))
    return np.array(pixels.convert("RGBa").resize(size, Image.Resampling.LANCZOS).convert("RGBA"))


def _smooth(outline: Sequence[Point]) -> list[Point]:
    """A closed curve through the points (Catmull and Rom's)."""
    points = np.array(outline)
    before, after, beyond = np.roll(points, 1, axis=0), np.roll(points, -1, axis=0), np.roll(points, -2, axis=0)
    curve = []
    for t in np.linspace(0, 1, 6, endpoint=False):
        first, second = after - before, 2 * before - 5 * points + 4 * after - beyond
        third = 3 * points - before - 3 * after + beyond
        curve.append(points + (first * t + second * t**2 + third * t**3) / 2)
    return [(float(x), float(y)) for x, y in np.stack(curve, axis=1).reshape(-1, 2)]


def _moved(outline: Sequence[Point], right: float, down: float) -> list[Point]:
    return [(x + right, y + down) for x, y in outline]


def _contrasted(colours: Colours, strength: float) -> Colours:
    return np.asarray(colours.mean() + (colours - colours.mean()) * strength, dtype=np.float32)


def _vignette(width: int, height: int, strength: float) -> npt.NDArray[np.float32]:
    x, y = np.linspace(-1, 1, width), np.linspace(0, 1, height)[:, None]
    return np.asarray(1 - strength * (0.8 * x**2 + 0.2 * y**2), dtype=np.float32)


def _bytes(values: npt.NDArray[np.floating]) -> Pixels:
    return np.asarray(values.round().clip(0, 255), dtype=np.uint8)
