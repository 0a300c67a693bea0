"""Clips as the fixed part of a network sees them: computed once up to V, kept on the device, drawn again and again.

Time is learned from hundreds of thousands of clips. Where everything up to V is frozen, most of a step would compute
the same numbers again whenever a clip comes back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch
from einops import rearrange
from torch import Tensor
from torch.nn import functional as F

from locater.compute.precision import mixed
from locater.errors import LocaterError
from locater.model.locater import Locater
from locater.records import Batch

CELL = 4  # pixels per side of the cells in which masks are kept: the patch grid's own logits are no finer
_GRADES = 255  # a cell's share of the mask, as a byte


@dataclass(frozen=True)
class FeatureBatch:
    """B clips with E expressions each, those of one clip side by side, and what a step on them learns from."""

    values: Tensor  # V (B * E, T, P, D), fp16
    words: Tensor  # (B * E, W, D)
    is_padding: Tensor  # (B * E, W) bool
    times: Tensor  # (B, T, 2)
    masks: Tensor  # (B * E, T, h, w) in [0, 1]: of each cell, how much the mask covers
    is_seen: Tensor  # (B * E, T) bool: of whole masks, as a small thing fills half of no cell
    is_annotated: Tensor  # (B * E, T) bool
    motion_targets: Tensor | None  # (B, T, C + 1, rows, columns), pooled to the patch grid
    grid: tuple[int, int]


@torch.no_grad()
def features_of(model: Locater, batch: Batch, precision: str) -> FeatureBatch:
    """What the part of the network before its memory makes of a batch, with nothing left out at random."""
    was_training = model.training
    model.eval()
    with mixed(precision, batch.frames.device):
        words = model.text(model.read(batch.expressions))
        clip = model.fuse(model.visual(batch.frames), batch.times, words)
    model.train(was_training)
    height, width = (max(1, side // CELL) for side in batch.masks.shape[-2:])
    targets = batch.motion_targets
    return FeatureBatch(
        values=clip.values.half(),
        words=words.features.float(),
        is_padding=words.is_padding,
        times=batch.times,
        masks=F.adaptive_avg_pool2d(batch.masks.float(), (height, width)),
        is_seen=batch.is_seen,
        is_annotated=batch.is_annotated,
        motion_targets=None if targets is None else _pooled(targets, clip.grid),
        grid=clip.grid,
    )


class FeatureCache:
    """The features of so many clips, on the device."""

    def __init__(self, clips: int, batches: Iterator[FeatureBatch]) -> None:
        """Room for all is taken at the first batch, so that no clip is held twice; batches past `clips` are cut."""
        self.clips = clips
        self._stored: dict[str, Tensor] = {}
        filled = 0
        for batch in batches:
            self.grid = batch.grid
            count = min(len(batch.times), clips - filled)
            for name, tensor in _to_store(batch).items():
                if name not in self._stored:
                    self._stored[name] = self._room(tensor)
                self._stored[name][filled : filled + count] = tensor[:count]
            filled += count

    def draw(self, places: Tensor) -> FeatureBatch:
        """The clips at these places, as one batch."""
        drawn = {name: tensor[places].flatten(0, 1) for name, tensor in self._stored.items()}
        targets = drawn.get("motion_targets")
        return FeatureBatch(
            values=drawn["values"],
            words=drawn["words"],
            is_padding=drawn["is_padding"],
            times=drawn["times"],
            masks=drawn["masks"].float() / _GRADES,
            is_seen=drawn["is_seen"],
            is_annotated=drawn["is_annotated"],
            motion_targets=None if targets is None else targets.float(),
            grid=self.grid,
        )

    def _room(self, example: Tensor) -> Tensor:
        try:
            return example.new_empty(self.clips, *example.shape[1:])
        except torch.OutOfMemoryError:
            size = self.clips * example[0].numel() * example.element_size()
            raise LocaterError(
                f"The features of {self.clips} clips take {size / 1e9:.0f} GB, more than the device has left; "
                "lower training.cached_clips."
            ) from None


def _to_store(batch: FeatureBatch) -> dict[str, Tensor]:
    """The batch's tensors as they are kept, (B, E or 1, ...) each."""
    tensors = {field.name: getattr(batch, field.name) for field in fields(batch)}
    stored = {
        name: rearrange(tensor, "(b e) ... -> b e ...", b=len(batch.times))
        for name, tensor in tensors.items()
        if isinstance(tensor, Tensor)
    }
    stored["masks"] = (stored["masks"] * _GRADES).round().byte()
    if "motion_targets" in stored:
        stored["motion_targets"] = stored["motion_targets"].half()
    return stored


def _pooled(targets: Tensor, grid: tuple[int, int]) -> Tensor:
    return rearrange(F.adaptive_avg_pool2d(targets.flatten(0, 1), grid), "(b t) ... -> b t ...", b=len(targets))
