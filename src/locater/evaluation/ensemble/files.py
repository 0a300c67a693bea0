"""A question's masks as files: `<question>/<frame>.png`, as `locater score` and Refer-YouTube-VOS read them."""

from collections.abc import Mapping
from pathlib import Path

from locater.evaluation.external.submission import binary_png
from locater.records import FrameSource, Mask, Sample


def frame_names(source: FrameSource) -> list[str]:
    """What a mask of each frame is called: as its picture, or by its number."""
    published = getattr(source, "frame_names", None)
    return list(published) if published else [f"{index:05d}" for index in range(source.info.frame_count or 0)]


def write_masks(folder: Path, masks: Mapping[int, Mask], sample: Sample) -> None:
    """One PNG of 0 and 255 for each frame."""
    folder.mkdir(parents=True)
    names = frame_names(sample.frames)
    for index, mask in masks.items():
        (folder / f"{names[index]}.png").write_bytes(binary_png(mask))
