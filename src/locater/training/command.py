"""From a preset's name to a trained checkpoint: what `locater train` and the ablations call."""

from collections.abc import Callable, Sequence
from pathlib import Path

from locater.config import LSTMConfig, ModelConfig, TrainingConfig, parse_changes, preset, training_stages
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import WEIGHTS, load_to_go_on, load_what_fits
from locater.text.words import Vocabulary
from locater.training.data.sources import open_data
from locater.training.trainer import Progress, Trainer


def train_preset(
    name: str,
    data: str,
    folder: Path,
    changes: Sequence[str] = (),
    *,
    start: Path | None = None,
    is_start_partial: bool = False,
    seed: int = 0,
    workers: int = 0,
    trackers: tuple[str, ...] = (),
    listen: Callable[[Progress], None] | None = None,
) -> dict[str, float]:
    """Train a preset with some settings changed; its last validation scores by sentence kind.

    `start` is a checkpoint folder of the same network whose weights it begins with, those of common words included;
    with `is_start_partial` of another one, and what does not fit begins afresh. Of several stages the last has the
    folder itself, those before it `stage1`, `stage2`, ... inside; each begins with the weights of the one before it.
    """
    values = parse_changes(changes)
    config = preset(name, values)
    *before, last = training_stages(name, values)
    folders = [folder / f"stage{number}" for number in range(1, len(before) + 1)]
    scores: dict[str, float] = {}
    for training, place in zip([*before, last], [*folders, folder], strict=True):
        source = open_data(data, size_in_training(config, training), training, config.memory.interval)
        config = with_vocabulary(config, source.words())
        model = build(config, seed)
        if start is not None and is_start_partial:
            load_what_fits(model, start / WEIGHTS)
        elif start is not None:
            load_to_go_on(model, start)
        scores = Trainer(model, source, training, place, seed=seed, workers=workers, trackers=trackers).run(listen)
        start, is_start_partial = place / "checkpoint", False
    return scores


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
