"""From a preset's name or a recipe's file to a trained checkpoint: what `locater train` and the ablations call."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate import PartialState

from locater.compute.processes import is_joined_on_cpu
from locater.config import LSTMConfig, ModelConfig, TrainingConfig, preset
from locater.errors import LocaterError
from locater.io.results_folder import MARKER, claim_folder
from locater.model.build import build
from locater.model.checkpoint import (
    config_of,
    find_checkpoint,
    from_pretrained,
    load_to_go_on,
    load_what_fits,
    trained_words,
    with_table_of,
)
from locater.model.locater import Locater
from locater.presets.changes import parse_changes
from locater.text.words import Vocabulary
from locater.training.asked import check_asked
from locater.training.average import check_alike, write_average
from locater.training.data.batches import TrainingData
from locater.training.data.rehearsal import rehearsing_seldom, table_of
from locater.training.data.sources import open_data
from locater.training.recipe import AverageConfig, Run, parse_recipe
from locater.training.trainer import Progress, Trainer

# What only the segmenter reads: clips are square, and their global frames are `training.global_frames` of the video.
_READ_IN_USE: Mapping[str, set[str] | bool] = {"memory": {"interval"}, "keep_aspect": True}
_WATCHING = {"save_every", "validate_every", "validation_videos", "keep_best"}  # they change no weight


def train_preset(
    name: str,
    data: str | Mapping[str, float],
    folder: Path,
    changes: Sequence[str] = (),
    *,
    start: Path | None = None,
    start_parts: Sequence[str] | None = None,
    seed: int = 0,
    workers: int = 0,
    trackers: tuple[str, ...] = (),
    listen: Callable[[Progress], None] | None = None,
) -> dict[str, float]:
    """Train a preset, or a recipe's file, with some settings changed; its last validation scores by sentence kind.

    `data` is what `NAME[:ROOT]` names, or several of those with their weights in each batch.
    `start` is a checkpoint of the same network whose weights it begins with, those of common words included; with
    `start_parts` of another one, of which these parts are taken where they fit, or all where none is named. Of several
    stages the last has the folder itself, those before it `stage1`, `stage2`, ... inside, and begins with the weights
    of the one before it, unless it says otherwise. What is finished is not done again; a last average has no scores.
    """
    check_asked(folder, seed, workers, trackers)
    values = parse_changes(changes)
    given = _found(start, start_parts)
    run = Run(folder, parse_recipe(name, values), given)
    run.check()
    answering = _who_answers(run)
    config = _with_words_of_all(preset(name, values), run, data)
    _check_averages(run, config)
    scores: dict[str, float] = {}
    for number, stage in enumerate(run.stages, start=1):
        place = run.place(number)
        if isinstance(stage, AverageConfig):
            _claim(folder)
            _write_average(stage, run, number, lambda path: _gone_on_with(path, config, run.first_seed(seed)))
            scores = {}
            continue
        its_seed = seed if stage.seed is None else stage.seed
        model = _begun(run, number, config, its_seed, start_parts)
        source = _rehearsing(_opened(stage, config, data), stage, answering)
        trainer = Trainer(
            model, source, stage, place, seed=its_seed, workers=workers, trackers=trackers, start=answering
        )
        _claim(folder)
        scores = trainer.run(listen)
    return scores


def _begun(run: Run, number: int, config: ModelConfig, seed: int, start_parts: Sequence[str] | None) -> Locater:
    """The network with the weights that a stage begins with."""
    begin = run.begins_with(number)
    if begin is None or begin != run.given or start_parts is None:
        return _gone_on_with(begin, config, seed)
    model = build(config, seed)
    load_what_fits(model, begin, start_parts)
    return model


def _write_average(stage: AverageConfig, run: Run, number: int, opened: Callable[[Path], Locater]) -> None:
    processes = PartialState(cpu=is_joined_on_cpu())
    if processes.is_main_process:
        write_average(stage, [run.checkpoint(each, number) for each in stage.of], run.place(number), opened)
    processes.wait_for_everyone()


def _check_averages(run: Run, config: ModelConfig) -> None:
    """Nothing, where all checkpoints that are there already and will be averaged are of the run's network."""
    for number, stage in enumerate(run.stages, start=1):
        for name in stage.of if isinstance(stage, AverageConfig) else ():
            checkpoint = run.checkpoint(name, number)
            if checkpoint.is_dir():  # other stages are still to come
                check_alike(config, name, config_of(checkpoint))


def _gone_on_with(begin: Path | None, config: ModelConfig, seed: int) -> Locater:
    """The run's network with a checkpoint's weights, if any; words that are new to that one begin as the seed says."""
    model = build(config, seed)
    if begin is not None:
        load_to_go_on(model, begin)
    return model


def _found(start: Path | None, parts: Sequence[str] | None) -> Path | None:
    """The checkpoint that a training begins with, if any."""
    if start is None and parts is not None:
        raise LocaterError(
            "--start-fits and --start-parts say what to take of another network, and none is given; name it by "
            "--start, or leave them out."
        )
    return None if start is None else find_checkpoint(start)


def what_training_reads(name: str, changes: Sequence[str]) -> list[dict[str, Any]]:
    """The settings that decide a preset's weights: trainings that read the same give the same network."""
    values = parse_changes(changes)
    stages = [stage.model_dump(exclude=_WATCHING) for stage in parse_recipe(name, values)]
    return [preset(name, values).model_dump(exclude=_READ_IN_USE), *stages]


def size_in_training(config: ModelConfig, training: TrainingConfig) -> int:
    """Pixels per side of the frames that a stage learns from."""
    size, patch = training.image_size or config.image_size, config.visual.patch_size
    if size % patch:
        raise LocaterError(f"training.image_size {size} is not a multiple of the patch size {patch}.")
    return size


def with_vocabulary(config: ModelConfig, words: Sequence[str]) -> ModelConfig:
    """The config with its bi-LSTM's vocabulary set from the training text; other text encoders bring their own."""
    if not isinstance(config.text, LSTMConfig) or config.text.vocabulary:
        return config
    text = config.text.model_copy(update={"vocabulary": Vocabulary.of_text(words).words})
    return config.model_copy(update={"text": text})


def _who_answers(run: Run) -> Locater | None:
    """The run's start, where a stage keeps to what it answers; refused, before the first step, where it cannot."""
    stages = [stage for stage in run.stages if isinstance(stage, TrainingConfig)]
    is_rehearsed = any(each.rehearsed for each in stages)
    is_recognised = any(each.recognition_weight for each in stages)
    if run.given is None or not (is_rehearsed or is_recognised):
        return None
    start = from_pretrained(run.given)
    if is_rehearsed:
        table_of(start)
    if is_recognised and start.config.meaning_width is None:
        raise LocaterError(
            "training.recognition_weight keeps ImageNet's classes, and the start tells none; set it to 0."
        )
    start.visual.requires_grad_(False)
    return start


def _rehearsing(source: TrainingData, stage: TrainingConfig, answering: Locater | None) -> TrainingData:
    """The stage's data with the sentences that the run's start answers, where the stage asks for any."""
    if not stage.rehearsed or answering is None:
        return source
    return rehearsing_seldom(source, answering, stage, PartialState(cpu=is_joined_on_cpu()).device)


def _claim(folder: Path) -> None:
    """Mark the folder as a training's, once nothing is wrong with the call; a training from before marks is known."""
    if not any(any(folder.glob(f"{stage}state-*/progress.json")) for stage in ("", "stage*/")):
        claim_folder(folder / MARKER, {"made_by": "locater train"}, "something else")


def _with_words_of_all(config: ModelConfig, run: Run, data: str | Mapping[str, float]) -> ModelConfig:
    """The config with the words of every stage's data, each opened once: a stage's words must not fail a later one."""
    stages = {str(stage.data or data): stage for stage in reversed(run.stages) if isinstance(stage, TrainingConfig)}
    words = [word for stage in stages.values() for word in _opened(stage, config, data).words()]
    if run.given is not None:  # what it has learned stays known
        config = with_table_of(config, run.given)
        words = [*trained_words(run.given), *words]
    return with_vocabulary(config, words)


def _opened(stage: TrainingConfig, config: ModelConfig, data: str | Mapping[str, float]) -> TrainingData:
    return open_data(stage.data or data, size_in_training(config, stage), stage, config.memory.interval)
