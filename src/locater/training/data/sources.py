"""What `--data` can name."""

from pathlib import Path

from locater.config import TrainingConfig
from locater.datasets.catalog import dataset_names, find_entry, open_dataset
from locater.errors import LocaterError
from locater.training.data.batches import TrainingData
from locater.training.data.dataset_clips import DatasetData
from locater.training.data.world import WorldData
from locater.worlds.composed import Pack, SceneSampler, composed_batches
from locater.worlds.shapes import shapes_batches


def open_data(spec: str, size: int, config: TrainingConfig, interval: int) -> TrainingData:
    """The training data that a name stands for: `shapes`, `composed:PACK`, or `DATASET:ROOT` of the catalog."""
    name, _, root = spec.partition(":")
    if spec == "shapes":
        return WorldData(shapes_batches(), size, config, interval)
    if name == "composed" and root:
        return WorldData(composed_batches(SceneSampler(Pack(root))), size, config, interval)
    if name in dataset_names() and root:
        return open_training_dataset(name, Path(root), size, config)
    known = ", ".join(f"{each}:ROOT" for each in dataset_names())
    raise LocaterError(f"There is no training data '{spec}'; choose shapes, composed:PACK or one of {known}.")


def open_training_dataset(name: str, root: Path, size: int, config: TrainingConfig) -> DatasetData:
    """A dataset's training split, watched on its validation split where it has one."""
    entry = find_entry(name)
    if entry.training_split is None:
        raise LocaterError(f"{name} is for evaluation alone; train on another dataset and evaluate on it.")
    validation = None if entry.validation_split is None else open_dataset(name, root, entry.validation_split)
    return DatasetData(open_dataset(name, root, entry.training_split), validation, size, config)
