"""The published figures, from the real official files."""

import pytest

from locater.datasets.a2d import read_missed_videos, read_sentences
from locater.datasets.catalog import open_dataset
from locater.errors import LocaterError
from tests.support.datasets.making_datasets import real_data


def test_a2d_sentences_and_videos() -> None:
    root = real_data("annotations")
    rows = read_sentences(root)
    assert len(rows) == 6655
    copies = [row for row in rows if row[1] == "1 (copy)"]
    assert [row[0] for row in copies] == ["T6bNPuKV-wY"]
    assert (len({row[0] for row in rows}), len(read_missed_videos(root))) == (3754, 28)


def test_a2d_split() -> None:
    root = real_data("annotations")
    train = open_dataset("a2d-sentences", root, "train").samples()
    test = open_dataset("a2d-sentences", root, "test").samples()
    assert (len({info.video for info in train}), len({info.video for info in test})) == (3017, 737)
    assert len(test) == 1295
    assert len(train) + len(test) == 6654  # without `1 (copy)`, which is of the train split
    assert "T6bNPuKV-wY" in {info.video for info in train}
    assert len({info.key for info in (*train, *test)}) == 6654
    several = [info for info in test if (info.object_count or 0) > 1]
    assert (len(several), len({info.video for info in several})) == (856, 298)  # the paper's A2D-S+_M


def test_a2d_test_masks() -> None:
    dataset = open_dataset("a2d-sentences", real_data("annotations"), "test")
    samples = [dataset.load(info) for info in dataset.samples()]
    assert sum(len(sample.masks) for sample in samples) == 3800
    assert all(sample.masks for sample in samples)
    first = samples[0]
    assert list(first.masks) == [27, 55, 83]  # published as frames 28, 56, 84
    assert (first.masks[27].shape, int(first.masks[27].sum())) == ((320, 568), 7531)  # the file's own area
    with pytest.raises(LocaterError, match=r"no folder .*Release"):
        _ = first.frames.info


def test_jhmdb() -> None:
    dataset = open_dataset("jhmdb-sentences", real_data("annotations"), None)
    infos = dataset.samples()
    assert (len(infos), len({info.video for info in infos})) == (928, 928)
    frames = [dataset.load(info).masks for info in infos]
    assert sum(len(masks) for masks in frames) == 2784
    assert list(frames[0]) == [1, 7, 17]  # published as 00002, 00008, 00018


def test_refer_youtube_vos() -> None:
    root = real_data("annotations")
    valid = open_dataset("refer-youtube-vos", root, "valid").samples()
    test = open_dataset("refer-youtube-vos", root, "test").samples()
    assert (len({info.video for info in valid}), len(valid)) == (202, 834)
    assert len({info.video for info in (*valid, *test)}) == 507
    assert len(valid) + len(test) == 2096


def test_coco_subset() -> None:
    dataset = open_dataset("coco", real_data("coco_subset"), "all")
    infos = dataset.samples()
    assert len({info.object_id for info in infos}) == 80
    assert sum({info.video: info.object_count or 0 for info in infos}.values()) == 6077
    for info in infos[:20]:
        sample = dataset.load(info)
        assert sample.masks[0].shape == next(sample.frames.frames()).pixels.shape[:2]
        assert sample.masks[0].any()
