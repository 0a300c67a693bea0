"""A clip that is on the device already, and the network over it from frames to masks, as the segmenter runs it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from locater.bench.asked import Asked
from locater.bench.fast_paths import Captured
from locater.config import ModelConfig, preset
from locater.inference.segmenter import CHUNK_FRAMES, THRESHOLD
from locater.model.build import build
from locater.model.locater import ClipFeatures, Locater
from locater.records import Tokens, Words
from locater.video.transforms import resize_soft

WORDS = 20  # section 4.2, runtime analysis: "a text sequence of 20 words length"
_VOCABULARY = tuple(f"word{number}" for number in range(WORDS))


@dataclass(frozen=True)
class DeviceClip:
    """Frames at the network's own size, their times and the sentences, all on the device."""

    frames: Tensor  # (1, T, 3, S, S) in [0, 1]
    times: Tensor  # (1, T, 2)
    tokens: Tokens


def preset_config(asked: Asked, image_size: int | None = None) -> ModelConfig:
    """The preset with the benchmark's twenty words, at another size if one is given."""
    has_words = preset(asked.preset).text.kind != "huggingface"
    size = {} if image_size is None else {"image_size": image_size}
    return preset(asked.preset, {**size, **({"text": {"vocabulary": _VOCABULARY}} if has_words else {})})


def preset_model(asked: Asked, image_size: int | None = None) -> Locater:
    """The preset's network with random weights, on the device."""
    return build(preset_config(asked, image_size), seed=0).to(asked.device).eval()


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


def in_chunks(model: Locater, clip: DeviceClip, chunk: int = CHUNK_FRAMES) -> Tensor:
    """Logits (E, T, h, w) as the segmenter computes them: sampled frames first, then chunk by chunk."""
    words = model.text(clip.tokens)
    state = model.start(words)
    interval = model.config.memory.interval
    if state.global_cells.shape[1]:
        sampled = replace(clip, frames=clip.frames[:, ::interval], times=clip.times[:, ::interval])
        for features in _encoded(model, sampled, words, chunk):
            state = model.remember(features.stamped, state)
    logits = []
    for features in _encoded(model, clip, words, chunk):
        predictions, states = model.steps(features, words, state)
        logits += [prediction.logits for prediction in predictions]
        state = states[-1]
    return torch.stack(logits, dim=1)


def at_once(model: Locater, clip: DeviceClip) -> Tensor:
    """The same logits where the whole clip fits: every frame is encoded once, for both memories."""
    words = model.text(clip.tokens)
    state = model.start(words)
    features = model.fuse(model.visual(clip.frames), clip.times, words)
    if state.global_cells.shape[1]:
        state = model.remember(features.stamped[:, :: model.config.memory.interval], state)
    predictions, _ = model.steps(features, words, state)
    return torch.stack([prediction.logits for prediction in predictions], dim=1)


def network_masks(logits: Tensor, size: int) -> Tensor:
    """Masks (E, T, S, S) at the network's own size, all frames resized in one go."""
    return torch.stack([resize_soft(soft, size, size) > THRESHOLD for soft in logits.float().sigmoid()])


def captured_clip(model: Locater, clip: DeviceClip) -> Callable[[], Tensor]:
    """`at_once` as one CUDA graph, fed with the clip at every call."""

    def whole(frames: Tensor, times: Tensor, numbers: Tensor, owners: Tensor) -> tuple[Tensor]:
        tokens = replace(clip.tokens, numbers=numbers, word_of_token=owners)
        return (at_once(model, DeviceClip(frames, times, tokens)),)

    inputs = clip.frames, clip.times, clip.tokens.numbers, clip.tokens.word_of_token
    graph = Captured(whole, *inputs)
    return lambda: graph(*inputs)[0]


def _encoded(model: Locater, clip: DeviceClip, words: Words, chunk: int) -> Iterator[ClipFeatures]:
    for first in range(0, clip.frames.shape[1], chunk):
        some = slice(first, first + chunk)
        yield model.fuse(model.visual(clip.frames[:, some]), clip.times[:, some], words)
