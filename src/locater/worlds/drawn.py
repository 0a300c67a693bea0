"""Videos that are drawn as they are asked for, as the frame sources, masks and datasets that all stages read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from locater.errors import LocaterError
from locater.records import Frame, Mask, Sample, SampleInfo, VideoInfo
from locater.worlds.seeds import KINDS, parts_of_seed, video_seed

_FRAMES_AT_ONCE = 8

Draw = Callable[[Sequence[int]], tuple[Tensor, Tensor]]  # frame numbers to frames (T, 3, S, S), masks (T, N, S, S)


class DrawnVideo:
    """A scene's frames, drawn as they are asked for."""

    def __init__(self, name: str, size: int, frame_count: int, frames_per_second: float, draw: Draw) -> None:
        self.size = size
        self.info = VideoInfo(
            name=name,
            width=size,
            height=size,
            frame_count=frame_count,
            frames_per_second=frames_per_second,
            duration=frame_count / frames_per_second,
        )
        self._frame_count = frame_count
        self._frames_per_second = frames_per_second
        self._draw = draw

    @property
    def is_repeatable(self) -> bool:
        """Always."""
        return True

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..., a few drawn at once."""
        indices = list(range(start, self._frame_count, every))
        for first in range(0, len(indices), _FRAMES_AT_ONCE):
            some = indices[first : first + _FRAMES_AT_ONCE]
            pixels, _ = self._draw(some)
            images = (pixels.permute(0, 2, 3, 1) * 255).round().to(torch.uint8).cpu().numpy()
            for index, image in zip(some, images, strict=True):
                yield Frame(index, index / self._frames_per_second, image)

    def masks(self, actor: int | None) -> Mapping[int, Mask]:
        """The visible mask of one of the scene's actors in every frame, drawn when first asked for; None: empty."""
        return _Masks(self._draw, self._frame_count, self.size, actor)


class DrawnWorld(ABC):
    """`count` videos of one split, one question each, the kinds in turn; a `records.Dataset`."""

    label: ClassVar[str]  # the world's name

    def __init__(
        self, split: str, count: int, size: int, kinds: Sequence[str], frame_count: int, frames_per_second: float
    ) -> None:
        if not kinds:
            raise LocaterError(f"a world needs at least one kind of sentence; choose from {', '.join(KINDS)}.")
        self.split = split
        self.size = size
        self.frame_count = frame_count
        self.frames_per_second = frames_per_second
        self._seeds = [video_seed(split, kinds[index % len(kinds)], index // len(kinds)) for index in range(count)]

    @abstractmethod
    def load(self, info: SampleInfo) -> Sample:
        """One question's frames and masks, drawn lazily; every frame is annotated."""

    @abstractmethod
    def _asked(self, seed: int) -> tuple[str, int]:
        """The sentence of a seed's scene, and how many objects it has."""

    @property
    def name(self) -> str:
        """A short name for reports."""
        return f"{self.label}-{self.split}"

    def samples(self) -> Sequence[SampleInfo]:
        """Every question, the kinds in turn; key `test/motion/000123` is the 123rd motion video of the test split."""
        return self._samples

    @cached_property
    def _samples(self) -> tuple[SampleInfo, ...]:
        return tuple(self._info(seed) for seed in self._seeds)

    def _info(self, seed: int) -> SampleInfo:
        split, kind, number = parts_of_seed(seed)
        expression, object_count = self._asked(seed)
        return SampleInfo(
            key=f"{split}/{kind}/{number:06d}",
            video=f"{self.label}-{seed}",
            expression=expression,
            kind=kind,
            object_count=object_count,
        )


class _Masks(Mapping[int, Mask]):
    def __init__(self, draw: Draw, frame_count: int, size: int, actor: int | None) -> None:
        self._draw = draw
        self._frame_count = frame_count
        self._size = size
        self._actor = actor

    @cached_property
    def _masks(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        if self._actor is None:
            return np.zeros((self._frame_count, self._size, self._size), dtype=np.bool_)
        _, masks = self._draw(range(self._frame_count))
        return np.ascontiguousarray(masks[:, self._actor].cpu().numpy())

    def __getitem__(self, index: int) -> Mask:
        if not 0 <= index < self._frame_count:
            raise KeyError(index)
        mask: Mask = self._masks[index]
        return mask

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._frame_count))

    def __len__(self) -> int:
        return self._frame_count
