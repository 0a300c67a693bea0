"""What runs faster gives the same, and what gives something else is found out."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from locater.bench.harness.checks import agreement
from locater.bench.harness.clip import (
    at_once,
    chunks_of,
    in_chunks,
    make_clip,
    network_masks,
    preset_model,
    sentences_of,
)
from locater.bench.harness.request import BenchRequest
from locater.bench.suites import cpu
from locater.bench.suites.memory import Setting, checked_ways
from locater.bench.suites.memory_ways import Way, chunk_length
from locater.config import preset
from locater.export.graphs import graphs_of
from locater.export.runtime import Array, ExportedModel
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.model.locater import Locater
from locater.model.memory import LocalGlobalMemory, WriteRule
from locater.worlds.shapes import vocabulary
from tests.support.randomised import randomise

CPU = torch.device("cpu")
ASKED = BenchRequest(CPU, "float32", preset="tiny", is_quick=True)
RULES: tuple[WriteRule, ...] = ("paper", "sum", "compete")


def a_setting(rule: WriteRule, read_mlp: bool = False) -> Setting:
    torch.manual_seed(1)
    memory = LocalGlobalMemory(32, 24, 20, rule, 2, False, False, read_mlp)
    with torch.no_grad():
        for parameter in memory.parameters():  # identities and small gates would hide a wrong order
            parameter.add_(0.3 * torch.randn_like(parameter))
    return Setting(memory.eval(), tokens=16, width=32, interval=3, lengths=(7,))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("read_mlp", [False, True])
def test_a_chunk_is_the_frames_one_by_one(rule: WriteRule, read_mlp: bool) -> None:
    setting = a_setting(rule, read_mlp)
    kept, checks = checked_ways(ASKED, setting, {"chunks": Way.of(setting.memory)})
    assert kept.keys() == {"chunks"}
    assert all(check.holds for check in checks), checks


@pytest.mark.parametrize("rule", RULES)
def test_a_memory_that_forgets_to_write_is_not_kept(rule: WriteRule) -> None:
    setting = a_setting(rule)
    plain = Way.of(setting.memory)

    def frozen(values: Tensor, global_cells: Tensor, local_cells: Tensor) -> tuple[Tensor, Tensor]:
        return plain.decode_clip(values, global_cells, local_cells)[0], local_cells

    kept, checks = checked_ways(ASKED, setting, {"frozen": Way(plain.write_global, frozen), "plain": plain})
    assert kept.keys() == {"plain"}
    assert [check.name for check in checks if not check.holds] == ["frozen, float32 against float32, local cells"]


def test_the_whole_clip_at_once_is_the_segmenters_chunks() -> None:
    model = preset_model(ASKED)
    clip = make_clip(model, 11, 2, CPU)  # more than one chunk, and two frames for the global memory
    chunks = chunks_of(ASKED, model)
    with torch.inference_mode():
        found = in_chunks(chunks, clip)
        assert agreement("at once", found, at_once(chunks, clip)).holds
        assert torch.equal(in_chunks(chunks, clip, 11), at_once(chunks, clip))


def test_the_benchmarks_clip_is_what_the_segmenter_makes_of_it() -> None:
    model = preset_model(ASKED)
    clip = make_clip(model, 11, 1, CPU)
    pixels = (clip.frames[0].permute(0, 2, 3, 1) * 255).round().to(torch.uint8)
    clip = replace(clip, frames=pixels.permute(0, 3, 1, 2)[None] / 255)
    results = Segmenter(model, CPU).segment(pixels.numpy(), sentences_of(1), frames_per_second=24)
    masks = np.stack([result.masks[0] for result in results])
    with torch.inference_mode():
        found = network_masks(in_chunks(chunks_of(ASKED, model), clip), model.config.image_size)[0].numpy()
    assert (masks == found).mean() > 0.999


class InPyTorch(ExportedModel):
    """An exported network whose graphs are run by PyTorch: what `cpu` asks of one, without half a minute's export."""

    def __init__(self, model: Locater, threads: int) -> None:
        graphs = graphs_of(model)
        named = {graph.name: {"inputs": graph.inputs, "outputs": graph.outputs} for graph in graphs}
        self.settings = {"graphs": named, "window": model.visual.window}
        self._sessions = {graph.name: graph for graph in graphs}
        first = {"global_cells": model.memory.global_start, "local_cells": model.memory.local_start}
        self.first_cells = {name: cells.detach().numpy() for name, cells in first.items()}
        assert threads == torch.get_num_threads()

    def run(self, graph: str, tensors: Mapping[str, Array]) -> dict[str, Array]:
        names = self.settings["graphs"][graph]
        found = self._sessions[graph](*(torch.from_numpy(tensors[name]) for name in names["inputs"]))
        several = found if isinstance(found, tuple) else (found,)
        return {name: value.numpy() for name, value in zip(names["outputs"], several, strict=True)}


def test_the_exported_network_is_fed_as_the_plain_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = build(preset("tiny", {"text": {"vocabulary": vocabulary()}}), seed=0).eval()
    clip = cpu.shapes_video(model.config.image_size, 11).seen_by(chunks_of(ASKED, model))
    written: list[Path] = []
    monkeypatch.setattr(cpu, "export", lambda _, folder: written.append(folder))
    monkeypatch.setattr(cpu, "ExportedModel", lambda _, threads: InPyTorch(model, threads))
    with torch.inference_mode():
        found = cpu.exported_run(model, clip, tmp_path)()
        assert agreement("exported", in_chunks(chunks_of(ASKED, model), clip), found).holds
    assert written == [tmp_path / "onnx"]


@pytest.mark.parametrize(
    ("candidate", "holds"),
    [
        (torch.tensor([1.0, 2.0]), True),
        (torch.tensor([1.0, 2.00001]), True),
        (torch.tensor([1.0, 2.1]), False),
        (torch.tensor([1.0, torch.nan]), False),
        (torch.tensor([1.0, 2.0, 0.0]), False),
    ],
)
def test_agreement_is_relative_and_never_of_nan_or_other_shapes(candidate: Tensor, holds: bool) -> None:
    assert agreement("it", torch.tensor([1.0, 2.0]), candidate).holds is holds


@pytest.mark.parametrize(("frames", "length"), [(15, 15), (80, 40), (100, 50), (300, 60), (10_000, 50), (1, 1)])
def test_chunks_divide_the_video(frames: int, length: int) -> None:
    assert chunk_length(frames) == length


def test_the_time_of_a_quality_has_what_redraws_its_masks() -> None:
    changes = {"text": {"vocabulary": vocabulary()}, "refiner": {"enlarged": 1.5}}
    model = build(preset("tiny", changes), seed=0)
    assert model.refiner is not None
    randomise(model.refiner)
    video = cpu.shapes_video(model.config.image_size, 5)
    segmenter = Segmenter(model, "cpu", "float32", quality="default")
    clip = video.seen_by(segmenter.chunks)
    coarse, redrawn = (in_chunks(segmenter.chunks, clip, own=own) for own in ((), video.frames))
    assert coarse.shape == redrawn.shape and not torch.allclose(coarse, redrawn, atol=0.1)
    whole = [frame.pixels for frame in video.frames]
    results = list(segmenter.segment(whole, video.sentence, frames_per_second=12, anyway=True))
    masks = network_masks(redrawn, results[0].masks.shape[-1])[0].numpy()
    assert np.mean([ours == result.masks[0] for ours, result in zip(masks, results, strict=True)]) > 0.95
