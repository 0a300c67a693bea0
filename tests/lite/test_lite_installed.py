"""locater-lite as people get it: its wheel, in a folder of its own, where there is no PyTorch."""

import os
import shutil
import subprocess
import sys
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest
import torch

from locater.config import preset
from locater.export.onnx_files import export
from locater.inference.effort import Quality
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.model.checkpoint import find_checkpoint, from_pretrained, load_second_look
from locater.model.locater import Locater
from locater.video.reader import open_source
from locater_lite import Lite, LocaterError, PictureFolder, VideoFile
from locater_lite.command import main
from tests.support.command_line.clips import write_video
from tests.support.documents.examples import examples

PROJECT = Path(__file__).parents[2] / "lite"
DOCUMENT = PROJECT.parent / "docs/export.md"
CLIP = PROJECT.parent / "src/locater/clips/cafe.mp4"
NEEDED = ("numpy", "numpy.libs", "onnxruntime", "PIL", "pillow.libs", "av", "av.libs")
SENTENCES = ["the dog on the left", "a dog"]
SMALL = {
    "image_size": 32,
    "keep_aspect": True,
    "width": 16,
    "text": {"vocabulary": ["a", "dog", "left", "on", "the"], "max_words": 5, "embedding_width": 8},
    "visual": {"depth": 1, "width": 16},
    "fusion": {"modules": 1},
    "memory": {"interval": 2},
}
# The installed command, as its script starts it; then what it must have done without.
COMMAND = """
import importlib.metadata, importlib.util, sys
(script,) = importlib.metadata.entry_points(group="console_scripts", name="locater-lite")
script.load()(sys.argv[1:])
assert "torch" not in sys.modules and importlib.util.find_spec("torch") is None
assert importlib.util.find_spec("locater") is None
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which there is locater-lite, what it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(PROJECT, folder / "project")  # building leaves files behind
    build_wheel = "from setuptools import build_meta; print(build_meta.build_wheel('..'))"
    subprocess.run([sys.executable, "-c", build_wheel], cwd=folder / "project", check=True, capture_output=True)
    (wheel,) = folder.glob("locater_lite-*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
    subprocess.run([*pip, str(folder / "packages"), str(wheel)], check=True, capture_output=True)
    site = Path(np.__file__).parents[1]
    for name in NEEDED:
        if (site / name).exists():
            (folder / "packages" / name).symlink_to(site / name)
    return {**os.environ, "PYTHONPATH": str(folder / "packages")}


def run(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    started = [sys.executable, "-S", "-c", COMMAND, *map(str, arguments)]  # -S: without this Python's own packages
    return subprocess.run(started, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def network() -> Locater:
    """One that marks a part of every frame."""
    model = build(preset("tiny", SMALL), seed=2)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.decoder.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


@pytest.fixture(scope="module")
def exported(network: Locater, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "exported"
    export(network, folder)
    return folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five frames that differ from one another, higher than wide."""
    folder = tmp_path_factory.mktemp("pictures")
    for index, pixels in enumerate(frames()):
        PIL.Image.fromarray(pixels).save(folder / f"{index}.png")
    return folder


def frames() -> npt.NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (5, 96, 70, 3), dtype=np.uint8)


def read_masks(folder: Path) -> npt.NDArray[Any]:
    return np.stack([np.asarray(PIL.Image.open(path)) for path in sorted(folder.glob("*.png"))]) > 0


def iou(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> float:
    return float((ours & theirs).sum() / (ours | theirs).sum())


def test_the_installed_command_makes_locaters_masks_without_pytorch(
    installed: dict[str, str], network: Locater, exported: Path, pictures: Path, tmp_path: Path
) -> None:
    answer = run(installed, exported, pictures, *SENTENCES, "--fps", "10", "--best", "--out", tmp_path / "masks")
    assert answer.returncode == 0, answer.stderr
    assert "of 5 frames" in answer.stdout
    ours = list(Segmenter(network, "cpu").segment(frames(), SENTENCES, frames_per_second=10))
    names = ["1_the_dog_on_the_left", "2_a_dog"]
    assert sorted(path.name for path in (tmp_path / "masks").iterdir()) == names
    for row, name in enumerate(names):
        expected = np.stack([result.masks[row] for result in ours])
        assert 0 < expected.mean() < 1  # or any mask would do
        assert iou(expected, read_masks(tmp_path / "masks" / name)) > 0.99


def test_the_documents_examples_run_to_the_letter(
    installed: dict[str, str], exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    (tmp_path / "exported").symlink_to(exported)
    write_video(tmp_path / "clip.mp4", 3)
    monkeypatch.chdir(tmp_path)
    shown = [each for each in examples(DOCUMENT) if each.text.startswith(("locater-lite", "from locater_lite"))]
    command, python = (next(each for each in shown if each.is_python is kind) for kind in (False, True))
    answer = run(installed, *command.words[1:])
    assert answer.returncode == 0, answer.stderr
    assert len(list((tmp_path / "masks" / "1_the_dog_on_the_left").glob("*.png"))) == 3
    exec(python.text, {})
    assert len(capsys.readouterr().out.splitlines()) == 3  # a line a frame


def test_what_a_person_can_put_right_is_one_sentence(
    installed: dict[str, str], exported: Path, pictures: Path, tmp_path: Path
) -> None:
    answer = run(installed, exported, pictures, "the zebra", "--out", tmp_path / "masks")
    assert answer.returncode == 2 and "not understood: zebra" in answer.stderr
    answer = run(installed, tmp_path, pictures, "the dog", "--out", tmp_path / "masks")
    assert answer.returncode == 2 and "holds no exported network" in answer.stderr
    assert not list(tmp_path.iterdir())


def refused(exported: Path, video: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a refusal is; it leaves nothing, and what lay beside it."""
    before = sorted(out.parent.iterdir())
    with pytest.raises(SystemExit) as stop:
        main([str(exported), str(video), "a dog", "--out", str(out)])
    told = capsys.readouterr()
    assert stop.value.code == 2 and told.out == "" and told.err.startswith("Error: ") and told.err.count("\n") == 1
    assert sorted(out.parent.iterdir()) == before
    return told.err


def test_an_export_that_is_not_whole_is_told(
    exported: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(exported, tmp_path / "exported")
    (tmp_path / "exported" / "step.onnx").write_bytes(b"cut")
    assert "is not whole" in refused(tmp_path / "exported", pictures, tmp_path / "masks", capsys)
    (tmp_path / "exported" / "first_cells.npz").write_bytes(b"PK\3\4 cut")
    assert "is not whole" in refused(tmp_path / "exported", pictures, tmp_path / "masks", capsys)
    (tmp_path / "exported" / "model.json").write_text("[]")
    assert "holds no exported network" in refused(tmp_path / "exported", pictures, tmp_path / "masks", capsys)


def test_a_picture_of_another_size_is_refused_and_what_lies_beside_is_left_alone(
    exported: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(pictures, tmp_path / "pictures")
    PIL.Image.new("RGB", (40, 40)).save(tmp_path / "pictures" / "9.png")
    (tmp_path / "masks.partial").mkdir()
    told = refused(exported, tmp_path / "pictures", tmp_path / "masks", capsys)
    assert "Frame 5 is 40 x 40, the first is 70 x 96" in told
    assert (tmp_path / "masks.partial").is_dir()


def test_ctrl_c_is_one_line_and_leaves_nothing(
    exported: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Any:
        assert list(tmp_path.rglob("00000.png"))  # one frame is written
        raise KeyboardInterrupt

    results = Lite(exported).segment(list(frames()), 24, "a dog")
    monkeypatch.setattr(Lite, "segment", lambda *_, **__: chain([next(results)], map(interrupted, [0])))
    with pytest.raises(SystemExit) as stop:
        main([str(exported), str(pictures), "a dog", "--out", str(tmp_path / "masks")])
    assert (stop.value.code, capsys.readouterr().err) == (130, "Interrupted; nothing half-written is left.\n")
    assert not list(tmp_path.iterdir())


def test_pictures_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 2):
        PIL.Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / f"frame{number}.png")
    found = [pixels[0, 0, 0] for _, _, pixels in PictureFolder(tmp_path, 24).timed()]
    ours = [frame.pixels[0, 0, 0] for frame in open_source(tmp_path).frames()]
    assert found == ours == [2, 9, 10]


@pytest.mark.parametrize("every", [1, 3])
def test_video_files_are_read_as_by_locater(tmp_path: Path, every: int) -> None:
    """Also one that lost a part in the middle: what can be decoded is there, at its own time."""
    whole, damaged = write_video(tmp_path / "whole.mp4", 60), tmp_path / "damaged.mp4"
    content = bytearray(whole.read_bytes())
    content[len(content) // 3 : len(content) // 2] = b"\xff" * (len(content) // 2 - len(content) // 3)
    damaged.write_bytes(content)
    read(whole, every)
    with pytest.warns(UserWarning, match=r"damaged.mp4: \d+ damaged packets were skipped"):
        read(damaged, every)
    assert VideoFile(whole).duration == open_source(whole).info.duration


def read(path: Path, every: int) -> None:
    theirs = list(VideoFile(path).timed(every))
    for frame, (index, seconds, pixels) in zip(open_source(path).frames(every=every), theirs, strict=True):
        assert frame.index == index and frame.timestamp == pytest.approx(seconds)
        assert np.array_equal(frame.pixels, pixels)


def test_arrays_that_are_no_pictures_are_refused(exported: Path) -> None:
    with pytest.raises(LocaterError, match=r"Frame 0 is float64 of the shape \(96, 70, 3\)"):
        list(Lite(exported).segment(list(frames() / 255), 24, "a dog"))


@pytest.mark.parametrize("live", [False, True])
def test_soft_masks_are_the_segmenters(network: Locater, exported: Path, live: bool) -> None:
    video = frames()
    ours = Segmenter(network, "cpu").segment(video, SENTENCES, soft=True, mode="live" if live else "file")
    given = iter(video) if live else list(video)
    theirs = Lite(exported, best=True).segment(given, 24, SENTENCES, live=live)
    for result, found in zip(ours, theirs, strict=True):
        assert result.soft_masks is not None
        np.testing.assert_allclose(found.soft, result.soft_masks, atol=1e-4)


def test_a_video_is_never_held_whole(exported: Path) -> None:
    read: list[int] = []

    class Counted:
        def __len__(self) -> int:
            return len(frames())

        def __iter__(self) -> Any:
            for index, pixels in enumerate(frames()):
                read.append(index)
                yield pixels

    results = Lite(exported).segment(Counted(), 24, "a dog")
    next(results)
    assert read == [0, 1, 2, 3, 4, 0]  # the first pass, and of the second no more than was asked for


@pytest.mark.proof
def test_default_makes_locaters_masks_and_scores(tmp_path: Path) -> None:
    """The beginning of the demo clip, by whole frames and by crops; of what is there, and of what is not."""
    folder = find_checkpoint("default")
    model, second_look = from_pretrained(folder), load_second_look(folder)
    export(model, tmp_path / "exported", second_look=second_look)
    sentences = ["the cat on the left", "the horse"]
    qualities: tuple[Quality, ...] = ("best", "default")
    for quality in qualities:
        ours = Segmenter(model, "cpu", second_look=second_look, quality=quality).segment(CLIP, sentences)
        theirs = Lite(tmp_path / "exported", best=quality == "best").segment(VideoFile(CLIP), 12, sentences)
        compared = list(zip(islice(ours, 5), islice(theirs, 5), strict=True))
        assert len(compared) == 5 and compared[0][0].masks[0].any() and not compared[-1][0].masks[1].any()
        for result, found in compared:
            assert found.scores == pytest.approx(result.score, abs=0.01)
            for mine, other in zip(result.masks, found.masks, strict=True):
                assert iou(mine, other) > 0.99 if mine.any() else not other.any()
