"""What the start knows, rehearsed while it learns a folder: the start's own answers to words that nobody teaches.

A folder names what its videos show, so that tuning on it alone teaches that whatever is named is there. Beside each of
its sentences the network is asked for a few other things in the same frames, and is to answer as the start does, mostly
with nothing (Li and Hoiem, *Learning without Forgetting*, 2016).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import torch

from locater.compute.upsample import upsample
from locater.config import LSTMConfig
from locater.model.locater import Locater
from locater.model.text import LSTMEncoder
from locater.model.word_embedding import PretrainedEmbedding
from locater.records import Batch
from locater.text.unknown_nouns import may_be_noun
from locater.text.words import Vocabulary
from locater.training.data.dataset_clips import DatasetData

ASKED = 1  # other things that each clip is asked for; three, most of them absent, made what is rarely said find nothing
KIN = 64  # known words nearest in meaning to those of the folder; half of the things are of them
# What is said of things beside their names: sentences that only name would let the rest be forgotten.
DOING = ("walking", "running", "jumping", "standing", "sitting", "lying", "moving", "turning", "playing", "riding")
WHERE = ("on the", "in the", "near the", "behind the", "over the", "with a", "holding a")
LOOKS = ("red", "blue", "white", "black", "green", "small", "large", "young", "left", "right")


class Rehearsed(NamedTuple):
    """Clips of the folder, and what else each of them is asked for, `ASKED` sentences a clip."""

    clips: Batch
    others: tuple[str, ...]


class RehearsingData:
    """A folder's clips, each with its own sentence and a few that the start answers."""

    def __init__(self, data: DatasetData, start: Locater, known: Sequence[str], kin: Sequence[str]) -> None:
        self.data = data
        self.start = start.requires_grad_(False).eval()
        self.known, self.kin = tuple(known), tuple(kin)
        self._doing, self._where, self._looks = (_readable(phrases, start) for phrases in (DOING, WHERE, LOOKS))

    @property
    def kinds(self) -> Sequence[str]:
        """The folder's."""
        return self.data.kinds

    @property
    def clip_count(self) -> int:
        """The folder's."""
        return self.data.clip_count

    def words(self) -> Sequence[str]:
        """The folder's; the start knows the others."""
        return self.data.words()

    def seen(self, clips: int) -> Mapping[str, int]:
        """The folder's."""
        return self.data.seen(clips)

    def plan(self, numbers: Sequence[int], progress: float) -> Rehearsed:
        """The clips, and what else they are asked for; the clip's number decides."""
        others = tuple(text for number in numbers for text in self._drawn(number))
        return Rehearsed(self.data.plan(numbers, progress), others)

    def draw(self, plan: Batch | Rehearsed, device: torch.device) -> Batch:
        """The batch on the device, with the start's answers; of validation, what the folder says alone."""
        if isinstance(plan, Batch):
            return self.data.draw(plan, device)
        clips = self.data.draw(plan.clips, device)
        return _beside(clips, plan.others, self._answers(clips, plan.others))

    def validation(self, kind: str, numbers: Sequence[int]) -> Batch:
        """The folder's."""
        return self.data.validation(kind, numbers)

    def _drawn(self, number: int) -> list[str]:
        rng = Random(f"rehearsal/{number}")
        pools = [self.kin if self.kin and rng.random() < 0.5 else self.known for _ in range(ASKED)]
        return [self._said_of(rng.choice(pool), rng) for pool in pools]

    def _said_of(self, noun: str, rng: Random) -> str:
        """A sentence about a thing, as people ask for it: its name, how it looks, what it does, where it is."""
        looks = f"{rng.choice(self._looks)} " if self._looks and rng.random() < 0.25 else ""
        doing = f" {rng.choice(self._doing)}" if self._doing and rng.random() < 0.5 else ""
        where = f" {rng.choice(self._where)} {rng.choice(self.known)}" if self._where and rng.random() < 0.5 else ""
        return f"the {looks}{noun}{doing}{where}"

    @torch.no_grad()
    def _answers(self, clips: Batch, others: Sequence[str]) -> torch.Tensor:
        """How likely the start holds each pixel to be in each of the other things (B * ASKED, T, H, W)."""
        tokens = self.start.read(others)
        said = self.start(
            clips.frames, clips.times, clips.global_frames, clips.global_times, tokens, is_fine=False, is_refined=False
        )
        height, width = clips.masks.shape[-2:]
        return upsample(said.logits.float(), (height, width)).sigmoid()


def rehearsing(data: DatasetData, start: Locater, device: torch.device) -> DatasetData | RehearsingData:
    """The folder's data with rehearsal, where the start has words of its own that the folder does not use."""
    if not isinstance(start.config.text, LSTMConfig):
        return data  # its text encoder brings no list of words that were trained
    taught = set(Vocabulary.of_text(data.words()).words)
    known = [word for word in start.config.text.vocabulary if word not in taught and may_be_noun(word)]
    if not known:
        return data
    start = start.to(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)  # batches are made in a stream of their own: the weights must be there
    return RehearsingData(data, start, known, _kin(start, known, sorted(taught)))


def _readable(phrases: Sequence[str], start: Locater) -> list[str]:
    """Those of the phrases whose words the start knows, all of them."""
    assert isinstance(start.config.text, LSTMConfig)
    words = set(start.config.text.vocabulary)
    return [phrase for phrase in phrases if words.issuperset(phrase.split())]


def _kin(start: Locater, known: Sequence[str], taught: Sequence[str]) -> list[str]:
    """The known words nearest in meaning to those that are taught; none where words have no meaning but a number."""
    embedding = start.text.embedding if isinstance(start.text, LSTMEncoder) else None
    nouns = [word for word in taught if may_be_noun(word)]
    if not isinstance(embedding, PretrainedEmbedding) or not nouns:
        return []
    ours, theirs = (torch.stack([embedding.meaning(word) for word in words]) for words in (known, nouns))
    likeness = (ours @ theirs.T).amax(-1)
    return [known[place] for place in likeness.topk(min(KIN, len(known))).indices.tolist()]


def _beside(clips: Batch, others: Sequence[str], answers: torch.Tensor) -> Batch:
    """The clips with the other sentences of each beside its own; the start answers in every frame."""
    count = len(clips.expressions)
    asked = len(others) // count
    expressions = [
        text
        for place, own in enumerate(clips.expressions)
        for text in (own, *others[place * asked : (place + 1) * asked])
    ]
    masks = torch.cat([clips.masks[:, None], answers.view(count, asked, *answers.shape[1:])], dim=1).flatten(0, 1)
    is_annotated = clips.is_annotated[:, None].repeat(1, 1 + asked, 1)
    is_annotated[:, 1:] = True
    return replace(clips, expressions=tuple(expressions), masks=masks, is_annotated=is_annotated.flatten(0, 1))
