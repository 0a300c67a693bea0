"""From a checkpoint, named things and an evaluation's answers to a second look: what `locater second-look` calls."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import torch
from torch import Tensor

from locater.errors import LocaterError
from locater.evaluation.metrics.calibration import Calibration
from locater.evaluation.run.journal import JournalReader
from locater.inference.judging import look_at, meanings_of
from locater.model.cast_model import cast_model
from locater.model.checkpoint import from_pretrained, save_second_look
from locater.model.locater import Locater
from locater.model.visual.efficientnet import EfficientNetLite
from locater.records import Dataset
from locater.training.second_look.calibrate import calibrate, read_answers
from locater.training.second_look.crops import NamedCrop, crops_of_pack, crops_of_photographs
from locater.training.second_look.fit import Lesson, fit
from locater.training.second_look.labels import label
from locater.worlds.composed.pack.pack import Pack

_AT_A_TIME = 32  # crops


@dataclass(frozen=True)
class SecondLookRequest:
    """What is asked for."""

    checkpoint: str
    pack: Path
    photographs: Path | None  # of single named things
    answers: Path  # an evaluation's folder
    data: Dataset  # that it was an evaluation on
    out: Path  # the file


@dataclass(frozen=True)
class Made:
    """What came of it."""

    crops: int
    words: int
    calibration: Calibration  # on videos that nothing was fitted on


def make_second_look(request: SecondLookRequest, listen: Callable[[int], None] = lambda _: None) -> Made:
    """Train a second look for a checkpoint on a pack's things, calibrate it, and write it; `listen` counts crops."""
    model = from_pretrained(request.checkpoint)
    if not isinstance(model.visual, EfficientNetLite) or model.visual.recogniser is None:
        raise LocaterError("A second look needs a network that recognises (visual.recognises), as `default` does.")
    journal = JournalReader(request.answers)
    journal.refresh()
    if not journal.answers:
        raise LocaterError(f"{request.answers} holds no answers; make some with `locater evaluate` on the same data.")
    fast = cast_model(model, torch.bfloat16)
    named = crops_of_pack(Pack(request.pack))
    if request.photographs is not None:
        named = chain(named, crops_of_photographs(request.photographs))
    seen, taken_for, names = _looked_at(fast, named, listen)
    labels = label(names)
    lesson = Lesson(seen, taken_for, labels.is_true, labels.is_known, meanings_of(model, labels.words))
    look = fit(lesson)
    answers = read_answers(fast, request.data, list(journal.answers.values()))
    trusted = calibrate(look, model, answers)
    save_second_look(look, request.out)
    return Made(len(names), len(labels.words), trusted)


def _looked_at(
    model: Locater, named: Iterable[NamedCrop], listen: Callable[[int], None]
) -> tuple[Tensor, Tensor, list[tuple[str, tuple[str, ...]]]]:
    """What is seen in crops (N, C), what they are taken for (N, E), and what they are called."""
    parts: list[tuple[Tensor, Tensor]] = []
    names: list[tuple[str, tuple[str, ...]]] = []
    for some in _at_a_time(named):
        parts.append(look_at(model, [each.pixels for each in some]))
        names += [(each.noun, each.broader) for each in some]
        listen(len(names))
    return torch.cat([seen for seen, _ in parts]), torch.cat([taken for _, taken in parts]), names


def _at_a_time(named: Iterable[NamedCrop]) -> Iterator[list[NamedCrop]]:
    rest = iter(named)
    while some := list(islice(rest, _AT_A_TIME)):
        yield some
