"""How what the catalog names gives training batches: worlds draw them, datasets have clips cut out of their videos."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from locater.config import TrainingConfig
from locater.datasets.catalog import find_source
from locater.errors import LocaterError
from locater.training.data.batches import TrainingData
from locater.training.data.dataset_clips import DatasetData
from locater.training.data.mixture import MixedData, Part
from locater.training.data.world import WorldData
from locater.worlds.composed import Pack, SceneSampler, composed_batches
from locater.worlds.composed.pack.pack import INDEX
from locater.worlds.shapes import shapes_batches

# By the catalog's name: what a world draws from, the size of its frames, the settings, and the network's interval.
DRAWN: Mapping[str, Callable[[Path | None, int, TrainingConfig, int], TrainingData]] = {
    "shapes": lambda _, size, config, interval: WorldData(shapes_batches(), size, config, interval),
    "composed": lambda pack, size, config, interval: WorldData(
        composed_batches(SceneSampler(_opened_pack(Path(str(pack))), config.kin_share)), size, config, interval
    ),
}


def open_data(data: str | Mapping[str, float], size: int, config: TrainingConfig, interval: int) -> TrainingData:
    """The training data that `NAME[:ROOT]` stands for, or several of them with their weights, as one."""
    if isinstance(data, str):
        return _open_one(data, size, config, interval)
    names = [find_source(spec).name for spec in data]
    are_drawn = {name in DRAWN for name in names}
    if len(are_drawn) > 1 and config.sentences > 1:
        raise LocaterError(
            f"A dataset has one sentence for each clip, and the world is asked {config.sentences}; mix them with "
            "--set training.sentences=1."
        )
    if len(data) == 1:
        return _open_one(next(iter(data)), size, config, interval)
    parts = [
        # Of two roots of one dataset the order tells which is which.
        Part(
            name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}",
            _open_one(spec, size, config, interval),
            weight,
            name in DRAWN,
        )
        for place, (name, (spec, weight)) in enumerate(zip(names, data.items(), strict=True))
    ]
    return MixedData(parts)


def _open_one(spec: str, size: int, config: TrainingConfig, interval: int) -> TrainingData:
    """The training data that `NAME[:ROOT]` stands for, watched on its validation split where it has one."""
    source = find_source(spec)
    split = source.find_training_split()
    root = source.find_root()
    if source.name in DRAWN:
        return DRAWN[source.name](root, size, config, interval)
    validation = source.entry.validation_split
    return DatasetData(source.open(split), None if validation is None else source.open(validation), size, config)


def _opened_pack(folder: Path) -> Pack:
    """The pack, read once for all stages of a recipe and its vocabulary: its index takes seconds."""
    index = folder / INDEX
    return _read_pack(folder, index.stat().st_mtime_ns if index.is_file() else 0)


@lru_cache(maxsize=8)  # a mixture's packs are asked for by every stage
def _read_pack(folder: Path, written_at: int) -> Pack:  # noqa: ARG001 (a pack that was made again is read again)
    return Pack(folder)
