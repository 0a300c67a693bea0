"""`--scales` and `--flip`, as a person types them."""

import json
from pathlib import Path

import numpy as np
from pycocotools.coco import COCO

import locater
from locater.records import Views
from tests.support.command_line.clips import DOG, FRAMES
from tests.support.command_line.running import Run, refused


def test_segment_takes_any_views(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    asked = ("segment", video, DOG, "--checkpoint", checkpoint, "--format", "rle", "--out", tmp_path / "out")
    assert "--scales '1,big' cannot be read" in refused(run, tmp_path, *asked, "--scales", "1,big")
    assert "Scales lie between" in refused(run, tmp_path, *asked, "--scales", "12")
    ran = run(*asked, "--scales", "0.5,1", "--flip")
    assert ran.code == 0, ran.err
    track = locater.load(str(checkpoint), "cpu").track(video, DOG, views=Views((0.5, 1.0), flip=True))
    coco = COCO(str(tmp_path / "out" / "masks.json"))
    for index in range(FRAMES):
        found = [coco.annToMask(each) > 0 for each in coco.loadAnns(coco.getAnnIds(imgIds=index))]
        assert np.array_equal(np.any(found, axis=0) if found else track.mask(index) * 0, track.mask(index))


def test_evaluate_takes_any_views_and_keeps_runs_apart(run: Run, checkpoint: Path, tmp_path: Path) -> None:
    asked = ("evaluate", checkpoint, "shapes", "--out", tmp_path / "out", "--count", "1", "--limit", "1")
    ran = run(*asked, "--failures", "0", "--scales", "0.5,1", "--flip")
    assert ran.code == 0
    assert json.loads((tmp_path / "out" / "results.json").read_text())["views"] == "1,0.5 and mirrored"
    assert "another run" in run(*asked, "--failures", "0").error
