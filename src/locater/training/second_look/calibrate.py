"""Scores to trust: a logistic regression on the answers of an evaluation, checked on those it was not fitted on."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.evaluation.metrics.calibration import Calibration, calibration
from locater.evaluation.metrics.sample_score import SampleScore
from locater.inference.judging import LEAST_PIXELS, believed, crop_of, look_at, meanings_of, named_in
from locater.model.locater import Locater
from locater.model.second_look import SecondLook, measures
from locater.records import Dataset

RIGHT = 0.5  # IoU from which on a mask is right
_PENALTY = 1e-3  # on the weights' squares


@dataclass(frozen=True)
class Answer:
    """One mask that a network drew, and whether it was right."""

    video: str
    noun: str
    seen: Tensor  # (C,)
    taken_for: Tensor  # (E,)
    sureness: float
    is_right: bool


def read_answers(model: Locater, data: Dataset, answers: Sequence[SampleScore]) -> list[Answer]:
    """The first annotated mask of each question that marks something, looked at again in the dataset's own pixels."""
    found = []
    for answer in answers:
        frame = answer.frames[0]
        mask = answer.predictions[frame.index].mask()
        if mask.sum() < LEAST_PIXELS:
            continue
        picture = next(iter(data.load(answer.info).frames.frames(start=frame.index)))
        seen, taken_for = look_at(model, [crop_of(picture.pixels, mask)])
        counts = frame.counts
        is_right = counts.intersection >= RIGHT * max(counts.union, 1)
        noun = named_in(answer.info.expression)
        found.append(Answer(answer.info.video, noun, seen[0], taken_for[0], frame.confidence, is_right))
    return found


def calibrate(look: SecondLook, model: Locater, answers: Sequence[Answer]) -> Calibration:
    """How far scores can be trusted; the weights of `look` are fitted on all answers that it believes.

    What it does not believe is not marked, and has no score. Each half of the videos is scored by weights that were
    fitted on the other half.
    """
    meanings = meanings_of(model, [answer.noun for answer in answers])
    sureness = torch.tensor([answer.sureness for answer in answers])
    with torch.no_grad():
        verdicts = torch.cat(
            [
                look.verdicts(each.seen[None], each.taken_for[None], look.asked(noun[None]))[0]
                for each, noun in zip(answers, meanings, strict=True)
            ]
        )
        kept = believed(verdicts, look.familiarity(meanings))
        given = measures(verdicts, look.familiarity(meanings), sureness)[kept]
    is_right = torch.tensor([answer.is_right for answer in answers])[kept]
    is_first = torch.tensor([_is_first(answer.video) for answer in answers])[kept]
    scores = torch.empty(len(given))
    for half in (is_first, ~is_first):
        _regress(look, given[half], is_right[half])
        with torch.no_grad():
            scores[~half] = look.weights(given[~half]).squeeze(-1).sigmoid()
    _regress(look, given, is_right)
    return calibration(scores.tolist(), is_right.tolist())


def _regress(look: SecondLook, given: Tensor, is_right: Tensor) -> None:
    """The logistic regression of what was right on what was measured, into the look's weights."""
    torch.nn.init.zeros_(look.weights.weight)
    torch.nn.init.zeros_(look.weights.bias)
    optimizer = torch.optim.LBFGS(look.weights.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        logits = look.weights(given).squeeze(-1)
        loss = F.binary_cross_entropy_with_logits(logits, is_right.float())
        loss = loss + _PENALTY * look.weights.weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]


def _is_first(video: str) -> bool:
    """Which half a video belongs to."""
    return hashlib.sha256(video.encode()).digest()[0] < 128
