"""Draws the frames asked for of many composed scenes in one pass, on the textures' device.

Every scene is drawn from its own numbers, so a video looks the same in any batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from locater.worlds.composed.draw.textures import LEVELS, Textures
from locater.worlds.composed.pack.nouns import is_person
from locater.worlds.composed.scene.compositing import BLUR, GAIN, PERSPECTIVE, STRETCH
from locater.worlds.composed.scene.dyes import DYES, dyed, upper_body
from locater.worlds.composed.scene.scene import Scene
from locater.worlds.composed.scene.view import MOST_THINGS

_GRAIN_SIDE = 256
_GRAIN = torch.rand(_GRAIN_SIDE, _GRAIN_SIDE, generator=torch.Generator().manual_seed(11)) - 0.5
_SHADOW_LEVELS = 2  # how much coarser a shadow is than what throws it
_WALL_FREQUENCY = 60.0
_ON_CPU = ("photographs", "pictures", "dyes")
_BY_CUTOUT = ("pictures", "poses", "is_mirrored", "walls", "compositing")  # (B, N, ...)
_PIXELS_AT_ONCE = {"cpu": 1 << 19, "cuda": 1 << 25}  # cut-outs x pixels: bounds the memory of a pass


@dataclass(frozen=True)
class SceneBatch:
    """Scenes as tensors without pixels, cut-outs in drawing order, padded to the batch's most cut-outs N."""

    photographs: Tensor  # (B,) int, always on the CPU
    pictures: Tensor  # (B, N) int, always on the CPU; the wall and padding have 0
    dyes: Tensor  # (B, MOST_THINGS + N, 5), always on the CPU: colour, is dyed, only what a person wears
    views: Tensor  # (B, 5): left, top, width, height, is mirrored
    things: Tensor  # (B, MOST_THINGS) int: numbers in the photograph; -1 is padding
    poses: Tensor  # (B, N, F, 5); padding has radius 0
    is_mirrored: Tensor  # (B, N) bool
    walls: Tensor  # (B, N, 2): half its width and height; 0 for all others
    compositing: Tensor  # (B, N, 7)
    shadows: Tensor  # (B, 3)
    wall_colours: Tensor  # (B, 2, 3)
    light: Tensor  # (B, F, 3)
    grain: Tensor  # (B, 2): start and strength
    camera: Tensor  # (B, F, 2)

    @classmethod
    def of(cls, scenes: Sequence[Scene]) -> "SceneBatch":
        """Scenes of equal length, on the CPU."""
        count, frame_count = len(scenes), scenes[0].frame_count
        most = max(1, *(len(scene.actors) - scene.thing_count for scene in scenes))
        pictures = np.zeros((count, most), dtype=np.int64)
        things = np.full((count, MOST_THINGS), -1, dtype=np.int64)
        poses = np.zeros((count, most, frame_count, 5), dtype=np.float32)
        is_mirrored = np.zeros((count, most), dtype=np.bool_)
        walls = np.zeros((count, most, 2), dtype=np.float32)
        compositing = np.zeros((count, most, 7), dtype=np.float32)
        compositing[..., STRETCH] = 1.0
        dyes = np.zeros((count, MOST_THINGS + most, 5), dtype=np.float32)
        for b, scene in enumerate(scenes):
            things[b, : scene.thing_count] = [thing.number for thing in scene.view.things]
            cutouts = scene.actors[scene.thing_count :]
            poses[b, : len(cutouts)] = scene.poses[scene.thing_count :]
            compositing[b, : len(cutouts)] = scene.compositing.cutouts
            for n, actor in enumerate(cutouts):
                pictures[b, n] = max(actor.picture, 0)
                is_mirrored[b, n] = actor.is_mirrored
                walls[b, n] = actor.extent
            for place, actor in enumerate(scene.actors):
                if actor.dye >= 0:
                    dyes[b, slot_of(scene, place)] = (*DYES[actor.dye].rgb, 1.0, is_person(actor.noun))
        views = [(v.left, v.top, v.width, v.height, v.is_mirrored) for v in (scene.view for scene in scenes)]
        all_touches = [scene.compositing for scene in scenes]
        arrays = {
            "photographs": np.array([scene.view.photograph for scene in scenes]),
            "pictures": pictures,
            "dyes": dyes,
            "views": np.array(views, dtype=np.float32),
            "things": things,
            "poses": poses,
            "is_mirrored": is_mirrored,
            "walls": walls,
            "compositing": compositing,
            "shadows": np.stack([each.shadow for each in all_touches]),
            "wall_colours": np.stack([each.wall for each in all_touches]),
            "light": np.stack([each.light for each in all_touches]),
            "grain": np.array([(each.grain, each.grain_strength) for each in all_touches], dtype=np.float32),
            "camera": np.stack([scene.camera for scene in scenes]).astype(np.float32),
        }
        return cls(**{name: torch.from_numpy(array) for name, array in arrays.items()})

    def counts(self) -> Tensor:
        """How many cut-outs and walls each scene has, (B,); at least 1."""
        return (self.poses[..., 2].amax(dim=2) > 0).sum(dim=1).clamp(min=1)

    def part(self, rows: Tensor, device: torch.device) -> "SceneBatch":
        """Some of the scenes, padded to their own most cut-outs, on the device but for numbers that the CPU reads."""
        most = int(self.counts()[rows].max())
        changed = {"dyes": self.dyes[rows, : MOST_THINGS + most]}
        changed |= {name: getattr(self, name)[rows, :most] for name in _BY_CUTOUT}
        changed |= {field.name: getattr(self, field.name)[rows] for field in fields(self) if field.name not in changed}
        return SceneBatch(
            **{
                name: value if name in _ON_CPU else value.to(device, non_blocking=True)
                for name, value in changed.items()
            }
        )


@torch.no_grad()
def render(scenes: SceneBatch, textures: Textures, frame_indices: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Frames (B, T, 3, S, S) in [0, 1] and visible masks (B, T, MOST_THINGS + N, S, S) bool, disjoint.

    Masks are those of the photograph's own things, then of the cut-outs in drawing order; `slot_of` finds an actor's.
    """
    count, time_count = frame_indices.shape
    device = textures.device
    counts = scenes.counts()
    frames = torch.empty((count, time_count, 3, size, size), device=device)
    masks = torch.zeros(
        (count, time_count, MOST_THINGS + scenes.pictures.shape[1], size, size), dtype=torch.bool, device=device
    )
    for rows in _passes(counts, time_count * size * size, _PIXELS_AT_ONCE.get(device.type, 1 << 19)):
        drawer = _Drawer(scenes.part(rows, device), textures, size)
        budget = _PIXELS_AT_ONCE.get(device.type, 1 << 19) // (drawer.object_count * size * size)
        times_at_once = min(time_count, max(budget, 1))
        places, indices = rows.to(device), frame_indices[rows].to(device)
        for first in range(0, time_count, times_at_once):
            some = slice(first, first + times_at_once)
            pixels, inside = drawer.draw(indices[:, some])
            frames[places, some] = pixels
            masks[places, some, : inside.shape[2]] = inside
    return frames, masks


def _passes(counts: Tensor, pixels: int, most: int) -> list[Tensor]:
    """The rows of scenes with so many cut-outs that are drawn together: padding is drawn as well, so like with like."""
    order = counts.argsort(stable=True)
    passes: list[list[int]] = [[]]
    for row in order.tolist():
        # In this order the last scene has the most cut-outs.
        if passes[-1] and (len(passes[-1]) + 1) * int(counts[row]) * pixels > most:
            passes.append([])
        passes[-1].append(row)
    return [torch.tensor(rows) for rows in passes]


def slot_of(scene: Scene, actor: int) -> int:
    """The place of an actor's mask among those that `render` returns."""
    return actor if actor < scene.thing_count else MOST_THINGS + actor - scene.thing_count


class _Drawer:
    """Some scenes with their pictures, ready to draw any of their frames."""

    def __init__(self, scenes: SceneBatch, textures: Textures, size: int) -> None:
        self.scenes = scenes
        self.size = size
        self.object_count = scenes.pictures.shape[1]
        self.points = _points(size, textures.device)
        self.coarse_points = _points((size + 1) // 2, textures.device)  # shadows are soft
        photographs = textures.photographs(scenes.photographs)
        self.numbers = photographs[:, 3:].float()
        ground = photographs[:, :3].float() / 255
        for thing in scenes.dyes[:, :MOST_THINGS, 3].any(dim=0).nonzero().flatten().tolist():
            inside = self.numbers == scenes.things[:, thing, None, None, None]
            _dye(ground, torch.ones_like(ground[:, :1]), inside, scenes.dyes[:, thing])
        self.ground = _softened(ground, scenes.views, size)
        pictures = scenes.pictures.flatten()
        on_device = pictures.to(textures.device)
        self.centres = textures.centres[on_device]  # (K, 2), K = B * N
        self.radii = textures.radii[on_device]
        drawn = scenes.poses[..., 2].clamp(min=1e-3).log().mean(dim=2).exp().flatten() * size  # (K,) in pixels
        finest = torch.log2(self.radii / drawn) - 0.15 + scenes.compositing[..., BLUR].flatten()
        self.levels = finest.round().clamp(0, LEVELS - 1)
        self.coarse_levels = (self.levels + _SHADOW_LEVELS).clamp(max=LEVELS - 1)
        sheets = textures.cutouts(pictures)
        self.cutouts = _level(sheets, self.levels, textures.side)  # (K, 4, side, side), zero beyond the level
        colour, alpha = self.cutouts[:, :3], self.cutouts[:, 3:]
        _dye(colour, alpha, alpha > 0, scenes.dyes[:, MOST_THINGS:].flatten(0, 1))
        gain = rearrange(scenes.compositing[..., GAIN], "b n c -> (b n) c 1 1")
        self.cutouts[:, :3] = torch.minimum(colour * gain, alpha)
        self.shadows = _level(sheets[:, 3:], self.coarse_levels, textures.side)
        walls = rearrange(scenes.walls, "b n p -> (b n) p")
        is_drawn = (walls[:, 0] == 0) & (scenes.poses[..., 2].amax(dim=2).flatten() > 0)
        self.cutouts *= is_drawn[:, None, None, None]
        self.shadows *= (is_drawn * scenes.shadows[:, 2].repeat_interleave(self.object_count))[:, None, None, None]
        self.has_walls = bool((walls > 0).any())

    def draw(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Frames (B, T, 3, S, S) and masks (B, T, MOST_THINGS + N, S, S) of frames (B, T)."""
        scenes = self.scenes
        image, numbers = self._photograph(indices)  # (B, T, 3, S, S), (B, T, S, S)
        colour, alpha, light_left = self._cutouts(indices)
        for n in range(self.object_count):  # back to front
            image.mul_((light_left[:, n] * (1 - alpha[:, n]))[:, :, None]).add_(colour[:, n])
        masks = torch.zeros(
            (*indices.shape, MOST_THINGS + self.object_count, self.size, self.size),
            dtype=torch.bool,
            device=image.device,
        )
        through = torch.ones_like(alpha[:, 0])
        for n in reversed(range(self.object_count)):
            masks[:, :, MOST_THINGS + n] = alpha[:, n] * through > 0.5
            through = through * (1 - alpha[:, n])
        numbers = torch.where(through > 0.5, numbers, 0)
        for thing in range(int((scenes.things >= 0).sum(dim=1).max())):
            masks[:, :, thing] = numbers == scenes.things[:, thing, None, None, None]
        return self._lit(image, indices), masks

    def _photograph(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The view's pixels, (B, T, 3, S, S), and which thing each belongs to, (B, T, S, S)."""
        left, top, width, height, is_mirrored = (value[:, None] for value in self.scenes.views.unbind(1))  # (B, 1)
        x_camera, y_camera = _at(self.scenes.camera, indices).unbind(-1)  # (B, T)
        zero = torch.zeros_like(x_camera)
        x_scale = torch.where(is_mirrored > 0, -width, width)
        x_start = left + torch.where(is_mirrored > 0, width * (1 + x_camera), -width * x_camera)
        rows = (
            (2 * x_scale + zero, zero, 2 * x_start - 1),
            (zero, 2 * height + zero, 2 * (top - height * y_camera) - 1),
        )
        places = self._places(rows, self.points)
        pixels = F.grid_sample(self.ground, places, padding_mode="reflection", align_corners=False)
        numbers = F.grid_sample(self.numbers, places, mode="nearest", padding_mode="zeros", align_corners=False)
        return (
            rearrange(pixels, "b c (t h) w -> b t c h w", h=self.size).contiguous(),
            rearrange(numbers, "b 1 (t h) w -> b t h w", h=self.size).round(),
        )

    def _cutouts(self, indices: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Premultiplied colour (B, N, T, 3, S, S), alpha, and what shadows leave of the light (B, N, T, S, S)."""
        scenes, count = self.scenes, self.object_count
        pose = rearrange(_at(scenes.poses, indices), "b n t p -> (b n) t p")
        pixels = self._sample(self.cutouts, pose, self.levels, self.points)
        offset = scenes.shadows.repeat_interleave(count, dim=0)[:, None]  # (K, 1, 3)
        thrown = pose.clone()
        thrown[..., :2] += offset[..., :2] * pose[..., 2:3]
        shade = self._sample(self.shadows, thrown, self.coarse_levels, self.coarse_points)
        shade = F.interpolate(shade.flatten(0, 1), (self.size, self.size), mode="bilinear", align_corners=False)
        colour, alpha = pixels[:, :, :3], pixels[:, :, 3]
        flash = pose[..., 4, None, None]  # (K, T, 1, 1)
        if bool((flash != 0).any()):
            target = (flash > 0) * alpha  # flashes go to white and to black
            colour = torch.lerp(colour, target[:, :, None].expand_as(colour), 0.85 * flash.abs()[:, :, None])
        if self.has_walls:
            wall_alpha, wall_colour = self._walls(pose)
            alpha = alpha + wall_alpha
            colour = colour + wall_colour * wall_alpha[:, :, None]
        return (
            rearrange(colour, "(b n) t c h w -> b n t c h w", n=count),
            rearrange(alpha, "(b n) t h w -> b n t h w", n=count),
            rearrange(1 - shade, "(b n t) 1 h w -> b n t h w", n=count, t=indices.shape[1]),
        )

    def _sample(self, textures: Tensor, pose: Tensor, levels: Tensor, points: Tensor) -> Tensor:
        """Textures (K, T, C, S, S) where the poses (K, T, 5) put them, zero elsewhere."""
        x, y, radius, angle, _ = pose.unbind(-1)  # (K, T)
        radius = radius.clamp(min=1e-4)
        compositing = rearrange(self.scenes.compositing, "b n p -> (b n) p")[:, None]
        mirror = 1 - 2 * rearrange(self.scenes.is_mirrored, "b n -> (b n) 1").float()
        stretch, lens = compositing[..., STRETCH], compositing[..., PERSPECTIVE]
        cos, sin = torch.cos(angle) / radius, torch.sin(angle) / radius
        # (u, v): offset from the cut-out's centre in radii, turned with it, as rows of a, b, c in a x + b y + c.
        u = (mirror * stretch * cos, mirror * stretch * sin, -mirror * stretch * (cos * x + sin * y))
        v = (-sin / stretch, cos / stretch, (sin * x - cos * y) / stretch)
        depth = tuple(lens[..., 0] * one + lens[..., 1] * two for one, two in zip(u, v, strict=True))
        depth = (depth[0], depth[1], depth[2] + 1)
        scale = torch.exp2(1 - levels)[:, None] / textures.shape[-1]
        radii, centres = self.radii[:, None] * scale, self.centres[:, None] * scale[..., None] - 1
        rows = tuple(
            tuple(radii * one + centres[..., axis] * two for one, two in zip(way, depth, strict=True))
            for axis, way in enumerate((u, v))
        )
        places = self._places(rows, points, depth)
        sampled = F.grid_sample(textures, places, align_corners=False)
        return rearrange(sampled, "k c (t h) w -> k t c h w", h=places.shape[2])

    def _places(
        self, rows: tuple[tuple[Tensor, ...], ...], points: Tensor, depth: tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """Where to sample, (K, T * S, S, 2): `rows` of a, b, c, each (K, T), in (a x + b y + c) / depth."""
        lines = torch.stack([torch.stack(row, dim=-1) for row in (*rows, *(() if depth is None else (depth,)))], dim=-1)
        side = points.shape[0]
        found = points.reshape(1, side * side, 3) @ lines.flatten(0, 1)  # (K * T, S * S, 2 or 3)
        if depth is not None:
            # Depth is 0 far outside the cut-out; what is divided by it must stay finite, not be right.
            far = found[..., 2:]
            found = found[..., :2] / torch.where(far.abs() < 1e-3, 1e-3, far)
        return found.reshape(lines.shape[0], -1, side, 2)

    def _walls(self, pose: Tensor) -> tuple[Tensor, Tensor]:
        """Alpha (K, T, S, S), zero but for walls, and their colour (K, T, 3, S, S): boards as long as the wall."""
        walls = rearrange(self.scenes.walls, "b n p -> (b n) 1 p 1 1")
        dx, dy = self.points[..., 0] - pose[..., 0, None, None], self.points[..., 1] - pose[..., 1, None, None]
        outside = torch.maximum(dx.abs() - walls[:, :, 0], dy.abs() - walls[:, :, 1]) * self.size
        boards = torch.where(walls[:, :, 0] < walls[:, :, 1], dx, dy)
        colours = self.scenes.wall_colours.repeat_interleave(self.object_count, dim=0)[:, None, ..., None, None]
        mix = (0.5 + 2 * torch.cos(_WALL_FREQUENCY * boards)).clamp(0, 1)
        alpha = (0.5 - outside).clamp(0, 1) * (walls[:, :, 0] > 0)
        return alpha, torch.lerp(colours[:, :, 0], colours[:, :, 1], mix[:, :, None])

    def _lit(self, image: Tensor, indices: Tensor) -> Tensor:
        """The frames (B, T, 3, S, S) under their light, with grain."""
        light = _at(self.scenes.light, indices)[..., None, None]
        start, strength = self.scenes.grain.unbind(1)
        start = start.long()[:, None] + 7919 * indices  # another place in the table every frame
        steps = torch.arange(self.size, device=image.device)
        down = (start[..., None] // _GRAIN_SIDE + steps) % _GRAIN_SIDE  # (B, T, S)
        along = (start[..., None] + steps) % _GRAIN_SIDE
        grain = _GRAIN.to(image.device)[down[..., :, None], along[..., None, :]] * strength[:, None, None, None]
        return image.mul_(light).add_(grain[:, :, None]).clamp_(0, 1)


def _points(size: int, device: torch.device) -> Tensor:
    """Every pixel's x, y and 1, (S, S, 3)."""
    along = ((torch.arange(size, device=device) + 0.5) / size).expand(size, size)
    return torch.stack([along, along.T, torch.ones_like(along)], dim=-1)


def _dye(pixels: Tensor, alpha: Tensor, inside: Tensor, dyes: Tensor) -> None:
    """Dye those of the premultiplied pixels (K, 3, H, W), `inside` (K, 1, H, W), that have a dye (K, 5), in place."""
    rows = dyes[:, 3].nonzero().squeeze(1)
    if len(rows) == 0:
        return
    chosen, rows = dyes[rows].to(pixels.device), rows.to(pixels.device)
    cover, clear = inside[rows].to(pixels.dtype), alpha[rows]
    cover = torch.where(chosen[:, 4, None, None, None] > 0, upper_body(cover), cover)
    pixels[rows] = dyed(pixels[rows] / clear.clamp(min=1 / 255), cover, chosen[:, :3]) * clear


def _level(sheets: Tensor, levels: Tensor, side: int) -> Tensor:
    """Each sheet's picture at its level, in [0, 1], at the top left of an empty square, (K, C, side, side)."""
    result = torch.zeros((*sheets.shape[:2], side, side), device=sheets.device)
    for level in range(LEVELS):
        size = side >> level
        top, left = (0, 0) if level == 0 else (side - 2 * size, side)
        wanted = (levels == level)[:, None, None, None]
        picture = sheets[:, :, top : top + size, left : left + size].float() / 255
        result[:, :, :size, :size] = torch.where(wanted, picture, result[:, :, :size, :size])
    return result


def _at(values: Tensor, indices: Tensor) -> Tensor:
    """(B, ..., F, P) at frames (B, T): (B, ..., T, P)."""
    shape = (len(indices), *(1,) * (values.ndim - 3), indices.shape[1], 1)
    where = indices.reshape(shape).expand(*values.shape[:-2], indices.shape[1], values.shape[-1])
    return torch.gather(values, -2, where)


def _softened(photographs: Tensor, views: Tensor, size: int) -> Tensor:
    """Photographs that will be drawn much smaller, blurred a little: else they would flicker."""
    scale = views[:, 2:4].amax(dim=1) * photographs.shape[-1] / size
    blurred = F.avg_pool2d(F.pad(photographs, (1, 1, 1, 1), mode="replicate"), 3, 1)
    return torch.lerp(photographs, blurred, ((scale - 1) * 1.2).clamp(0, 1)[:, None, None, None])
