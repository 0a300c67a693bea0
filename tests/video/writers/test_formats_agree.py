"""Every format, opened by the library it is for, holds the same masks pixel for pixel."""

import csv
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import av
import numpy as np
import pytest
import yaml
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from locater.inference.demo import demo_clip
from locater.records import Mask, VideoInfo
from locater.video.overlap import mask_iou
from locater.video.writer import FORMATS, open_writers
from locater.video.writers.pictures import OverlapWarning
from tests.support.made_masks import HEIGHT, WIDTH, Masks, hard_masks
from tests.support.making_videos import picture, result

NAMES = ("the box <left> & 'right'", 'das Mädchen "右"\n\x01')
FOLDERS = ("1_the_box_left_right", "2_das_m_dchen")
LABELS = (NAMES[0], 'das Mädchen "右"  ')  # as XML can hold them
IOU_OF_PARTS = 0.95  # a line of one pixel joins two parts


@pytest.fixture(scope="module")
def masks() -> Masks:
    return hard_masks()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, masks: Masks) -> Path:
    """Everything at once, of a video."""
    folder = tmp_path_factory.mktemp("all")
    write_all(folder, masks, list(FORMATS))
    return folder


def write_all(folder: Path, masks: Masks, formats: list[str]) -> None:
    info = VideoInfo("clip.mp4", masks.shape[3], masks.shape[2], frames_per_second=24.0)
    silence = warnings.catch_warnings(action="ignore", category=OverlapWarning)
    with silence, open_writers(formats, folder, info, NAMES) as writers:
        for index, each in enumerate(masks):
            writers.write(result(index, each))


def each_mask(masks: Masks) -> Iterator[tuple[int, int, Mask]]:
    for index, frame in enumerate(masks):
        for number, mask in enumerate(frame):
            yield index, number, mask


def decoded(path: Path, pixel_format: str) -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    with av.open(str(path)) as container:
        return [np.asarray(frame.to_ndarray(format=pixel_format), np.uint8) for frame in container.decode(video=0)]


# ---- Videos and pictures ---------------------------------------------------------------------------------------------


def test_mattes_are_black_and_white_where_the_masks_are(folder: Path, masks: Masks) -> None:
    for number, name in enumerate(FOLDERS):
        frames = decoded(folder / "matte" / f"{name}.mp4", "rgb24")
        assert len(frames) == len(masks)
        for index, frame in enumerate(frames):
            assert frame.shape[:2] == (HEIGHT + 1, WIDTH + 1)  # H.264 has even sides; the last ones are repeated
            np.testing.assert_array_equal(frame[:HEIGHT, :WIDTH, 1] > 127, masks[index, number])


def test_mattes_are_exact_even_for_noise(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).random((3, 2, 96, 128)) < 0.5
    write_all(tmp_path, noise, ["matte"])
    for number, name in enumerate(FOLDERS):
        frames = np.stack(decoded(tmp_path / "matte" / f"{name}.mp4", "rgb24"))
        assert np.abs(frames[..., 0].astype(int) - 255 * noise[:, number]).max() < 32


def test_alpha_is_lossless_and_the_colours_are_the_sources(folder: Path, masks: Masks) -> None:
    for number, name in enumerate(FOLDERS):
        with av.open(str(folder / "alpha" / f"{name}.mov")) as container:
            stream = container.streams.video[0]
            assert (stream.codec_context.name, stream.codec_context.codec_tag) == ("prores", "ap4h")
            assert (stream.width, stream.height) == (WIDTH, HEIGHT)
        for index, frame in enumerate(decoded(folder / "alpha" / f"{name}.mov", "rgba")):
            np.testing.assert_array_equal(frame[..., 3], 255 * masks[index, number])
            assert np.abs(frame[..., :3].astype(int) - picture(index, WIDTH, HEIGHT)).mean() < 8
            with Image.open(folder / "alpha" / name / f"{index:05d}.png") as image:
                pixels = np.asarray(image)
            np.testing.assert_array_equal(pixels[..., 3], 255 * masks[index, number])
            inside = masks[index, number]
            np.testing.assert_array_equal(pixels[inside, :3], picture(index, WIDTH, HEIGHT)[inside])
            assert not pixels[~inside].any(), "nothing of what was cut away is in the file"


def test_cutouts_are_the_object_alone_and_say_where_it_was(folder: Path, masks: Masks) -> None:
    for index, number, mask in each_mask(masks):
        path = folder / "cutout" / FOLDERS[number] / f"{index:05d}.png"
        assert path.exists() == mask.any()
        if not mask.any():
            continue
        with Image.open(path) as image:
            cut, left, top = np.asarray(image), int(image.info["left"]), int(image.info["top"])
        whole = np.zeros((HEIGHT, WIDTH, 4), dtype=np.uint8)
        whole[top : top + cut.shape[0], left : left + cut.shape[1]] = cut
        np.testing.assert_array_equal(whole[..., 3], 255 * mask)
        np.testing.assert_array_equal(whole[mask, :3], picture(index, WIDTH, HEIGHT)[mask])
        assert all(side.any() for side in (cut[0], cut[-1], cut[:, 0], cut[:, -1])), "cropped"


def test_pictures_of_every_sentence_keep_what_indexed_ones_cannot(folder: Path, masks: Masks) -> None:
    lost = 0
    for index, number, mask in each_mask(masks):
        with Image.open(folder / "pngs" / FOLDERS[number] / f"{index:05d}.png") as image:
            np.testing.assert_array_equal(np.asarray(image) > 0, mask)
        with Image.open(folder / "masks" / f"{index:05d}.png") as image:
            indexed = np.asarray(image)
        assert not (indexed[~mask] == number + 1).any()
        lost += int((mask & (indexed != number + 1)).sum())
    assert lost > 0


# ---- Annotations -----------------------------------------------------------------------------------------------------


def test_coco_of_frames(folder: Path, masks: Masks, capsys: pytest.CaptureFixture[str]) -> None:
    coco = COCO(str(folder / "masks.json"))
    capsys.readouterr()
    found = np.zeros_like(masks)
    for annotation in coco.loadAnns(coco.getAnnIds()):
        found[annotation["image_id"], annotation["category_id"] - 1] = coco.annToMask(annotation)
    np.testing.assert_array_equal(found, masks)
    for image in coco.loadImgs(coco.getImgIds()):
        with Image.open(folder / image["file_name"]) as opened:  # it is there, because yolo asked for the images
            assert opened.size == (WIDTH, HEIGHT)


def test_coco_of_videos_has_the_layout_of_youtube_vis(folder: Path, masks: Masks) -> None:
    content = json.loads((folder / "coco_video.json").read_text("utf-8"))
    (video,) = content["videos"]
    assert (video["length"], video["width"], video["height"]) == (len(masks), WIDTH, HEIGHT)
    assert len(video["file_names"]) == len(masks) and all((folder / name).exists() for name in video["file_names"])
    assert [category["name"] for category in content["categories"]] == list(NAMES)
    assert [(each["id"], each["video_id"], each["category_id"]) for each in content["annotations"]] == [
        (1, 1, 1),
        (2, 1, 2),
    ]
    for number, annotation in enumerate(content["annotations"]):
        assert {"iscrowd", "length", "width", "height", "score"} <= annotation.keys()
        for index, mask in enumerate(masks[:, number]):
            runs, box, area = (annotation[key][index] for key in ("segmentations", "bboxes", "areas"))
            if not mask.any():
                assert (runs, box, area) == (None, None, None)
                continue
            np.testing.assert_array_equal(coco_mask.decode(runs), mask)
            assert (box, area) == (coco_mask.toBbox(runs).tolist(), coco_mask.area(runs))


def test_boxes_are_pycocotools_own(folder: Path, masks: Masks) -> None:
    with (folder / "boxes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    content = json.loads((folder / "boxes.json").read_text("utf-8"))
    assert (content["frames"], content["sentences"]) == (len(masks), list(NAMES))
    assert [{key: str(value) for key, value in entry.items()} for entry in content["boxes"]] == rows
    expected = [(index, number, mask) for index, number, mask in each_mask(masks) if mask.any()]
    for row, (index, number, mask) in zip(rows, expected, strict=True):
        runs = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
        box = [int(row[key]) for key in ("left", "top", "width", "height")]
        assert (int(row["frame"]), int(row["number"]), row["sentence"]) == (index, number + 1, NAMES[number])
        assert (box, int(row["area"])) == (coco_mask.toBbox(runs).tolist(), mask.sum())
        assert float(row["timestamp"]) == pytest.approx(index / 24)


def test_label_studio_reads_its_brush(folder: Path, masks: Masks) -> None:
    from label_studio_converter.brush import decode_rle

    tasks = json.loads((folder / "labelstudio.json").read_text("utf-8"))
    interface = ElementTree.parse(folder / "labelstudio.xml").getroot()
    brush = interface.find("BrushLabels")
    assert brush is not None and [label.attrib["value"] for label in brush] == list(LABELS)
    found = np.zeros_like(masks)
    for index, task in enumerate(tasks):
        assert (folder / task["data"]["image"].removeprefix("/data/local-files/?d=")).exists()
        for entry in task["predictions"][0]["result"]:
            assert (entry["type"], entry["from_name"]) == ("brushlabels", brush.attrib["name"])
            assert entry["to_name"] == brush.attrib["toName"]
            pixels = decode_rle(entry["value"]["rle"]).reshape(entry["original_height"], entry["original_width"], 4)
            assert set(np.unique(pixels)) <= {0, 255}
            found[index, LABELS.index(entry["value"]["brushlabels"][0])] = pixels[..., 3] > 0
    np.testing.assert_array_equal(found, masks)


def cvat_mask(element: ElementTree.Element) -> Mask:
    """As CVAT's importer reads it: runs along the rows of the box, background first."""
    runs = [int(run) for run in element.attrib["rle"].split(",")]
    left, top, width, height = (int(element.attrib[key]) for key in ("left", "top", "width", "height"))
    mask = np.zeros((HEIGHT, WIDTH), dtype=np.bool_)
    inside = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(height, width)
    mask[top : top + height, left : left + width] = inside
    return mask


def cvat_root(path: Path, mode: str, count: int) -> ElementTree.Element:
    root = ElementTree.parse(path).getroot()
    assert (root.tag, root.findtext("version")) == ("annotations", "1.1")
    assert (root.findtext("meta/task/mode"), root.findtext("meta/task/size")) == (mode, str(count))
    assert [label.findtext("name") for label in root.iterfind("meta/task/labels/label")] == list(LABELS)
    return root


def test_cvat_for_images(folder: Path, masks: Masks) -> None:
    found = np.zeros_like(masks)
    for image in cvat_root(folder / "cvat_images.xml", "annotation", len(masks)).iterfind("image"):
        index = int(image.attrib["id"])
        assert image.attrib["name"] == f"frame_{index:06d}"  # so CVAT names a video's frames
        assert (image.attrib["width"], image.attrib["height"]) == (str(WIDTH), str(HEIGHT))
        for element in image.iterfind("mask"):
            assert element.attrib.keys() >= {"source", "occluded", "z_order"}
            found[index, LABELS.index(element.attrib["label"])] = cvat_mask(element)
    np.testing.assert_array_equal(found, masks)


def test_cvat_for_video_has_a_track_per_mask_because_it_knows_no_longer_ones(folder: Path, masks: Masks) -> None:
    root = cvat_root(folder / "cvat_video.xml", "interpolation", len(masks))
    assert root.findtext("meta/task/original_size/width") == str(WIDTH)
    found = np.zeros_like(masks)
    for place, track in enumerate(root.iterfind("track")):
        assert track.attrib["id"] == str(place)
        first, end = track.findall("mask")
        index = int(first.attrib["frame"])
        assert (first.attrib["outside"], first.attrib["keyframe"]) == ("0", "1")
        assert (end.attrib["outside"], end.attrib["frame"]) == ("1", str(index + 1))
        found[index, LABELS.index(track.attrib["label"])] = cvat_mask(first)
    np.testing.assert_array_equal(found, masks)


# ---- YOLO: polygons --------------------------------------------------------------------------------------------------


def yolo_masks(folder: Path) -> dict[str, Any]:
    """As supervision opens them: by picture, its detections."""
    with warnings.catch_warnings(action="ignore"):
        import supervision

        data = supervision.DetectionDataset.from_yolo(
            str(folder / "images"), str(folder / "labels"), str(folder / "data.yaml"), force_masks=True
        )
        assert data.classes == list(LABELS)
        return {Path(path).stem: detections for path, _, detections in data}


def overlaps(folder: Path, masks: Masks) -> list[float]:
    found = yolo_masks(folder)
    scores = []
    for index, number, mask in each_mask(masks):
        detections = found[f"{index:05d}"]
        of_sentence = detections.mask[detections.class_id == number]
        assert len(of_sentence) == mask.any(), "one object per sentence"
        if mask.any():
            assert (of_sentence[0] | ~mask).all(), "no pixel is lost"
            scores.append(mask_iou(of_sentence[0], mask))
    return scores


def test_yolo_loses_no_pixel_and_adds_the_lines_between_parts(folder: Path, masks: Masks) -> None:
    assert yaml.safe_load((folder / "data.yaml").read_text("utf-8"))["train"] == "images"
    scores = overlaps(folder, masks)
    assert min(scores) >= IOU_OF_PARTS
    assert sum(score == 1 for score in scores) == len(scores) - 1, "all but the one of two parts are exact"


def test_yolo_of_real_masks(tmp_path: Path) -> None:
    """The outlines of cats and cups, as they are in the demo clip."""
    clip = demo_clip()
    truths = np.stack([[truth[index] for truth in clip.truths[:2]] for index in (0, 30, 47)])
    write_all(tmp_path, truths, ["yolo"])
    assert min(overlaps(tmp_path, truths)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_polygons_corners_are_its_pixels_whether_cut_or_rounded(folder: Path, dtype: type) -> None:
    for path in sorted((folder / "labels").iterdir()):
        for line in path.read_text("utf-8").splitlines():
            corners: Any = np.array(line.split()[1:], dtype=dtype).reshape(-1, 2) * np.array(
                [WIDTH, HEIGHT], dtype=dtype
            )
            np.testing.assert_array_equal(corners.astype(int), np.rint(corners).astype(int))
            assert corners.min() >= 0 and (corners < (WIDTH, HEIGHT)).all()
