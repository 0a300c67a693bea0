"""The command line as a person meets it: what it writes, and what it says when something is wrong.

Real processes where the process is the claim (start-up time, signals, limits of the system); `main` itself elsewhere.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import wave
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
import torch
import yaml
from PIL import Image
from pycocotools.coco import COCO
from safetensors.torch import load_file, save_file

from locater.cli import app as cli
from locater.config import preset, preset_names
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.video.overlay import DAVIS_PALETTE

FRAMES, WIDTH, HEIGHT = 20, 96, 64
DOG, OTHER = "the dog on the left", "the other dog"
ALL_FORMATS = "overlay,png,rle,sheet"


@dataclass(frozen=True)
class Ran:
    """What a command left behind, but for its files."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line on standard error that a refusal is."""
        assert self.code == 2, self
        assert self.err.endswith("\n") and self.err.count("\n") == 1, self.err
        assert self.err.startswith("Error: "), self.err
        assert self.out == "", self.out
        return self.err.strip()


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The command in this process; file descriptors are watched, so that FFmpeg's own words would show."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run_here(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["locater", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        text = capfd.readouterr()
        assert isinstance(stop.value.code, int)
        return Ran(stop.value.code, text.out, text.err)

    return run_here


# Sets what a shell would have set, then becomes the command. (A background shell ignores SIGINT for its children.)
START = """
import os, resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
if int(sys.argv[1]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.executable, [sys.executable, "-m", "locater", *sys.argv[2:]])
"""
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "FORCE_COLOR"},
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def command(*arguments: object, file_limit: int = 0) -> list[str]:
    return [sys.executable, "-c", START, str(file_limit), *map(str, arguments)]


def run_process(*arguments: object, file_limit: int = 0, cwd: Path | None = None) -> Ran:
    """The command in a process of its own; no file of it may grow past `file_limit` bytes, 0 being any size."""
    done = subprocess.run(
        command(*arguments, file_limit=file_limit),
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write_video(path: Path, count: int, movflags: str = "") -> Path:
    with av.open(str(path), "w", options={"movflags": movflags} if movflags else {}) as container:
        stream = container.add_stream("libx264", rate=Fraction(24), options={"preset": "ultrafast"})
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        if count == 0:
            container.start_encoding()
        noise = np.random.default_rng(0).integers(0, 60, (HEIGHT, WIDTH, 3)).astype(np.uint8)
        for index in range(count):
            picture = noise.copy()
            picture[10:40, 5 + index % 50 : 35 + index % 50] = (250, 20, 20)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None) if count else [])
    return path


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    words = sorted({*DOG.split(), *OTHER.split()})
    save_pretrained(build(preset("tiny", {"text": {"vocabulary": words}}), seed=0), folder)
    return folder


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("video") / "clip.mp4", FRAMES)


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder: its files' content, None for a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


# ---- What starts without torch ---------------------------------------------------------------------------------------


def test_help_is_instant_and_imports_no_torch() -> None:
    def seconds() -> float:
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "locater", "--help"], capture_output=True, text=True, check=True)
        assert "segment" in done.stdout and "presets" in done.stdout
        return time.perf_counter() - begin

    assert min(seconds() for _ in range(3)) < 0.5
    traced = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "locater", "--help"], capture_output=True, text=True, check=True
    )
    imported = {line.rsplit("|", 1)[-1].strip() for line in traced.stderr.splitlines()}
    assert "locater.cli" in imported
    assert not imported & {"torch", "transformers", "numpy", "av", "locater.inference"}


@pytest.mark.parametrize("name", ["segment", "info", "presets", "init", "train"])
def test_every_command_explains_itself(run: Run, name: str) -> None:
    ran = run(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "Usage" in ran.out


def test_presets_are_listed_and_printed_whole(run: Run) -> None:
    listed = run_process("presets")
    assert (listed.code, listed.err) == (0, "")
    assert [line.split()[0] for line in listed.out.splitlines()] == preset_names()
    printed = run("presets", "paper")
    assert (printed.code, printed.err) == (0, "")
    assert yaml.safe_load(printed.out) == json.loads(preset("paper").model_dump_json())
    assert run("presets", "papier").error.startswith(
        "Error: There is no preset 'papier'; the presets are default, paper,"
    )


# ---- What it does ----------------------------------------------------------------------------------------------------


def test_init_then_info(run: Run, video: Path, tmp_path: Path) -> None:
    made = run_process("init", "tiny", "--out", tmp_path / "new" / "tiny")
    assert (made.code, made.err) == (0, "")
    assert str(tmp_path / "new" / "tiny") in made.out
    assert sorted(path.name for path in (tmp_path / "new" / "tiny").iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
    ]
    about = run("info", tmp_path / "new" / "tiny")
    assert (about.code, about.err) == (0, "")
    assert "million" in about.out and "64 x 64 in 8 x 8 patches" in about.out
    about = run("info", video)
    assert (about.code, about.err) == (0, "")
    assert "clip.mp4" in about.out and f"{WIDTH} x {HEIGHT}" in about.out and str(FRAMES) in about.out


def test_segment_writes_every_format(checkpoint: Path, video: Path, tmp_path: Path) -> None:
    """One real run, two expressions; by default the results go beside the caller, named after the video."""
    ran = run_process("segment", video, DOG, OTHER, "--checkpoint", checkpoint, "--format", ALL_FORMATS, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{FRAMES} frames segmented into clip.masks: ")
    assert [path.name for path in tmp_path.iterdir()] == ["clip.masks"]
    folder = tmp_path / "clip.masks"
    assert sorted(path.name for path in folder.iterdir()) == ["contact_sheet.png", "masks", "masks.json", "overlay.mp4"]

    with av.open(str(folder / "overlay.mp4")) as container:
        assert container.streams.video[0].codec_context.name == "h264"
        assert [(f.width, f.height, f.format.name) for f in container.decode(video=0)] == [
            (WIDTH, HEIGHT, "yuv420p")
        ] * FRAMES

    coco = COCO(str(folder / "masks.json"))
    assert coco.getImgIds() == list(range(FRAMES))
    assert [category["name"] for category in coco.loadCats(coco.getCatIds())] == [DOG, OTHER]
    pictures = sorted((folder / "masks").iterdir())
    assert [path.name for path in pictures] == [f"{index:05d}.png" for index in range(FRAMES)]
    for index, path in enumerate(pictures):
        with Image.open(path) as image:
            assert (image.mode, image.size) == ("P", (WIDTH, HEIGHT))
            palette = image.getpalette()
            assert palette and palette == DAVIS_PALETTE.reshape(-1).tolist()[: len(palette)]
            numbers = np.asarray(image)
        covered = np.zeros((HEIGHT, WIDTH), dtype=bool)
        for annotation in coco.loadAnns(coco.getAnnIds(imgIds=index)):
            covered |= coco.annToMask(annotation).astype(bool)
        np.testing.assert_array_equal(numbers > 0, covered)
        assert numbers.max() <= 2

    with Image.open(folder / "contact_sheet.png") as image:
        image.verify()


def test_a_long_and_a_foreign_sentence_are_read_as_far_as_they_go(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path
) -> None:
    ran = run(
        *("segment", video, "the dog " * 2500, "der Hund\nlinks 左边的狗", "--checkpoint", checkpoint),
        *("--format", "rle", "--out", tmp_path / "out"),
    )
    assert ran.code == 0
    warned = ran.err.splitlines()
    assert len(warned) == 2 and all(line.startswith("Warning: ") for line in warned), ran.err
    assert "only the first 20 words are read, 4980 more are not" in warned[0]
    assert "not understood" in warned[1] and "der, Hund, links, 左边的狗" in warned[1]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["masks.json"]


def test_a_folder_of_pictures_live_with_progress_on_a_terminal(
    run: Run, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pictures").mkdir()
    for index in range(3):
        Image.new("RGB", (33, 17), (80 * index, 10, 10)).save(tmp_path / "pictures" / f"{index}.png")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    ran = run("segment", "pictures", DOG, "--checkpoint", checkpoint, "--format", "png", "--live", "--device", "cpu")
    assert ran.code == 0
    assert "3/3" in ran.err and "segmenting" in ran.err
    assert len(list((tmp_path / "pictures.masks" / "masks").iterdir())) == 3


def test_results_replace_older_ones_and_spare_the_rest(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "masks").mkdir(parents=True)
    (out / "masks" / "99999.png").write_text("old")
    (out / "notes.txt").write_text("mine")
    options = ("--checkpoint", checkpoint, "--out", out, "--format", "png", "--precision", "bfloat16")
    assert run("segment", video, DOG, *options).code == 0
    assert sorted(path.name for path in out.iterdir()) == ["masks", "notes.txt"]
    assert len(list((out / "masks").iterdir())) == FRAMES
    assert (out / "notes.txt").read_text() == "mine"


# ---- What it refuses -------------------------------------------------------------------------------------------------


def refused(run: Run, place: Path, *arguments: object) -> str:
    """The one line of a refusal that left everything below `place` as it was."""
    before = snapshot(place)
    told = run(*arguments).error
    assert snapshot(place) == before
    return told


def bad_video(name: str, folder: Path) -> Path:
    path = folder / f"{name}.mp4"
    if name == "text":
        path.write_text("This is no video at all.\n" * 40)
    elif name == "empty":
        path.touch()
    elif name == "frameless":
        write_video(path, 0)
    elif name == "sound":
        with wave.open(str(path), "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(8000)
            sound.writeframes(bytes(16000))
    elif name in ("cut_behind_index", "cut_before_index"):
        whole = write_video(path, 60, "+faststart" if name == "cut_behind_index" else "").read_bytes()
        path.write_bytes(whole[: len(whole) * 2 // 3])
    return path


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
    (["--format", "overlay,gif"], "There is no output format 'gif'; choose from overlay, png, rle, sheet."),
    (["--format", " , "], "No output format is left"),
    (["--precision", "float8"], "There is no precision 'float8'; choose one of float32, bfloat16, float16."),
    (["--precision", "float16", "--device", "cpu"], "float16 needs a GPU"),
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


# ---- Places that cannot be written -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["under_a_file", "on_a_file", "read_only"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write to a folder that forbids it, so a file and the kernel's own /proc stand in its way."""
    (tmp_path / "file").write_text("mine")
    out = {"under_a_file": tmp_path / "file" / "out", "on_a_file": tmp_path / "file", "read_only": Path("/proc/out")}
    told = f"Cannot write {out[place]}: "
    assert told in refused(run, tmp_path, "init", "tiny", "--out", out[place])
    monkeypatch.setattr(cli, "_write_results", None)  # never reached
    assert told in refused(run, tmp_path, "segment", video, DOG, "--checkpoint", checkpoint, "--out", out[place])


@pytest.mark.parametrize(("name", "limit"), [("overlay", 2000), ("png", 60), ("rle", 500), ("sheet", 3000)])
def test_a_full_disk_is_one_line_and_leaves_nothing(
    checkpoint: Path, video: Path, tmp_path: Path, name: str, limit: int
) -> None:
    """The system refuses to let a file grow, as on a full disk, and every writer meets it."""
    out = tmp_path / "new" / "out"
    arguments = ("segment", video, DOG, OTHER, "--checkpoint", checkpoint, "--out", out, "--format", name)
    told = run_process(*arguments, file_limit=limit).error
    assert told == f"Error: Cannot write {out}: file too large; choose another place with enough room."
    assert snapshot(tmp_path) == {}


def test_a_checkpoint_on_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """safetensors has an error of its own for it."""
    told = run_process("init", "tiny", "--out", tmp_path / "new" / "out", file_limit=50_000).error
    assert "file too large" in told
    assert snapshot(tmp_path) == {}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB, where the system lets us make one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        allowed = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting a file system is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full_or_read_only(run: Run, checkpoint: Path, video: Path, small_disk: Path) -> None:
    arguments = ("segment", video, DOG, "--checkpoint", checkpoint, "--out", small_disk / "new" / "out")
    assert "no space left on device" in refused(run, small_disk, *arguments, "--format", ALL_FORMATS)
    assert "no space left on device" in refused(run, small_disk, "init", "tiny", "--out", small_disk / "tiny")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert "read-only file system" in refused(run, small_disk, *arguments)
    assert "read-only file system" in refused(run, small_disk, "init", "tiny", "--out", small_disk / "tiny")


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------


def test_ctrl_c_in_the_middle_leaves_nothing(checkpoint: Path, tmp_path: Path) -> None:
    video = write_video(tmp_path / "long.mp4", 3000)
    out = tmp_path / "new" / "out"
    before = snapshot(tmp_path)
    arguments = ("segment", video, DOG, "--checkpoint", checkpoint, "--out", out, "--format", ALL_FORMATS)
    process = subprocess.Popen(
        command(*arguments), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("new/.*/masks/00020.png")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "no mask after a minute"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        printed = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, printed
    assert printed == ("", "Interrupted; nothing half-written is left.\n")
    assert snapshot(tmp_path) == before
