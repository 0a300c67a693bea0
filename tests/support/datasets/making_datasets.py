"""The official layouts, made small: as MATLAB, MTTR, DAVIS and COCO write them, down to axes and numbering.

Each builder returns the truth, masks by frame index by sample key.
"""

import csv
import json
import os
from pathlib import Path
from typing import Any

import av
import h5py
import numpy as np
import numpy.typing as npt
import pytest
import scipy.io
import torch
from av.video.frame import VideoFrame
from PIL import Image
from pycocotools import mask as coco_mask

from locater.records import Mask
from locater.video.overlay import DAVIS_PALETTE

HEIGHT, WIDTH = 48, 64  # different, so that a transposed mask is noticed
Truth = dict[str, dict[int, Mask]]


def real_data(folder: str) -> Path:
    """A folder of the real files; the test is skipped where they are absent."""
    path = Path(os.environ["LOCATER_DATA"]) / folder
    if not path.is_dir():
        pytest.skip(f"the real files are not at {path}; set LOCATER_DATA to their folder")
    return path


def blob(seed: int, height: int = HEIGHT, width: int = WIDTH) -> Mask:
    """A mask like no other, in no way symmetric."""
    random = np.random.default_rng(seed)
    mask = np.zeros((height, width), dtype=np.bool_)
    top, left = random.integers(0, height // 2), random.integers(0, width // 2)
    mask[top : top + random.integers(5, height // 2), left : left + random.integers(5, width // 2)] = True
    return mask & (random.random((height, width)) > 0.2)


def empty() -> Mask:
    """No object."""
    return np.zeros((HEIGHT, WIDTH), dtype=np.bool_)


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def write_lines(path: Path, *lines: str, encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + "\n" for line in lines).encode(encoding))


def write_video(path: Path, count: int, height: int = HEIGHT, width: int = WIDTH) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=24)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for index in range(count):
            pixels = np.full((height, width, 3), 8 * index, dtype=np.uint8)
            container.mux(stream.encode(VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))


def write_pictures(folder: Path, names: list[str], height: int = HEIGHT, width: int = WIDTH) -> None:
    """Grey pictures, each as bright as its place, so that the order shows."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, name in enumerate(names):
        Image.new("RGB", (width, height), (9 * index,) * 3).save(folder / name)


def write_palette(path: Path, objects: dict[int, Mask]) -> None:
    """A palette PNG with DAVIS's colours, as DAVIS and YouTube-VOS publish them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    for number, mask in objects.items():
        numbers[mask] = number
    picture = Image.fromarray(numbers, mode="P")
    picture.putpalette(DAVIS_PALETTE.ravel().tolist())
    picture.save(path)


def write_binary(path: Path, mask: Mask) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(mask.astype(np.uint8) * 255).save(path)


def runs_of(mask: Mask) -> dict[str, Any]:
    """COCO's compressed runs, by COCO's own code."""
    runs = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
    return {"size": list(runs["size"]), "counts": runs["counts"].decode()}


# ---- A2D-Sentences and J-HMDB-Sentences ------------------------------------------------------------------------------


def write_h5(path: Path, instances: dict[int, Mask]) -> None:
    """MATLAB's order: masks transposed, and no leading axis for a single instance."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stacked: npt.NDArray[np.uint8] = np.stack([mask.T for mask in instances.values()]).astype(np.uint8)
    with h5py.File(path, "w") as file:
        file["instance"] = np.array(list(instances), dtype=np.uint8)
        file["reMask"] = stacked[0] if len(instances) == 1 else stacked
        file["reBBox"] = np.zeros((4, len(instances)))


def make_a2d(root: Path) -> Truth:
    """Three videos: two instances of which one leaves; one instance; a train video with the copied instance."""
    videos = [("two", "12", 1), ("one", "31", 1), ("train", "12", 0), ("silent", "12", 1)]
    (root / "Release").mkdir(parents=True)
    with (root / "Release" / "videoset.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [name, label, "0:01", "0:03", HEIGHT, WIDTH, 12, 3, split] for name, label, split in videos
        )
    write_lines(
        root / "text_annotations/a2d_annotation.txt",
        "video_id,instance_id,query",
        "two,0,a dog  is running ",
        "two,1,a ball is rolling",
        "one,0,the cat on the left",
        "train,0,a bird",
        "train,1 (copy),a bird again",
        "train,1,another bird",
    )
    write_lines(root / "text_annotations/a2d_missed_videos.txt", "silent")
    for name, _, _ in videos:
        write_video(root / f"Release/clips320H/{name}.mp4", 12)
    dog = {2: blob(1), 7: blob(2)}
    ball = {7: blob(3)}
    cat = {0: blob(4), 11: blob(5)}
    masks = root / "text_annotations/a2d_annotation_with_instances"
    write_h5(masks / "two/00003.h5", {0: dog[2]})  # frames are numbered from 1
    write_h5(masks / "two/00008.h5", {1: ball[7], 0: dog[7]})
    write_h5(masks / "one/00001.h5", {0: cat[0]})
    write_h5(masks / "one/00012.h5", {0: cat[11]})
    birds = {0: blob(6), 1: blob(7)}
    write_h5(masks / "train/00005.h5", birds)
    return {
        "two/0": dog,
        "two/1": ball,
        "one/0": cat,
        "train/0": {4: birds[0]},
        "train/1": {4: birds[1]},
    }


def make_jhmdb(root: Path) -> Truth:
    """A clip whose last two frames have no mask, and one of a single frame, whose masks lose their last axis."""
    write_lines(root / "jhmdb_annotation.txt", "video_id,query", "throw_ball,man throwing", "still,woman in red")
    write_pictures(root / "Rename_Images/throw/throw_ball", [f"{number:05d}.png" for number in range(1, 8)])
    write_pictures(root / "Rename_Images/sit/still", ["00001.png"])
    masks = {index: blob(10 + index) for index in range(5)}
    still = {0: blob(20)}
    stacked: npt.NDArray[np.uint8] = np.stack([mask.astype(np.uint8) for mask in masks.values()], axis=2)
    for place, content in (("throw/throw_ball", stacked), ("sit/still", still[0].astype(np.uint8))):
        folder = root / "puppet_mask" / place
        folder.mkdir(parents=True)
        scipy.io.savemat(folder / "puppet_mask.mat", {"part_mask": content}, do_compression=True)
    return {"throw_ball": masks, "still": still}


def fix_jhmdb_frames(root: Path, frames: dict[str, list[int]]) -> None:
    """MTTR's list: these frames of each video, numbered from 1."""
    action = {"throw_ball": "throw", "still": "sit"}
    rows = [
        [
            video,
            f"./jhmdb_sentences/Rename_Images/{action[video]}/{video}/{number:05d}.png",
            f"./jhmdb_sentences/puppet_mask/{action[video]}/{video}/puppet_mask.mat",
            5,
            "text",
        ]
        for video, numbers in frames.items()
        for number in numbers
    ]
    write_json(root / "jhmdb_sentences_samples_metadata.json", rows)


# ---- Refer-YouTube-VOS, Ref-DAVIS17, MeViS ---------------------------------------------------------------------------


def make_refer_youtube_vos(root: Path) -> Truth:
    """Train with masks; a valid file that lists the test video too."""
    names = ["00000", "00005", "00010"]
    expressions = {
        "0": {"exp": "a man  walking", "obj_id": "2"},
        "1": {"exp": "a dog", "obj_id": "1"},
        "2": {"exp": "the walker", "obj_id": "2"},
    }
    write_json(
        root / "meta_expressions/train/meta_expressions.json",
        {"videos": {"aa": {"expressions": expressions, "frames": names}}},
    )
    objects = {number: {"category": "thing", "frames": names} for number in ("1", "2", "3")}
    write_json(root / "train/meta.json", {"videos": {"aa": {"objects": objects}}})
    # One more frame on the disk than the json names.
    write_pictures(root / "train/JPEGImages/aa", [f"{name}.jpg" for name in [*names, "00015"]])
    dog = {index: blob(30 + index) for index in range(3)}
    man = {index: blob(40 + index) & ~dog[index] for index in range(3)}
    man[1] = empty()  # out of sight
    for index, name in enumerate(names):
        write_palette(root / f"train/Annotations/aa/{name}.png", {1: dog[index], 2: man[index]})
    told = {name: {"expressions": {"0": {"exp": f"the {name}"}}, "frames": ["00000", "00005"]} for name in ("vv", "tt")}
    write_json(root / "meta_expressions/valid/meta_expressions.json", {"videos": told})
    write_json(root / "meta_expressions/test/meta_expressions.json", {"videos": {"tt": told["tt"]}})
    for split, name in (("valid", "vv"), ("test", "tt")):
        write_pictures(root / split / "JPEGImages" / name, ["00000.jpg", "00005.jpg"])
    return {"aa/0": man, "aa/1": dog, "aa/2": man}


def make_ref_davis17(root: Path) -> Truth:
    """One val video with two objects and one train video; the second annotator writes latin-1."""
    texts = root / "davis_text_annotations"
    for annotation, encoding in (
        ("annot1", "utf-8"),
        ("annot1_full_video", "utf-8"),
        ("annot2", "latin-1"),
        ("annot2_full_video", "latin-1"),
    ):
        write_lines(
            texts / f"Davis17_{annotation}.txt",
            f'dogs-jump 1 "{annotation} a dog"',
            f'dogs-jump 2 "{annotation} a caf\u00e9 \u201cowner\u201d"'
            if encoding == "utf-8"
            else f'dogs-jump 2 "{annotation} a caf\u00e9 owner"',
            f'clasic-car 1 "{annotation} a car"',
            encoding=encoding,
        )
    truth: Truth = {}
    for video, split, numbers in (("dogs-jump", "val", (1, 2)), ("classic-car", "train", (1,))):
        write_lines(root / f"DAVIS/ImageSets/2017/{split}.txt", video)
        write_pictures(root / "DAVIS/JPEGImages/480p" / video, ["00000.jpg", "00001.jpg"])
        for index in range(2):
            first = blob(50 + index)
            objects = {number: first if number == 1 else blob(60 + index) & ~first for number in numbers}
            write_palette(root / f"DAVIS/Annotations_unsupervised/480p/{video}/{index:05d}.png", objects)
            for number in numbers:
                for annotation in ("annot1", "annot1_full_video", "annot2", "annot2_full_video"):
                    truth.setdefault(f"{video}/{number}/{annotation}", {})[index] = objects[number]
    return truth


def make_mevis(root: Path) -> Truth:
    """One object, a union of two, one out of sight for a frame, none at all; and valid without masks."""
    expressions = {
        "0": {"exp": "the bird flying away", "obj_id": [3], "anno_id": [11]},
        "1": {"exp": "both birds", "obj_id": [3, 4], "anno_id": [11, 12]},
        "2": {"exp": "the elephant", "obj_id": [], "anno_id": []},
    }
    names = ["00000", "00001"]
    write_json(
        root / "valid_u/meta_expressions.json", {"videos": {"mm": {"expressions": expressions, "frames": names}}}
    )
    first = {0: blob(70), 1: blob(71)}
    second = {0: blob(72)}
    write_json(
        root / "valid_u/mask_dict.json",
        {"11": [runs_of(first[0]), runs_of(first[1])], "12": [runs_of(second[0]), None]},
    )
    write_json(
        root / "valid/meta_expressions.json",
        {"videos": {"nn": {"expressions": {"0": {"exp": "a cat"}}, "frames": names}}},
    )
    for split, video in (("valid_u", "mm"), ("valid", "nn")):
        write_pictures(root / split / "JPEGImages" / video, [f"{name}.jpg" for name in names])
    return {"mm/0": first, "mm/1": {0: first[0] | second[0], 1: first[1]}, "mm/2": {0: empty(), 1: empty()}}


# ---- A2D-S+, folders, COCO -------------------------------------------------------------------------------------------


def make_authors_a2d_plus(root: Path) -> Truth:
    """The authors' MUL set: two objects, of which one is labelled in one frame."""
    folder = root / "A2D_SUBSET" / "A2D_MUL"
    names = ["00001", "00002", "00003"]
    expressions = {
        "0": {"exp": "a man", "labels": ["00002", "00003"]},
        "1": {"exp": "a dog", "labels": ["00003"]},
    }
    write_json(
        folder / "A2D_MUL_test_expressions.json", {"-seq_1": {"frames": names[::-1], "expressions": expressions}}
    )
    write_pictures(folder / "allPngs320H/-seq_1", [f"{name}.png" for name in names])
    truth = {"-seq_1/0": {1: blob(80), 2: blob(81)}, "-seq_1/1": {2: blob(82)}}
    (folder / "mask").mkdir()
    for key, masks in truth.items():
        for index, mask in masks.items():
            sequence, number = key.split("/")
            torch.save(torch.from_numpy(mask.astype(np.uint8)), folder / f"mask/{sequence}_{number}_{names[index]}.pth")
    return truth


def make_folder(root: Path) -> Truth:
    """A frame folder with one folder of masks an object, and a video file with palette masks."""
    write_lines(
        root / "sentences.csv",
        "video,expression,object,kind,split",
        'park,"the dog, running",dog,motion,train',
        "park,the dog and its ball,dog+ball,relation,test",
        "park,the elephant,,,test",
        "street,the red car,2,appearance,test",
        "street,a car,2,appearance,test",
    )
    write_pictures(root / "videos/park", ["f1.png", "f2.png", "f10.png"])
    dog = {0: blob(90), 2: blob(91)}  # f1 and f10, in the order a person counts
    ball = {2: blob(92)}
    for name, masks in (("dog", dog), ("ball", ball)):
        for index, mask in masks.items():
            write_binary(root / f"masks/park/{name}/{['f1', 'f2', 'f10'][index]}.png", mask)
    write_video(root / "videos/street.mp4", 6)
    car = {3: blob(93)}
    write_palette(root / "masks/street/00003.png", {2: car[3], 1: blob(94) & ~car[3]})
    return {
        "park/dog": dog,
        "park/dog+ball": {0: dog[0], 2: dog[2] | ball[2]},
        "park/absent": {0: empty(), 2: empty()},
        "street/2": car,
        "street/2#2": car,
    }


def coco_content() -> tuple[dict[str, Any], dict[int, Mask]]:
    """An instances file with a polygon, compressed runs and a crowd of plain runs; and the mask of each."""
    square = empty()
    square[10:20, 8:30] = True
    runs = blob(95)
    crowd = blob(96)
    plain = np.concatenate([[0], np.flatnonzero(np.diff(crowd.ravel(order="F").astype(int))) + 1, [crowd.size]])
    counts = np.diff(plain).tolist()
    polygon = [8.0, 10.0, 30.0, 10.0, 30.0, 20.0, 8.0, 20.0]
    annotations = [
        {"id": 1, "image_id": 7, "category_id": 18, "iscrowd": 0, "segmentation": [polygon]},
        {"id": 2, "image_id": 7, "category_id": 1, "iscrowd": 0, "segmentation": runs_of(runs)},
        {
            "id": 3,
            "image_id": 7,
            "category_id": 1,
            "iscrowd": 1,
            "segmentation": {"size": [HEIGHT, WIDTH], "counts": ([0, *counts] if crowd.ravel()[0] else counts)},
        },
    ]
    content = {
        "images": [{"id": 7, "file_name": "COCO_train2014_7.jpg", "height": HEIGHT, "width": WIDTH}],
        "categories": [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}],
        "annotations": annotations,
    }
    return content, {1: square, 2: runs, 3: crowd}


def make_coco(root: Path) -> Truth:
    content, masks = coco_content()
    write_json(root / "annotations/instances_val2017.json", content)
    write_pictures(root / "val2017", ["COCO_train2014_7.jpg"])
    return {"7/dog": {0: masks[1]}, "7/person": {0: masks[2] | masks[3]}}


def refs_content() -> list[dict[str, Any]]:
    """RefCOCO's refs: two sentences of val, one of testA."""
    return [
        {
            "ref_id": 5,
            "ann_id": 1,
            "image_id": 7,
            "category_id": 18,
            "split": "val",
            "sentences": [{"sent_id": 50, "sent": "left dog"}, {"sent_id": 51, "sent": "the dog"}],
        },
        {"ref_id": 6, "ann_id": 2, "image_id": 7, "split": "testA", "sentences": [{"sent_id": 60, "sent": "man"}]},
    ]


def make_refcoco(root: Path) -> Truth:
    content, masks = coco_content()
    write_json(root / "refcoco/instances.json", content)
    write_json(root / "refcoco/refs(unc).json", refs_content())
    write_pictures(root / "images/mscoco/images/train2014", ["COCO_train2014_7.jpg"])
    return {"5/50": {0: masks[1]}, "5/51": {0: masks[1]}}
