"""Candidate masks to learn from: the truth in several states of repair, other things, and what weak networks mark."""

from collections.abc import Sequence

import torch
from einops import rearrange
from torch import Tensor
from torch.nn import functional as F

from locater.model.locater import Locater
from locater.records import Batch

LIGHT, HEAVY = 0.03, 0.25  # of the side: how far a mask is shifted
_GROWN = 0.04  # of the side: how far its edge moves


def iou(masks: Tensor, truth: Tensor, is_annotated: Tensor) -> Tensor:
    """Mean IoU over annotated frames, (B, N), of candidates (B, N, T, h, w) with (B, T, h, w); both empty: 1."""
    one, other = masks > 0.5, (truth > 0.5)[:, None]
    union = (one | other).sum((-2, -1)).float()
    each = torch.where(union > 0, (one & other).sum((-2, -1)) / union.clamp(min=1), 1.0)  # (B, N, T)
    weights = is_annotated[:, None].float()
    return (each * weights).sum(-1) / weights.sum(-1).clamp(min=1)


@torch.no_grad()
def candidates_of(batch: Batch, weak: Sequence[Locater], generator: torch.Generator) -> Tensor:
    """Candidates (B E, N, T, H, W) of a batch's sentences, in an order that tells nothing.

    The objects of a sentence are its own, and those of other sentences of the same clip (of another clip, where there
    is one sentence a clip). All of them are there nearly right; one of them, whichever, badly wrong; two as one; one
    taken for another halfway; nothing at all; and the masks of each weak network. So no object is in more candidates
    than another: which one most of them agree on tells nothing either, and the sentence has to.
    """
    truth = batch.masks  # (B E, T, H, W)
    clips = len(batch.frames)
    each = len(truth) // clips
    of_clip = rearrange(truth, "(c e) t h w -> c e t h w", c=clips)
    turns = range(1, each) if each > 1 else range(1, 2)
    objects = [truth, *(of_clip.roll(turn, 1 if each > 1 else 0).flatten(0, 1) for turn in turns)]
    one, other = _two_of(torch.stack(objects, dim=1), generator)
    halfway = truth.shape[1] // 2
    found = [
        *(spoilt(each_object, LIGHT, generator) for each_object in objects),
        spoilt(one, HEAVY, generator),
        torch.maximum(one, other),
        torch.cat([one[:, :halfway], other[:, halfway:]], dim=1),
        torch.zeros_like(truth),
        *(_marked_by(network, batch) for network in weak),
    ]
    return _shuffled(torch.stack(found, dim=1), generator)


@torch.no_grad()
def candidates_as_in_use(batch: Batch, networks: Sequence[Locater], generator: torch.Generator) -> Tensor:
    """What networks mark and nothing else, (B E, N, T, H, W), in an order that tells nothing.

    Of each network: all that it marks, what of it is on the sentence's object, and what is elsewhere.
    """
    near = _edge_moved(batch.masks, max(1, round(_GROWN * batch.masks.shape[-1])))
    found = []
    for network in networks:
        marked = _marked_by(network, batch)
        found += [marked, marked * near, marked * (1 - near)]
    return _shuffled(torch.stack(found, dim=1), generator)


def _two_of(objects: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two different ones of each row's objects (B, O, T, H, W), any."""
    order = torch.argsort(torch.rand(objects.shape[:2], generator=generator), dim=1).to(objects.device)
    rows = torch.arange(len(objects), device=objects.device)
    return objects[rows, order[:, 0]], objects[rows, order[:, 1]]


def _shuffled(stacked: Tensor, generator: torch.Generator) -> Tensor:
    order = torch.argsort(torch.rand(stacked.shape[:2], generator=generator), dim=1).to(stacked.device)
    return stacked.gather(1, order[..., None, None, None].expand_as(stacked))


def spoilt(masks: Tensor, reach: float, generator: torch.Generator) -> Tensor:
    """Masks (B, T, H, W) shifted by up to `reach` of the side, grown or shrunk; a row is spoilt alike in all frames."""
    side = masks.shape[-1]
    spoilt_masks = torch.empty_like(masks)
    moves = ((torch.rand(len(masks), 2, generator=generator) * 2 - 1) * reach * side).round().int().tolist()
    grown = ((torch.rand(len(masks), generator=generator) * 2 - 1) * _GROWN * side).round().int().tolist()
    for row, ((down, right), edge) in enumerate(zip(moves, grown, strict=True)):
        spoilt_masks[row] = _shifted(_edge_moved(masks[row], edge), down, right)
    return spoilt_masks


def _edge_moved(masks: Tensor, pixels: int) -> Tensor:
    if pixels == 0:
        return masks
    size = 2 * abs(pixels) + 1
    sign = 1 if pixels > 0 else -1
    return sign * F.max_pool2d(sign * masks, size, stride=1, padding=abs(pixels))


def _shifted(masks: Tensor, down: int, right: int) -> Tensor:
    """Masks (T, H, W) moved; what leaves the frame is gone."""
    height, width = masks.shape[-2:]
    padded = F.pad(masks, (width, width, height, height))
    return padded[:, height - down : 2 * height - down, width - right : 2 * width - right]


def _marked_by(network: Locater, batch: Batch) -> Tensor:
    """What a network marks in a batch's clips, (B E, T, H, W)."""
    none = batch.frames[:, :0], batch.times[:, :0]
    logits = network(batch.frames, batch.times, *none, network.read(batch.expressions)).logits
    full = F.interpolate(logits.float(), batch.masks.shape[-2:], mode="bilinear", align_corners=False)
    return (full > 0).to(batch.masks.dtype)
