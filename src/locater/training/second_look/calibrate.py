"""Scores to trust: a logistic regression on the answers of an evaluation, checked on those it was not fitted on."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.evaluation.metrics.calibration import Calibration, calibration
from locater.evaluation.metrics.sample_score import SampleScore
from locater.inference.judging import LEAST_PIXELS, crop_of, look_at, meanings_of, named_in
from locater.model.locater import Locater
from locater.model.second_look import SecondLook, measures
from locater.records import Dataset
from locater.training.second_look.fit import Lesson, fit
from locater.training.second_look.labels import Labels

RIGHT = 0.5  # IoU from which on a mask is right
FOLDS = 2
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


def calibrate(
    look: SecondLook,
    lesson: Lesson,
    labels: Labels,
    nouns: Sequence[str],
    model: Locater,
    answers: Sequence[Answer],
) -> Calibration:
    """How far scores can be trusted; the weights of `look` are fitted on all answers.

    Each half of the videos is scored by weights that were fitted on the other half. What a verdict is worth for nouns
    that were not trained on is learned from second looks that lack some of `nouns`, those of the lesson's crops.
    """
    meanings = meanings_of(model, [answer.noun for answer in answers])
    sureness = torch.tensor([answer.sureness for answer in answers])
    is_right = torch.tensor([answer.is_right for answer in answers])
    is_first = torch.tensor([_share(answer.video) < 0.5 for answer in answers])
    known = _measured(look, answers, meanings, sureness)
    strange = torch.empty_like(known)
    for fold in range(FOLDS):
        lacks = lesson.without(
            torch.tensor([_fold(noun) == fold for noun in nouns]),
            torch.tensor([any(_fold(noun) == fold for noun in each) for each in labels.owners]),
        )
        rows = torch.tensor([_fold(answer.noun) == fold for answer in answers])
        strange[rows] = _measured(fit(lacks), answers, meanings, sureness)[rows]
    scores = torch.empty(len(answers))
    for half in (is_first, ~is_first):
        _regress(look, torch.cat([known[half], strange[half]]), is_right[half].repeat(2))
        with torch.no_grad():
            scores[~half] = look.weights(known[~half]).squeeze(-1).sigmoid()
    _regress(look, torch.cat([known, strange]), is_right.repeat(2))
    return calibration(scores.tolist(), is_right.tolist())


def _measured(look: SecondLook, answers: Sequence[Answer], meanings: Tensor, sureness: Tensor) -> Tensor:
    with torch.no_grad():
        seen, taken_for = (torch.stack([getattr(each, name) for each in answers]) for name in ("seen", "taken_for"))
        verdicts = look(seen, taken_for, meanings).diagonal()
        return measures(verdicts, look.familiarity(meanings), sureness)


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


def _share(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def _fold(noun: str) -> int:
    return int(_share(noun) * FOLDS)
