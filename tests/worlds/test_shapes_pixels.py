"""Pixels and masks: the same in any batch, true to the sentence when measured on the masks alone."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pytest
import torch

from locater.worlds.claims import BIG_RADIUS
from locater.worlds.shapes import KINDS, Scene, SceneBatch, render, sample_scene, video_seed
from locater.worlds.shapes.looks import PALETTE

SIZE = 64
COUNT = 12


def draw(scene: Scene, size: int = SIZE) -> tuple[torch.Tensor, torch.Tensor]:
    frames, masks = render(SceneBatch.of([scene]), torch.arange(scene.frame_count)[None], size)
    return frames[0], masks[0]


def drawn_claims(
    kind: str, wanted: Mapping[str, tuple[int, int]]
) -> Iterator[tuple[Scene, torch.Tensor, tuple[int, int]]]:
    """Scenes of a kind that claim something wanted, their masks (F, N, S, S), and the claim's axis and sign."""
    for number in range(3 * COUNT):
        scene = sample_scene(video_seed("test", kind, number))
        claim = scene.description.claim
        assert claim is not None
        if claim.name in wanted:
            yield scene, draw(scene)[1], wanted[claim.name]


def referent_of(scene: Scene) -> int:
    assert scene.referent is not None
    return scene.referent


def centroids(masks: torch.Tensor) -> npt.NDArray[np.float64]:
    """Centre of each mask as fractions of the frame, (F, 2); not a number where it is empty."""
    grid = (torch.arange(masks.shape[-1], dtype=torch.float64) + 0.5) / masks.shape[-1]
    area = masks.sum((1, 2))
    x, y = (masks.sum(1) * grid).sum(1) / area, (masks.sum(2) * grid).sum(1) / area
    return torch.stack([x, y], 1).numpy()


def test_a_video_looks_the_same_in_any_batch() -> None:
    chosen = [sample_scene(video_seed("train", kind, 4)) for kind in KINDS]
    indices = torch.tensor([[3, 17, 30]]).expand(len(chosen), -1)
    frames, masks = render(SceneBatch.of(chosen), indices, SIZE)
    assert frames.shape == (len(chosen), 3, 3, SIZE, SIZE) and frames.min() >= 0 and frames.max() <= 1
    for row, scene in enumerate(chosen):
        alone_frames, alone_masks = render(SceneBatch.of([scene]), torch.tensor([[30]]), SIZE)
        count = len(scene.actors)
        assert torch.equal(alone_frames[0, 0], frames[row, 2])
        assert torch.equal(alone_masks[0, 0], masks[row, 2, :count])
        assert not masks[row, :, count:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_disjoint_and_large_enough(kind: str) -> None:
    for number in range(4):
        scene = sample_scene(video_seed("test", kind, number))
        _, masks = draw(scene, 128)
        assert masks.sum(1).max() <= 1
        if scene.referent is None:
            continue
        is_seen = masks[:, scene.referent].sum((1, 2)) >= 40
        assert is_seen.float().mean() >= (0.55 if kind == "occlusion" else 0.85)


def test_masks_lie_on_the_object_s_colour() -> None:
    checked = 0
    for number in range(40):
        scene = sample_scene(video_seed("train", "appearance", number))
        frames, masks = render(SceneBatch.of([scene]), torch.tensor([[16]]), 128)
        for index, actor in enumerate(scene.actors):
            mask = masks[0, 0, index]
            if actor.texture != "solid" or actor.colour == "black" or actor.events or mask.sum() < 150:
                continue
            mean = frames[0, 0][:, mask].mean(1)
            seen = mean / mean.sum()
            wanted = torch.tensor(PALETTE[actor.colour][0])
            assert (seen - wanted / wanted.sum()).abs().max() < 0.06
            checked += 1
    assert checked > 15


def test_positions_hold_for_the_masks() -> None:
    sides = {"left": (0, -1), "right": (0, 1), "top": (1, -1), "bottom": (1, 1)}
    checked = 0
    for scene, masks, (axis, sign) in drawn_claims("position", sides):
        holds = {}
        for index in (referent_of(scene), *scene.twins):
            holds[index] = sign * (np.nanmean(centroids(masks[:, index]), axis=0)[axis] - 0.5) > 0.05
        assert [index for index, held in holds.items() if held] == [scene.referent]
        checked += 1
    assert checked > 8


def test_directions_hold_for_the_masks() -> None:
    ways = {"moves_left": (0, -1), "moves_right": (0, 1), "moves_up": (1, -1), "moves_down": (1, 1)}
    checked = 0
    for scene, masks, (axis, sign) in drawn_claims("motion", ways):
        moved = {}
        for index in (referent_of(scene), *scene.twins):
            path = centroids(masks[:, index])[:, axis]
            path = path[~np.isnan(path)]
            moved[index] = sign * (path[-4:].mean() - path[:4].mean())
        assert moved[referent_of(scene)] > 0.09 and all(moved[twin] < 0.06 for twin in scene.twins)
        checked += 1
    assert checked > 8


def test_sizes_hold_for_the_masks() -> None:
    for number in range(COUNT):
        scene = sample_scene(video_seed("test", "size", number))
        _, masks = draw(scene)
        areas = masks.sum((2, 3)).float().median(0).values
        referent = referent_of(scene)
        shape = scene.actors[referent].shape
        same = [
            index
            for index, actor in enumerate(scene.actors)
            if actor.shape == shape and actor.colour == scene.actors[referent].colour and index != referent
        ]
        is_large = scene.actors[referent].radius >= BIG_RADIUS
        assert same
        assert all((areas[referent] > areas[index]) == is_large for index in same)


def test_late_events_show_in_the_masks_or_the_pixels_of_the_last_third() -> None:
    for number in range(COUNT):
        scene = sample_scene(video_seed("test", "late_event", number))
        claim = scene.description.claim
        assert claim is not None
        frames, masks = draw(scene)
        mask = masks[:, referent_of(scene)]
        middle, late = slice(14, 21), slice(21, 32)
        path, areas = centroids(mask), mask.sum((1, 2)).float()
        if claim.name in ("jump", "fall", "dart_left", "dart_right"):
            axis = 0 if claim.name.startswith("dart") else 1
            sign = -1 if claim.name in ("jump", "dart_left") else 1
            assert np.nanmax(sign * path[late, axis]) - np.nanmax(sign * path[middle, axis]) > 0.08
        elif claim.name in ("swell", "grow"):
            assert areas[late].max() > 1.4 * areas[middle].max()
        elif claim.name == "shrink":
            assert areas[late].min() < 0.6 * areas[middle].min()
        elif claim.name == "flash":
            brightness = torch.stack([frame[:, inside].mean() for frame, inside in zip(frames, mask, strict=True)])
            assert brightness[late].max() - brightness[late].min() > 0.3


def test_what_passes_behind_the_wall_is_hidden_and_comes_back() -> None:
    for number in range(COUNT):
        scene = sample_scene(video_seed("test", "occlusion", number))
        _, masks = draw(scene)
        areas = masks[:, referent_of(scene)].sum((1, 2))
        (hidden,) = np.nonzero(areas.numpy() == 0)
        assert len(hidden) >= 2
        assert areas[: hidden[0]].max() > 20 and areas[hidden[-1] + 1 :].max() > 20
        for twin in scene.twins:
            assert (masks[:, twin].sum((1, 2)) > 0).all()
