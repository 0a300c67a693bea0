"""Encoders of windows as ONNX graphs: whole windows in, and the loops that run them fill the last one."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from einops import rearrange

from locater.export import onnx_files as exporting
from locater.export.graphs import VisualGraph
from locater.inference.segmenter import Segmenter
from locater_lite import Lite
from tests.support.windowed import VIDEO_ENCODERS, windowed_model


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["video_swin", pytest.param("i3d", marks=pytest.mark.proof)])
@torch.no_grad()
def test_a_window_as_a_graph_is_the_encoders_own(kind: str, tmp_path: Path) -> None:
    model = windowed_model(kind).eval()
    exporting.write_graph(VisualGraph(model), {"frames": torch.rand(16, 3, 64, 64)}, tmp_path / "visual.onnx")
    frames = torch.rand(16, 3, 64, 64)
    found = onnxruntime.InferenceSession(tmp_path / "visual.onnx").run(None, {"frames": frames.numpy()})
    features = model.visual(frames[None])
    patches = rearrange(features.patches, "b t (r c) d -> b t r c d", r=features.grid[0])
    for ours, theirs in zip((patches, *features.early), found, strict=True):
        np.testing.assert_allclose(theirs, ours[0].numpy(), atol=1e-4)


@pytest.mark.proof
@pytest.mark.parametrize("kind", VIDEO_ENCODERS)
def test_exported_masks_are_the_segmenters(kind: str, tmp_path: Path) -> None:
    """The command's own check over a whole and a ragged window, then locater-lite's loop."""
    model = windowed_model(kind)
    report = exporting.export(model, tmp_path / "exported")
    assert report.largest_difference < 1e-4
    video = np.random.default_rng(0).integers(0, 256, (21, 70, 90, 3), dtype=np.uint8)
    sentences = ["the dog on the left", "a dog"]
    ours = list(Segmenter(model, "cpu").segment(video, sentences, soft=True, frames_per_second=10))
    theirs = list(Lite(tmp_path / "exported", best=True).segment(list(video), 10, sentences))
    for result, (soft, _, _) in zip(ours, theirs, strict=True):
        assert result.soft_masks is not None
        np.testing.assert_allclose(soft, result.soft_masks, atol=1e-3)
