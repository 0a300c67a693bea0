"""Results as files to take away, in any format that the package writes."""

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from locater.errors import LocaterError
from locater.records import FrameMasks
from locater.video.guarded.source import GuardedSource
from locater.video.writer import FORMATS, open_writers
from locater.web.segment.runs import Run

_TITLES = {
    "overlay": "Video with the masks drawn on",
    "overlays": "One such video a sentence",
    "png": "Palette PNGs, one a frame (DAVIS)",
    "pngs": "Mask PNGs, a folder a sentence",
    "rle": "Run lengths in JSON (COCO)",
    "sheet": "Contact sheet",
    "matte": "Black and white matte videos",
    "alpha": "Video with transparency",
    "cutout": "Cut-out objects",
    "images": "The clip's frames as pictures",
    "boxes": "Boxes as CSV and JSON",
    "yolo": "YOLO segmentation labels",
    "cvat": "CVAT annotations",
    "labelstudio": "Label Studio brush masks",
    "coco-video": "COCO video JSON (YouTube-VOS)",
}


def formats() -> list[dict[str, str]]:
    """Every format that there is, with what a person calls it."""
    return [{"name": name, "title": _TITLES.get(name, name)} for name in FORMATS]


@dataclass
class Export:
    """One format of one run, being written or ready."""

    format: str
    run: int
    done: int = 0
    total: int = 0
    path: Path | None = None
    message: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": self.format,
            "run": self.run,
            "done": self.done,
            "total": self.total,
            "is_ready": self.path is not None,
            "message": self.message,
        }


def write_export(
    export: Export, source: GuardedSource, upload: Path, run: Run, folder: Path, check: Callable[[], None]
) -> None:
    """Make the export's file in `folder`, a zip where there are several; `check` may end it between frames.

    Overlays have the sound of the `upload`.
    """
    track = run.track
    if track is None:
        raise LocaterError("There are no masks yet; segment the clip first.")
    export.total = len(track)
    made = folder / "made"
    made.mkdir()
    with open_writers([export.format], made, replace(source.info, path=upload), run.names) as writers:
        for frame in source.frames():
            if frame.index >= len(track):
                break
            masks = np.stack([track.mask(frame.index, place) for place in range(len(run.sentences))])
            known = track.presence[frame.index], track.scores[frame.index]
            writers.write(FrameMasks(frame, masks, None, known[0], score=known[1]))
            export.done = frame.index + 1
            check()
    files = sorted(path for path in made.rglob("*") if path.is_file())
    if len(files) == 1:
        export.path = files[0]
        return
    packed = folder / f"{export.format}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in files:
            archive.write(path, path.relative_to(made))
            check()
    shutil.rmtree(made)
    export.path = packed
