"""The clip that ships with the package, and how it is made."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import locater
from locater.errors import LocaterError
from locater.inference.demo import DemoClip, clip_for, demo_clip
from locater.records import Pixels
from locater.video.reader import open_source
from locater.worlds.seeds import KINDS
from tools.demo_pictures import CAT, CUP, WALL
from tools.make_demo_clip import make_clip

SIZE_LIMIT = 600_000  # bytes


@pytest.fixture(scope="module")
def clip() -> DemoClip:
    return demo_clip()


@pytest.fixture(scope="module")
def frames(clip: DemoClip) -> list[Pixels]:
    return [frame.pixels for frame in open_source(clip.path).frames()]


def test_the_shipped_clip_is_small_and_has_its_size(clip: DemoClip, frames: list[Pixels]) -> None:
    assert clip.path.stat().st_size < SIZE_LIMIT
    info = open_source(clip.path).info
    assert (info.width, info.height, info.frames_per_second) == (640, 360, 12)
    assert len(frames) == 48 and {frame.shape for frame in frames} == {(360, 640, 3)}


def test_every_sentence_means_one_thing_and_no_two_the_same(clip: DemoClip) -> None:
    assert {asked.kind for asked in clip.questions} <= set(KINDS)
    for asked, truth in zip(clip.questions, clip.truths, strict=True):
        assert sorted(truth) == list(range(48))
        seen = [bool(mask.any()) for mask in truth.values()]
        assert not any(seen) if asked.kind == "absent" else all(seen), asked.expression
    there = [truth for asked, truth in zip(clip.questions, clip.truths, strict=True) if asked.kind != "absent"]
    assert len(there) == 4
    for one, other in combinations(there, 2):
        assert not any((one[index] & other[index]).any() for index in one)


def test_the_masks_lie_on_what_the_sentences_say(clip: DemoClip, frames: list[Pixels]) -> None:
    truth = dict(zip(clip.expressions, clip.truths, strict=True))
    red, blue = truth["the cup on the left"], truth["the cup that moves to the left"]
    for index, frame in enumerate(frames):
        assert frame[red[index]].mean(axis=0).argmax() == 0
        on_saucer = frame[blue[index]]
        assert np.median(on_saucer[:, 2].astype(int) - on_saucer[:, 0]) > 30
    left = truth["the cat on the left"]
    jumps = truth["the cat on the right"]
    assert all(middle(left[index])[0] < middle(jumps[index])[0] for index in left)
    tops = [int(np.flatnonzero(jumps[index].any(axis=1))[0]) for index in range(48)]
    assert max(tops[:30]) - min(tops[:30]) < 20 and max(tops[:30]) - min(tops[30:]) > 50
    assert middle(blue[0])[0] - middle(blue[47])[0] > 200 and abs(middle(red[0])[0] - middle(red[47])[0]) < 10


@pytest.mark.slow
def test_the_shipped_checkpoint_finds_what_is_there_and_nothing_else(clip: DemoClip, frames: list[Pixels]) -> None:
    results = list(locater.load("default", "cpu").segment(frames[:8], clip.expressions, frames_per_second=12))
    means = np.mean([clip.overlaps(result) for result in results], axis=0)
    overlaps = dict(zip(clip.expressions, means.tolist(), strict=True))
    assert overlaps["the cat on the left"] > 0.6 and overlaps["the cup on the left"] > 0.8
    horse = clip.expressions.index("the horse")
    assert np.mean([result.masks[horse].mean() for result in results]) < 0.01  # a few stray pixels at most


def test_only_shapes_alone_gets_shapes(tmp_path: Path, clip: DemoClip) -> None:
    copied = clip_for("default", tmp_path / "clip.mp4")
    assert copied.path.read_bytes() == clip.path.read_bytes() and copied.expressions == clip.expressions
    assert "cat" not in " ".join(clip_for("shapes", tmp_path / "shapes.mp4").expressions)


def test_the_maker_gives_the_same_clip_again(tmp_path: Path) -> None:
    for name, size in ((CAT, (451, 300)), (CUP, (600, 400)), (WALL, (512, 512))):
        noise = np.random.default_rng(1).integers(0, 256, (size[1] // 4, size[0] // 4, 3), dtype=np.uint8)
        Image.fromarray(noise).resize(size).save(tmp_path / name)
    for out in ("one", "two"):
        make_clip(tmp_path, tmp_path / out, width=160, seconds=0.25)
    for file in ("cafe.mp4", "cafe.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert [frame.pixels.shape for frame in open_source(tmp_path / "one" / "cafe.mp4").frames()] == [(90, 160, 3)] * 3


def test_the_maker_says_which_picture_is_missing(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match=r"chelsea\.png is missing"):
        make_clip(tmp_path, tmp_path / "out")


def middle(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[float, float]:
    ys, xs = np.nonzero(mask)
    return float(xs.mean()), float(ys.mean())
