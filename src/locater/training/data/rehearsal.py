"""What the start knows, rehearsed while it learns other data: its own answers to words that the data does not teach.

A folder names what its videos show, so that tuning on it alone teaches that whatever is named is there; a pack of
pictures names what is not there as well, and teaches that what it hardly shows is never there. Beside each clip's own
sentences the network is asked for other things in the same frames, and is to answer as the start does,
mostly with nothing (Li and Hoiem, *Learning without Forgetting*, 2016).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

import torch

from locater.compute.cuda_graph import CapturedGraph, Replays
from locater.compute.precision import mixed
from locater.compute.upsample import upsample
from locater.config import LSTMConfig, TrainingConfig
from locater.errors import LocaterError
from locater.model.locater import ClipPrediction, Locater
from locater.model.text import LSTMEncoder
from locater.model.word_embedding import PretrainedEmbedding
from locater.records import Batch, Tokens
from locater.text.head_noun import head_noun
from locater.text.plurals import plural
from locater.text.unknown_nouns import may_be_noun
from locater.text.words import Vocabulary, split_words
from locater.training.data.batches import TrainingData
from locater.training.data.mixture import MixedData

SELDOM = 20  # pictures of things that a name is true of: with fewer it is rehearsed
KIN_OF_ALL = 64  # known words nearest in meaning to those of a folder
KIN_OF_ONE = 24  # ... to the name of one thing in a clip
# What is said of things beside their names: sentences that only name would let the rest be forgotten.
DOING = ("walking", "running", "jumping", "standing", "sitting", "lying", "moving", "turning", "playing", "riding")
WHERE = ("on the", "in the", "near the", "behind the", "over the", "with a", "holding a")
LOOKS = ("red", "blue", "white", "black", "green", "small", "large", "young", "left", "right")

Kin = Callable[[Random, Sequence[str]], Sequence[str]]  # of the sentences that a clip is asked: words near in meaning


class Rehearsed(NamedTuple):
    """The plan of some clips, and their numbers."""

    clips: Any
    numbers: tuple[int, ...]


class RehearsingData:
    """Clips with their own sentences, and `training.rehearsed` more to each that the start answers; half name kin."""

    def __init__(
        self,
        data: TrainingData,
        start: Locater,
        known: Sequence[str],
        kin: Kin,
        config: TrainingConfig,
    ) -> None:
        self.data = data
        self.start = start.requires_grad_(False).eval()
        self.known, self.kin = tuple(known), kin
        self.asked = config.rehearsed
        self._config = config  # the start is asked as the network that learns is: with its edges, in bfloat16
        self._replayed: Replays | None = None  # on a GPU: hundreds of small kernels a step, launched at once
        self._doing, self._where, self._looks = (_readable(phrases, start) for phrases in (DOING, WHERE, LOOKS))

    def __getstate__(self) -> dict[str, Any]:
        """What worker processes need, which only plan: not the start."""
        return {"data": self.data}

    @property
    def kinds(self) -> Sequence[str]:
        """The data's."""
        return self.data.kinds

    @property
    def clip_count(self) -> int | None:
        """The data's."""
        return self.data.clip_count

    def words(self) -> Sequence[str]:
        """The data's; the start knows the others."""
        return self.data.words()

    def pictures(self) -> Mapping[str, int]:
        """The data's."""
        return self.data.pictures()

    def seen(self, clips: int) -> Mapping[str, int]:
        """The data's."""
        return self.data.seen(clips)

    def plan(self, numbers: Sequence[int], progress: float) -> Rehearsed:
        """The clips, and their numbers, which decide what else they are asked for."""
        return Rehearsed(self.data.plan(numbers, progress), tuple(numbers))

    def draw(self, plan: Any, device: torch.device) -> Batch:
        """The batch on the device, with the start's answers; of validation, what the data says alone."""
        if not isinstance(plan, Rehearsed):
            return self.data.draw(plan, device)
        clips = self.data.draw(plan.clips, device)
        own = len(clips.expressions) // len(plan.numbers)
        others = tuple(
            text
            for place, number in enumerate(plan.numbers)
            for text in self._drawn(number, clips.expressions[place * own : (place + 1) * own])
        )
        return _beside(clips, others, self._answers(clips, others))

    def validation(self, kind: str, numbers: Sequence[int]) -> Any:
        """The data's."""
        return self.data.validation(kind, numbers)

    def _drawn(self, number: int, said: Sequence[str]) -> list[str]:
        rng = Random(f"rehearsal/{number}")
        pools = [(rng.random() < 0.5 and self.kin(rng, said)) or self.known for _ in range(self.asked)]
        return [self._said_of(rng.choice(pool), rng) for pool in pools]

    def _said_of(self, noun: str, rng: Random) -> str:
        """A sentence about a thing, as people ask for it: its name, how it looks, what it does, where it is."""
        looks = f"{rng.choice(self._looks)} " if self._looks and rng.random() < 0.25 else ""
        doing = f" {rng.choice(self._doing)}" if self._doing and rng.random() < 0.5 else ""
        where = f" {rng.choice(self._where)} {rng.choice(self.known)}" if self._where and rng.random() < 0.5 else ""
        return f"the {looks}{noun}{doing}{where}"

    @torch.no_grad()
    def _answers(self, clips: Batch, others: Sequence[str]) -> torch.Tensor:
        """How likely the start holds each pixel to be in each of the other things (B * asked, T, H, W)."""
        device = clips.frames.device
        tokens = self.start.read(others)
        asked = (clips.frames, clips.times, clips.global_frames, clips.global_times, tokens.numbers)
        # A mixture's parts differ in size from batch to batch, and each size would be captured anew.
        is_whole = len(clips.frames) * self._config.accumulate == self._config.batch_size
        if self._config.cuda_graph and device.type == "cuda" and is_whole:
            if self._replayed is None:
                self._replayed = Replays(lambda _, *tensors: (self._said(*tensors),), CapturedGraph)
            (logits,) = self._replayed(None, *asked, tokens.word_of_token)
        else:
            logits = self._said(*asked, tokens.word_of_token)
        height, width = clips.masks.shape[-2:]
        return upsample(logits.float(), (height, width)).sigmoid()

    def _said(
        self,
        frames: torch.Tensor,
        times: torch.Tensor,
        global_frames: torch.Tensor,
        global_times: torch.Tensor,
        numbers: torch.Tensor,
        word_of_token: torch.Tensor,
    ) -> torch.Tensor:
        """The start's logits of clips and as many sentences of each, read already."""
        config, rows = self._config, len(numbers)
        tokens = Tokens(numbers, word_of_token, ("",) * rows, ((),) * rows, ())
        with mixed(config.precision, frames.device):
            said: ClipPrediction = self.start(
                frames,
                times,
                global_frames,
                global_times,
                tokens,
                is_fine=config.is_fine,
                is_refined=config.is_fine and config.is_refined,
            )
        return said.logits


def rehearsing_seldom(
    data: TrainingData, start: Locater, config: TrainingConfig, device: torch.device
) -> TrainingData | RehearsingData:
    """The data with `training.rehearsed` more sentences to each clip, on what it does not show often enough to teach.

    That is every noun that is true of fewer than `SELDOM` of its pictures of things, among all words of the start's
    table; where nobody counts pictures, what it never says. Half of the sentences name one that is near in meaning to a
    thing that the clip is asked for ("the yacht" where there is a boat), the others one that the data says, if any.
    """
    embedding = table_of(start)
    words = embedding.vocabulary.words
    is_known = set(words).issuperset
    taught, hardly_shown = _taught_by(data)
    seldom = [name for name in hardly_shown if is_known(name.split())]
    others = [word for word in words if word not in taught and may_be_noun(word)]
    untaught = list(dict.fromkeys([*seldom, *others]))
    if not untaught:
        return data
    directions = torch.stack([embedding.meaning(name) for name in untaught])
    start = _on(start, device)

    @lru_cache(maxsize=4096)
    def near(name: str) -> Sequence[str]:
        likeness = directions @ embedding.meaning(name).to(directions.device)
        return [untaught[place] for place in likeness.topk(min(KIN_OF_ONE, len(untaught))).indices.tolist()]

    def kin(rng: Random, said: Sequence[str]) -> Sequence[str]:
        words = split_words(rng.choice(said))
        name = " ".join(words[place] for place in head_noun(words))
        return near(name) if name else ()  # "that one"

    def rehearsing(part: TrainingData) -> TrainingData:
        return RehearsingData(part, start, seldom or others, kin, config)

    # A clip's number decides what else it is asked for: in a mixture the number that it has in its own part.
    return data.each_part(rehearsing) if isinstance(data, MixedData) else rehearsing(data)


def _taught_by(data: TrainingData) -> tuple[set[str], list[str]]:
    """The words that the data teaches, their plurals too, and the names that it says and hardly shows.

    Of a mixture each part teaches as it would alone: what it says, where it counts no pictures.
    """
    parts = [part.data for part in data.parts] if isinstance(data, MixedData) else [data]
    taught = set(Vocabulary.of_text(word for part in parts if not part.pictures() for word in part.words()).words)
    pictures = data.pictures()
    seldom = [name for name, count in pictures.items() if count < SELDOM and not taught.issuperset(name.split())]
    taught |= set(Vocabulary.of_text(name for name, count in pictures.items() if count >= SELDOM).words)
    return taught | {plural(word) for word in taught}, seldom


def table_of(start: Locater) -> PretrainedEmbedding:
    """The start's table of words, by which it is known what is near in meaning."""
    if isinstance(start.text, LSTMEncoder) and isinstance(start.text.embedding, PretrainedEmbedding):
        return start.text.embedding
    raise LocaterError(
        "training.rehearsed asks for words near in meaning to those that are taught, and the start has no table of "
        "words; set training.rehearsed to 0."
    )


def rehearsing_trained(
    data: TrainingData, start: Locater, config: TrainingConfig, device: torch.device
) -> TrainingData | RehearsingData:
    """The data with `training.rehearsed` more sentences to each clip, of words that the start was trained on alone.

    Half of them name one of the `KIN_OF_ALL` that are nearest in meaning to the data's. The data itself, where nothing
    is asked for or there are no such words.
    """
    if not config.rehearsed or not isinstance(start.config.text, LSTMConfig):
        return data  # other text encoders bring no list of words that were trained
    taught = set(Vocabulary.of_text(data.words()).words)
    known = [word for word in start.config.text.vocabulary if word not in taught and may_be_noun(word)]
    if not known:
        return data
    kin = _kin_of_all(start, known, sorted(taught))
    return RehearsingData(data, _on(start, device), known, lambda *_: kin, config)


def _on(start: Locater, device: torch.device) -> Locater:
    moved = start.to(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)  # batches are made in a stream of their own: the weights must be there
    return moved


def _readable(phrases: Sequence[str], start: Locater) -> list[str]:
    """Those of the phrases whose words the start was trained on, all of them."""
    words = set(start.config.text.vocabulary) if isinstance(start.config.text, LSTMConfig) else set()
    return [phrase for phrase in phrases if words.issuperset(phrase.split())]


def _kin_of_all(start: Locater, known: Sequence[str], taught: Sequence[str]) -> list[str]:
    """The known words nearest in meaning to those that are taught; none where words have no meaning but a number."""
    embedding = start.text.embedding if isinstance(start.text, LSTMEncoder) else None
    nouns = [word for word in taught if may_be_noun(word)]
    if not isinstance(embedding, PretrainedEmbedding) or not nouns:
        return []
    ours, theirs = (torch.stack([embedding.meaning(word) for word in words]) for words in (known, nouns))
    likeness = (ours @ theirs.T).amax(-1)
    return [known[place] for place in likeness.topk(min(KIN_OF_ALL, len(known))).indices.tolist()]


def _beside(clips: Batch, others: Sequence[str], answers: torch.Tensor) -> Batch:
    """The clips with the other sentences of each after its own; the start answers in every frame."""
    count = len(clips.frames)
    own, asked = len(clips.expressions) // count, len(others) // count

    def rows(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
        of_each = (ours.view(count, own, *ours.shape[1:]), theirs.view(count, asked, *theirs.shape[1:]))
        return torch.cat(of_each, dim=1).flatten(0, 1)

    expressions = tuple(
        text
        for place in range(count)
        for text in (
            *clips.expressions[place * own : (place + 1) * own],
            *others[place * asked : (place + 1) * asked],
        )
    )
    is_answered = clips.is_annotated.new_ones(len(others), clips.is_annotated.shape[1])
    return replace(
        clips,
        expressions=expressions,
        masks=rows(clips.masks, answers.to(clips.masks.dtype)),
        is_annotated=rows(clips.is_annotated, is_answered),
    )
