"""An explanation as numbers: words over time, the masks without each content word, and what the memories hold."""

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from locater.errors import LocaterError
from locater.explain.memory_trace import MemoryTrace, object_weights, trace_global, trace_local
from locater.inference.async_results import THRESHOLD
from locater.inference.segmenter import Segmenter
from locater.model.locater import ClipFeatures
from locater.records import Frame, FrameSource, Words
from locater.text.roles.lexicon import FUNCTION_WORDS
from locater.text.words import split_words
from locater.video.overlap import iou
from locater.video.transforms import frame_times, frames_to_tensor, resize_soft

Masks = npt.NDArray[np.bool_]  # (T, H, W)


@dataclass(frozen=True)
class RemovedWord:
    """What the sentence without one of its words marks."""

    word: str
    place: int  # among the sentence's words
    sentence: str
    masks: Masks
    overlaps: tuple[float, ...]  # a frame: IoU with the whole sentence's mask

    @property
    def mean_overlap(self) -> float:
        """Over the frames; 1 where the word makes no difference."""
        return float(np.mean(self.overlaps))


@dataclass(frozen=True)
class Explanation:
    """One sentence on the frames of a video that were looked at."""

    expression: str
    words: tuple[str, ...]
    frames: tuple[Frame, ...]
    masks: Masks
    word_attention: npt.NDArray[np.float64]  # (T, words): what the object looks at
    query_attention: npt.NDArray[np.float64]  # (T, words): Eq. 10
    removed: tuple[RemovedWord, ...]  # the content words, in their order
    global_memory: MemoryTrace | None
    local_memory: MemoryTrace | None  # its first row is the second frame: before the first nothing was written

    def numbers(self) -> dict[str, Any]:
        """All of it but pictures, for a JSON file."""
        return {
            "expression": self.expression,
            "words": list(self.words),
            "frames": [{"index": frame.index, "seconds": round(frame.timestamp, 4)} for frame in self.frames],
            "marked_share": [round(float(mask.mean()), 6) for mask in self.masks],
            "word_attention": self.word_attention.round(6).tolist(),
            "query_attention": self.query_attention.round(6).tolist(),
            "removed_words": [
                {
                    "word": each.word,
                    "place": each.place,
                    "sentence": each.sentence,
                    "mean_iou": round(each.mean_overlap, 6),
                    "iou": [round(overlap, 6) for overlap in each.overlaps],
                }
                for each in self.removed
            ],
            "global_memory": _memory_numbers(self.global_memory, first_reader=0),
            "local_memory": _memory_numbers(self.local_memory, first_reader=1),
        }


def explain(segmenter: Segmenter, source: FrameSource, expression: str, most_frames: int, anyway: bool) -> Explanation:
    """Why `expression` marks what it marks in up to `most_frames` frames, spread evenly over the video.

    These frames alone are read, and all of them are written to both memories, so that every mask can be followed. Masks
    are those before any refiner, which knows no words.
    """
    if segmenter.config.design == "authors":
        raise LocaterError(
            "The authors' network cannot be explained: its memories are written and read in another way."
        )
    segmenter.read_words((expression,), anyway)
    said = split_words(expression)
    content = [place for place, word in enumerate(said) if word.lower() not in FUNCTION_WORDS]
    shortened = [" ".join([*said[:place], *said[place + 1 :]]) for place in content if len(said) > 1]
    frames = _spread(source, most_frames)
    model, device = segmenter.model, segmenter.device
    with torch.inference_mode():
        words = model.text(model.text.trimmed(model.text.tokenize([expression, *shortened])).to(device))
        size = model.config.input_size(*frames[0].pixels.shape[:2])
        pixels = frames_to_tensor([frame.pixels for frame in frames], size, device)
        times = frame_times(frames, source.info.duration)
        clip = model.fuse(model.visual(pixels[None]), times[None].to(device), words, with_word_attention=True)
        start = model.initial_state(words)
        state = replace(model.write_global(clip.positioned, start), is_global_complete=True)
        predictions, states = model.decode_clip(clip, words, state)
        soft = torch.stack([model.answer(each) for each in predictions], dim=1).sigmoid()  # (E, T, h, w)
        masks = _at_size(soft, frames)
        weights, of_one = object_weights(soft[0], clip.grid), _first_row(clip)
        return Explanation(
            expression=expression,
            words=words.words[0],
            frames=tuple(frames),
            masks=masks[0].numpy(),
            word_attention=_by_word(words, model.deciding_words(clip, predictions)),
            query_attention=_by_word(words, torch.stack([each.query_attention for each in predictions], dim=1)),
            removed=tuple(
                RemovedWord(said[place], place, text, without.numpy(), tuple(iou(without, masks[0]).tolist()))
                for place, text, without in zip(content, shortened, masks[1:], strict=False)
            ),
            global_memory=trace_global(model, of_one, start.global_cells[:1], weights),
            local_memory=trace_local(model, of_one, predictions, states, weights),
        )


def _spread(source: FrameSource, most: int) -> list[Frame]:
    count = source.info.frame_count or most
    frames = list(islice(source.frames(every=-(-count // most)), most))
    if not frames:
        raise LocaterError("The source holds no frames; give a video with at least one.")
    return frames


def _first_row(clip: ClipFeatures) -> ClipFeatures:
    """The clip of the whole sentence alone."""
    return replace(clip, values=clip.values[:1], positioned=clip.positioned[:1], projected=clip.projected[:1])


def _at_size(soft: Tensor, frames: list[Frame]) -> Tensor:
    """Masks (E, T, H, W) at the video's size, on the CPU."""
    height, width = frames[0].pixels.shape[:2]
    return torch.stack([resize_soft(each.cpu(), height, width) > THRESHOLD for each in soft])


def _by_word(words: Words, attention: Tensor) -> npt.NDArray[np.float64]:
    """The first sentence's weights (T, words), from (B, T, W)."""
    rows = [words.attention_by_word(attention[:, t])[0] for t in range(attention.shape[1])]
    return np.array([[weight for _, weight in row] for row in rows])


def _memory_numbers(memory: MemoryTrace | None, first_reader: int) -> dict[str, Any] | None:
    if memory is None:
        return None
    return {
        "cells": memory.cells.shape[-1],
        "read_by": [
            {
                "frame": first_reader + place,
                "cells_in_use": round(float(used), 2),
                "written_from": [round(share, 6) for share in shares.tolist()],
            }
            for place, (used, shares) in enumerate(zip(memory.cells_in_use, memory.frame_shares, strict=True))
        ],
    }
