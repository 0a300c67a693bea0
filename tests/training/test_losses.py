"""The loss against its formula."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from locater.model.locater import ClipPrediction
from locater.records import Batch, VideoState
from locater.training.losses import class_divergence, clip_loss, dice, motion_target_error, with_classes_kept


def made(logits: torch.Tensor, auxiliary: torch.Tensor | None) -> ClipPrediction:
    cells = torch.zeros(1, 0, 1)
    return ClipPrediction(logits, auxiliary, None, torch.zeros(1, 1, 1), VideoState(cells, cells, 0, False, ("x",)))


def batch(masks: torch.Tensor, is_annotated: torch.Tensor) -> Batch:
    empty = torch.zeros(0)
    return Batch(empty, empty, empty, empty, ("x",), masks, is_annotated)


def test_the_loss_is_eq_12_over_annotated_frames_alone() -> None:
    torch.manual_seed(0)
    logits, auxiliary = torch.randn(2, 3, 4, 4), torch.randn(2, 2, 3, 2, 2)
    masks = (torch.rand(2, 3, 8, 8) > 0.5).float()
    is_annotated = torch.tensor([[True, False, True], [False, False, True]])
    terms = clip_loss(
        made(logits, auxiliary),
        batch(masks, is_annotated),
        auxiliary_weight=0.4,
        dice_weight=0.0,
        motion_target_weight=0.0,
    )

    def cross_entropy(x: torch.Tensor) -> torch.Tensor:
        upsampled = F.interpolate(x, size=(8, 8), mode="bilinear", align_corners=False)[is_annotated]
        return F.binary_cross_entropy(upsampled.sigmoid(), masks[is_annotated])

    expected = cross_entropy(logits) + 0.4 * sum(cross_entropy(x) for x in auxiliary)
    torch.testing.assert_close(terms["loss"], expected, rtol=1e-5, atol=1e-6)
    changed = masks.clone()
    changed[~is_annotated] = 1 - changed[~is_annotated]
    again = clip_loss(made(logits, auxiliary), batch(changed, is_annotated), 0.4, 0.0, 0.0)
    assert torch.equal(again["loss"], terms["loss"])


def test_dice_is_nought_for_the_right_mask_and_near_one_for_the_wrong_one() -> None:
    truth = torch.zeros(1, 1, 8, 8)
    truth[..., :4] = 1
    assert dice(truth, truth).item() == pytest.approx(0)
    assert dice(1 - truth, truth).item() > 0.98
    assert dice(torch.zeros_like(truth), torch.zeros_like(truth)).item() == 0  # absent, and nothing was marked


def test_dice_pays_for_every_bit_less_of_an_absent_thing() -> None:
    """Half of a false mask must cost clearly less than all of it: with a margin of one pixel both cost nearly 1."""
    truth = torch.zeros(1, 1, 128, 128)
    whole, half = truth.clone(), truth.clone()
    whole[..., 40:54, 40:54] = 1
    half[..., 40:54, 40:47] = 1
    assert dice(whole, truth).item() - dice(half, truth).item() > 0.1


def test_doings_are_asked_where_there_are_objects_alone() -> None:
    truth = torch.zeros(1, 1, 3, 4, 4)  # two motion targets and the weight
    truth[:, :, :, :2, :2] = torch.tensor([0.5, -1.0, 1.0])[:, None, None]  # one object, in the first of four patches
    right = torch.full((1, 1, 2, 2, 2), 9.0)
    right[:, :, 0, 0] = torch.tensor([0.5, -1.0])
    assert motion_target_error(right, truth).item() == 0
    assert motion_target_error(right + 1, truth).item() == pytest.approx(
        0.25
    )  # smooth L1 of an error of 1, and nobody rests
    resting = truth.clone()
    resting[:, :, 2, 2:, 2:] = 1.0  # one that does nothing
    told = right.clone()
    told[:, :, 1, 1] = 1.0
    assert motion_target_error(told, resting).item() == pytest.approx(0.25)  # who rests weighs as much as who does not
    assert motion_target_error(right, torch.zeros_like(truth)).item() == 0  # nobody there, nothing to say


def test_presence_is_asked_of_the_whole_clip_in_annotated_frames() -> None:
    torch.manual_seed(0)
    presence = torch.randn(3, 3)
    masks = torch.zeros(3, 3, 8, 8)
    masks[0, 2, 3, 3] = 1  # seen in one frame: it is there in all of them
    masks[1, 1, :4] = 1  # where nobody has annotated anything
    masks[2] = 0.3  # a start's answer: hardly likely anywhere
    is_annotated = torch.tensor([[True, False, True], [True, False, False], [True, True, True]])
    prediction = replace(made(torch.randn(3, 3, 4, 4), None), presence=presence)
    terms = clip_loss(prediction, batch(masks, is_annotated), 0.0, 0.0, 0.0, presence_weight=0.25)
    is_there = torch.tensor([1.0, 0.0, 0.0])[:, None].expand(3, 3)
    each = -(is_there * presence.sigmoid().log() + (1 - is_there) * (1 - presence.sigmoid()).log())
    expected = each[is_annotated].mean()
    torch.testing.assert_close(terms["presence"], expected)
    torch.testing.assert_close(terms["loss"], terms["mask"] + 0.25 * expected)

    without = clip_loss(prediction, batch(masks, is_annotated), 0.0, 0.0, 0.0, presence_weight=0.0)
    assert "presence" not in without and torch.equal(without["loss"], terms["mask"])
    silent = clip_loss(replace(prediction, presence=None), batch(masks, is_annotated), 0.0, 0.0, 0.0)
    assert "presence" not in silent and torch.equal(silent["loss"], terms["mask"])


def test_classes_that_are_told_as_before_cost_nothing_and_others_their_divergence() -> None:
    torch.manual_seed(0)
    before, told = torch.randn(2, 3, 3, 5), torch.randn(2, 3, 3, 5)
    p, q = before.softmax(-1), told.softmax(-1)
    expected = (p * (p / q).log()).sum(-1).mean()
    torch.testing.assert_close(class_divergence(told, before), expected)
    assert class_divergence(before + 3.0, before).item() == pytest.approx(0, abs=1e-6)  # the same likelihoods

    terms = {"loss": torch.tensor(2.0), "mask": torch.tensor(2.0)}
    kept = with_classes_kept(terms, told, before, 0.5)
    torch.testing.assert_close(kept["loss"], 2.0 + 0.5 * expected)
    assert kept["mask"] == 2.0 and kept["recognition"] == class_divergence(told, before)
