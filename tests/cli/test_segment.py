"""`locater segment`: what it writes."""

from pathlib import Path

import av
import numpy as np
import pytest
import torch
from PIL import Image
from pycocotools.coco import COCO

from locater.cli import segment as segment_command
from locater.cli.opening import open_segmenter
from locater.inference.segmenter import Segmenter
from locater.io.results_folder import MARKER
from locater.model.checkpoint import from_pretrained, save_pretrained
from locater.video.overlay import DAVIS_PALETTE
from locater.worlds.failures.shapes import ShapesFailures
from tests.support.command_line.clips import ALL_FORMATS, DOG, FRAMES, HEIGHT, OTHER, WIDTH
from tests.support.command_line.running import Run, refused, run_process


def test_segment_writes_every_format(checkpoint: Path, video: Path, tmp_path: Path) -> None:
    """One real run, two expressions; by default the results go beside the caller, named after the video."""
    ran = run_process("segment", video, DOG, OTHER, "--checkpoint", checkpoint, "--format", ALL_FORMATS, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{FRAMES} frames segmented into clip.masks: ")
    assert [path.name for path in tmp_path.iterdir()] == ["clip.masks"]
    folder = tmp_path / "clip.masks"
    made = ["contact_sheet.png", "masks", "masks.json", "overlay.mp4"]
    assert sorted(path.name for path in folder.iterdir()) == [MARKER, *made]

    with av.open(str(folder / "overlay.mp4")) as container:
        assert container.streams.video[0].codec_context.name == "h264"
        frames = [(f.width, f.height > HEIGHT, f.format.name) for f in container.decode(video=0)]
        assert frames == [(WIDTH, True, "yuv420p")] * FRAMES, "a legend below the picture"

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
        *("segment", video, "the dog " * 240, "der Hund\nlinks 左边的狗", "--checkpoint", checkpoint),
        *("--format", "rle", "--out", tmp_path / "out", "--anyway"),
    )
    assert ran.code == 0
    warned = ran.err.splitlines()
    assert len(warned) == 2 and all(line.startswith("Warning: ") for line in warned), ran.err
    assert "only the first 20 words are read, 460 more are not" in warned[0]
    assert "not understood" in warned[1] and "der, Hund, links, 左边的狗" in warned[1]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [MARKER, "masks.json"]


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


def test_results_replace_older_ones_by_force_alone_and_spare_the_rest(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = ("--checkpoint", checkpoint, "--out", out, "--precision", "bfloat16")
    assert run("segment", video, DOG, *options, "--format", "png,rle").code == 0
    (out / "masks" / "99999.png").write_text("old")
    (out / "notes.txt").write_text("mine")
    told = refused(run, tmp_path, "segment", video, DOG, *options, "--format", "png")
    assert "holds earlier results; add --force to replace them" in told
    assert run("segment", video, DOG, *options, "--format", "png", "--force").code == 0
    assert sorted(path.name for path in out.iterdir()) == [MARKER, "masks", "notes.txt"]
    assert len(list((out / "masks").iterdir())) == FRAMES
    assert (out / "notes.txt").read_text() == "mine"


def test_a_persons_own_masks_are_never_touched(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--out .` once deleted them."""
    (tmp_path / "masks").mkdir()
    (tmp_path / "masks" / "mine.png").write_text("mine")
    (tmp_path / "masks.json").write_text("mine")
    monkeypatch.chdir(tmp_path)
    for command in (("segment", video, DOG), ("export", checkpoint), ("demo",)):
        given = () if command[0] == "export" else ("--checkpoint", checkpoint)
        for force in ((), ("--force",)):
            told = refused(run, tmp_path, *command, *given, "--out", ".", *force)
            assert "holds files that are not ours, such as masks" in told
    assert "not ours" in refused(run, tmp_path, "init", "tiny", "--out", tmp_path)
    train = ("train", "tiny", "--data", "shapes", "--set", "training.steps=1", "--out", tmp_path)
    assert "not ours" in refused(run, tmp_path, *train)
    assert "not ours" in refused(run, tmp_path, "evaluate", checkpoint, "shapes", "--count", 1, "--out", tmp_path)


def test_many_videos_in_one_call(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, folders and patterns, some with the same names, one of them broken; the network is loaded once."""
    monkeypatch.chdir(tmp_path)
    for name in ("a/clip.mp4", "b/clip.mp4", "b/other.mp4"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(video.read_bytes())
    (tmp_path / "b" / "bad.mp4").write_text("no video")
    loaded = []

    def counted(checkpoint: str, device: str | None, precision: str, fast: bool, best: bool) -> Segmenter:
        loaded.append(checkpoint)
        return open_segmenter(checkpoint, device, precision, fast, best)

    monkeypatch.setattr(segment_command, "open_segmenter", counted)
    options = ("--checkpoint", checkpoint, "--format", "rle", "--out", "out")
    ran = run("segment", "b", "a/*.mp4", "b/clip.mp4", DOG, *options)
    assert ran.code == 2 and len(loaded) == 1
    assert ran.err.splitlines() == [
        "Error: b/bad.mp4: b/bad.mp4 is not a video that FFmpeg can read; check that it plays in a video player.",
        "Error: 1 of 4 videos were not segmented: b/bad.mp4.",
    ]
    made = sorted(str(path.parent) for path in Path("out").rglob("masks.json"))
    assert made == ["out/a-clip.mp4", "out/b-clip.mp4", "out/other"]
    assert not list(tmp_path.rglob(".*.partial"))


def test_sentences_that_overlap_are_told_once(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    model = from_pretrained(checkpoint)
    assert model.decoder.upsampler is not None and model.decoder.upsampler.out.bias is not None
    with torch.no_grad():
        model.decoder.upsampler.out.bias.add_(10)  # all is marked
    save_pretrained(model, tmp_path / "sure")
    options = ("--checkpoint", tmp_path / "sure", "--out", tmp_path / "out", "--format", "png,pngs")
    ran = run("segment", video, DOG, DOG, *options)
    (line,) = ran.err.splitlines()
    assert ran.code == 0 and line.startswith(f"Warning: '{DOG}' and '{DOG}' overlap in frame ")
    assert line.endswith("gives a pixel to the surer of them alone; ask for pngs or rle, which keep every mask whole.")
    folders = sorted((tmp_path / "out" / "pngs").iterdir())
    assert [folder.name for folder in folders] == ["1_the_dog_on_the_left", "2_the_dog_on_the_left"]
    for one, other in zip(*(sorted(folder.iterdir()) for folder in folders), strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_asking_again_tells_that_a_sentence_fits_two(run: Run, tmp_path: Path) -> None:
    """The shipped network, on a scene with two red triangles; without the option not a word is said."""
    world = ShapesFailures("test", 2)
    info = next(each for each in world.samples() if each.expression == "a red triangle")
    clip = tmp_path / "clip"
    clip.mkdir()
    for frame in world.load(info).frames.frames():
        Image.fromarray(frame.pixels).save(clip / f"{frame.index:03d}.png")
    plain = ("segment", clip, info.expression, "--checkpoint", "shapes", "--format", "rle")
    assert "more than one" not in run(*plain, "--out", tmp_path / "once").out
    asked = run(*plain, "--out", tmp_path / "again", "--ask-again")
    assert asked.code == 0
    assert '"a red triangle" may fit more than one thing' in asked.out
    assert (tmp_path / "once/masks.json").read_text() == (tmp_path / "again/masks.json").read_text()
