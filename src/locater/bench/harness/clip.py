"""A clip that is on the device already, and the network over it from frames to masks, as the segmenter runs it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from locater.bench.harness.request import BenchRequest
from locater.compute.cuda_graph import CapturedGraph
from locater.config import ModelConfig, preset
from locater.inference.async_results import THRESHOLD
from locater.inference.chunk_length import chunk_frames_of
from locater.inference.chunks import Chunks, Plan
from locater.model.build import build
from locater.model.cast_model import cast_model
from locater.model.locater import Locater
from locater.records import Frame, Tokens, Words
from locater.video.transforms import resize_soft

WORDS = 20  # section 4.2, runtime analysis: "a text sequence of 20 words length"
_VOCABULARY = tuple(f"word{number}" for number in range(WORDS))


@dataclass(frozen=True)
class DeviceClip:
    """Frames at the network's own size, their times and the sentences, all on the device."""

    frames: Tensor  # (1, T, 3, S, S) in [0, 1]
    times: Tensor  # (1, T, 2)
    tokens: Tokens


def preset_config(request: BenchRequest, image_size: int | None = None) -> ModelConfig:
    """The preset with the benchmark's twenty words, at another size if one is given."""
    has_words = preset(request.preset).text.kind != "huggingface"
    size = {} if image_size is None else {"image_size": image_size}
    return preset(request.preset, {**size, **({"text": {"vocabulary": _VOCABULARY}} if has_words else {})})


def preset_model(request: BenchRequest, image_size: int | None = None) -> Locater:
    """The preset's network with random weights, on the device."""
    return build(preset_config(request, image_size), seed=0).to(request.device).eval()


def chunks_of(request: BenchRequest, model: Locater, is_replayed: bool = False, is_compiled: bool = False) -> Chunks:
    """The network in the precision request for, as the segmenter has it."""
    return Chunks(cast_model(model, request.dtype), is_replayed, is_compiled=is_compiled)


def sentences_of(count: int) -> list[str]:
    """So many sentences of twenty words, each in another order."""
    return [" ".join(_VOCABULARY[place:] + _VOCABULARY[:place]) for place in range(count)]


def make_clip(model: Locater, frames: int, sentences: int, device: torch.device) -> DeviceClip:
    """Smooth moving colours and sentences of twenty words, the same at every call."""
    size = model.config.image_size
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(frames, 3, 8, 8, generator=generator).to(device)
    pixels = torch.nn.functional.interpolate(coarse, size=(size, size), mode="bilinear")
    seconds = torch.arange(frames, device=device) / 24
    return DeviceClip(
        frames=pixels.clamp(0, 1)[None],
        times=torch.stack([seconds, torch.arange(frames, device=device) / frames], dim=-1)[None],
        tokens=model.text.trimmed(model.text.tokenize(sentences_of(sentences))).to(device),
    )


def in_chunks(chunks: Chunks, clip: DeviceClip, chunk: int | None = None, own: Sequence[Frame] = ()) -> Tensor:
    """Logits (E, T, h, w) as the segmenter computes them: sampled frames first, then chunk by chunk.

    With the video's `own` frames masks are redrawn in their pixels too, where the chunks' effort asks for it.
    """
    words = chunks.read(clip.tokens)
    state = chunks.model.initial_state(words)
    count = clip.frames.shape[1]
    length = chunk_frames_of(chunks.device, len(words.expressions)) if chunk is None else chunk
    if count <= length and not own:
        return _at_once(chunks, clip, words, is_full=count == length)
    interval = chunks.model.config.memory.interval
    if state.global_cells.shape[1]:
        for frames, times in _pieces(clip.frames[:, ::interval], clip.times[:, ::interval], length):
            samples, is_full = tuple(range(frames.shape[1])), frames.shape[1] == length
            state = chunks.write_global(frames, times, words, state, samples, is_full)
    logits: list[Tensor] = []
    for frames, times in _pieces(clip.frames, clip.times, length):
        found = chunks.segment(frames, times, words, state, Plan(), is_full=frames.shape[1] == length)
        some = own[len(logits) * length :][:length]
        logits.append((chunks.in_own_pixels(found, some) if some else found).logits)
        state = found.states[-1]
    return torch.cat(logits, dim=1)


def at_once(chunks: Chunks, clip: DeviceClip) -> Tensor:
    """The same logits where the whole clip fits: every frame is encoded once, for both memories."""
    return _at_once(chunks, clip, chunks.read(clip.tokens), is_full=False)


def _at_once(chunks: Chunks, clip: DeviceClip, words: Words, is_full: bool) -> Tensor:
    state = chunks.model.initial_state(words)
    has_global = bool(state.global_cells.shape[1])
    samples = range(0, clip.frames.shape[1], chunks.model.config.memory.interval) if has_global else ()
    return chunks.segment(clip.frames, clip.times, words, state, Plan(tuple(samples)), is_full).logits


def network_masks(logits: Tensor, size: int) -> Tensor:
    """Masks (E, T, S, S) at the network's own size, all frames resized in one go."""
    return torch.stack([resize_soft(soft, size, size) > THRESHOLD for soft in logits.float().sigmoid()])


def captured_clip(chunks: Chunks, clip: DeviceClip) -> Callable[[], Tensor]:
    """`at_once` as one CUDA graph, the text encoder too, fed with the clip at every call."""

    def whole(frames: Tensor, times: Tensor, numbers: Tensor, owners: Tensor) -> tuple[Tensor]:
        tokens = replace(clip.tokens, numbers=numbers, word_of_token=owners)
        return (at_once(chunks, DeviceClip(frames, times, tokens)),)

    inputs = clip.frames, clip.times, clip.tokens.numbers, clip.tokens.word_of_token
    graph = CapturedGraph(whole, *inputs)
    return lambda: graph(*inputs)[0]


def _pieces(frames: Tensor, times: Tensor, length: int) -> Iterator[tuple[Tensor, Tensor]]:
    return zip(torch.split(frames, length, dim=1), torch.split(times, length, dim=1), strict=True)
