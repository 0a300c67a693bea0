"""How well each of several mask sequences goes with a sentence, by a grounding module."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from locater.compute.device import find_device
from locater.errors import LocaterError
from locater.model.grounding.files import load_grounding
from locater.model.grounding.grounding import Grounding, Scene
from locater.model.locater import Locater
from locater.records import Frame, FrameSource, Mask
from locater.video.transforms import frame_times, frames_to_tensor

MASK_SIDE = 64  # masks are compared at this size: what is finer decides nothing

Candidate = Mapping[int, Mask]  # a mask sequence: masks by frame


class Scorer:
    """A grounding module with the network that it sees with."""

    def __init__(self, module: Grounding, backbone: Locater, device: str | None = None) -> None:
        place = find_device(device)
        self._device = place
        self._module = module.to(place).eval()
        self._backbone = backbone.to(place).eval()

    @classmethod
    def from_folder(cls, folder: str | Path, device: str | None = None) -> "Scorer":
        """The scorer of what `locater ensemble train` made."""
        return cls(*load_grounding(Path(folder)), device)

    @torch.inference_mode()
    def scores(self, source: FrameSource, expression: str, candidates: Sequence[Candidate]) -> list[float]:
        """Each candidate's likely IoU with what the sentence means, in [0, 1], from frames that all of them have."""
        if not candidates:
            raise LocaterError("There are no candidates to score; give at least one mask sequence.")
        common = sorted(set.intersection(*(set(each) for each in candidates)))
        if not common:
            raise LocaterError(f"The candidates of '{expression}' have no frame in common; give masks of all frames.")
        frames = _read(source, _spread(common, self._module.config.frames))
        shown = [frame.pixels for frame in frames]
        size = self._backbone.config.input_size(*shown[0].shape[:2])
        tensor = frames_to_tensor(shown, size, self._device)[None]
        times = frame_times(frames, source.info.duration)[None].to(self._device)
        tokens = self._backbone.text.trimmed(self._backbone.text.tokenize([expression]))
        words = self._backbone.text(tokens.to(self._device))
        masks = torch.stack([_coarse(each, frames) for each in candidates])[None].to(self._device)
        logits = self._module(Scene.of(self._backbone, tensor, times, words), masks)
        return [float(each) for each in logits[0].sigmoid().cpu()]


def _spread(indices: Sequence[int], count: int) -> list[int]:
    """Some of the frames, evenly spread."""
    places = np.linspace(0, len(indices) - 1, min(count, len(indices))).round().astype(int)
    return [indices[place] for place in dict.fromkeys(places.tolist())]


def _read(source: FrameSource, indices: Sequence[int]) -> list[Frame]:
    wanted, found = set(indices), []
    for frame in source.frames(start=indices[0]):
        if frame.index in wanted:
            found.append(frame)
        if frame.index >= indices[-1]:
            break
    if len(found) < len(indices):
        raise LocaterError(f"{source.info.name} ends before frame {indices[-1]}, of which there are masks; check both.")
    return found


def _coarse(candidate: Candidate, frames: Sequence[Frame]) -> Tensor:
    """(T, MASK_SIDE, MASK_SIDE) in [0, 1]."""
    return torch.stack([_at_side(candidate[frame.index]) for frame in frames])


def _at_side(mask: Mask) -> Tensor:
    area = torch.from_numpy(mask.astype(np.float32))[None, None]
    return F.interpolate(area, size=(MASK_SIDE, MASK_SIDE), mode="bilinear", antialias=True)[0, 0]
