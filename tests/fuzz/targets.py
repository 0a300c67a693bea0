"""What is fuzzed: for each reader of files or texts a corpus, and one attempt, which ends in a result or one sentence.

A reader of another kind of file, such as a batch's manifest, is one more entry of `TARGETS`.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from locater.config import preset
from locater.datasets.a2d_plus import open_a2d_plus
from locater.datasets.folder import read_table
from locater.errors import LocaterError
from locater.io import rle
from locater.io.coco_masks import decode_segmentation
from locater.io.text_files import read_json
from locater.model.build import build
from locater.model.checkpoint import CONFIG, WEIGHTS, from_pretrained, save_pretrained
from locater.model.locater import Locater
from locater.records import VideoState
from locater.text.mirror import mirror_sentence
from locater.text.words import check_lengths
from locater.video.guarded.limits import Limits
from locater.video.guarded.source import guarded_video
from tests.support.making_videos import write_video, write_video_with_sound

VIDEOS = ("mp4", "mkv", "avi", "webm", "ts", "gif", "mov", "h264", "png", "jpg")
_CODECS = {"webm": ("libvpx", "yuv420p"), "avi": ("mpeg4", "yuv420p"), "gif": ("gif", "rgb8")}


@dataclass(frozen=True)
class Target:
    """One reader: whole inputs, made in a folder, and what is done with a damaged one."""

    corpus: Callable[[Path], list[bytes]]
    attempt: Callable[[bytes, Path], object]

    def run(self, content: bytes, folder: Path) -> bool:
        """Whether there was a result; else one sentence said why not. Anything else is a bug."""
        try:
            self.attempt(content, folder)
        except LocaterError as error:
            sentence = str(error)
            assert sentence.endswith("."), sentence
            return False
        return True


def made_videos(folder: Path) -> list[Path]:
    """Small whole videos of many kinds."""
    made = []
    for name in VIDEOS:
        path = folder / f"whole.{name}"
        if name in ("png", "jpg"):
            Image.fromarray(np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)).save(path)
        elif name == "mov":
            write_video_with_sound(path)
        else:
            codec, pix_fmt = _CODECS.get(name, ("libx264", "yuv420p"))
            write_video(path, 8, codec=codec, pix_fmt=pix_fmt, format_name="h264" if name == "h264" else None)
        made.append(path)
    return made


def _video_corpus(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in made_videos(folder)]


def _read_video(content: bytes, folder: Path) -> object:
    path = folder / "video"
    path.write_bytes(content)
    limits = Limits(memory_bytes=2**30, stall_seconds=20.0, frames=2000)
    return sum(1 for _ in islice(guarded_video(path, limits).frames(), 200))


@cache
def _tiny() -> Locater:
    return build(preset("tiny", {"text": {"vocabulary": ["a", "dog", "left", "on", "the"]}}), seed=0).eval()


def _config_corpus(folder: Path) -> list[bytes]:
    save_pretrained(_tiny(), folder / "whole")
    others = [json.dumps(preset(name).model_dump(mode="json")).encode() for name in ("paper", "default", "shapes")]
    return [(folder / "whole" / CONFIG).read_bytes(), *others]


def _read_config(content: bytes, folder: Path) -> object:
    if not (folder / "checkpoint").exists():
        save_pretrained(_tiny(), folder / "checkpoint")
    (folder / "checkpoint" / CONFIG).write_bytes(content)
    return from_pretrained(folder / "checkpoint")


def _weights_corpus(folder: Path) -> list[bytes]:
    save_pretrained(_tiny(), folder / "whole")
    save_pretrained(_tiny(), folder / "half", half=True)
    return [(folder / name / WEIGHTS).read_bytes() for name in ("whole", "half")]


def _read_weights(content: bytes, folder: Path) -> object:
    if not (folder / "checkpoint").exists():
        save_pretrained(_tiny(), folder / "checkpoint")
    (folder / "checkpoint" / WEIGHTS).write_bytes(content)
    return from_pretrained(folder / "checkpoint")


def _state_corpus(folder: Path) -> list[bytes]:
    state = VideoState(torch.zeros(1, 6, 8), torch.ones(1, 8, 8), 3, True, ("a dog",), looks=torch.zeros(1, 3))
    state.save(folder / "state")
    return [(folder / "state").read_bytes()]


def _read_state(content: bytes, folder: Path) -> object:
    (folder / "damaged").write_bytes(content)
    return VideoState.load(folder / "damaged")


_ROWS = [
    {"video": f"v{number}", "expression": "the dog on the left", "object": "1", "kind": "M"} for number in range(4)
]
_AUTHORS = {"videos": {"v": {"expressions": {"0": {"exp": "a dog", "obj_id": "1"}}, "frames": ["00001", "00002"]}}}


def _manifest_corpus(_: Path) -> list[bytes]:
    jsonl = "\n".join(map(json.dumps, _ROWS))
    csv = "\n".join([",".join(_ROWS[0]), *(",".join(row.values()) for row in _ROWS)])
    return [jsonl.encode(), csv.encode(), json.dumps(_AUTHORS).encode(), json.dumps({"dataset": "x"}).encode()]


def _read_manifest(content: bytes, folder: Path) -> object:
    (folder / "sentences.csv").write_bytes(content)
    with suppress(LocaterError):
        read_table(folder / "sentences.csv")
    places = [folder / "authors" / "A2D_MUL_test_expressions.json", folder / "plain" / "build.json"]
    for place in (*places, folder / "plain" / "sentences.jsonl"):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
    with suppress(LocaterError):
        open_a2d_plus(folder / "authors", "M").samples()
    with suppress(LocaterError):
        open_a2d_plus(folder / "plain", "M").samples()
    with suppress(LocaterError):
        read_json(places[0])
    return read_table(folder / "plain" / "sentences.jsonl")


def _sentence_corpus(_: Path) -> list[bytes]:
    told = ("the dog on the left", "a man in a red shirt that is running", "woman second-from-left", "左边的狗 🐕")
    return [text.encode() for text in told]


def _read_sentence(content: bytes, _: Path) -> object:
    text = content.decode("utf-8", "replace")
    check_lengths(text)
    mirror_sentence(text)
    return _tiny().read([text])


def _rle_corpus(_: Path) -> list[bytes]:
    mask = np.random.default_rng(0).integers(0, 2, (20, 30)).astype(np.bool_)
    counts = rle.encode(mask)
    polygon = [[1.0, 1.0, 9.0, 1.0, 9.0, 9.0]]
    whole = {"size": [20, 30], "counts": counts.decode()}
    return [json.dumps(each).encode() for each in (whole, {"size": [2, 3], "counts": [1, 2, 3]}, polygon)]


def _read_rle(content: bytes, _: Path) -> object:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = {"size": [20, 30], "counts": content.decode("latin-1")}
    return decode_segmentation(value, 20, 30, "a mask")


TARGETS: Mapping[str, Target] = {
    "config": Target(_config_corpus, _read_config),
    "weights": Target(_weights_corpus, _read_weights),
    "state": Target(_state_corpus, _read_state),
    "manifest": Target(_manifest_corpus, _read_manifest),
    "sentence": Target(_sentence_corpus, _read_sentence),
    "rle": Target(_rle_corpus, _read_rle),
    "video": Target(_video_corpus, _read_video),
}
