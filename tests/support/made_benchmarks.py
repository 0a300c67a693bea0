"""Small folders laid out as the benchmarks are published, whose pixels we draw."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from locater.evaluation.external.submission import palette_png
from locater.io import rle

HEIGHT, WIDTH, FRAMES = 48, 72, 5
VIDEOS = ("aa", "bb")


def frame_names() -> list[str]:
    return [f"{5 * index:05d}" for index in range(FRAMES)]


def numbers(video: str, index: int) -> npt.NDArray[np.uint8]:
    """Two objects that walk, 1 and 2."""
    found = np.zeros((HEIGHT, WIDTH), np.uint8)
    left = 4 + 5 * index + 3 * VIDEOS.index(video)
    found[6:20, left : left + 18] = 1
    found[26:44, left + 4 : left + 20] = 2
    return found


def pixels(video: str, index: int) -> npt.NDArray[np.uint8]:
    colours = np.array([[90, 90, 100], [200, 40, 40], [40, 60, 210]], np.uint8)
    return colours[numbers(video, index)]


def _frames(folder: Path, names: list[str]) -> None:
    for video in VIDEOS:
        (folder / video).mkdir(parents=True)
        for index, name in enumerate(names):
            Image.fromarray(pixels(video, index)).save(folder / video / f"{name}.jpg")


def _meta(expression: dict[str, dict[str, Any]]) -> str:
    return json.dumps({"videos": {video: {"expressions": expression, "frames": frame_names()} for video in VIDEOS}})


def refer_youtube_vos(root: Path) -> Path:
    """Valid, with the masks that were published later; its meta_expressions.json."""
    _frames(root / "valid" / "JPEGImages", frame_names())
    for video in VIDEOS:
        (root / "valid" / "Annotations" / video).mkdir(parents=True)
        for index, name in enumerate(frame_names()):
            content = palette_png(numbers(video, index))
            (root / "valid" / "Annotations" / video / f"{name}.png").write_bytes(content)
    meta = root / "meta_expressions" / "valid" / "meta_expressions.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(_meta({"0": {"exp": "the red thing", "obj_id": "1"}, "1": {"exp": "a blue one", "obj_id": "2"}}))
    return meta


def mevis(root: Path) -> Path:
    """Valid_u; its meta_expressions.json. Sentence 1 means both objects, sentence 2 nothing."""
    _frames(root / "valid_u" / "JPEGImages", frame_names())
    tracks: dict[str, list[Any]] = {}
    videos: dict[str, Any] = {}
    for place, video in enumerate(VIDEOS):
        ids = [10 * place + 1, 10 * place + 2]
        for number, name in enumerate(ids, start=1):
            tracks[str(name)] = [_runs(numbers(video, index) == number) for index in range(FRAMES)]
        tracks[str(ids[0])][2] = None  # out of sight
        expressions = {
            "0": {"exp": "the first to move", "obj_id": [0], "anno_id": ids[:1]},
            "1": {"exp": "both", "obj_id": [0, 1], "anno_id": ids},
            "2": {"exp": "a bird", "obj_id": [], "anno_id": []},
        }
        videos[video] = {"expressions": expressions, "frames": frame_names()}
    (root / "valid_u" / "mask_dict.json").write_text(json.dumps(tracks))
    meta = root / "valid_u" / "meta_expressions.json"
    meta.write_text(json.dumps({"videos": videos}))
    return meta


def ref_davis17(root: Path) -> None:
    """Val, with four text files."""
    names = [f"{index:05d}" for index in range(FRAMES)]
    _frames(root / "DAVIS" / "JPEGImages" / "480p", names)
    for video in VIDEOS:
        folder = root / "DAVIS" / "Annotations_unsupervised" / "480p" / video
        folder.mkdir(parents=True)
        for index, name in enumerate(names):
            (folder / f"{name}.png").write_bytes(palette_png(numbers(video, index)))
    (root / "DAVIS" / "ImageSets" / "2017").mkdir(parents=True)
    (root / "DAVIS" / "ImageSets" / "2017" / "val.txt").write_text("\n".join(VIDEOS))
    texts = root / "davis_text_annotations"
    texts.mkdir()
    for each in ("annot1", "annot1_full_video", "annot2", "annot2_full_video"):
        lines = [f'{video} {number} "{each} of {number}"' for video in VIDEOS for number in (1, 2)]
        (texts / f"Davis17_{each}.txt").write_text("\n".join(lines))


def _runs(mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
    return {"size": [HEIGHT, WIDTH], "counts": rle.encode(mask).decode("ascii")}
