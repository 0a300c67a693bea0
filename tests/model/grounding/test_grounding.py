"""The grounding module: what it sees of candidates, and its file."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from locater.config import GroundingConfig, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.grounding.files import SETTINGS, WEIGHTS, load_grounding, save_grounding
from locater.model.grounding.grounding import SHOWN_SIDE, Grounding, Scene, _cropped, _measures
from locater.model.locater import Locater

SMALL = GroundingConfig(width=32, heads=2, frames=3)


@pytest.fixture(scope="module")
def backbone() -> Locater:
    return build(preset("tiny", {"text": {"vocabulary": ["a", "dog", "left", "on", "the"]}}), seed=0).eval()


@pytest.fixture(scope="module")
def module() -> Grounding:
    torch.manual_seed(1)
    return Grounding(SMALL, 32).eval()


@torch.no_grad()
def scene_of(backbone: Locater, sentences: list[str]) -> Scene:
    frames = torch.rand(1, 3, 3, 64, 64, generator=torch.Generator().manual_seed(2))
    times = torch.rand(1, 3, 2, generator=torch.Generator().manual_seed(3))
    return Scene.of(backbone, frames, times, backbone.text(backbone.read(sentences)))


def candidates(rows: int, count: int) -> torch.Tensor:
    return (torch.rand(rows, count, 3, 48, 48, generator=torch.Generator().manual_seed(4)) > 0.7).float()


@torch.no_grad()
def test_four_blocks_and_scores_that_follow_their_candidates(backbone: Locater, module: Grounding) -> None:
    """The order of the candidates tells nothing, and each sentence is read by itself."""
    assert len(Grounding(GroundingConfig(), 32).blocks) == 4, "section 5.6"
    scene, masks = scene_of(backbone, ["the dog", "a dog on the left"]), candidates(2, 4)
    logits = module(scene, masks)
    assert logits.shape == (2, 4)
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(module(scene, masks[:, order]), logits[:, order], rtol=1e-4, atol=1e-5)
    alone = scene_of(backbone, ["a dog on the left"])
    torch.testing.assert_close(module(alone, masks[1:]), logits[1:], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_it_sees_the_mask_the_frames_the_words_and_the_others(backbone: Locater, module: Grounding) -> None:
    scene, masks = scene_of(backbone, ["the dog"]), candidates(1, 3)
    before = module(scene, masks)[0, 0]
    empty = masks.clone()
    empty[:, 0] = 0
    other = masks.clone()
    other[:, 1] = 0
    changed = {
        "mask": module(scene, empty),
        "others": module(scene, other),
        "frames": module(replace(scene, patches=scene.patches.flip(2), fused=scene.fused.flip(2)), masks),
        "network's own mask": module(replace(scene, marked=1 - scene.marked), masks),
        "pixels": module(replace(scene, frames=scene.frames.flip(-1)), masks),
        "words": module(replace(scene, words=scene.words.flip(-1)), masks),
        "time": module(replace(scene, times=scene.times + 3), masks),
    }
    for what, logits in changed.items():
        assert logits.isfinite().all() and not torch.isclose(logits[0, 0], before, atol=1e-5), what


@torch.no_grad()
def test_a_mask_is_cut_out_at_one_size_with_its_pixels(backbone: Locater) -> None:
    """A small square and a large one look alike, in the middle and with some of what is around them."""
    frames = torch.zeros(1, 2, 3, 256, 192)
    frames[0, :, 0, 40:80, 120:150] = frames[0, :, 0, 120:240, 20:110] = 1
    words = backbone.text(backbone.read(["the dog"]))
    scene = Scene.of(backbone, frames, torch.zeros(1, 2, 2), words)
    assert scene.frames.shape == (1, 2, 3, SHOWN_SIDE, SHOWN_SIDE)
    masks = torch.zeros(1, 3, 2, 256, 192)
    masks[0, 0, :, 40:80, 120:150] = masks[0, 1, :, 120:240, 20:110] = masks[0, 2, :, 40:80, 30:60] = 1
    small, large, beside = (_cropped(scene, masks, _measures(scene, masks)) + 0.5)[::2]  # of the first frame
    for crop in (small, large):
        assert crop[[0, 3], 10:14, 10:14].min() > 0.9, "red under the mask, both in the middle"
        assert crop[[0, 3], 0].max() < 0.1 and crop[1:3].max() == 0
        assert (crop[0] - crop[3]).abs().mean() < 0.1, "the mask's edge is the square's"
    assert beside[3, 10:14, 10:14].min() > 0.9 and beside[0].max() < 0.1


@torch.no_grad()
def test_a_missing_frame_is_seen_by_none(backbone: Locater, module: Grounding) -> None:
    scene, masks = scene_of(backbone, ["the dog"]), candidates(1, 3)
    is_missing = torch.tensor([[False, True, False]])
    other = masks.clone()
    other[:, :, 1] = 1 - other[:, :, 1]
    torch.testing.assert_close(module(scene, masks, is_missing), module(scene, other, is_missing))
    assert not torch.allclose(module(scene, masks), module(scene, other))


def test_it_is_kept_whole_and_read_strictly(backbone: Locater, module: Grounding, tmp_path: Path) -> None:
    folder = tmp_path / "grounding"
    save_grounding(module, backbone, folder)
    again, sees = load_grounding(folder)
    scene, masks = scene_of(sees, ["the dog"]), candidates(1, 3)
    with torch.no_grad():
        assert torch.equal(again(scene, masks), module(scene_of(backbone, ["the dog"]), masks))
    tensors = load_file(folder / WEIGHTS)
    tensors["surplus"] = tensors.pop("score_token")
    save_file(tensors, folder / WEIGHTS)
    with pytest.raises(LocaterError, match="extra surplus; missing score_token"):
        load_grounding(folder)
    (folder / SETTINGS).write_text('{"wide": 3}')
    with pytest.raises(LocaterError, match="'wide' is no known setting"):
        load_grounding(folder)
