"""Which of the network's views on words tells which word decides: each is compared with removing the words one by one.

    python -m experiments.words.word_attention CHECKPOINT DATA [--every 4] [--limit 30] [--frames 3]
    python -m experiments.words.word_attention CHECKPOINT --cost

Of every so-many-th question a few frames are segmented by the whole sentence and by the sentence without each of its
words. What a word decides is 1 - IoU of the masks with and without it (before any refiner). Of each view the rank
correlation with that is printed (Spearman's, mean over sentences), and how often its first word is the one whose
removal changes most. Sentences of two words, and those of which no word changes the mask by more than .05, are left
out. `--cost` prints what `result.word_attention` takes of the network's time, on one core.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import spearmanr
from torch import Tensor

from experiments.machine import machine
from locater.datasets.catalog import find_source
from locater.model.checkpoint import from_pretrained
from locater.model.fusion import CrossModalityEncoder, FusionModule
from locater.model.locater import Locater
from locater.records import Sample, VisualFeatures, Words
from locater.text.roles.lexicon import FUNCTION_WORDS
from locater.text.words import split_words
from locater.video.transforms import frame_times, frames_to_tensor

Weights = npt.NDArray[np.float64]
LEAST_CHANGE = 0.05


@dataclass(frozen=True)
class Compared:
    """One sentence: what removing each word changes, and each view's weights on them."""

    words: tuple[str, ...]
    change: Weights
    views: dict[str, Weights]


@torch.inference_mode()
def compared(model: Locater, sample: Sample, count: int) -> Compared:
    """All of it for one question, by `count` frames spread over its video."""
    said = split_words(sample.info.expression)
    texts = [" ".join(said), *(" ".join([*said[:place], *said[place + 1 :]]) for place in range(len(said)))]
    every = list(sample.frames.frames())
    frames = [every[place] for place in np.linspace(0, len(every) - 1, min(count, len(every))).round().astype(int)]
    size = model.config.input_size(*frames[0].pixels.shape[:2])
    visual = model.visual(frames_to_tensor([frame.pixels for frame in frames], size)[None])
    times = frame_times(frames, sample.frames.info.duration)[None]
    words = model.text(model.text.trimmed(model.text.tokenize(texts)))
    clip = model.fuse(visual, times, words, with_word_attention=True)
    state = model.write_global(clip.positioned, model.initial_state(words))
    predictions, _ = model.decode_clip(clip, words, state)
    masks = torch.stack([model.answer(each) > 0 for each in predictions], dim=1)
    common, either = (masks[:1] & masks[1:]).sum((-2, -1)), (masks[:1] | masks[1:]).sum((-2, -1))
    overlap = torch.where(either > 0, common / either.clamp(min=1), 1.0).mean(1)
    by_query = torch.stack([each.query_attention for each in predictions], dim=1)
    soft = torch.stack([model.answer(each).sigmoid() for each in predictions], dim=1)[0]
    inside = torch.nn.functional.adaptive_avg_pool2d(soft, clip.grid).flatten(1)
    views = {
        "the query's attention (Eq. 10)": by_query[0].mean(0),
        "result.word_attention": model.deciding_words(clip, predictions)[0].mean(0),
        **by_module(model, visual, words, inside),
    }
    found = {name: by_word(words, weights, len(said)) for name, weights in views.items()}
    found["content words alike"] = np.array([float(word.lower() not in FUNCTION_WORDS) for word in said])
    return Compared(tuple(said), (1 - overlap).double().numpy(), found)


def by_module(model: Locater, visual: VisualFeatures, words: Words, inside: Tensor) -> dict[str, Tensor]:
    """How much the object, `inside` (T, P), looks at the first sentence's words in each module, and is like them."""
    first = Words(words.features[:1], words.is_padding[:1], words.word_of_token[:1], (), ())
    patches, views = visual.patches, dict[str, Tensor]()
    if model.recognition is not None and visual.meanings is not None and words.meanings is not None:
        first = Words(*(first.features, first.is_padding, first.word_of_token), (), (), True, words.meanings[:1])
        likeness = model.recognition.likeness(visual.meanings, first)[0]
        views["recognition's likeness"] = torch.einsum("tp,tpw->w", inside, likeness)
        patches = model.recognition(patches, visual.meanings, first)
    if isinstance(model.fusion, CrossModalityEncoder):
        for number, module in enumerate(model.fusion.steps, start=1):
            assert isinstance(module, FusionModule)
            x, text, is_padding = model.fusion.rows(patches, first)
            looks = module.word_attention(x, text, is_padding)
            views[f"the object's attention, fusion module {number}"] = torch.einsum("tp,tpw->w", inside, looks)
            patches = module(x, text, is_padding)[None]
    return views


def by_word(words: Words, weights: Tensor, count: int) -> Weights:
    """The first sentence's tokens' weights as those of its words."""
    owner = words.word_of_token[0]
    totals = torch.zeros(count, dtype=torch.float64).index_add_(0, owner[owner >= 0], weights[owner >= 0].double())
    return totals.numpy()


@torch.inference_mode()
def print_cost(model: Locater) -> None:
    """Seconds of a core for a chunk of eight frames and one sentence of nine words, the best of five runs."""
    torch.set_num_threads(1)
    side = model.config.image_size
    frames, times = torch.rand(1, 8, 3, side, side), torch.rand(1, 8, 2)
    words = model.text(model.text.trimmed(model.text.tokenize(["the dog on the left of the red car"])))
    visual = model.visual(frames)
    clip = model.fuse(visual, times, words, with_word_attention=True)
    state = model.initial_state(words)
    predictions, _ = model.decode_clip(clip, words, state)
    logits = torch.stack([each.logits for each in predictions], dim=1)
    parts = {
        "visual encoder": lambda: model.visual(frames),
        "fusion": lambda: model.fuse(visual, times, words),
        "memory and decoder": lambda: model.decode_clip(clip, words, state),
        "refiner": lambda: model.refined(frames, logits),
    }
    with_attention = _best(lambda: model.fuse(visual, times, words, with_word_attention=True))
    seconds = {name: _best(work) for name, work in parts.items()}
    added = with_attention - seconds["fusion"] + _best(lambda: model.deciding_words(clip, predictions))
    for name, each in (*seconds.items(), ("word attention", added)):
        print(f"{name:<20}{each:>8.3f} s")
    whole = sum(seconds.values())
    print(
        f"word attention takes {added / whole:.1%} more, {added / (whole - seconds['refiner']):.1%} without a refiner"
    )


def _best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(5):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def asked() -> argparse.Namespace:
    """What was said on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint")
    parser.add_argument("data", nargs="?", help="NAME[:ROOT]")
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--frames", type=int, default=3)
    parser.add_argument("--cost", action="store_true")
    arguments = parser.parse_args()
    if arguments.data is None and not arguments.cost:
        parser.error("name the data whose sentences are compared, or --cost")
    return arguments


def main() -> int:
    """0, always: the numbers are the result."""
    arguments = asked()
    model = from_pretrained(arguments.checkpoint).eval()
    if arguments.cost:
        print_cost(model)
        return 0
    dataset = find_source(arguments.data).open()
    correlations, hits, chances = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list), []
    for info in list(dataset.samples())[:: arguments.every][: arguments.limit]:
        one = compared(model, dataset.load(info), arguments.frames)
        told = ", ".join(f"{word} {change:.2f}" for word, change in zip(one.words, one.change, strict=True))
        print(f"{info.key}: {told}", file=sys.stderr, flush=True)
        if len(one.words) < 3 or one.change.max() <= LEAST_CHANGE:
            continue
        chances.append(1 / len(one.words))
        for name, weights in one.views.items():
            correlation = spearmanr(weights, one.change).statistic if np.ptp(weights) > 0 else 0.0
            first = weights == weights.max()
            correlations[name].append(float(correlation))
            hits[name].append(float((first & (one.change == one.change.max())).sum() / first.sum()))
    print(machine())
    print(f"{len(chances)} sentences; any word is the deciding one in {np.mean(chances):.1%}")
    print(f"{'':<42}{'Spearman':>10}{'first word':>12}")
    for name in correlations:
        print(f"{name:<42}{np.mean(correlations[name]):>10.2f}{np.mean(hits[name]):>12.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
