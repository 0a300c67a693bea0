"""Encoders of windows: what a window sees, what fills a ragged one, and that every way of use knows of it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from locater.config import preset
from locater.inference.segmenter import Segmenter
from locater.model.build import assemble, build
from locater.model.checkpoint import from_pretrained, save_pretrained
from locater.model.visual.video.i3d import I3D
from locater.model.visual.video.swin import VideoSwin
from locater.model.visual.video.windowed import WINDOW, WindowedEncoder
from locater.records import VisualFeatures
from locater.training.command import train_preset
from locater.video.reader import open_source
from locater.video.transforms import frame_times, frames_to_tensor
from tests.support.windowed import VIDEO_ENCODERS, windowed_model

KINDS = tuple(VIDEO_ENCODERS)
SENTENCE = "the dog on the left"


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def encoder_of(kind: str) -> WindowedEncoder:
    torch.manual_seed(0)
    if kind == "i3d":
        return I3D(width=6, scale=0.03, has_early=True).eval()
    return VideoSwin(width=6, channels=4, depths=(2, 1, 1), heads=(1, 1, 1), has_early=True).eval()


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_windows_are_seen_alone_and_the_last_one_stands_still(kind: str) -> None:
    encoder = encoder_of(kind)
    frames = torch.rand(2, WINDOW + 5, 3, 48, 32)

    whole = encoder(frames)

    assert whole.grid == (3, 2) and whole.patches.shape == (2, 21, 6, 6)
    assert [tuple(fine.shape[3:]) for fine in whole.early] == [
        (48 // stride, 32 // stride) for stride in encoder.early_strides
    ]
    still = torch.cat([frames[:, WINDOW:], frames[:, -1:].expand(-1, WINDOW - 5, -1, -1, -1)], dim=1)
    parts: list[VisualFeatures] = [encoder(frames[:, :WINDOW]), encoder(still)]
    for ours, theirs in (
        (whole.patches, torch.cat([part.patches for part in parts], dim=1)),
        *((ours, torch.cat([part.early[place] for part in parts], dim=1)) for place, ours in enumerate(whole.early)),
    ):
        torch.testing.assert_close(ours, theirs[:, : WINDOW + 5], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_frames_between_the_networks_own_steps_are_interpolated(kind: str) -> None:
    encoder = encoder_of(kind)
    frames = torch.rand(1, WINDOW, 3, 32, 32)
    deepest = encoder.maps(encoder.normalise(frames).movedim(2, 1))[-1]  # (1, t, 2, 2, C)

    projected = encoder.projection(deepest).movedim(1, -1).flatten(0, 2)  # (4, D, t)
    expected = F.interpolate(projected, WINDOW, mode="linear")

    assert deepest.shape[1] == {"video_swin": 8, "i3d": 4}[kind]
    places = encoder.place((2, 2))
    torch.testing.assert_close(encoder(frames).patches[0], expected.movedim(-1, 0) + places, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_frame_knows_of_the_others_of_its_window_alone(kind: str) -> None:
    encoder = encoder_of(kind)
    frames = torch.rand(1, 2 * WINDOW, 3, 32, 32)
    changed = frames.clone()
    changed[:, WINDOW - 1] = 0

    before, after = encoder(frames).patches, encoder(changed).patches

    assert not torch.allclose(before[:, WINDOW - 4], after[:, WINDOW - 4])
    assert torch.equal(before[:, WINDOW:], after[:, WINDOW:])


@pytest.fixture(scope="module")
def video() -> npt.NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (WINDOW + 5, 40, 56, 3), dtype=np.uint8)


@pytest.mark.parametrize("kind", KINDS)
def test_it_streams_saves_and_resumes(kind: str, video: npt.NDArray[np.uint8], tmp_path: Path) -> None:
    """Masks do not depend on the chunk, a checkpoint has them all, and memory holds one window however long it is."""
    model = windowed_model(kind)
    save_pretrained(model, tmp_path / "checkpoint")
    segmenter = Segmenter(from_pretrained(tmp_path / "checkpoint"), "cpu")
    seen: list[int] = []
    segmenter.model.visual.register_forward_pre_hook(lambda _, given: seen.append(given[0].shape[1]))

    results = list(segmenter.segment(video, SENTENCE, soft=True, chunk_frames=1))

    assert max(seen) == WINDOW and seen == [16, 5, 16, 5]  # both passes, one window at a time
    assert len({result.state.nbytes for result in results}) == 1
    together = list(segmenter.segment(video, SENTENCE, soft=True, chunk_frames=32))
    assert seen[4:] == [21]
    for one, other in zip(results, together, strict=True):
        assert one.soft_masks is not None and other.soft_masks is not None
        np.testing.assert_allclose(one.soft_masks, other.soft_masks, atol=1e-5)
    rest = list(segmenter.segment(video, SENTENCE, soft=True, chunk_frames=1, state=results[9].state))
    for one, other in zip(results[10:], rest, strict=True):
        assert np.array_equal(one.soft_masks, other.soft_masks)  # type: ignore[arg-type]


@torch.no_grad()
def test_a_sampled_frame_is_remembered_as_its_window_shows_it(video: npt.NDArray[np.uint8]) -> None:
    model = windowed_model("i3d")
    segmenter = Segmenter(model, "cpu")
    result = next(iter(segmenter.segment(video, SENTENCE, chunk_frames=1)))

    source = open_source(video)
    frames = list(source.frames())
    pixels = frames_to_tensor([frame.pixels for frame in frames], (64, 64), torch.device("cpu"))
    times = frame_times(frames, source.info.duration)
    words = model.text(model.read([SENTENCE]))
    clip = model.fuse(model.visual(pixels[None]), times[None], words)
    expected = model.write_global(clip.positioned[:, ::3], model.initial_state(words))
    torch.testing.assert_close(result.state.global_cells, expected.global_cells, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_it_trains_by_the_command(kind: str, tmp_path: Path) -> None:
    settings = {
        **{f"visual.{name}": value for name, value in VIDEO_ENCODERS[kind].items()},
        "image_size": 32, "width": 16, "fusion.modules": 1, "training.steps": 2, "training.batch_size": 2,
        "training.clip_frames": 3, "training.global_frames": 0, "training.validation_videos": 0,
        "training.learning_rate": 0.01,
    }  # fmt: skip
    train_preset("tiny", "shapes", tmp_path, [f"{name}={value}" for name, value in settings.items()], seed=0)

    assert '"loss"' in (tmp_path / "metrics.jsonl").read_text()
    trained = from_pretrained(tmp_path / "checkpoint")
    before = build(trained.config, seed=0).state_dict()
    first = {"video_swin": "visual.embedding.weight", "i3d": "visual.stem.0.conv.weight"}[kind]
    assert not torch.equal(trained.state_dict()[first], before[first])


@pytest.mark.parametrize(
    ("name", "kind", "parameters", "tensors"),
    # Counted in torchvision's swin3d_t (features 0 to 4) and in pytorch-i3d (up to Mixed_4f).
    [("paper_swin", VideoSwin, 12_368_790, 140), ("paper_i3d", I3D, 7_528_256, 135)],
)
def test_the_papers_presets_are_the_published_networks(
    name: str, kind: type[WindowedEncoder], parameters: int, tensors: int
) -> None:
    config = preset(name)
    with torch.device("meta"):
        model = assemble(config, None)
    own = {key: value for key, value in model.visual.named_parameters() if not key.startswith(("projection", "place"))}
    assert isinstance(model.visual, kind) and model.visual.window == 16 and not model.visual.early_channels
    assert (sum(value.numel() for value in own.values()), len(own)) == (parameters, tensors)


def test_it_learns_from_every_frame() -> None:
    encoder = encoder_of("video_swin")
    frames = torch.rand(1, 3, 3, 32, 32, requires_grad=True)
    patches: Tensor = encoder(frames).patches
    patches.square().sum().backward()  # type: ignore[no-untyped-call]
    assert frames.grad is not None and all(frames.grad[0, t].abs().sum() > 0 for t in range(3))
