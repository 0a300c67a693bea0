"""Training batches of annotated datasets: clips around annotated frames, global frames from the whole video."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from random import Random

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.records import Batch, Dataset, FrameSource, Mask, Sample, SampleInfo
from locater.training.data.batches import NUMBERS_PER_SEED, joined
from locater.video.transforms import frame_times, frames_to_tensor


class DatasetData:
    """Clips of a dataset's training split; every sentence once an epoch, in an order that the seed decides.

    A clip is consecutive frames, a stride apart, that hold an annotated one; the loss sees annotated frames alone.
    Masks are brought to the network's input size, since a batch has one size.
    """

    def __init__(self, training: Dataset, validation: Dataset | None, size: int, config: TrainingConfig) -> None:
        self.training = training
        self.validation_set = validation
        self.size = size
        self.config = config
        if not training.samples():
            raise LocaterError(f"The dataset {training.name} holds no sentences to train on; check the folder.")

    @property
    def kinds(self) -> Sequence[str]:
        """The validation split's kinds; where it names none, one for all."""
        samples = () if self.validation_set is None else self.validation_set.samples()
        return sorted({info.kind or "all" for info in samples})

    @property
    def clip_count(self) -> int:
        """Sentences in an epoch."""
        return len(self.training.samples())

    def words(self) -> Sequence[str]:
        """Every training sentence."""
        return [info.expression for info in self.training.samples()]

    def pictures(self) -> Mapping[str, int]:
        """None that it knows of: which word of a sentence is the name nobody says."""
        return {}

    def seen(self, clips: int) -> Mapping[str, int]:  # noqa: ARG002 (all are its own)
        """Nothing: there is one source."""
        return {}

    def plan(self, numbers: Sequence[int], progress: float) -> Batch:  # noqa: ARG002 (datasets have no curriculum)
        """The clips themselves, on the CPU."""
        return joined([self._clip(self.training, self._info(number), Random(number)) for number in numbers])

    def draw(self, plan: Batch, device: torch.device) -> Batch:
        """The batch, moved."""
        return plan.to(device)

    def validation(self, kind: str, numbers: Sequence[int]) -> Batch:
        """Clips of the validation split's first sentences of a kind, as many as there are."""
        assert self.validation_set is not None
        infos = [info for info in self.validation_set.samples() if (info.kind or "all") == kind]
        chosen = [infos[number] for number in numbers if number < len(infos)] or infos[:1]
        return joined([self._clip(self.validation_set, info, Random(0)) for info in chosen])

    def _info(self, number: int) -> SampleInfo:
        seed, clip = divmod(number, NUMBERS_PER_SEED)
        epoch, place = divmod(clip, self.clip_count)
        return self.training.samples()[_order(seed, epoch, self.clip_count)[place]]

    def _clip(self, dataset: Dataset, info: SampleInfo, rng: Random) -> Batch:
        sample = dataset.load(info)
        count = sample.frames.info.frame_count or 1
        clip = self._clip_indices(sorted(sample.masks), count, rng)
        spread = [index * count // self.config.global_frames for index in range(self.config.global_frames)]
        pixels, times = _read(sample.frames, clip + spread, self.size)
        masks, is_annotated = self._masks(sample, clip)
        frames = self.config.clip_frames
        return Batch(
            frames=pixels[None, :frames],
            times=times[None, :frames],
            global_frames=pixels[None, frames:],
            global_times=times[None, frames:],
            expressions=(info.expression,),
            masks=masks[None],
            is_annotated=is_annotated[None],
        )

    def _clip_indices(self, annotated: list[int], count: int, rng: Random) -> list[int]:
        """Frames around an annotated one, which and at what stride is drawn; a short video repeats its ends."""
        frames = self.config.clip_frames
        stride = rng.choice(self.config.clip_strides) or max(1, count // frames)
        anchor = rng.choice(annotated) if annotated else rng.randrange(count)
        start = anchor - stride * rng.randrange(frames)
        return [min(max(start + stride * index, 0), count - 1) for index in range(frames)]

    def _masks(self, sample: Sample, clip: list[int]) -> tuple[Tensor, Tensor]:
        masks = torch.zeros(len(clip), self.size, self.size)
        is_annotated = torch.tensor([index in sample.masks for index in clip])
        for place, index in enumerate(clip):
            if is_annotated[place]:
                masks[place] = _resized(sample.masks[index], self.size)
        return masks, is_annotated


@lru_cache(maxsize=4)
def _order(seed: int, epoch: int, count: int) -> list[int]:
    order = list(range(count))
    Random(f"{seed}/{epoch}").shuffle(order)
    return order


def _read(source: FrameSource, indices: list[int], size: int) -> tuple[Tensor, Tensor]:
    """Frames (T, 3, S, S) and times (T, 2); where a file ends earlier than it says, its last frame stands in."""
    wanted = sorted(set(indices))
    step = math.gcd(*(later - earlier for earlier, later in pairwise(wanted))) or 1
    found = {}
    for frame in source.frames(start=wanted[0], every=step):
        found[frame.index] = frame
        if frame.index >= wanted[-1]:
            break
    if not found:
        raise LocaterError(f"{source.info.name} ends before frame {wanted[0]}; check it with `locater data check`.")
    last = found[max(found)]
    frames = [found.get(index, last) for index in indices]
    times = frame_times(frames, source.info.duration)
    return frames_to_tensor([frame.pixels for frame in frames], (size, size)), times


def _resized(mask: Mask, size: int) -> Tensor:
    """The mask at (S, S): a pixel is in it where more than half of what it stands for is."""
    area = torch.from_numpy(mask.astype(np.float32))[None, None]
    return (F.interpolate(area, size=(size, size), mode="bilinear", antialias=True)[0, 0] > 0.5).float()
