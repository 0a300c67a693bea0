"""What the demo marks and what the worlds draw, bit for bit: moving code about must not change a pixel.

The hashes were taken on one kind of processor. Another one may round another way in the last bit, so elsewhere the
test says so and stops; the pixels' own tests hold there too.
"""

import hashlib
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import locater
from locater.config import TrainingConfig, preset, training_stages
from locater.inference.demo import demo_clip
from locater.records import Dataset
from locater.training.data.batches import TrainingData
from locater.training.data.world import WorldData
from locater.video.reader import open_source
from locater.worlds.composed import ComposedWorld, SceneSampler, composed_batches
from locater.worlds.composed.position_world import PositionWorld
from locater.worlds.shapes import ShapesWorld, shapes_batches, video_seed
from tests.support.composed_sources import small_pack

SEEDS = 20
TAKEN_ON = ("2.13", "AVX512")


@pytest.fixture(autouse=True)
def _same_arithmetic() -> None:
    here = torch.__version__.rpartition(".")[0], torch.backends.cpu.get_cpu_capability()
    if here != TAKEN_ON:
        pytest.skip(f"the hashes were taken with torch {TAKEN_ON[0]} on {TAKEN_ON[1]}, this is {here[0]} on {here[1]}")


def digest(arrays: Iterable[npt.NDArray[Any]]) -> str:
    """A short hash of the arrays' bytes."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frames", "expected"),
    [(16, "69157b9cbee3d487"), pytest.param(48, "3f4f92a145b933a3", marks=pytest.mark.proof)],
)
def test_the_demo_marks_the_same_pixels(frames: int, expected: str) -> None:
    """The memory of the whole clip is in its first frames too."""
    clip = demo_clip()
    results = locater.load("default", "cpu", quality="best").segment(open_source(clip.path), clip.expressions)
    assert digest(result.masks for result in islice(results, frames)) == expected


def test_the_shapes_checkpoint_marks_the_same_pixels() -> None:
    """On the frames themselves, so that no encoder's version is asked."""
    world, seed = ShapesWorld("test", count=1, size=320), video_seed("test", "late_event", 10)
    sentences = [question.expression for question in world.expressions_for(seed)][:4]
    results = locater.load("shapes", "cpu", quality="best").segment(world.video(seed), sentences)
    assert digest(result.masks for result in results) == "532dfcc343477dc0"


@pytest.mark.parametrize(
    ("world", "expected"),
    [("shapes", "00f56fa09f3721f7"), ("composed", "9f3ce7a1cd13e781"), ("positions", "58b176422a370c69")],
)
def test_a_world_draws_the_same_pixels(world: str, expected: str) -> None:
    opened = _open(world)
    drawn: list[npt.NDArray[Any]] = []
    for info in opened.samples():
        sample = opened.load(info)
        drawn += [np.frombuffer(info.expression.encode(), np.uint8)]
        drawn += [frame.pixels for frame in sample.frames.frames()]
        drawn += [sample.masks[index] for index in sample.masks]
    assert digest(drawn) == expected


@pytest.mark.parametrize(
    ("world", "preset_name", "expected"),
    [("shapes", "shapes", "1c0639257fb26272"), ("composed", "default", "8cb076f4529f95e8")],
)
def test_training_draws_the_same_batches(world: str, preset_name: str, expected: str) -> None:
    drawn: list[npt.NDArray[Any]] = []
    for number, stage in enumerate(training_stages(preset_name)[::3][:3]):
        data = _open_training(world, stage.image_size or preset(preset_name).image_size, stage)
        batch = data.draw(data.plan(range(3 * number, 3 * number + 3), progress=0.5), torch.device("cpu"))
        assert batch.motion_targets is not None
        tensors = (
            batch.frames,
            batch.times,
            batch.global_frames,
            batch.global_times,
            batch.masks,
            batch.motion_targets,
        )
        drawn += [np.frombuffer("\n".join(batch.expressions).encode(), np.uint8)]
        drawn += [tensor.numpy() for tensor in tensors]
    assert digest(drawn) == expected


def _open_training(world: str, size: int, config: TrainingConfig) -> TrainingData:
    if world == "shapes":
        return WorldData(shapes_batches(), size, config, interval=4)
    return WorldData(composed_batches(SceneSampler(small_pack())), size, config, interval=4)


def _open(world: str) -> Dataset:
    if world == "shapes":
        return ShapesWorld("test", SEEDS, 64)
    if world == "composed":
        return ComposedWorld(small_pack(), "test", SEEDS, 64)
    return PositionWorld(small_pack(), "test", SEEDS // 2, 64)
