"""From a checkpoint and a folder of people's own videos to a tuned checkpoint: what `locater finetune` calls."""

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from locater.compute.device import find_device
from locater.config import TrainingConfig
from locater.datasets.folder import FolderDataset
from locater.errors import LocaterError
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.run.answering import answer
from locater.evaluation.run.passes import plan_passes
from locater.inference.segmenter import Segmenter
from locater.io.results_folder import claim_folder
from locater.model.checkpoint import (
    WEIGHTS,
    find_checkpoint,
    from_pretrained,
    load_second_look,
    save_pretrained,
    trained_words,
    with_words_of,
)
from locater.model.locater import Locater
from locater.presets.changes import parse_changes
from locater.records import Dataset, SampleInfo
from locater.training.asked import check_asked
from locater.training.command import size_in_training
from locater.training.data.dataset_clips import DatasetData
from locater.training.data.held_out import HeldOut, held_out
from locater.training.data.rehearsal import rehearsing_trained
from locater.training.finetune.blending import Blend, blend
from locater.training.finetune.settings import settings_for
from locater.training.finetune.taught_names import look_after_tuning
from locater.training.metrics_log import mean_score, read_events
from locater.training.trainer import BEST, Progress, Trainer
from locater.training.validation import validate

RUN, TRAINING = "run.json", "training"
MOST_FRAMES = {"cpu": 400, "cuda": 8000}  # of validation videos that are segmented for the report, by each network


@dataclass(frozen=True)
class FinetuneRequest:
    """What is tuned, on what, into which folder."""

    folder: Path
    out: Path
    start: str = "default"
    changes: Sequence[str] = ()  # settings of training, as training.steps=100
    seed: int = 0
    workers: int = 0


@dataclass(frozen=True)
class Finetuned:
    """What came of it: the answers of the start and of the tuned network to the same held-out questions."""

    request: FinetuneRequest
    settings: TrainingConfig
    parted: HeldOut
    blend: Blend
    before: Sequence[SampleScore]
    after: Sequence[SampleScore]
    questions: int  # that are held out; where they are many, only the first are answered


def finetune(
    request: FinetuneRequest,
    listen: Callable[[Progress], None] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Finetuned:
    """Tune, choose how much of it to take, and leave the checkpoint in `out`/checkpoint; an interrupted run goes on.

    `listen` hears of every tenth step, `tell` what is done after the last one.
    """
    check_asked(request.out, request.seed, request.workers)
    device = find_device(None)
    folder = FolderDataset(request.folder)
    parted = held_out(folder, request.seed)
    torch.manual_seed(request.seed)  # new words of a network without a word table begin at random
    start = with_words_of(request.start, [info.expression for info in parted.training.samples()])
    changes = _training_changes(request.changes)
    sentences = len(parted.training.samples())
    settings = settings_for(start.config, _parts(start), device.type, sentences, changes)
    data = DatasetData(parted.training, parted.validation, size_in_training(start.config, settings), settings)
    place = request.out / TRAINING
    learned = rehearsing_trained(data, copy.deepcopy(start), settings, device)
    trainer = Trainer(copy.deepcopy(start), learned, settings, place, seed=request.seed, workers=request.workers)
    claim_folder(request.out / RUN, _identity(request, changes), "another fine-tuning")
    trainer.run(listen)
    tell("choosing how much of it to take")
    tuned = from_pretrained(place / BEST)

    is_refined = settings.is_fine and settings.is_refined

    def score(model: Locater) -> float:
        found = validate(
            model.to(device), data, settings.validation_videos, device, settings.precision, settings.is_fine, is_refined
        )
        return mean_score(found.scores)

    taken = blend(start, tuned, _ends(place), score)
    # A second look looks through the visual encoder and the word table, which stay as they are.
    look = load_second_look(find_checkpoint(request.start))
    known = frozenset(trained_words(find_checkpoint(request.start)))
    look_after = look_after_tuning(look, taken.model, parted.training, known)
    save_pretrained(taken.model, request.out / "checkpoint", second_look=look_after)
    tell("answering what was held out, before and after")
    infos = _asked(parted.validation, MOST_FRAMES.get(device.type, MOST_FRAMES["cpu"]))
    before, after = (
        _answers(Segmenter(model, second_look=each), parted.validation, infos)
        for model, each in ((start, look), (taken.model, look_after))
    )
    return Finetuned(request, settings, parted, taken, before, after, len(parted.validation.samples()))


def _ends(training: Path) -> tuple[float, float]:
    """The validation scores of the start and of the best checkpoint."""
    events = read_events(training / "metrics.jsonl")
    scores = [mean_score(event["validation"]) for event in events if "validation" in event]
    return scores[0], max(scores)


def _training_changes(assignments: Sequence[str]) -> Mapping[str, Any]:
    values = parse_changes(assignments)
    others = sorted(values.keys() - {"training"})
    if others:
        raise LocaterError(f"Fine-tuning keeps the network as it is, so {others[0]} cannot be set; set training.X=...")
    return dict(values.get("training", {}))


def _parts(model: Locater) -> frozenset[str]:
    """The names of all parts that hold something, at every depth."""
    names = [name.split(".") for name, tensor in model.state_dict().items() if tensor.numel()]
    return frozenset(".".join(name[:depth]) for name in names for depth in range(1, len(name)))


def _identity(request: FinetuneRequest, changes: Mapping[str, Any]) -> dict[str, Any]:
    with (find_checkpoint(request.start) / WEIGHTS).open("rb") as file:
        fingerprint = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "start": fingerprint,
        "folder": str(request.folder.resolve()),
        "settings": dict(changes),
        "seed": request.seed,
    }


def _asked(dataset: Dataset, most_frames: int) -> list[SampleInfo]:
    """The first questions, whole videos at a time, until their frames are as many as there is time for."""
    infos: list[SampleInfo] = []
    for each in plan_passes(dataset.samples()):
        frames = dataset.load(each.infos[0]).frames.info.frame_count or 0
        if infos and frames > most_frames:
            break
        most_frames -= frames
        infos += each.infos
    return infos


def _answers(segmenter: Segmenter, dataset: Dataset, infos: Sequence[SampleInfo]) -> list[SampleScore]:
    return [
        score for each in plan_passes(infos) for score in answer(segmenter, [dataset.load(info) for info in each.infos])
    ]
