"""Draws the frames asked for of many scenes in one pass, on the scenes' device.

Every pixel is computed by itself from its video's own numbers, so a video looks the same in any batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from einops import rearrange, repeat
from torch import Tensor

from locater.worlds.shapes.looks import PALETTE
from locater.worlds.shapes.scene import Scene
from locater.worlds.shapes.sdf import PARAMETERS_OF_SHAPE, SHAPE_IDS, Outlines

# Weights of cos u, cos u * cos v, (cos u + cos v) / 2 and one in each pattern; positive is the second colour.
_PATTERNS = {
    "solid": (0.0, 0.0, 0.0, -1.0),
    "striped": (1.0, 0.0, 0.0, 0.0),
    "checkered": (0.0, 1.0, 0.0, 0.0),
    "dotted": (0.0, 0.0, 1.0, -0.3),
}
_FREQUENCIES = {"solid": 1.0, "striped": 7.5, "checkered": 5.5, "dotted": 9.0}  # radians per radius
_PANEL_COLOURS = ((0.47, 0.39, 0.33), (0.40, 0.33, 0.28))
_PANEL_FREQUENCY = 40.0
_OUTLINE = 0.55  # how bright an object's rim is
_GRAIN_STRENGTH = 0.035
_GRAIN_SIDE = 256
_GRAIN = torch.rand(_GRAIN_SIDE, _GRAIN_SIDE, generator=torch.Generator().manual_seed(7)) - 0.5
_PIXELS_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 26}  # objects x pixels: bounds the memory of a pass


@dataclass(frozen=True)
class SceneBatch:
    """Scenes as tensors, objects in drawing order, padded to the batch's most objects N."""

    shape_ids: Tensor  # (B, N) int, always on the CPU
    outline: Tensor  # (B, N, 3): the outline's parameters
    colours: Tensor  # (B, N, 2, 3)
    pattern: Tensor  # (B, N, 5): weights and frequency
    poses: Tensor  # (B, N, F, 5); padding has radius 0
    ground_colours: Tensor  # (B, 2, 3)
    ground_waves: Tensor  # (B, 3, 3)
    ground_weights: Tensor  # (B, 5): weights and sharpness
    light: Tensor  # (B, F, 3)
    light_slope: Tensor  # (B, 2)
    grain: Tensor  # (B,) int
    camera: Tensor  # (B, F, 2)

    @classmethod
    def of(cls, scenes: Sequence[Scene], device: str | torch.device = "cpu") -> "SceneBatch":
        """Pack scenes of equal length."""
        most = max(len(scene.actors) for scene in scenes)
        count, frame_count = len(scenes), scenes[0].frame_count
        shape_ids = np.zeros((count, most), dtype=np.int64)
        outline = np.ones((count, most, 3), dtype=np.float32)
        colours = np.zeros((count, most, 2, 3), dtype=np.float32)
        pattern = np.ones((count, most, 5), dtype=np.float32)  # a frequency of 0 would divide by it
        poses = np.zeros((count, most, frame_count, 5), dtype=np.float32)
        for b, scene in enumerate(scenes):
            poses[b, : len(scene.actors)] = scene.poses
            for n, actor in enumerate(scene.actors):
                shape_ids[b, n] = SHAPE_IDS[actor.shape]
                outline[b, n] = _OUTLINE_PARAMETERS[actor.shape]
                colours[b, n] = _PANEL_COLOURS if actor.is_occluder else PALETTE[actor.colour]
                frequency = _PANEL_FREQUENCY if actor.is_occluder else _FREQUENCIES[actor.texture]
                pattern[b, n] = (*_PATTERNS[actor.texture], frequency)
                if actor.is_occluder:
                    outline[b, n, :2] = actor.extent
        backdrops = [scene.backdrop for scene in scenes]
        arrays = {
            "outline": outline,
            "colours": colours,
            "pattern": pattern,
            "poses": poses,
            "ground_colours": np.stack([backdrop.colours for backdrop in backdrops]),
            "ground_waves": np.stack([backdrop.waves for backdrop in backdrops]),
            "ground_weights": np.stack([np.append(b.weights, np.float32(b.sharpness)) for b in backdrops]),
            "light": np.stack([backdrop.light for backdrop in backdrops]),
            "light_slope": np.array([backdrop.light_slope for backdrop in backdrops], dtype=np.float32),
            "grain": np.array([backdrop.grain for backdrop in backdrops]),
            "camera": np.stack([backdrop.camera for backdrop in backdrops]).astype(np.float32),
        }
        tensors = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
        return cls(shape_ids=torch.from_numpy(shape_ids), **tensors)

    def at(self, rows: Tensor) -> "SceneBatch":
        """The scenes at the given rows (CPU), repeated as often as asked."""
        on_device = rows.to(self.poses.device)
        chosen = {
            field.name: getattr(self, field.name)[rows if field.name == "shape_ids" else on_device]
            for field in fields(self)
        }
        return SceneBatch(**chosen)


_OUTLINE_PARAMETERS = {shape: PARAMETERS_OF_SHAPE[index].numpy() for shape, index in SHAPE_IDS.items()}


@torch.no_grad()
def render(scenes: SceneBatch, frame_indices: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Frames (B, T, 3, S, S) in [0, 1] and every object's visible mask (B, T, N, S, S) bool, disjoint.

    `frame_indices` is (B, T). Masks are in drawing order, the wall's and the padding's (empty) included.
    """
    count, time_count = frame_indices.shape
    device = scenes.poses.device
    rows = repeat(torch.arange(count), "b -> (b t)", t=time_count)
    columns = rearrange(frame_indices.cpu(), "b t -> (b t)")
    object_count = scenes.shape_ids.shape[1]
    at_once = max(_PIXELS_AT_ONCE.get(device.type, 1 << 21) // (object_count * size * size), 1)
    frames, masks = [], []
    for start in range(0, len(rows), at_once):
        chosen = slice(start, start + at_once)
        some_frames, some_masks = _render_flat(scenes, rows[chosen], columns[chosen], size)
        frames.append(some_frames)
        masks.append(some_masks)
    return (
        rearrange(torch.cat(frames), "(b t) c h w -> b t c h w", b=count),
        rearrange(torch.cat(masks), "(b t) n h w -> b t n h w", b=count),
    )


def _render_flat(scenes: SceneBatch, rows: Tensor, columns: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Frames (M, 3, S, S) and masks (M, N, S, S) of scenes `rows` at frames `columns`, both (M,) on the CPU."""
    device = scenes.poses.device
    object_count = scenes.shape_ids.shape[1]
    outlines = Outlines.of(scenes.shape_ids[rows].flatten(), device)
    rows, columns = rows.to(device), columns.to(device)
    grid = (torch.arange(size, device=device) + 0.5) / size
    pose = rearrange(scenes.poses[rows, :, columns], "m n p -> (m n) p")  # K = M * N objects
    x, y, radius, angle, flash = (value[:, None, None] for value in pose.unbind(1))
    is_there = radius > 0
    radius = radius.clamp(min=1e-4)
    dx, dy = (grid - x) / radius, (grid[:, None] - y) / radius
    u = torch.cos(angle) * dx + torch.sin(angle) * dy  # (K, S, S), turned with the object
    v = torch.sin(angle) * dx - torch.cos(angle) * dy  # y up
    distance = outlines.distances(u, v, scenes.outline[rows].flatten(0, 1)) * (radius * size)  # in pixels
    alpha = (0.5 - distance).clamp(0, 1) * is_there

    pattern = scenes.pattern[rows].flatten(0, 1)[..., None, None]  # (K, 5, 1, 1)
    second = _pattern(u, v, pattern, radius * size)
    colours = scenes.colours[rows].flatten(0, 1)[..., None, None]  # (K, 2, 3, 1, 1)
    rim = _OUTLINE + (1 - _OUTLINE) * (-distance / 1.6).clamp(0, 1)
    shade = rim * (1.0 - 0.10 * (dx + dy).clamp(-1, 1))
    base = torch.lerp(colours[:, 0], colours[:, 1], second[:, None]) * shade[:, None]  # (K, 3, S, S)
    target = (flash > 0).to(base.dtype)  # flashes go to white and to black
    base = torch.lerp(base, target[:, None], 0.85 * flash.abs()[:, None])

    alpha = rearrange(alpha, "(m n) h w -> m n h w", n=object_count)
    base = rearrange(base, "(m n) c h w -> m n c h w", n=object_count)
    image = _ground(scenes, rows, columns, grid)
    for index in range(object_count):  # back to front
        image = torch.lerp(image, base[:, index], alpha[:, index, None])
    masks = torch.empty(alpha.shape, dtype=torch.bool, device=device)
    through = torch.ones_like(alpha[:, 0])
    for index in reversed(range(object_count)):
        masks[:, index] = alpha[:, index] * through > 0.5
        through = through * (1 - alpha[:, index])
    return _lit(image, scenes, rows, columns, grid), masks


def _pattern(u: Tensor, v: Tensor, pattern: Tensor, pixels_per_radius: Tensor) -> Tensor:
    """How much of the second colour shows, (K, S, S), with soft edges of about a pixel."""
    waves, checks, dots, constant, frequency = pattern.unbind(1)
    cos_u, cos_v = torch.cos(frequency * u), torch.cos(frequency * v)
    value = cos_u * (waves + checks * cos_v) + dots * 0.5 * (cos_u + cos_v) + constant
    return (0.5 + value * (pixels_per_radius / frequency)).clamp(0, 1)


def _ground(scenes: SceneBatch, rows: Tensor, columns: Tensor, grid: Tensor) -> Tensor:
    """The background, (M, 3, S, S), moved by the camera."""
    camera = scenes.camera[rows, columns]  # (M, 2)
    x, y = grid - camera[:, 0, None], grid - camera[:, 1, None]  # (M, S) each
    wave = scenes.ground_waves[rows][..., None]  # (M, 3, 3, 1)
    along = wave[:, :, 0] * x[:, None] + wave[:, :, 2]  # (M, 3, S)
    down = wave[:, :, 1] * y[:, None]
    waves = torch.sin(along[:, :, None, :] + down[:, :, :, None])  # (M, 3, S, S)
    weights = scenes.ground_weights[rows][..., None, None]
    value = (waves * weights[:, :3]).sum(1) + weights[:, 3] * waves[:, 0] * waves[:, 1]
    mix = 0.5 + 0.5 * torch.tanh(weights[:, 4] * value)
    colours = scenes.ground_colours[rows][..., None, None]  # (M, 2, 3, 1, 1)
    return torch.lerp(colours[:, 0], colours[:, 1], mix[:, None])


def _lit(image: Tensor, scenes: SceneBatch, rows: Tensor, columns: Tensor, grid: Tensor) -> Tensor:
    """The image under the frame's light, with grain."""
    slope = scenes.light_slope[rows][..., None]
    falloff = 1 + (slope[:, 0] * (grid - 0.5))[:, None, :] + (slope[:, 1] * (grid - 0.5))[:, :, None]  # (M, S, S)
    start = scenes.grain[rows] + 7919 * columns  # another place in the table every frame
    steps = torch.arange(len(grid), device=grid.device)
    down = (start[:, None] // _GRAIN_SIDE + steps) % _GRAIN_SIDE
    along = (start[:, None] + steps) % _GRAIN_SIDE
    grain = _GRAIN.to(image.device)[down[:, :, None], along[:, None, :]]
    lit = image * falloff[:, None] * scenes.light[rows, columns][..., None, None] + _GRAIN_STRENGTH * grain[:, None]
    return lit.clamp(0, 1)
