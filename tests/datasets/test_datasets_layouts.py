"""Every official layout, made small, is read back to the exact masks."""

import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from pycocotools import mask as coco_mask

from locater.datasets.annotated import AnnotatedDataset
from locater.datasets.catalog import open_dataset
from locater.datasets.inspect.check import check_dataset
from locater.datasets.reading.lazy import LazySource
from locater.errors import LocaterError
from locater.io import rle
from locater.io.extras import data_library
from locater.records import SampleInfo
from tests.support.datasets.layouts import LAYOUTS
from tests.support.datasets.making_datasets import (
    HEIGHT,
    WIDTH,
    Truth,
    blob,
    coco_content,
    fix_jhmdb_frames,
    make_a2d,
    make_authors_a2d_plus,
    make_coco,
    make_folder,
    make_jhmdb,
    make_mevis,
    make_ref_davis17,
    make_refcoco,
    make_refer_youtube_vos,
    refs_content,
    write_binary,
    write_json,
    write_lines,
    write_palette,
    write_pictures,
)
from tools.plain_pickle import convert, read_plain_pickle


def by_key(dataset: AnnotatedDataset) -> dict[str, SampleInfo]:
    return {info.key: info for info in dataset.samples()}


def assert_reads(dataset: AnnotatedDataset, truth: Truth) -> None:
    """Every sample has exactly these masks, and frames that match them."""
    infos = by_key(dataset)
    assert infos.keys() == truth.keys()
    for key, masks in truth.items():
        sample = dataset.load(infos[key])
        assert list(sample.masks) == sorted(masks), key
        for index, mask in masks.items():
            assert sample.masks[index].dtype == np.bool_
            np.testing.assert_array_equal(sample.masks[index], mask, err_msg=f"{key}, frame {index}")
        frames = list(sample.frames.frames())
        assert [frame.index for frame in frames] == list(range(len(frames)))
        assert sample.frames.info.frame_count == len(frames) > max(masks)
        assert frames[0].pixels.shape == (HEIGHT, WIDTH, 3)
        brightness = [float(frame.pixels.mean()) for frame in frames]
        assert brightness == sorted(brightness), "frames out of order"


@pytest.mark.parametrize(("name", "split", "make"), LAYOUTS)
def test_layout_is_read_to_the_exact_masks(
    tmp_path: Path, name: str, split: str | None, make: Callable[[Path], Truth]
) -> None:
    truth = make(tmp_path)
    dataset = open_dataset(name, tmp_path, split)
    keys = {info.key for info in dataset.samples()}
    assert_reads(dataset, {key: masks for key, masks in truth.items() if key in keys})
    report = check_dataset(name, tmp_path, split)
    assert report.problems == ()


@pytest.mark.parametrize(
    ("name", "splits", "make"),
    [("a2d-sentences", ("train", "test"), make_a2d), ("ref-davis17", ("train", "val"), make_ref_davis17)],
)
def test_splits_share_nothing_and_leave_nothing(
    tmp_path: Path, name: str, splits: tuple[str, ...], make: Callable[[Path], Truth]
) -> None:
    truth = make(tmp_path)
    keys = [key for split in splits for key in by_key(open_dataset(name, tmp_path, split))]
    assert sorted(keys) == sorted(truth)


def test_a2d_facts(tmp_path: Path) -> None:
    make_a2d(tmp_path)
    infos = by_key(open_dataset("a2d-sentences", tmp_path, "test"))
    assert infos["two/0"] == SampleInfo("two/0", "two", "a dog is running", object_count=2, object_id="0")
    assert infos["one/0"].object_count == 1
    assert "train/1 (copy)" not in by_key(open_dataset("a2d-sentences", tmp_path, "train"))


def test_a2d_split_lists_stand_in_for_the_csv(tmp_path: Path) -> None:
    truth = make_a2d(tmp_path)
    (tmp_path / "Release/videoset.csv").unlink()
    with pytest.raises(LocaterError, match=r"videoset\.csv is missing"):
        open_dataset("a2d-sentences", tmp_path, "test").samples()
    write_lines(tmp_path / "a2d_test_737.txt", "two", "one")
    dataset = open_dataset("a2d-sentences", tmp_path, "test")
    assert_reads(dataset, {key: truth[key] for key in ("two/0", "two/1", "one/0")})


def test_a2d_test_masks_come_from_the_coco_file_where_the_official_ones_are_absent(tmp_path: Path) -> None:
    truth = {key: masks for key, masks in make_a2d(tmp_path).items() if not key.startswith("train")}
    shutil.rmtree(tmp_path / "text_annotations/a2d_annotation_with_instances")
    annotations = []
    for key, masks in truth.items():
        video, _, instance = key.partition("/")
        for index, mask in masks.items():
            runs = {"size": [HEIGHT, WIDTH], "counts": rle.encode(mask).decode("ascii")}
            name = f"v_{video}_f_{index + 1}_i_{instance}"  # its frames are numbered from 1
            annotations.append({"image_id": name, "segmentation": runs})
    write_json(tmp_path / "a2d_sentences_test_annotations_in_coco_format.json", {"annotations": annotations})
    assert_reads(open_dataset("a2d-sentences", tmp_path, "test"), truth)


def test_jhmdb_fixed_frames(tmp_path: Path) -> None:
    truth = make_jhmdb(tmp_path)
    fix_jhmdb_frames(tmp_path, {"throw_ball": [1, 3, 5], "still": [1]})
    masks = truth["throw_ball"]
    dataset = open_dataset("jhmdb-sentences", tmp_path, None)
    assert_reads(dataset, {"throw_ball": {index: masks[index] for index in (0, 2, 4)}, "still": truth["still"]})
    assert dataset.load(by_key(dataset)["throw_ball"]).frames.info.frame_count == 5  # of 7 pictures: two have no mask


def test_refer_youtube_vos_facts(tmp_path: Path) -> None:
    make_refer_youtube_vos(tmp_path)
    dataset = open_dataset("refer-youtube-vos", tmp_path, "train")
    infos = by_key(dataset)
    assert infos["aa/0"] == SampleInfo("aa/0", "aa", "a man walking", object_count=3, object_id="2")
    frames = dataset.load(infos["aa/0"]).frames
    assert isinstance(frames, LazySource)
    assert frames.frame_names == ("00000", "00005", "00010")
    assert [frame.timestamp for frame in frames.frames()] == pytest.approx([0, 1 / 6, 2 / 6])


def test_refer_youtube_vos_valid_and_test(tmp_path: Path) -> None:
    make_refer_youtube_vos(tmp_path)
    valid = open_dataset("refer-youtube-vos", tmp_path, "valid")
    assert list(by_key(valid)) == ["vv/0"]
    assert list(by_key(open_dataset("refer-youtube-vos", tmp_path, "test"))) == ["tt/0"]
    assert len(valid.load(valid.samples()[0]).masks) == 0
    assert check_dataset("refer-youtube-vos", tmp_path, "valid").problems == ()
    (tmp_path / "meta_expressions/test/meta_expressions.json").unlink()
    write_lines(tmp_path / "refer_youtube_vos_valid_202.txt", "vv")
    assert list(by_key(open_dataset("refer-youtube-vos", tmp_path, "valid"))) == ["vv/0"]
    assert list(by_key(open_dataset("refer-youtube-vos", tmp_path, "test"))) == ["tt/0"]


def test_refer_youtube_vos_published_valid_masks(tmp_path: Path) -> None:
    make_refer_youtube_vos(tmp_path)
    by_sentence = {0: blob(1), 1: blob(2)}
    for index, name in enumerate(("00000", "00005")):
        write_binary(tmp_path / f"valid/Annotations/vv/0/{name}.png", by_sentence[index])
    assert_reads(open_dataset("refer-youtube-vos", tmp_path, "valid"), {"vv/0": by_sentence})
    shutil.rmtree(tmp_path / "valid/Annotations")
    told = {"vv": {"expressions": {"0": {"exp": "a", "obj_id": "4"}}, "frames": ["00000", "00005"]}}
    write_json(tmp_path / "meta_expressions/valid/meta_expressions.json", {"videos": told})
    write_palette(tmp_path / "valid/Annotations/vv/00005.png", {4: blob(3)})
    assert_reads(open_dataset("refer-youtube-vos", tmp_path, "valid"), {"vv/0": {1: blob(3)}})


def test_ref_davis17_facts(tmp_path: Path) -> None:
    truth = make_ref_davis17(tmp_path)
    infos = by_key(open_dataset("ref-davis17", tmp_path, None))
    assert [info.annotation for info in infos.values()] == 2 * [
        "annot1",
        "annot1_full_video",
        "annot2",
        "annot2_full_video",
    ]
    assert infos["dogs-jump/2/annot2"].expression == "annot2 a café owner"
    assert infos["dogs-jump/2/annot1"].expression == "annot1 a café “owner”"
    assert infos["dogs-jump/1/annot1"].object_count == 2
    (tmp_path / "DAVIS/Annotations_unsupervised").rename(tmp_path / "DAVIS/Annotations")
    keys = {key: masks for key, masks in truth.items() if key.startswith("dogs-jump")}
    assert_reads(open_dataset("ref-davis17", tmp_path, "val"), keys)


def test_ref_davis17_scores_without_frames(tmp_path: Path) -> None:
    truth = make_ref_davis17(tmp_path)
    shutil.rmtree(tmp_path / "DAVIS/JPEGImages")
    dataset = open_dataset("ref-davis17", tmp_path, "val")
    info = dataset.samples()[0]
    np.testing.assert_array_equal(dataset.load(info).masks[1], truth[info.key][1])


def test_mevis_facts(tmp_path: Path) -> None:
    make_mevis(tmp_path)
    infos = by_key(open_dataset("mevis", tmp_path, None))
    assert [info.kind for info in infos.values()] == ["single", "multi", "absent"]
    assert infos["mm/1"].object_count == 2
    valid = open_dataset("mevis", tmp_path, "valid")
    assert len(valid.load(valid.samples()[0]).masks) == 0
    assert check_dataset("mevis", tmp_path, "valid").problems == ()
    (tmp_path / "valid_u/meta_expressions.json").rename(tmp_path / "valid_u/meta_expressions_v2.json")
    assert len(open_dataset("mevis", tmp_path, "valid_u").samples()) == 3


def test_a2d_plus_in_our_own_layout(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "sentences.jsonl",
        '{"video": "joined", "expression": "a man", "object": "0", "kind": "S", "object_count": 5}',
        '{"video": "joined", "expression": "a man", "object": "0", "kind": "T"}',
    )
    write_pictures(tmp_path / "videos/joined", ["00000.png"])
    write_binary(tmp_path / "masks/joined/0/00000.png", blob(1))
    dataset = open_dataset("a2d-s+", tmp_path, "S")
    assert_reads(dataset, {"joined/0": {0: blob(1)}})
    assert [(info.kind, info.object_count) for info in dataset.samples()] == [("S", 5)]


def test_a_table_may_give_frames_per_second(tmp_path: Path) -> None:
    write_pictures(tmp_path / "videos/joined", ["00000.png", "00001.png"])
    write_lines(tmp_path / "sentences.csv", "video,expression,frames_per_second", "joined,a man,8")
    dataset = open_dataset("folder", tmp_path, None)
    assert [frame.timestamp for frame in dataset.load(dataset.samples()[0]).frames.frames()] == [0, 1 / 8]
    write_lines(tmp_path / "sentences.csv", "video,expression,frames_per_second", "joined,a man,0")
    with pytest.raises(LocaterError, match=r"line 2 has 0\.0 frames per second"):
        open_dataset("folder", tmp_path, None).samples()


def test_a2d_plus_reads_no_pickle_but_tensors(tmp_path: Path) -> None:
    make_authors_a2d_plus(tmp_path)
    path = tmp_path / "A2D_SUBSET/A2D_MUL/mask/-seq_1_1_00003.pth"
    dataset = open_dataset("a2d-s+", tmp_path, "M")
    info = by_key(dataset)["-seq_1/1"]
    torch.save({"a": 1}, path)
    with pytest.raises(LocaterError, match="holds a dict"):
        dataset.load(info).masks[2]
    marker = tmp_path / "ran"
    torch.save(_Bomb(str(marker)), path)
    with pytest.raises(LocaterError, match="no tensor that can be read safely"):
        dataset.load(info).masks[2]
    assert not marker.exists()


class _Bomb:
    """A pickle that writes a file when it is read carelessly."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


def test_refcoco_refuses_the_pickle_and_says_how_to_convert_it(tmp_path: Path) -> None:
    truth = make_refcoco(tmp_path)
    (tmp_path / "refcoco/refs(unc).json").unlink()
    pickled = tmp_path / "refcoco/refs(unc).p"
    pickled.write_bytes(pickle.dumps(refs_content(), protocol=2))
    with pytest.raises(LocaterError, match=r"python -m tools\.plain_pickle"):
        open_dataset("refcoco", tmp_path, "val")
    assert convert(pickled) == tmp_path / "refcoco/refs(unc).json"
    assert_reads(open_dataset("refcoco", tmp_path, "val"), truth)
    assert list(by_key(open_dataset("refcoco", tmp_path / "refcoco", "testA"))) == ["6/60"]
    marker = tmp_path / "ran"
    pickled.write_bytes(pickle.dumps([_Bomb(str(marker))]))
    with pytest.raises(LocaterError, match="no pickle of plain values"):
        read_plain_pickle(pickled)
    assert not marker.exists()


def test_coco_masks_are_cocos_own(tmp_path: Path) -> None:
    make_coco(tmp_path)
    dataset = open_dataset("coco", tmp_path, "val2017")
    content, _ = coco_content()
    theirs = coco_mask.decode(coco_mask.frPyObjects(content["annotations"][0]["segmentation"], HEIGHT, WIDTH))[:, :, 0]
    infos = by_key(dataset)
    np.testing.assert_array_equal(dataset.load(infos["7/dog"]).masks[0], theirs.astype(bool))
    assert [(info.expression, info.kind) for info in infos.values()] == [("the dog", "single"), ("the person", "multi")]


# ---- The folder format -----------------------------------------------------------------------------------------------


def test_folder_facts(tmp_path: Path) -> None:
    make_folder(tmp_path)
    infos = by_key(open_dataset("folder", tmp_path, None))
    assert infos["park/dog"].expression == "the dog, running"
    assert infos["park/absent"].kind == "absent"
    assert infos["park/dog"].object_count == 2
    assert list(by_key(open_dataset("folder", tmp_path, "train"))) == ["park/dog"]
    with pytest.raises(LocaterError, match="its splits are: test, train"):
        open_dataset("folder", tmp_path, "valid").samples()


def test_folder_without_masks_has_nothing_to_compare(tmp_path: Path) -> None:
    make_folder(tmp_path)
    shutil.rmtree(tmp_path / "masks")
    dataset = open_dataset("folder", tmp_path, None)
    assert all(len(dataset.load(info).masks) == 0 for info in dataset.samples())
    assert check_dataset("folder", tmp_path, None).is_fine


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("park", "line 2 needs a video and an expression"),
        ("park,the dog, running,dog,motion,train", "sentences with a comma need quotes"),
        ("../../etc,a,1", "must lie inside the folder"),
    ],
)
def test_folder_names_a_bad_line(tmp_path: Path, line: str, words: str) -> None:
    write_lines(tmp_path / "sentences.csv", "video,expression,object,kind,split", line)
    with pytest.raises(LocaterError, match=words):
        open_dataset("folder", tmp_path, None).samples()


@pytest.mark.parametrize("line", ["{", "[1]", '{"video": "a", "expresion": "b"}'])
def test_folder_names_a_bad_json_line(tmp_path: Path, line: str) -> None:
    write_lines(tmp_path / "sentences.jsonl", '{"video": "a", "expression": "b", "object": 1}', line)
    with pytest.raises(LocaterError, match=r"sentences\.jsonl, line 2"):
        open_dataset("folder", tmp_path, None).samples()


def test_masks_of_any_picture_mode(tmp_path: Path) -> None:
    make_folder(tmp_path)
    path = tmp_path / "masks/park/dog/f1.png"
    grey = Image.open(path)
    dataset = open_dataset("folder", tmp_path, None)
    info = by_key(dataset)["park/dog"]
    for mode in ("1", "L", "P", "RGB", "RGBA"):
        grey.convert(mode).save(path)
        np.testing.assert_array_equal(dataset.load(info).masks[0], blob(90), err_msg=mode)


def test_absent_library_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)  # Python's own way to make an import fail
    with pytest.raises(LocaterError, match=r"need h5py, which is not installed; run: pip install 'locater\[data\]'"):
        data_library("h5py")
