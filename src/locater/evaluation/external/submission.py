"""Zips to hand in to Refer-YouTube-VOS, MeViS and Ref-DAVIS17, each in its own layout."""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from locater.errors import LocaterError
from locater.evaluation.metrics.sample_score import SampleScore
from locater.io.atomic import atomic_path
from locater.records import Dataset, FrameSource, Mask
from locater.video.overlay import DAVIS_PALETTE


@dataclass(frozen=True)
class Protocol:
    """How one benchmark wants its masks."""

    name: str
    dataset_name: str  # in the catalog
    root: str  # before every entry's name
    is_palette: bool = False  # one picture a frame with the objects' numbers, a folder an annotation


PROTOCOLS: Mapping[str, Protocol] = {
    each.name: each
    for each in (
        Protocol("refer_youtube_vos", "refer-youtube-vos", root="Annotations/"),
        Protocol("mevis", "mevis", root=""),
        Protocol("ref_davis17", "ref-davis17", root="", is_palette=True),
    )
}


def find_protocol(name: str) -> Protocol:
    """The protocol of that name."""
    known = name.replace("-", "_")  # as the datasets are written
    if known not in PROTOCOLS:
        raise LocaterError(f"There is no submission protocol '{name}'; choose one of {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[known]


def protocol_of(dataset_name: str) -> Protocol:
    """The protocol of what the catalog has under that name."""
    for protocol in PROTOCOLS.values():
        if dataset_name == protocol.dataset_name:
            return protocol
    raise LocaterError(f"Nobody takes submissions for {dataset_name}; there are protocols for {', '.join(PROTOCOLS)}.")


def write_submission(path: Path, protocol: Protocol, dataset: Dataset, samples: Sequence[SampleScore]) -> None:
    """The zip, whole or not at all; the same answers give the same bytes."""
    pictures = _palette_pictures if protocol.is_palette else _binary_pictures
    with atomic_path(path) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for name, content in pictures(dataset, samples):
            archive.writestr(zipfile.ZipInfo(f"{protocol.root}{name}", (1980, 1, 1, 0, 0, 0)), content)


def frame_names(source: FrameSource, video: str) -> Sequence[str]:
    """The published names of a video's frames."""
    names: Sequence[str] | None = getattr(source, "frame_names", None)
    if names is None:
        raise LocaterError(f"The frames of {video} have no published names; a submission needs the official frames.")
    return names


def binary_png(mask: Mask) -> bytes:
    """A PNG of 0 and 255."""
    return _png(Image.fromarray(np.where(mask, 255, 0).astype(np.uint8)))


def palette_png(numbers: npt.NDArray[np.uint8]) -> bytes:
    """A PNG of object numbers with DAVIS's colours."""
    image = Image.frombytes("P", (numbers.shape[1], numbers.shape[0]), numbers.tobytes())
    image.putpalette(DAVIS_PALETTE.reshape(-1).tolist())
    return _png(image)


def _png(image: Image.Image) -> bytes:
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def _binary_pictures(dataset: Dataset, samples: Sequence[SampleScore]) -> Iterator[tuple[str, bytes]]:
    """`<video>/<expression id>/<frame>.png`; the question's key is already the first two."""
    for sample in samples:
        names = frame_names(dataset.load(sample.info).frames, sample.info.video)
        for index, name in enumerate(names):
            yield f"{sample.info.key}/{name}.png", binary_png(sample.predictions[index].mask())


def _palette_pictures(dataset: Dataset, samples: Sequence[SampleScore]) -> Iterator[tuple[str, bytes]]:
    """`anno_<n>/<video>/<frame>.png`, n counting the annotations in the order of their names."""
    annotations = sorted({sample.info.annotation for sample in samples})
    groups: dict[tuple[int, str], list[SampleScore]] = {}
    for sample in samples:
        groups.setdefault((annotations.index(sample.info.annotation), sample.info.video), []).append(sample)
    for number, video in sorted(groups):
        objects = groups[number, video]
        for index, name in enumerate(frame_names(dataset.load(objects[0].info).frames, video)):
            masks = [sample.predictions[index].mask() for sample in objects]
            numbers = np.zeros(masks[0].shape, dtype=np.uint8)
            for sample, mask in zip(objects, masks, strict=True):
                numbers[mask] = int(sample.info.object_id or 0)
            yield f"anno_{number}/{video}/{name}.png", palette_png(numbers)
