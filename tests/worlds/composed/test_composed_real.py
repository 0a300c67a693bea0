"""The composed world on real pictures, where they are at hand."""

import json
from pathlib import Path

from locater.worlds.composed import ComposedWorld, Limits, Sources, compose
from locater.worlds.seeds import KINDS, video_seed
from tests.support.datasets.making_datasets import real_data
from tests.support.worlds.well_asked import is_well_asked


def test_real_photographs_make_scenes(tmp_path: Path) -> None:
    photographs, pets = real_data("coco_subset"), real_data("pets")
    content = json.loads((photographs / "instances.json").read_text())
    content["images"] = content["images"][:70]
    kept = {image["id"] for image in content["images"]}
    content["annotations"] = [each for each in content["annotations"] if each["image_id"] in kept]
    (tmp_path / "instances.json").write_text(json.dumps(content))
    (tmp_path / "pets").mkdir()
    for path in sorted((pets / "images").glob("[Bb]*_1*.jpg"))[:40]:
        (tmp_path / "pets" / path.name).symlink_to(path)
    made = compose(
        Sources(
            coco=[(tmp_path / "instances.json", photographs / "images")],
            masks=[("breeds", tmp_path / "pets", pets / "trimaps")],
        ),
        tmp_path / "pack",
        limits=Limits(cutout_side=96, photograph_side=128),
    )
    assert made.cutouts > 40 and made.photographs > 80 and made.megabytes < 3
    world = ComposedWorld(tmp_path / "pack", "train", size=64)
    for kind in KINDS:
        for number in range(3):
            assert is_well_asked(world.scene(video_seed("train", kind, number)))
    video = world.video(video_seed("train", "position", 0))
    assert video.masks_of(video.scene.referent)[5].any()
