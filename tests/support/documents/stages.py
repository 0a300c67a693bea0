"""The files that documents speak of, made small: clips, checkpoints, datasets in the places that the examples name.

A stage is a folder that holds `default` already, a small network that understands the document. A folder of that name,
and one called `shapes`, go before the shipped checkpoints, so that examples run to the letter in little time.
"""

import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from locater.config import preset
from locater.io.pictures import pixels_of
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.model.locater import Locater
from locater.text.words import Vocabulary
from tests.support.command_line.clips import write_video
from tests.support.composed_sources import (
    make_backgrounds,
    make_coco,
    make_pets,
    make_sprites,
    small_pack,
)
from tests.support.datasets.making_datasets import (
    make_a2d,
    make_folder,
    make_mevis,
    make_refer_youtube_vos,
    refs_content,
    write_json,
)
from tests.support.datasets.making_davis import make_davis
from tests.support.datasets.making_stills import Thing, make_stills
from tests.support.making_contrasts import make_contrasting_a2d, make_odd_folder
from tests.support.photo_sources import draw_photograph, make_model, make_photographs
from tests.support.recognising import believing, recognising
from tests.tools.test_packs import LEFT, RIGHT, thing, write_objects

CLIP = 31  # frames: one more than the last that is corrected


def understanding(texts: Sequence[str]) -> Locater:
    """An untrained network of the tiny preset that knows every word of these texts."""
    return build(preset("tiny", {"text": {"vocabulary": Vocabulary.of_text(texts).words}}), seed=0)


def clip_and_networks(here: Path) -> None:
    """A clip that is large and long enough for the clicks of the examples, and copies of the network by other names."""
    for name in ("shapes", "CHECKPOINT"):
        shutil.copytree(here / "default", here / name)
    write_video(here / "clip.mp4", CLIP, width=320, height=240)


def corrections(here: Path) -> None:
    """A drawn mask of the clip's size, six sequences of DAVIS, and a copy of a checkpoint."""
    clip_and_networks(here)
    shutil.copytree(here / "default", here / "COPY")
    drawn = np.zeros((240, 320), np.uint8)
    drawn[60:120, 40:200] = 255
    Image.fromarray(drawn).save(here / "drawn.png")
    make_davis(here / "ROOT")


def sources(here: Path) -> None:
    """Two clips of a holiday."""
    clip_and_networks(here)
    (here / "holiday").mkdir()
    for name in ("beach", "hills"):
        write_video(here / "holiday" / f"{name}.mp4", 3)


def finetuning(here: Path) -> None:
    """A photograph of a horse, and its mask."""
    clip_and_networks(here)
    draw_photograph(here / "horse.jpg", (30, 30, 90, 90))
    Image.fromarray(pixels_of(here / "horse.jpg")[..., 0] > 200).save(here / "horse.png")
    make_davis(here / "ROOT")


def evaluation(here: Path) -> None:
    """Datasets in their official layouts, in the folders that the examples name."""
    clip_and_networks(here)
    make_a2d(here / "data" / "a2d")
    make_davis(here / "data" / "DAVIS")
    make_mevis(here / "data" / "mevis")
    pictures = [[Thing(name, (4, 4, 20, 16)), Thing("dog", (30, 8, 20, 30))] for name in ("dog", "car", "boat", "bus")]
    make_stills(here / "data" / "coco_val", pictures)
    (here / "PACK").symlink_to(small_pack().folder)


def datasets(here: Path) -> None:
    """A2D, DAVIS, and RefCOCO's pickle."""
    clip_and_networks(here)
    make_a2d(here / "data" / "a2d")
    make_davis(here / "data" / "DAVIS")
    (here / "refcoco").mkdir()
    (here / "refcoco" / "refs(unc).p").write_bytes(pickle.dumps(refs_content()))


def contrasts(here: Path) -> None:
    """Videos with pairs to find among them."""
    clip_and_networks(here)
    make_contrasting_a2d(here / "data" / "a2d")
    make_refer_youtube_vos(here / "data" / "rvos")
    make_odd_folder(here / "mydata")
    shutil.copytree(here / "data" / "a2d" / "text_annotations", here / "FOLDER")
    shutil.copy(here / "data" / "a2d" / "Release" / "videoset.csv", here / "FOLDER")


def ensembles(here: Path) -> None:
    """DAVIS, for scales and flips."""
    clip_and_networks(here)
    make_davis(here / "data" / "DAVIS")


def explaining(here: Path) -> None:
    """DAVIS."""
    clip_and_networks(here)
    make_davis(here / "DAVIS")


def scores(here: Path) -> None:
    """What a second look is made from: photographs with objects, named ones, pictures to ask about."""
    clip_and_networks(here)
    model = recognising(here, ("the", "dog", "car", "person", "boat", "cat", "bus", "cow", "truck"))
    save_pretrained(model, here / "CHECKPOINT")
    save_pretrained(model, here / "default", second_look=believing(model, ["dog"], "dog", 2.0))
    coco_of_2017(here)
    make_stills(here / "ROOT", [[Thing(name, (4, 4, 20, 16))] for name in ("dog", "car", "boat", "dog", "bus")])
    draw_photograph(here / "NAMED" / "n02088364_1_beagle.png", (30, 30, 90, 90))


def coco_of_2017(here: Path) -> None:
    """Objects with masks on photographs, as COCO's train split is handed on, and the annotations of others."""
    write_objects(here, {str(number): [thing("dog", LEFT), thing("car", RIGHT)] for number in range(1000, 1012)})
    (here / "pictures").rename(here / "train2017")
    (here / "objects.jsonl.xz").rename(here / "train2017_0.jsonl.xz")
    write_json(here / "instances.json", {"images": [], "annotations": [], "categories": []})


def training(here: Path) -> None:
    """A user's folder of videos, and a shipped network to begin with."""
    make_folder(here / "my_videos")


def worlds(here: Path) -> None:
    """Annotated pictures of every kind, photographs of single things, a network that finds what is bright."""
    clip_and_networks(here)
    coco_of_2017(here)
    _, images = make_coco(here)
    images.rename(here / "images")
    make_pets(here)
    shutil.copytree(here / "pets" / "images", here / "horses" / "images")
    shutil.copytree(here / "pets" / "trimaps", here / "horses" / "masks")
    make_sprites(here).rename(here / "emoji3d")
    make_backgrounds(here)
    make_photographs(here / "named_photos")
    make_model(here / "u2netp.onnx")
    draw_photograph(here / "coco_photos" / "images" / "1.png", (30, 30, 90, 90))
    (here / "coco_photos" / "labels.tsv").write_text("1.png\tdog\n")
    (here / "PACK").symlink_to(small_pack().folder)


def words(here: Path) -> None:
    """A2D's sentences."""
    clip_and_networks(here)
    make_a2d(here / "data" / "a2d")
    shutil.copy(here / "data" / "a2d" / "text_annotations" / "a2d_annotation.txt", here)


def results(here: Path) -> None:
    """DAVIS, and a copy of a checkpoint."""
    clip_and_networks(here)
    make_davis(here / "DAVIS")
    shutil.copytree(here / "default", here / "COPY")


STAGES: dict[str, Callable[[Path], None]] = {
    "README.md": clip_and_networks,
    "a2d_s_plus.md": contrasts,
    "corrections.md": corrections,
    "datasets.md": datasets,
    "demo.md": clip_and_networks,
    "ensemble.md": ensembles,
    "evaluation.md": evaluation,
    "explain.md": explaining,
    "finetune.md": finetuning,
    "outputs.md": clip_and_networks,
    "reproduction.md": clip_and_networks,
    "results.md": results,
    "scores.md": scores,
    "sources.md": sources,
    "training.md": training,
    "words.md": words,
    "worlds.md": worlds,
}
