"""The values that travel between stages, each with its shapes, and what every frame source and dataset offers.

The alphabet of shapes: B batch (expressions, when segmenting), T frames, P patches of a frame (the paper's N_v),
W word tokens (N_w), D width, G global cells (N_g), L local cells (N_l), S the side of the network's input.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import safetensors
import torch
from safetensors.torch import save as safetensors_bytes
from torch import Tensor

from locater.errors import LocaterError
from locater.frames import Frame as Frame  # noqa: PLC0414
from locater.frames import FrameSource as FrameSource  # noqa: PLC0414
from locater.frames import Pixels as Pixels  # noqa: PLC0414
from locater.frames import VideoInfo as VideoInfo  # noqa: PLC0414
from locater.io.atomic import atomic_path

Mask = npt.NDArray[np.bool_]  # (H, W)

SMALLEST_SCALE, LARGEST_SCALE = 0.25, 4.0  # of a view: one cell in sixteen is left; sixteen times as many are made


# ---- Datasets --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampleInfo:
    """One question to a video, known without reading it."""

    key: str  # unique in its dataset
    video: str
    expression: str
    kind: str = ""  # the kind of sentence: appearance, motion, absent, ...
    object_count: int | None = None  # in the video, for results by number of objects
    object_id: str | None = None  # the annotated object meant, where several sentences may mean one
    annotation: str = ""  # whose sentence it is, where a benchmark has several sets (Ref-DAVIS17)


@dataclass(frozen=True)
class Sample:
    """One question with its frames and its true masks."""

    info: SampleInfo
    frames: FrameSource
    masks: Mapping[int, Mask]  # by frame index; the keys are the annotated frames, an absent referent's masks are empty


class Dataset(Protocol):
    """What worlds, benchmarks, contrast sets and people's own folders have in common."""

    @property
    def name(self) -> str:
        """A short name for reports."""
        ...

    def samples(self) -> Sequence[SampleInfo]:
        """Every question, in a fixed order, without touching pixels."""
        ...

    def load(self, info: SampleInfo) -> Sample:
        """One question's frames and masks, read lazily."""
        ...


@dataclass(frozen=True)
class Batch:
    """What one training step sees: B clips, and E expressions of each, those of one clip side by side."""

    frames: Tensor  # (B, T, 3, S, S) in [0, 1]
    times: Tensor  # (B, T, 2): seconds, and the fraction of the video gone by (negative when unknown)
    global_frames: Tensor  # (B, T', 3, S, S), sampled from the whole video
    global_times: Tensor  # (B, T', 2)
    expressions: tuple[str, ...]  # B * E
    masks: Tensor  # (B * E, T, H, W) in {0, 1}; of a start's answers (`training.rehearsed`) in [0, 1]
    is_annotated: Tensor  # (B * E, T) bool
    # Of worlds alone: what the object at a place does in the whole video, weighted by how much of the place is an
    # object's, and in the last channel that weight.
    motion_targets: Tensor | None = None  # (B, T, C + 1, h, w)

    @property
    def is_seen(self) -> Tensor:
        """(B * E, T) bool: whether any pixel is the thing's; in a start's answer, more likely so than not."""
        return self.masks.flatten(2).amax(-1) > 0.5

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        return replace(
            self,
            frames=self.frames.to(device),
            times=self.times.to(device),
            global_frames=self.global_frames.to(device),
            global_times=self.global_times.to(device),
            masks=self.masks.to(device),
            is_annotated=self.is_annotated.to(device),
            motion_targets=None if self.motion_targets is None else self.motion_targets.to(device),
        )


# ---- Corrections -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Click:
    """A place in a frame, in pixels from its left upper corner, that belongs to the object or does not."""

    x: float
    y: float
    is_inside: bool = True


@dataclass(frozen=True)
class Correction:
    """What somebody says of one expression's mask in one frame: clicks, a box, or the mask itself."""

    frame: int
    expression: int = 0
    clicks: tuple[Click, ...] = ()
    box: tuple[float, float, float, float] | None = None  # left, top, right, bottom, in pixels
    mask: Mask | None = None


@dataclass(frozen=True)
class Followed:
    """How corrected objects look, by which the next frames find them again; of fixed size, as P and D are.

    Labels tell how much of a place is the object's: 0 to 1, and 0.5 where nobody knows.
    """

    is_followed: Tensor  # (B,) bool: the other rows hold nothing
    first_looks: Tensor  # (B, P, D) float16, of the corrected frame
    first_labels: Tensor  # (B, P)
    last_looks: Tensor  # (P, D) float16, of the last frame
    last_labels: Tensor  # (B, P)
    trust: Tensor  # (B,): how much the network's own answer counts beside it


# ---- Views -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Views:
    """In which sizes a video is segmented, and whether mirrored as well; the soft masks of all views are averaged."""

    scales: tuple[float, ...] = (1.0,)  # of the network's own input size, the largest first
    flip: bool = False  # each scale once more as its mirror image, with left and right exchanged in the words

    def __post_init__(self) -> None:
        if not self.scales or not all(SMALLEST_SCALE <= scale <= LARGEST_SCALE for scale in self.scales):
            raise LocaterError(
                f"Scales lie between {SMALLEST_SCALE} and {LARGEST_SCALE}, and there is at least one; "
                f"these are {', '.join(map(str, self.scales)) or 'none'}."
            )
        object.__setattr__(self, "scales", tuple(sorted({float(scale) for scale in self.scales}, reverse=True)))

    def __str__(self) -> str:
        return ",".join(f"{scale:g}" for scale in self.scales) + (" and mirrored" if self.flip else "")

    @property
    def each(self) -> tuple[tuple[float, bool], ...]:
        """Every view: its scale, and whether it is mirrored."""
        return tuple((scale, side) for scale in self.scales for side in ((False, True) if self.flip else (False,)))

    def chunk_frames(self, frames: int) -> int:
        """How many frames go together, so that the largest view holds no more pixels than `frames` at scale 1."""
        return max(1, int(frames / max(1.0, self.scales[0]) ** 2)) if frames > 0 else frames


# ---- Inside the network ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tokens:
    """Expressions as numbers, ready for a text encoder."""

    numbers: Tensor  # (B, W') int, with whatever special tokens the encoder wants
    word_of_token: Tensor  # (B, W') int: which of `words` a token belongs to; -1 on padding and special tokens
    expressions: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]  # as a person reads them
    notices: tuple[str, ...]  # what was cut or is unknown, one sentence each, for a person
    not_understood: tuple[str, ...] = ()  # which nouns are unknown, a clause an expression that has such
    # False only where it is certain that all rows have equally many words and no room beside them: then nothing needs
    # a mask. Whoever feeds other rows to the same computation, as a captured training step does, leaves it at True.
    may_be_padded: bool = True

    def to(self, device: torch.device) -> "Tokens":
        """The same tokens on another device."""
        return replace(self, numbers=self.numbers.to(device), word_of_token=self.word_of_token.to(device))


@dataclass(frozen=True)
class Words:
    """Encoded expressions."""

    features: Tensor  # (B, W, D)
    is_padding: Tensor  # (B, W) bool
    word_of_token: Tensor  # (B, W) int: which of `words` a token belongs to; -1 on padding
    expressions: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    may_be_padded: bool = True  # as of `Tokens`
    # (B, W, E + C): what each means by itself, a direction, and the colour that it names; zeros where it means nothing.
    meanings: Tensor | None = None

    def attention_by_word(self, attention: Tensor) -> list[list[tuple[str, float]]]:
        """Each expression's words with their weights, sub-words summed; `attention` is (B, W)."""
        weights = attention.detach().float().cpu()
        owners = self.word_of_token.cpu()
        result: list[list[tuple[str, float]]] = []
        for row, own, words in zip(weights, owners, self.words, strict=True):
            real = own >= 0
            sums = torch.zeros(len(words)).index_add_(0, own[real], row[real])
            result.append(list(zip(words, sums.tolist(), strict=True)))
        return result


@dataclass(frozen=True)
class VisualFeatures:
    """What a visual encoder makes of frames."""

    patches: Tensor  # (B, T, P, D)
    early: tuple[Tensor, ...]  # finer maps for the fine readout, finest first, each (B, T, C, h, w); may be empty
    grid: tuple[int, int]  # rows and columns, P = rows * columns
    # (B, T, P, E + C): what a patch is taken for, where the encoder tells, among words' meanings, and its colours.
    meanings: Tensor | None = None
    # (B T, r, c, classes): the classifier's logits, where there is one; training alone asks.
    class_scores: Tensor | None = None

    @classmethod
    def joined(cls, parts: Sequence["VisualFeatures"]) -> "VisualFeatures":
        """The features of frames that come one after the other, as those of one clip."""
        meanings = [part.meanings for part in parts if part.meanings is not None]
        return cls(
            patches=torch.cat([part.patches for part in parts], dim=1),
            early=tuple(torch.cat(maps, dim=1) for maps in zip(*(part.early for part in parts), strict=True)),
            grid=parts[0].grid,
            meanings=torch.cat(meanings, dim=1) if meanings else None,
        )


@dataclass(frozen=True)
class VideoState:
    """All that a video's past leaves behind: a value of fixed size, whatever the video's length.

    The last mask is not kept: it is written into the local memory by the step that made it (Eq. 6). Where a video is
    seen in several views, each has rows of its own: B is then views times expressions, view by view.
    """

    global_cells: Tensor  # (B, G, D)
    local_cells: Tensor  # (B, L, D)
    frame_index: int  # the next frame to segment
    is_global_complete: bool  # True: written once from the whole video; False: not yet, or as frames arrive (live)
    expressions: tuple[str, ...]
    evidence: Tensor | None = None  # (B, D + 1) float: what was marked so far, where a network asks whether it is meant
    looks: Tensor | None = None  # (B, 3) float: the second look's mean verdicts, and how many looks they are of
    followed: Followed | None = None  # the objects that were corrected in frames before
    views: Views = Views()
    global_index: int | None = None  # while the global memory is written from a whole video: the next frame to look at

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All that it holds of numbers."""
        held = {"global_cells": self.global_cells, "local_cells": self.local_cells}
        others = {"evidence": self.evidence, "looks": self.looks}
        held |= {name: tensor for name, tensor in others.items() if tensor is not None}
        return held if self.followed is None else held | vars(self.followed)

    @property
    def nbytes(self) -> int:
        """Bytes of all of it."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())

    def save(self, path: str | Path) -> None:
        """Write one safetensors file, whole or not at all."""
        metadata = {
            "frame_index": str(self.frame_index),
            "is_global_complete": json.dumps(self.is_global_complete),
            "expressions": json.dumps(self.expressions),
            "views": json.dumps([self.views.scales, self.views.flip]),
            "global_index": "" if self.global_index is None else str(self.global_index),
        }
        tensors = {name: tensor.contiguous() for name, tensor in self.tensors.items()}
        with atomic_path(Path(path)) as partial:
            partial.write_bytes(safetensors_bytes(tensors, metadata))

    @classmethod
    def load(cls, path: str | Path, device: str | torch.device = "cpu") -> "VideoState":
        """The state that `save` wrote."""
        told = f"{path} is no saved video state; make one with VideoState.save."
        if not Path(path).is_file():  # nor a pipe, which would be waited for
            raise LocaterError(told)
        try:
            with safetensors.safe_open(str(path), framework="pt", device=str(device)) as file:
                metadata = file.metadata()
                held = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                followed = {each.name: held[each.name] for each in fields(Followed) if each.name in held}
                scales, flip = json.loads(metadata.get("views", "[[1.0], false]"))
                state = cls(
                    global_cells=held["global_cells"],
                    local_cells=held["local_cells"],
                    evidence=held.get("evidence"),
                    looks=held.get("looks"),
                    followed=Followed(**followed) if followed else None,
                    frame_index=int(metadata["frame_index"]),
                    is_global_complete=json.loads(metadata["is_global_complete"]),
                    expressions=tuple(json.loads(metadata["expressions"])),
                    views=Views(tuple(scales), flip),
                    global_index=int(index) if (index := metadata.get("global_index")) else None,
                )
                state.check()
        except (OSError, KeyError, TypeError, ValueError, RecursionError, safetensors.SafetensorError):
            raise LocaterError(told) from None
        return state

    def check(self) -> None:
        """Nothing, for a state that can be one: a ValueError where a file holds something else."""
        rows, width = self.global_cells.shape[0], self.global_cells.shape[-1]
        shapes = {"global_cells": (rows, None, width), "local_cells": (rows, None, width), "looks": (rows, 3)}
        shapes |= {"evidence": (rows, width + 1), "is_followed": (rows,), "trust": (rows,)}
        shapes |= {"first_looks": (rows, None, None), "first_labels": (rows, None), "last_labels": (rows, None)}
        shapes["last_looks"] = (None, None)  # of the encoder's own width
        for name, tensor in self.tensors.items():
            known = shapes[name]
            is_fit = tensor.ndim == len(known) and all(a in (None, b) for a, b in zip(known, tensor.shape, strict=True))
            is_number = tensor.dtype == torch.bool if name == "is_followed" else tensor.is_floating_point()
            if not (is_fit and is_number and bool(tensor.isfinite().all())):
                raise ValueError(name)
        is_said = bool(self.expressions) and all(isinstance(text, str) for text in self.expressions)
        if not is_said or rows % len(self.expressions) or self.frame_index < 0:
            raise ValueError("expressions")
        if not isinstance(self.is_global_complete, bool):
            raise ValueError("is_global_complete")

    def to(self, device: torch.device) -> "VideoState":
        """The same state on another device."""
        moved: dict[str, Any] = {name: tensor.to(device) for name, tensor in self.tensors.items()}
        if self.followed is not None:
            moved["followed"] = Followed(**{each.name: moved.pop(each.name) for each in fields(Followed)})
        return replace(self, **moved)


@dataclass(frozen=True)
class FramePrediction:
    """What one step says of one frame, at the network's own resolution."""

    logits: Tensor  # (B, h, w): the patch grid, or finer
    query_attention: Tensor  # a_t (B, W): the words' shares in the query, Eq. 10
    context: Tensor  # G_t (B, P, D)
    query: Tensor  # q_t (B, D)
    patch_logits: Tensor  # (B, P): before any upsampling
    presence: Tensor | None = None  # (B,): the logit of what was said being there at all, where a network tells it


# ---- Results ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FrameMasks:
    """One frame's masks, one an expression, at the source's own size: what writers write."""

    frame: Frame
    masks: npt.NDArray[np.bool_]  # (E, H, W)
    soft_masks: npt.NDArray[np.float32] | None  # (E, H, W) in [0, 1], when asked for
    presence: tuple[float, ...]  # an expression: mean of the top 1 % of its soft mask
    # An expression: how likely its mask is right, 0 where nothing is marked; None where a checkpoint cannot tell.
    score: tuple[float, ...] | None = field(default=None, kw_only=True)

    @property
    def confidence(self) -> tuple[float, ...]:
        """An expression: the score where there is one, else the presence, which is not calibrated."""
        return self.presence if self.score is None else self.score


@dataclass(frozen=True)
class FrameResult(FrameMasks):
    """All that the segmenter says of one frame."""

    # An expression: its words, weighted by how much the object looks at each.
    word_attention: tuple[tuple[tuple[str, float], ...], ...]
    state: VideoState  # after this frame; resume from it
