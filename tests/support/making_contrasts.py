"""A labeler that needs no model, and small datasets with pairs to find in them."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from locater.contrast.pairing import Described
from locater.records import SampleInfo
from locater.text.roles import Role, RolePhrase, SentenceRoles
from tests.support.datasets.making_datasets import blob, write_binary, write_h5, write_lines, write_video

LABELER = "tests.support.making_contrasts:FakeLabeler"
_SENTENCE = re.compile(r"(?:(?:the|an|a) )?(.+?) (?:is )?(\w+)ing(?: (in|on|behind) the (.+))?")


class FakeLabeler:
    """Understands "a brown dog is running on the grass"; anything else has no roles."""

    name = "fake 1"

    def label(self, sentences: Sequence[str]) -> list[SentenceRoles]:
        return [SentenceRoles(sentence, _phrases(sentence)) for sentence in sentences]


def _phrases(sentence: str) -> tuple[RolePhrase, ...]:
    found = _SENTENCE.fullmatch(sentence)
    if found is None:
        return ()
    actor, verb, preposition, place = found.groups()
    phrases = [
        RolePhrase(Role.ARG0, actor, actor.split()[-1], *found.span(1)),
        RolePhrase(Role.VERB, verb, verb, *found.span(2)),
    ]
    if place:
        start, end = found.start(3), found.end(4)
        phrases.append(RolePhrase(Role.LOCATION, f"{preposition} {place}", place.split()[-1], start, end))
    return tuple(phrases)


def described(key: str, sentence: str, video: str | None = None, kind: str = "", objects: int = 1) -> Described:
    """A sample by its sentence; its video is what stands before the slash."""
    info = SampleInfo(key, video or key.partition("/")[0], sentence, kind, objects)
    return Described(info, SentenceRoles(sentence, _phrases(sentence)))


def make_contrasting_a2d(root: Path) -> None:
    """A2D's layout: five test videos of several sizes and lengths."""
    sizes = {"two": (48, 64, 12), "one": (48, 64, 10), "wide": (32, 80, 6), "tall": (64, 48, 20), "alone": (48, 64, 5)}
    (root / "Release").mkdir(parents=True)
    with (root / "Release" / "videoset.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [name, "12", "0:01", "0:03", height, width, count, 2, 1] for name, (height, width, count) in sizes.items()
        )
    write_lines(
        root / "text_annotations/a2d_annotation.txt",
        "video_id,instance_id,query",
        "two,0,a brown dog is running on the grass",
        "two,1,a ball is rolling",
        "one,0,a brown dog is walking on the grass",
        "wide,0,the cat is running on the grass",
        "tall,0,ball flying",
        "tall,1,the black dog",
        "alone,0,a parrot is dreaming",
    )
    for seed, (name, (height, width, count)) in enumerate(sizes.items()):
        write_video(root / f"Release/clips320H/{name}.mp4", count, height, width)
        instances = (0, 1) if name in ("two", "tall") else (0,)
        masks = {number: blob(10 * seed + number, height, width) for number in instances}
        for frame in (2, count):  # numbered from 1
            write_h5(root / f"text_annotations/a2d_annotation_with_instances/{name}/{frame:05d}.h5", masks)


def make_odd_folder(root: Path) -> None:
    """A user's folder: pictures with odd sides, at 6 a second."""
    sizes = {"meadow": (41, 57, 4), "street": (35, 51, 9)}
    write_lines(
        root / "sentences.csv",
        "video,expression,object,frames_per_second",
        "meadow,a brown dog is running on the grass,dog,6",
        "street,a brown dog is sitting on the grass,dog,6",
    )
    for seed, (name, (height, width, count)) in enumerate(sizes.items()):
        (root / f"videos/{name}").mkdir(parents=True)
        for index in range(count):
            pixels = np.random.default_rng(100 * seed + index).integers(0, 255, (height, width, 3), np.uint8)
            Image.fromarray(pixels).save(root / f"videos/{name}/{index:05d}.png")
            write_binary(root / f"masks/{name}/dog/{index:05d}.png", blob(50 * seed + index, height, width))


def tree(folder: Path) -> dict[str, bytes]:
    """Every file with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
