"""What is written, read back by others: FFmpeg, Pillow, pycocotools; how it is named; and what a full disk does."""

import gc
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from locater.errors import LocaterError
from locater.io.atomic import atomic_entries
from locater.records import VideoInfo
from locater.video.mp4 import Mp4File
from locater.video.overlay import DAVIS_PALETTE, draw
from locater.video.reader import open_source
from locater.video.writer import FORMATS, open_writers
from locater.video.writers.pictures import OverlapWarning
from tests.support.making_videos import moving_masks, picture, result

INFO = VideoInfo("clip.mp4", 96, 64, frames_per_second=24.0)
NAMES = ("the left box", "the right box — 右")


# ---- The overlay video -----------------------------------------------------------------------------------------------


def test_overlay_plays_in_a_browser_and_keeps_every_frame(tmp_path: Path) -> None:
    with open_writers(["overlay"], tmp_path, INFO, NAMES) as writer:
        for index in range(40):
            writer.write(result(index, moving_masks(index)))
    path = tmp_path / "overlay.mp4"
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt, stream.frames) == ("h264", "yuv420p", 40)
        assert stream.codec_context.colorspace == 1
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    source = open_source(path)
    assert source.info.width == 96 and source.info.height is not None
    assert 64 < source.info.height <= 128, "the legend is below the picture"
    assert source.info.duration == pytest.approx(40 / 24, abs=1e-3)
    frames = list(source.frames())
    assert [frame.timestamp for frame in frames] == pytest.approx([index / 24 for index in range(40)], abs=1e-4)
    expected = draw(picture(30), moving_masks(30)).astype(int)
    assert np.abs(frames[30].pixels[:64].astype(int) - expected).mean() < 14


def test_overlay_keeps_variable_times_and_gaps(tmp_path: Path) -> None:
    times = [0.0, 0.01, 0.011, 0.5, 0.54, 3.0, 3.0, 3.5]
    with open_writers(["overlay"], tmp_path, VideoInfo("live"), NAMES) as writer:
        for index, time in enumerate(times):
            writer.write(result(index, moving_masks(index), time))
    frames = list(open_source(tmp_path / "overlay.mp4").frames())
    assert [frame.timestamp for frame in frames] == pytest.approx(times, abs=1e-4)


@pytest.mark.parametrize(("width", "height"), [(97, 63), (96, 63), (1, 1)])
def test_overlay_pads_odd_sizes(tmp_path: Path, width: int, height: int) -> None:
    with open_writers(["overlay"], tmp_path, INFO, NAMES[:1]) as writer:
        for index in range(3):
            writer.write(result(index, np.zeros((1, height, width), dtype=np.bool_)))
    source = open_source(tmp_path / "overlay.mp4")
    assert source.info.width == width + width % 2
    assert source.info.height is not None and source.info.height > height and source.info.height % 2 == 0
    assert len(list(source.frames())) == 3


def test_overlay_of_one_frame_has_a_length(tmp_path: Path) -> None:
    with open_writers(["overlay"], tmp_path, INFO, NAMES) as writer:
        writer.write(result(0, moving_masks(0)))
    info = open_source(tmp_path / "overlay.mp4").info
    assert info.frame_count == 1
    assert info.duration == pytest.approx(1 / 24, abs=1e-3)


# ---- Masks for tools -------------------------------------------------------------------------------------------------


def test_palette_pictures_are_davis_masks(tmp_path: Path) -> None:
    masks = moving_masks(0)
    both = masks.all(axis=0)
    assert both.any()
    soft = np.where(masks, np.array([0.6, 0.9], dtype=np.float32)[:, None, None], 0).astype(np.float32)
    with pytest.warns(OverlapWarning) as warned, open_writers(["png"], tmp_path, INFO, NAMES) as writer:
        writer.write(result(0, masks))
        writer.write(result(7, masks, soft=soft))
        writer.write(result(8, np.zeros_like(masks)))
    (said,) = warned  # once, not for every frame
    assert "'the left box' and 'the right box — 右' overlap in frame 0" in str(said.message)
    assert "ask for pngs or rle" in str(said.message)
    assert sorted(path.name for path in (tmp_path / "masks").iterdir()) == ["00000.png", "00007.png", "00008.png"]
    with Image.open(tmp_path / "masks/00000.png") as image:
        assert image.mode == "P"
        palette = image.getpalette()
        assert palette is not None
        assert palette == DAVIS_PALETTE.reshape(-1).tolist()[: len(palette)]
        earlier = np.asarray(image)
    np.testing.assert_array_equal(earlier, np.where(masks[0], 1, np.where(masks[1], 2, 0)))
    with Image.open(tmp_path / "masks/00007.png") as image:
        surer = np.asarray(image)
    np.testing.assert_array_equal(surer, np.where(masks[1], 2, np.where(masks[0], 1, 0)))
    with Image.open(tmp_path / "masks/00008.png") as image:
        assert not np.asarray(image).any()


def test_palette_refuses_more_than_255() -> None:
    with pytest.raises(LocaterError, match="255"):
        open_writers(["png"], Path(), INFO, ["x"] * 256)


def test_coco_file_opens_in_pycocotools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = {index: moving_masks(index) for index in (3, 4, 5)}
    written[4][1] = False
    with open_writers(["rle"], tmp_path, INFO, NAMES) as writer:
        for index, masks in written.items():
            writer.write(result(index, masks))
    assert [path.name for path in tmp_path.iterdir()] == ["masks.json"]
    coco = COCO(str(tmp_path / "masks.json"))
    capsys.readouterr()
    assert coco.getImgIds() == [3, 4, 5]
    assert coco.loadImgs(4)[0] == {
        "id": 4,
        "width": 96,
        "height": 64,
        "timestamp": pytest.approx(4 / 24),
    }
    assert [category["name"] for category in coco.loadCats(coco.getCatIds())] == list(NAMES)
    assert len(coco.getAnnIds()) == 5, "an empty mask has no annotation"
    assert 0 not in coco.getAnnIds()
    for annotation in coco.loadAnns(coco.getAnnIds()):
        mask = written[annotation["image_id"]][annotation["category_id"] - 1]
        assert isinstance(annotation["segmentation"]["counts"], str)
        np.testing.assert_array_equal(coco.annToMask(annotation), mask)
        assert annotation["area"] == mask.sum()
        encoded = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
        assert annotation["bbox"] == coco_mask.toBbox(encoded).tolist()
        assert annotation["score"] == pytest.approx(0.4 + 0.1 * annotation["category_id"])
        assert annotation["iscrowd"] == 0


def test_coco_file_of_nothing_is_still_valid(tmp_path: Path) -> None:
    with open_writers(["rle"], tmp_path, INFO, NAMES):
        pass
    content = json.loads((tmp_path / "masks.json").read_text(encoding="utf-8"))
    assert content["images"] == content["annotations"] == []


# ---- All together ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::locater.video.writers.pictures.OverlapWarning")
def test_all_writers_together(tmp_path: Path) -> None:
    target = tmp_path / "results"
    with atomic_entries(target) as folder, open_writers([*FORMATS, "png"], folder, INFO, NAMES) as writers:
        for index in range(2):
            writers.write(result(index, moving_masks(index)))
    written = "alpha boxes.csv boxes.json coco_video.json contact_sheet.png cutout cvat_images.xml cvat_video.xml"
    written += (
        " data.yaml images labels labelstudio.json labelstudio.xml masks masks.json matte overlay.mp4 overlays pngs"
    )
    assert sorted(path.name for path in target.iterdir()) == written.split()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_video_without_frames_or_sentences_is_written_too(tmp_path: Path, name: str) -> None:
    with open_writers([name], tmp_path, INFO, NAMES):
        pass
    (tmp_path / "wordless").mkdir()
    with open_writers([name], tmp_path / "wordless", INFO, ()) as writers:
        writers.write(result(0, np.zeros((0, 64, 96), dtype=np.bool_)))
    for path in tmp_path.rglob("*.json"):
        json.loads(path.read_text("utf-8"))


def test_a_long_video_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    """Of Python's own objects; tests/inference/test_resident_memory.py weighs the whole process."""
    weights = []
    with open_writers(["rle", "coco-video", "cvat", "boxes"], tmp_path, INFO, NAMES) as writers:
        tracemalloc.start()
        for index in range(251):
            writers.write(result(index, moving_masks(index, 2, 48, 40)))
            if index in (50, 250):
                gc.collect()
                weights.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    written = sum(path.stat().st_size for path in tmp_path.iterdir() if path.is_file())
    assert written > 250_000
    assert weights[1] - weights[0] < 60_000  # what waits in the files' buffers


# ---- Names -----------------------------------------------------------------------------------------------------------


def test_pictures_of_a_folder_keep_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbering them anew would lay every mask on another picture."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    own = ["IMG_0102.jpg", "IMG_0110.jpg", "IMG_0110.png", "img_0110.bmp"]
    for name in own:
        Image.new("RGB", (96, 64)).save(tmp_path / "in" / name)
    source = open_source(tmp_path / "in")
    with open_writers(
        ["png", "pngs", "rle", "yolo", "cvat", "boxes"], tmp_path / "out", source.info, ["box"]
    ) as writers:
        for frame in source.frames():
            writers.write(result(frame.index, moving_masks(frame.index, 1), name=frame.name))
    order = [frame.name for frame in source.frames()]
    assert sorted(name for name in order if name) == sorted(own)
    coco = COCO(str(tmp_path / "out" / "masks.json"))
    capsys.readouterr()
    assert [coco.loadImgs(index)[0]["file_name"] for index in range(4)] == order
    assert all((tmp_path / "in" / str(name)).exists() for name in order)
    xml = (tmp_path / "out" / "cvat_images.xml").read_text("utf-8")
    assert all(f'name="{name}"' in xml for name in own)
    stems = {
        Path(str(name)).stem if index < 2 else f"{Path(str(name)).stem}_{index:05d}" for index, name in enumerate(order)
    }
    for folder in ("masks", "pngs/1_box", "images", "labels"):
        assert {path.stem for path in (tmp_path / "out" / folder).iterdir()} == stems, "four pictures, four files"


def test_a_videos_frames_have_a_file_name_only_where_there_is_a_file(tmp_path: Path) -> None:
    for formats, named in ((["rle"], None), (["rle", "images"], "images/00000.jpg")):
        with open_writers(formats, tmp_path, INFO, NAMES) as writers:
            writers.write(result(0, moving_masks(0)))
        (image,) = json.loads((tmp_path / "masks.json").read_text("utf-8"))["images"]
        assert image.get("file_name") == named
    assert (tmp_path / "images" / "00000.jpg").exists()


def test_unknown_format_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        LocaterError, match="no output format 'avi'; choose from overlay, overlays, png, pngs, rle, sheet, "
    ):
        open_writers(["png", "avi"], tmp_path, INFO, NAMES)


@pytest.mark.filterwarnings("ignore::locater.video.writers.pictures.OverlapWarning")
def test_an_error_on_its_way_comes_out_and_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyError, match="the network failed"),
        atomic_entries(tmp_path / "out") as folder,
        open_writers(["overlay", "png", "rle", "sheet"], folder, INFO, NAMES) as writers,
    ):
        writers.write(result(0, moving_masks(0)))
        raise KeyError("the network failed")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("width", [96, 160, 256])
def test_the_same_pictures_make_the_same_bytes(tmp_path: Path, width: int) -> None:
    """Whatever lay in memory before: x264's fastest code would look at it, but for eight macroblocks at a time."""
    frames = [result(index, moving_masks(index, 2, width, 96)) for index in range(24)]
    pictures = [draw(each.frame.pixels, each.masks) for each in frames]
    made = set()
    for number in range(6):
        junk = [np.random.default_rng(number).bytes(size) for size in range(10_000, 900_000, 30_000)]
        del junk
        with Mp4File(tmp_path / "clip.mp4", 24.0) as file:
            for index, picture in enumerate(pictures):
                file.write(picture, index / 24)
        made.add((tmp_path / "clip.mp4").read_bytes())
    assert len(made) == 1


FULL_DISK = """
import resource, sys
from pathlib import Path
from tests.support.making_videos import moving_masks, result
from locater.errors import LocaterError
from locater.io.atomic import atomic_entries
from locater.records import VideoInfo
from locater.video.writer import open_writers

def write(name):
    with atomic_entries(Path("out")) as folder:
        try:
            with open_writers([name], folder, VideoInfo("clip"), ["a", "b"]) as writers:
                for index in range(60):
                    writers.write(result(index, moving_masks(index, 2, 320, 240)))
        except Exception as error:
            print(name, isinstance(error, OSError), end=" ")
            raise

def write_under(name, limit):
    # Bytes of a file that fitted after all, else None.
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        write(name)
    except LocaterError as error:
        print(error)
        return None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    return taken_away()

def taken_away():
    (whole,) = Path("out").iterdir()
    size = whole.stat().st_size
    whole.unlink()
    whole.parent.rmdir()
    return size

unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
write("overlay")
size = taken_away()
assert write_under("overlay", size // 2) is None
assert write_under("overlay", size - 1) is None
for name, limit in [("png", 100), ("rle", 5000), ("sheet", 30000), ("alpha", 5000), ("cvat", 5000)]:
    assert write_under(name, limit) is None, name
"""


def test_full_disk_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    """The system itself refuses to let the file grow, as a full disk does; the overlay also one byte before its end."""
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},  # to find tests.support
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        f"{name} True Cannot write out: file too large; choose another place with enough room."
        for name in ("overlay", "overlay", "png", "rle", "sheet", "alpha", "cvat")
    ]
    assert list(tmp_path.iterdir()) == []


def test_sheet_writer_alone(tmp_path: Path) -> None:
    with open_writers(["sheet"], tmp_path, INFO, NAMES) as writer:
        for index in range(3):
            writer.write(result(index, moving_masks(index)))
    assert (tmp_path / "contact_sheet.png").stat().st_size > 1000
