"""Masks redrawn in crops of the video's own pixels: what is redrawn, what is not, and that it follows finer edges."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFilter
from torch import Tensor

from locater.inference.redrawing import RedrawnPart, redrawn
from locater.inference.segmenter import load
from locater.model.visual.refiner import SUREST, Refiner
from locater.records import Mask, Pixels
from locater.video.transforms import resize_soft
from tests.support.randomised import randomise

PIXELS: Pixels = np.random.default_rng(0).integers(0, 256, (128, 192, 3), dtype=np.uint8)
WHOLE = (16, 24)  # cells: the refiner answers as finely as masks are here


@pytest.fixture(scope="module")
def refiner() -> Refiner:
    torch.manual_seed(0)
    made = Refiner(1.5)
    randomise(made)
    return made.eval()


@torch.no_grad()
def test_each_mask_is_redrawn_on_its_own_and_nothing_far_from_it(refiner: Refiner) -> None:
    logits = torch.full((3, 64, 96), -5.0)  # the second marks nothing
    logits[0, 10:22, 12:30] = 4.0
    logits[2, 30:50, 50:80] = 4.0
    coarse, parts = redrawn(refiner, PIXELS, logits, 100, WHOLE)
    assert torch.equal(coarse[1], logits[1]) and parts[1] is None
    assert torch.equal(coarse[0, 40:], logits[0, 40:]) and torch.equal(coarse[2, :20], logits[2, :20])
    assert not torch.allclose(coarse[0, 10:22, 12:30], logits[0, 10:22, 12:30], atol=0.1)
    assert (coarse.amax((-2, -1)) <= logits.amax((-2, -1)) + 1e-4).all()
    for row in (0, 2):
        alone, (part,) = redrawn(refiner, PIXELS, logits[[row]], 100, WHOLE)
        assert torch.equal(coarse[row], alone[0])
        assert part is not None and torch.equal(part.logits, parts[row].logits)  # type: ignore[union-attr]


@torch.no_grad()
def test_a_part_lies_where_its_mask_does_in_the_frame(refiner: Refiner) -> None:
    logits = torch.full((1, 64, 96), -5.0)
    logits[0, 30:50, 50:80] = 4.0
    _, (part,) = redrawn(refiner, PIXELS, logits, 100, WHOLE)
    assert part is not None
    top, bottom, left, right = part.place
    assert 0 <= top < 60 and 100 < bottom <= 128 and 0 < left < 100 and 160 < right <= 192  # twice the mask's places
    soft = torch.zeros(128, 192)
    part.onto(soft)
    assert (soft[top:bottom, left:right] > 0).all()
    soft[top:bottom, left:right] = 0
    assert not soft.any()


@torch.no_grad()
@pytest.mark.parametrize("size", [(1, 64), (8, 8)])
def test_a_frame_of_few_pixels_is_redrawn_too(refiner: Refiner, size: tuple[int, int]) -> None:
    logits = torch.full((1, 64, 96), -5.0)
    logits[0, 30:33, 50:54] = 4.0
    _, (part,) = redrawn(refiner, np.zeros((*size, 3), np.uint8), logits, 100, WHOLE)
    assert part is not None
    soft = torch.zeros(size)
    part.onto(soft)
    assert (soft > 0).any()


@torch.no_grad()
def test_a_crop_of_everything_is_the_whole_frame(refiner: Refiner) -> None:
    logits = torch.full((1, 48, 72), 4.0)  # of 12 x 18 cells, as large as the refiner answers
    logits[0, :3, :3] = -5.0
    coarse, _ = redrawn(refiner, PIXELS, logits, 12 * 18, WHOLE)
    frames = torch.from_numpy(PIXELS).permute(2, 0, 1)[None, None].float() / 255
    torch.testing.assert_close(coarse, refiner(frames, logits[:, None])[:, 0], atol=1e-3, rtol=0)


@torch.no_grad()
def test_a_large_thing_of_which_little_is_left_is_redrawn_in_the_whole_frame(
    refiner: Refiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = torch.full((2, 64, 96), -5.0)
    logits[0, 20:50, 20:60] = 4.0  # a fifth of the frame
    logits[1, 30:36, 50:58] = 4.0  # a hundredth
    seen: list[torch.Size] = []

    def emptied(image: Tensor, first: Tensor) -> Tensor:
        seen.append(image.shape)
        return first - 9.0 if image.shape[-2:] != WHOLE else first

    monkeypatch.setattr(refiner, "redrawn", emptied)
    coarse, parts = redrawn(refiner, PIXELS, logits, 100, WHOLE)
    assert [each is not None and each.place == (0, 128, 0, 192) for each in parts] == [True, False]
    assert torch.equal(coarse[0] > 0, logits[0] > 0) and not (coarse[1] > 0).any()
    assert len(seen) == 3


def test_an_answer_is_upsampled_as_logits_and_takes_its_place_alone() -> None:
    soft = torch.full((8, 8), 0.25)
    RedrawnPart((0, 4, 2, 8), torch.tensor([[-2.0, 6.0]])).onto(soft)
    assert (soft[4:] == 0.25).all() and (soft[:, :2] == 0.25).all()
    # Between -2 and 6, a quarter of the way, the edge: logits are interpolated, not what is soft already.
    assert (soft[:4, 2:8] > 0.5).tolist() == [[False, False, True, True, True, True]] * 4


def test_on_large_video_edges_are_finer_than_in_whole_frames() -> None:
    wrong, wrong_of_whole = _wrong_by_crop_and_whole(*_leaf(), blur=24)
    assert wrong < 0.7 * wrong_of_whole, "a third of the wrong pixels is put right"


def test_on_small_video_edges_are_about_as_fine_as_in_whole_frames() -> None:
    pixels, truth = _leaf()
    some = (slice(200, 520), slice(360, 920))  # the leaf is a third of it
    size = 256, 144
    small = np.array(Image.fromarray(pixels[some]).resize(size, Image.Resampling.BOX))
    mask = np.asarray(Image.fromarray(truth[some]).convert("L").resize(size, Image.Resampling.BOX)) > 127
    wrong, wrong_of_whole = _wrong_by_crop_and_whole(small, mask, blur=24 * 256 / 560)
    assert wrong < 1.5 * wrong_of_whole, "in cells of the video's own pixels twice as many are wrong"


@torch.no_grad()
@pytest.mark.parametrize(("size", "is_small"), [((144, 256), True), ((240, 427), False), ((427, 240), False)])
def test_from_240_lines_on_a_crop_is_as_fine_as_the_video(
    refiner: Refiner, size: tuple[int, int], is_small: bool
) -> None:
    logits = torch.full((1, 48, 84) if size[0] < size[1] else (1, 84, 48), -5.0)
    logits[0, 20:32, 20:32] = 4.0
    pixels = np.zeros((*size, 3), np.uint8)
    own, whole = ((1, 1), (22, 40) if size[0] < size[1] else (40, 22))  # of `default`'s input, where it is 16:9
    (of_own,), (found,) = (redrawn(refiner, pixels, logits, 400, cells)[1] for cells in (own, whole))
    assert of_own is not None and found is not None
    assert (found.logits.shape != of_own.logits.shape) is is_small


def _wrong_by_crop_and_whole(pixels: Pixels, truth: Mask, blur: float) -> tuple[float, float]:
    """The shares of wrong pixels of a mask that was redrawn in a crop, and in the whole frame."""
    segmenter = load("default", "cpu", "float32")
    refiner = segmenter.chunks.model.refiner
    assert refiner is not None
    height, width = segmenter.config.input_size(*truth.shape)
    blurred = Image.fromarray(truth).convert("L").filter(ImageFilter.GaussianBlur(blur))
    small = np.asarray(blurred.resize((width, height), Image.Resampling.BILINEAR), np.float32) / 255
    logits = torch.from_numpy((small - 0.35) * 2 * SUREST)[None]  # as a network's mask, which ends where cells do
    frames = torch.from_numpy(pixels).permute(2, 0, 1)[None, None].float() / 255
    frames = torch.nn.functional.interpolate(frames[0], size=(height, width), mode="bilinear", antialias=True)[None]
    with torch.inference_mode():
        whole = resize_soft(refiner(frames, logits[:, None])[:, 0].sigmoid(), *truth.shape)[0]
        _, (part,) = redrawn(refiner, pixels, logits, 400, refiner.cells(height, width))
    own = resize_soft(logits.sigmoid(), *truth.shape)[0]
    assert part is not None
    part.onto(own)
    return _wrong(own, truth), _wrong(whole, truth)


def _leaf() -> tuple[Pixels, Mask]:
    """A frame of 1280 x 720 with a toothed leaf in it, 180 pixels across, and where it is."""
    angles = np.linspace(0, 2 * np.pi, 22, endpoint=False)
    radii = np.where(np.arange(22) % 2, 52, 90)
    edge = [(640 + r * np.cos(a), 360 + r * np.sin(a)) for r, a in zip(radii, angles, strict=True)]
    mask = Image.new("L", (1280, 720))
    ImageDraw.Draw(mask).polygon(edge, fill=255)
    truth = np.asarray(mask) > 0
    rows, columns = np.mgrid[:720, :1280]
    ground = np.stack([90 + rows / 12, 110 + columns / 40, 150 - rows / 20], axis=-1)
    ground[truth] = (60, 130, 40)
    noise = np.random.default_rng(0).normal(0, 3, ground.shape)
    return (ground + noise).clip(0, 255).astype(np.uint8), truth


def _wrong(soft: Tensor, truth: Mask) -> float:
    return float(((soft > 0.5).numpy() != truth).mean())
