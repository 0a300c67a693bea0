"""Candidates to learn from, and a fit that learns to choose among them."""

from itertools import repeat

import pytest
import torch

from locater.config import GroundingConfig, TrainingConfig, preset
from locater.model.build import build
from locater.model.locater import Locater
from locater.records import Batch
from locater.training.data.sources import open_data
from locater.training.grounding import fit as fitting
from locater.training.grounding.candidates import candidates_as_in_use, candidates_of, iou, spoilt
from locater.training.grounding.fit import choose, drawn, fit
from locater.worlds.seeds import KINDS
from locater.worlds.shapes import vocabulary

CPU = torch.device("cpu")
CONFIG = TrainingConfig(
    batch_size=6,
    sentences=2,
    clip_frames=2,
    clip_strides=(0,),
    global_frames=0,
    kind_weights={"motion": 0, "early_event": 0, "late_event": 0, "absent": 0},
)


def test_iou_is_counted_over_annotated_frames() -> None:
    truth = torch.zeros(1, 2, 8, 8)
    truth[0, 0, :4] = 1
    masks = torch.stack([truth[0], torch.zeros(2, 8, 8), torch.ones(2, 8, 8)])[None]
    both = torch.ones(1, 2, dtype=torch.bool)
    assert iou(masks, truth, both).tolist() == [[1.0, 0.5, 0.25]], "an empty mask of nothing is right"
    assert iou(masks, truth, torch.tensor([[True, False]])).tolist() == [[1.0, 0.0, 0.5]]


def test_spoilt_masks_move_with_their_reach_and_leave_the_frame() -> None:
    masks = torch.zeros(40, 2, 64, 64)
    masks[:, :, 24:40, 24:40] = 1
    annotated = torch.ones(40, 2, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    light, heavy = (iou(spoilt(masks, reach, generator)[:, None], masks, annotated) for reach in (0.03, 0.25))
    assert light.min() > 0.3 and light.mean() > 0.6 and heavy.mean() < 0.4
    corner = torch.zeros(1, 1, 64, 64)
    corner[..., :2, :2] = 1
    assert all(spoilt(corner, 0.5, generator)[0, 0, -16:].sum() == 0 for _ in range(20)), "nothing comes round"


def test_a_sentence_has_right_and_wrong_candidates_in_no_order() -> None:
    weak = build(preset("tiny", {"text": {"vocabulary": vocabulary()}}), seed=0)
    data = open_data("shapes", 64, CONFIG, 1)
    batch = next(drawn(data, CONFIG, CPU, 0))
    masks = candidates_of(batch, [weak], torch.Generator().manual_seed(0))
    assert masks.shape == (12, 7, 2, 64, 64)
    good = iou(masks, batch.masks, batch.is_annotated)
    assert (good.amax(1) > 0.4).all() and (good.amin(1) == 0).all()
    assert len({int(place) for place in good.argmax(1)}) > 3, "its place must not tell the right one"


def test_a_few_steps_learn_to_choose() -> None:
    """From one batch, over and over: the loss falls, and the seed decides all of it."""
    backbone = build(preset("tiny", {"text": {"vocabulary": vocabulary()}}), seed=0).eval()
    data = open_data("shapes", 64, CONFIG, 1)
    one = next(drawn(data, CONFIG, CPU, 0))
    settings = GroundingConfig(width=32, heads=2, frames=2)
    losses: list[float] = []
    module = fit(backbone, settings, repeat(one), [], 12, listen=lambda _, loss: losses.append(loss))
    assert losses[-1] < losses[0] - 0.1, losses
    again: list[float] = []
    fit(backbone, settings, repeat(one), [], 1, listen=lambda _, loss: again.append(loss))
    assert again == losses[:1]
    found = choose(backbone, module, drawn(data, CONFIG, CPU, 0, is_held_out=True), [], 1)
    assert found.sets == 12 and 0 <= found.right <= 1 and found.chosen <= found.best


def test_candidates_agree_on_the_right_object_by_chance() -> None:
    """Else a module would choose by agreement, without a look at the sentence."""
    config = CONFIG.model_copy(update={"kind_weights": dict.fromkeys(KINDS, 0) | {"position": 1}})
    batches = drawn(open_data("shapes", 64, config, 1), config, CPU, 0)
    generator = torch.Generator().manual_seed(0)
    is_right: dict[int, list[bool]] = {0: [], 1: []}  # by frame
    for _ in range(12):
        batch = next(batches)
        others = batch.masks.view(6, 2, 2, 64, 64).flip(1).flatten(0, 1)
        masks = candidates_of(batch, [], generator)
        for frame in is_right:
            alone = torch.zeros(12, 2, dtype=torch.bool)
            alone[:, frame] = True
            own, other = (iou(masks, each, alone).mean(1) for each in (batch.masks, others))
            is_right[frame] += (own > other)[own != other].tolist()
    shares = [sum(found) / len(found) for found in is_right.values()]
    assert all(0.35 < share < 0.65 for share in shares), shares


def test_the_last_sets_hold_networks_masks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in use: every other set of the last part, where there are two networks or more to choose from."""
    networks = [build(preset("tiny", {"text": {"vocabulary": vocabulary()}}), seed=seed).eval() for seed in (0, 1)]
    one = next(drawn(open_data("shapes", 64, CONFIG, 1), CONFIG, CPU, 0))
    found = candidates_as_in_use(one, networks[:1], torch.Generator().manual_seed(0))
    assert found.shape == (12, 3, 2, 64, 64)
    whole, rest = found.amax(1), found.sum(1) - found.amax(1)
    assert torch.equal(whole, rest), "all that it marks, and the same in two parts"
    good = iou(found, one.masks, one.is_annotated)
    assert (good.amin(1) < 0.05).all() and (
        good.amax(1) >= iou(whole[:, None], one.masks, one.is_annotated)[:, 0]
    ).all()

    heard: list[int] = []

    def counted(batch: Batch, weak: list[Locater], generator: torch.Generator) -> torch.Tensor:
        heard.append(len(weak))
        return candidates_as_in_use(batch, weak, generator)

    monkeypatch.setattr(fitting, "candidates_as_in_use", counted)
    settings = GroundingConfig(width=16, heads=2, frames=2)
    steps: list[int] = []
    fit(networks[0], settings, repeat(one), networks, 8, listen=lambda *_: steps.append(len(heard)))
    assert steps == [0, 0, 0, 0, 0, 1, 1, 2]
    fit(networks[0], settings, repeat(one), networks[:1], 8)
    assert heard == [2, 2], "one network's masks alone are not what is chosen among in use"
