"""Makes the demo's clip from the photographs that scikit-image carries: cats behind a table, cups on it.

    pip download --no-deps scikit-image && unzip scikit_image-*.whl 'skimage/data/*'
    python -m tools.make_demo_clip --pictures skimage/data --out src/locater/clips

Writes `cafe.mp4` and `cafe.json`: the sentences and the true masks. The same photographs give the same clip.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from locater.errors import LocaterError
from locater.io import rle
from locater.io.atomic import atomic_entries, plain_os_errors
from locater.video.mp4 import Mp4File
from locater.worlds.composed.draw.render import SceneBatch, render
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.pack.cutouts import Pixels, cut_out
from locater.worlds.composed.pack.pack import Pack, PackWriter
from locater.worlds.composed.pack.photographs import photograph
from locater.worlds.composed.scene.view import MOST_THINGS
from locater.worlds.scene_objects import Array
from tools.demo_pictures import blue_cup, grey_cat, red_cup, tabby_cat, table, wall

NAME = "cafe"
WIDTH, HEIGHT = 640, 360
SECONDS, FRAMES_PER_SECOND = 4.0, 12
SENTENCES: tuple[tuple[str, str, str | None], ...] = (  # kind, sentence, what it means
    ("position", "the cat on the left", "tabby cat"),
    ("position", "the cat on the right", "grey cat"),
    ("position", "the cup on the left", "red cup"),
    ("motion", "the cup that moves to the left", "blue cup"),
    ("absent", "the horse", None),
)
_TABLE_TOP = 224  # where the table begins, from above; it hides what is lower and was drawn before it
_SIDE = 704  # pixels of the largest picture: the frame and what a moving camera sees besides
_JUMP = (2.75, 3.65)  # seconds: from, to
_SLIDE = (0.35, 2.45)


@dataclass(frozen=True)
class _Thing:
    """A cut-out and its way: seconds to the middle and the top of its box in pixels of the frame, and its tilt."""

    name: str
    pixels: Pixels
    way: Callable[[float], tuple[float, float, float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the clip is written."""
    parser = argparse.ArgumentParser(prog="python -m tools.make_demo_clip", description=__doc__.split("\n")[0])
    parser.add_argument("--pictures", type=Path, required=True, help="scikit-image's folder skimage/data.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the clip.")
    given = parser.parse_args(arguments)
    try:
        with plain_os_errors(given.out):
            make_clip(given.pictures, given.out)
    except LocaterError as error:
        sys.exit(str(error))
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e3:.0f} KB" for path in sorted(given.out.glob(f"{NAME}.*")))
    print(f"{given.out}: {sizes}")
    return 0


def make_clip(pictures: Path, out: Path, width: int = WIDTH, seconds: float = SECONDS) -> None:
    """Write the clip and its truth; smaller and shorter ones are for tests."""
    height = width * HEIGHT // WIDTH
    things = _things(pictures)
    numbers = list(range(round(seconds * FRAMES_PER_SECOND)))
    masks: dict[str, list[str]] = {name: [] for _, _, name in SENTENCES if name is not None}
    with tempfile.TemporaryDirectory() as scratch, atomic_entries(out) as partial:
        pack = _packed(things, wall(pictures, _SIDE), Path(scratch))
        scene, textures = _scene(things, pack), Textures(pack)
        with Mp4File(partial / f"{NAME}.mp4", FRAMES_PER_SECOND, threads=1) as file:
            for number in numbers:
                frames, found = render(scene, textures, torch.tensor([[number]]), width)
                rows = slice((width - height) // 2, (width + height) // 2)
                picture = (frames[0, 0, :, rows].permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
                file.write(picture, number / FRAMES_PER_SECOND)
                for place, thing in enumerate(things):
                    if thing.name in masks:
                        mask = found[0, 0, MOST_THINGS + place, rows].numpy()
                        masks[thing.name].append(rle.encode(mask).decode("ascii"))
        truth = {
            "width": width,
            "height": height,
            "frame_count": len(numbers),
            "frames_per_second": FRAMES_PER_SECOND,
            "sentences": [{"kind": kind, "expression": said, "means": name} for kind, said, name in SENTENCES],
            "masks": masks,
        }
        (partial / f"{NAME}.json").write_text(json.dumps(truth, indent=0) + "\n", encoding="utf-8")


def _things(pictures: Path) -> list[_Thing]:
    """What is drawn, from the back to the front."""
    return [
        _Thing("tabby cat", tabby_cat(pictures, 0.56), _tabby_way),
        _Thing("grey cat", grey_cat(pictures, 0.47), _grey_way),
        _Thing("table", table(pictures, _SIDE - 4, 180), lambda _: (WIDTH / 2, _TABLE_TOP, 0.0)),
        _Thing("red cup", red_cup(pictures, 0.31), lambda _: (98, 232, 0.0)),
        _Thing("blue cup", blue_cup(pictures, 0.33), _cup_way),
    ]


def _tabby_way(second: float) -> tuple[float, float, float]:
    """Sits, and leans a little after the cup."""
    seen = _eased(second, *_SLIDE)
    return 176 - 5 * seen, 14 + 1.5 * math.sin(1.7 * second), 0.045 - 0.05 * seen + 0.008 * math.sin(2.1 * second)


def _grey_way(second: float) -> tuple[float, float, float]:
    """Hides behind the table up to the nose; ducks, jumps, comes down."""
    start, end = _JUMP
    duck = 9 * math.exp(-(((second - start + 0.12) / 0.13) ** 2))
    share = min(max((second - start) / (end - start), 0.0), 1.0)
    height = 300 * share * (1 - share)
    return 468 - 6 * share, 84 + 1.2 * math.sin(1.5 * second + 2) + duck - height, -0.03 + 0.1 * share * (1 - share)


def _cup_way(second: float) -> tuple[float, float, float]:
    """Slides over the table."""
    return 552 - 236 * _eased(second, *_SLIDE), 233, 0.0


def _eased(second: float, start: float, end: float) -> float:
    share = min(max((second - start) / (end - start), 0.0), 1.0)
    return share * share * (3 - 2 * share)


def _packed(things: Sequence[_Thing], background: Pixels, folder: Path) -> Pack:
    """The pictures as the composed world reads them."""
    writer = PackWriter(_SIDE, _SIDE)
    for thing in things:
        alpha = np.asarray(thing.pixels[..., 3] / 255, dtype=np.float32)
        found = cut_out(thing.pixels[..., :3], alpha, _SIDE, thing.name, (), thing.name, is_sprite=True)
        if found is None:
            raise LocaterError(f"No {thing.name} can be cut out; give the photographs of scikit-image 0.26.")
        writer.add(found)
    writer.add(photograph(background, (), (), "wall", _SIDE))
    writer.save(folder)
    return Pack(folder)


def _scene(things: Sequence[_Thing], pack: Pack) -> SceneBatch:
    """The whole clip; lengths are fractions of a square as wide as the frame, with the frame in its middle."""
    count, frame_count = len(things), round(SECONDS * FRAMES_PER_SECOND)
    seconds = [number / FRAMES_PER_SECOND for number in range(frame_count)]
    camera = np.array([_hand(second) for second in seconds])
    poses = np.zeros((1, count, frame_count, 5), dtype=np.float32)
    for n, thing in enumerate(things):
        entry, pixels = pack.cutouts[n], pack.cutout_pixels(n)
        for f, second in enumerate(seconds):
            middle, top, tilt = thing.way(second)
            x = middle + entry.centre[0] - pixels.shape[1] / 2
            y = top + entry.centre[1] + (WIDTH - HEIGHT) / 2
            poses[0, n, f, :4] = (x / WIDTH + camera[f, 0], y / WIDTH + camera[f, 1], entry.radius / WIDTH, tilt)
    compositing = np.tile(np.array([1, 1, 1, 0, 0, 1, 0], dtype=np.float32), (1, count, 1))
    light = 1 + 0.012 * np.sin(np.array(seconds) * 2.3)
    arrays = {
        "photographs": np.zeros(1, dtype=np.int64),
        "pictures": np.arange(count)[None],
        "dyes": np.zeros((1, MOST_THINGS + count, 5), dtype=np.float32),
        "views": np.array([[0.03, 0.03, 0.94, 0.94, 0.0]], dtype=np.float32),
        "things": np.full((1, MOST_THINGS), -1),
        "poses": poses,
        "is_mirrored": np.zeros((1, count), dtype=np.bool_),
        "walls": np.zeros((1, count, 2), dtype=np.float32),
        "compositing": compositing,
        "shadows": np.array([[0.12, 0.15, 0.42]], dtype=np.float32),
        "wall_colours": np.zeros((1, 2, 3), dtype=np.float32),
        "light": np.repeat(light[None, :, None], 3, axis=2).astype(np.float32),
        "grain": np.array([[4711.0, 0.02]], dtype=np.float32),
        "camera": camera[None].astype(np.float32),
    }
    return SceneBatch(**{name: torch.from_numpy(array) for name, array in arrays.items()})


def _hand(second: float) -> Array:
    """How far a hand that holds the camera has moved the picture."""
    return np.array(
        [
            0.0035 * math.sin(1.9 * second) + 0.0008 * math.sin(7.1 * second + 1),
            0.0022 * math.sin(2.7 * second + 0.5) + 0.0007 * math.sin(8.3 * second),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
