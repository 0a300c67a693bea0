"""What the commands refuse, in one line, and with nothing left behind."""

import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.support.command_line.clips import DOG, bad_video
from tests.support.command_line.running import Run, refused, run_process, snapshot

BAD_VIDEOS = {
    "missing": "There is no file",
    "text": "is not a video that FFmpeg can read",
    "empty": "is empty",
    "frameless": "has no frames",
    "sound": "has no picture, only sound",
    "cut_behind_index": "is cut short: only",
    "cut_before_index": "is cut short: its index is missing",
}


@pytest.mark.parametrize(("name", "told"), BAD_VIDEOS.items())
def test_bad_videos_are_refused(run: Run, checkpoint: Path, tmp_path: Path, name: str, told: str) -> None:
    path = bad_video(name, tmp_path)
    out = tmp_path / "new" / "out"
    assert told in refused(run, tmp_path, "segment", path, DOG, "--checkpoint", checkpoint, "--out", out)
    assert told in refused(run, tmp_path, "info", path)


def test_a_bad_video_is_refused_by_the_real_process_too(checkpoint: Path, tmp_path: Path) -> None:
    path = bad_video("cut_behind_index", tmp_path)
    before = snapshot(tmp_path)
    ran = run_process("segment", path, DOG, "--checkpoint", checkpoint, "--out", tmp_path / "out", cwd=tmp_path)
    assert ran.error.endswith("frames are in the file; copy or download it again.")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("expression", ["", "   ", "?!", "\n"])
def test_an_expression_without_words_is_refused(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path, expression: str
) -> None:
    out = tmp_path / "new" / "deep" / "out"
    told = refused(run, tmp_path, "segment", video, DOG, expression, "--checkpoint", checkpoint, "--out", out)
    assert "holds no words" in told


def test_a_noun_that_is_not_understood_is_refused(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    for command in (("segment", video, DOG), ("explain", video)):
        told = refused(run, tmp_path, *command, "das Mädchen im Kleid", "--checkpoint", checkpoint, "--out", out)
        assert "not understood: das, Mädchen, im, Kleid;" in told and "--anyway" in told


@pytest.mark.parametrize("damage", ["missing", "extra", "misshapen", "pickle", "cut", "weightless", "configless"])
def test_bad_checkpoints_are_refused(run: Run, checkpoint: Path, video: Path, tmp_path: Path, damage: str) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    for name in ("config.json", "model.safetensors"):
        (bad / name).write_bytes((checkpoint / name).read_bytes())
    weights = bad / "model.safetensors"
    tensors = load_file(weights)
    name = next(iter(tensors))
    told = f"{damage} {name}"
    if damage == "missing":
        del tensors[name]
    elif damage == "extra":
        tensors["surprise"] = torch.zeros(2)
        told = "extra surprise"
    elif damage == "misshapen":
        tensors[name] = torch.zeros(*tensors[name].shape, 2)
    save_file(tensors, weights)
    if damage == "pickle":
        weights.write_bytes(pickle.dumps({"weights": [1.0]}))
        told = "no safetensors file"
    elif damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-100])
        told = "damaged"
    elif damage == "weightless":
        weights.unlink()
        told = "is missing"
    elif damage == "configless":
        (bad / "config.json").unlink()
        told = "is missing; a checkpoint folder needs it"
    out = tmp_path / "new" / "out"
    assert told in refused(run, tmp_path, "segment", video, DOG, "--checkpoint", bad, "--out", out)
    if damage != "configless":  # such a folder is one of pictures
        assert told in refused(run, tmp_path, "info", bad)


NO_SUCH_GPU = f"cuda:{torch.cuda.device_count() + 7}"


BAD_OPTIONS: list[tuple[list[str], str]] = [
    (
        ["--format", "overlay,gif"],
        "There is no output format 'gif'; choose from overlay, overlays, png, pngs, rle, sheet, matte, alpha, cutout, "
        "boxes, images, yolo, cvat, labelstudio, coco-video.",
    ),
    (["--format", " , "], "No output format is left"),
    (["--precision", "float8"], "There is no precision 'float8'; choose one of auto, float32, bfloat16, float16."),
    (["--precision", "float16", "--device", "cpu"], "float16 needs a GPU"),
    (["--fast", "--best"], "choose one of --fast and --best"),
    (["--device", "gpu"], "The device 'gpu' cannot be used"),
    (["--device", "meta"], "The device 'meta' cannot be used"),
    (["--device", NO_SUCH_GPU], f"The device '{NO_SUCH_GPU}' cannot be used"),
    (["--checkpoint", "nowhere"], "There is no checkpoint 'nowhere'"),
    (["--checkpoint", "tiny"], "'tiny' is a preset, a network without weights"),
]


@pytest.mark.parametrize(("options", "told"), BAD_OPTIONS)
def test_bad_options_are_refused(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path, options: list[str], told: str
) -> None:
    out = tmp_path / "new" / "out"
    assert told in refused(run, tmp_path, "segment", video, DOG, "--checkpoint", checkpoint, "--out", out, *options)


def test_an_unknown_preset_and_odd_names_are_refused_in_one_line(run: Run, tmp_path: Path) -> None:
    assert "There is no preset 'huge'" in refused(run, tmp_path, "init", "huge", "--out", tmp_path / "new" / "out")
    assert "There is no file two lines.mp4" in refused(run, tmp_path, "segment", "two\nlines.mp4", DOG)
    assert "There is no file no/such.mp4" in refused(run, tmp_path, "info", "no/such.mp4")
    assert "There is no checkpoint '/no/such'" in refused(run, tmp_path, "info", "/no/such")


@pytest.mark.parametrize("alone", ["--boxes", "--pictures"])
def test_boxes_without_their_pictures_are_refused(run: Run, checkpoint: Path, tmp_path: Path, alone: str) -> None:
    words = ("--answers", tmp_path, "--data", "shapes", "--out", tmp_path / "look", "--pack", tmp_path)
    told = refused(run, tmp_path, "second-look", checkpoint, *words, alone, tmp_path / "some")
    assert told == "Error: --boxes and --pictures, the folder that they are in, go together; give both."
