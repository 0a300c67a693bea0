"""A chunk's results on their way from the GPU: asked for at once, waited for only when somebody wants them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from einops import rearrange
from torch import Tensor
from torch.nn import functional as F

from locater.inference.chunks import ChunkMasks
from locater.model.decoder import presence
from locater.records import Frame, FrameResult, VideoState, Words
from locater.video.transforms import resize_soft

THRESHOLD = 0.5  # section 3.3, inference


@dataclass(frozen=True)
class AsyncResults:
    """The masks of a chunk, computed and being copied."""

    frames: Sequence[Frame]
    states: Sequence[VideoState]
    words: Words
    masks: Sequence[Tensor]  # a frame: (E, H, W), on the CPU once `copied`, as are the next three; from a GPU packed
    soft_masks: Sequence[Tensor]  # likewise, float; none unless asked for
    presence: Tensor  # (E, T)
    word_attention: Tensor  # (E, T, W)
    copied: torch.cuda.Event | None  # None: all of it was on the CPU from the start

    @classmethod
    def of(cls, frames: Sequence[Frame], found: ChunkMasks, words: Words, soft: bool) -> "AsyncResults":
        """Masks at each frame's own size; nothing here waits for the GPU."""
        small = found.logits.float().sigmoid()
        masks, soft_masks = [], []
        parts = found.parts or [()] * len(frames)
        for frame, each, redrawn in zip(frames, small.unbind(1), parts, strict=True):
            full = resize_soft(each, *frame.pixels.shape[:2])  # the soft mask is upsampled, then cut (section 3.2.3)
            for row, part in enumerate(redrawn):
                if part is not None:
                    part.onto(full[row])
            cut = full > THRESHOLD
            masks.append(_to_host(packed(cut) if cut.is_cuda else cut))
            soft_masks += [_to_host(full)] if soft else []
        sure = _to_host(presence(small.flatten(0, 1)).view(small.shape[:2]))
        attention = _to_host(found.word_attention.float())
        copied = None
        if small.is_cuda:
            copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            copied.record()
        return cls(frames, found.states, words, masks, soft_masks, sure, attention, copied)

    def results(self) -> list[FrameResult]:
        """Each frame's, when all are here."""
        if self.copied is not None:
            self.copied.synchronize()
        return [
            FrameResult(
                frame=frame,
                masks=self.masks[t].numpy() if self.copied is None else unpacked(self.masks[t], frame.pixels.shape[1]),
                soft_masks=_array(self.soft_masks[t]) if self.soft_masks else None,
                presence=tuple(self.presence[:, t].tolist()),
                word_attention=tuple(tuple(row) for row in self.words.attention_by_word(self.word_attention[:, t])),
                state=state,
            )
            for t, (frame, state) in enumerate(zip(self.frames, self.states, strict=True))
        ]


def packed(masks: Tensor) -> Tensor:
    """Masks (..., W) as bits, (..., ceil(W / 8)) uint8: an eighth of the bytes to copy and to hold in pinned memory."""
    whole = F.pad(masks.to(torch.uint8), (0, -masks.shape[-1] % 8))
    bits = rearrange(whole, "... (bytes eight) -> ... bytes eight", eight=8)
    places = torch.arange(7, -1, -1, dtype=torch.uint8, device=masks.device)  # the first pixel is the highest bit
    return torch.bitwise_left_shift(bits, places).sum(-1, dtype=torch.uint8)


def unpacked(bits: Tensor, width: int) -> npt.NDArray[np.bool_]:
    """The masks (..., W) that were packed."""
    return np.unpackbits(bits.numpy(), axis=-1, count=width).view(np.bool_)


def _to_host(tensor: Tensor) -> Tensor:
    """On the CPU; from a GPU into pinned memory, without waiting."""
    return tensor.to("cpu", non_blocking=True)


def _array(tensor: Tensor) -> npt.NDArray[Any]:
    """As an array of its own: pinned memory is scarce, and results may be kept."""
    array: npt.NDArray[Any] = tensor.numpy()
    return array.copy() if tensor.is_pinned() else array
