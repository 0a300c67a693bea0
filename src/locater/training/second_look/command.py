"""From a checkpoint, named things and an evaluation's answers to a second look: what `locater second-look` calls."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from locater.errors import LocaterError
from locater.evaluation.metrics.calibration import Calibration
from locater.evaluation.run.journal import JournalReader
from locater.inference.judging import meanings_of
from locater.io.digests import digest_of, text_digest
from locater.model.cast_model import cast_model
from locater.model.checkpoint import find_checkpoint, from_pretrained, save_second_look
from locater.model.locater import Locater
from locater.model.visual.efficientnet import EfficientNetLite
from locater.records import Dataset
from locater.training.second_look.boxes import crops_of_boxes
from locater.training.second_look.calibrate import calibrate, read_answers
from locater.training.second_look.crops import NamedCrop, crops_of_captioned, crops_of_pack, crops_of_photographs
from locater.training.second_look.fit import Lesson, fit
from locater.training.second_look.labels import label
from locater.training.second_look.seen import Seen, look_at_all
from locater.worlds.composed.pack.holdout import HoldOut
from locater.worlds.composed.pack.pack import Pack


@dataclass(frozen=True)
class SecondLookRequest:
    """What is asked for."""

    checkpoint: str
    pack: Path | None
    boxes: tuple[Path, ...]  # files of named boxes
    pictures: Path | None  # that these boxes are in
    photographs: Path | None  # of single named things
    captioned: Path | None  # pictures of people with captions
    seen: Path | None  # the file that keeps what was seen in crops
    held_out: HoldOut  # nouns that are not learned
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
    """Train a second look for a checkpoint on named things, calibrate it, and write it; `listen` counts crops."""
    model = from_pretrained(request.checkpoint)
    if not isinstance(model.visual, EfficientNetLite) or model.visual.recogniser is None:
        raise LocaterError("A second look needs a network that recognises (visual.recognises), as `default` does.")
    journal = JournalReader(request.answers)
    journal.refresh()
    if not journal.answers:
        raise LocaterError(f"{request.answers} holds no answers; make some with `locater evaluate` on the same data.")
    fast = cast_model(model, torch.bfloat16)
    found = _seen(request, fast, listen).without(request.held_out)
    labels = label(found.called)
    meanings = meanings_of(model, labels.words)
    lesson = Lesson(found.seen, found.taken_for, labels.is_true, labels.is_known, meanings, labels.rivals())
    look = fit(lesson)
    answers = read_answers(fast, request.data, list(journal.answers.values()))
    trusted = calibrate(look, model, answers)
    save_second_look(look, request.out)
    return Made(len(found.called), len(labels.words), trusted)


def _seen(request: SecondLookRequest, model: Locater, listen: Callable[[int], None]) -> Seen:
    """What is seen in all crops: read from the request's file where it is there, else looked at and written to it."""
    if request.seen is None:
        return look_at_all(model, _named(request), listen)
    weights = digest_of(find_checkpoint(request.checkpoint) / "model.safetensors")
    sources = (request.pack, *request.boxes, request.pictures, request.photographs, request.captioned)
    made_from = text_digest(weights, *map(str, sources), *sorted(_asked_about(request)))
    if not request.seen.exists():
        look_at_all(model, _named(request), listen).save(request.seen, made_from)
    return Seen.load(request.seen, made_from)  # as it was kept: the first fit is the same as a further one


def _named(request: SecondLookRequest) -> Iterator[NamedCrop]:
    """Crops of everything; no picture that the answers are on is learned from."""
    if request.pack is not None:
        yield from crops_of_pack(Pack(request.pack))
    if request.pictures is not None:
        yield from crops_of_boxes(request.boxes, request.pictures)
    if request.photographs is not None:
        yield from crops_of_photographs(request.photographs)
    if request.captioned is not None:
        yield from crops_of_captioned(request.captioned, but=_asked_about(request))


def _asked_about(request: SecondLookRequest) -> set[str]:
    """The captioned pictures that the answers are on."""
    return set() if request.captioned is None else {info.video for info in request.data.samples()}
