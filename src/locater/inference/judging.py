"""Every result with a score to trust: masks are looked at again, and what is hardly believed is not marked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from locater.model.locater import Locater
from locater.model.second_look import SecondLook
from locater.model.visual.efficientnet import EfficientNetLite
from locater.model.word_embedding import PretrainedEmbedding
from locater.records import FrameResult, Mask, Pixels
from locater.text.head_noun import head_noun
from locater.text.words import split_words
from locater.video.square_crop import core_box, square_crop

SIDE = 224  # pixels of a crop
EVERY = 16  # frames between looks, once a video has been seen for a while; before it twice as many each time
LONGEST_MEAN = 16.0  # looks that the verdict remembers
LEAST_PIXELS = 30  # of a mask that can be looked at
# Masks with a lower score are not marked. Chosen on the development videos (docs/results.md).
THRESHOLD = 0.15


class Judge:
    """Scores results as they come. Its memory is two numbers per expression in the video's state."""

    def __init__(self, model: Locater, second_look: SecondLook, threshold: float) -> None:
        self.model = model
        self.second_look = second_look
        self.threshold = threshold

    def over(
        self, results: Iterable[FrameResult], looks: Tensor | None, unjudged: frozenset[int] = frozenset()
    ) -> Iterator[FrameResult]:
        """`results` with scores; masks below the threshold are emptied, but for expressions that a person put right.

        `looks` (E, 2) is what an earlier state held: the mean verdict and how many looks it is of.
        """
        nouns: Tensor | None = None
        for result in results:
            if nouns is None:
                nouns = self.nouns(result.state.expressions)
            if looks is None:
                looks = torch.zeros(len(nouns), 2)
            looks = self._looked(result, nouns, looks)
            yield self._scored(result, nouns, looks, unjudged)

    def nouns(self, expressions: Sequence[str]) -> Tensor:
        """What each sentence's noun means (E, d); zeros where the network has no word for it."""
        return meanings_of(self.model, [named_in(text) for text in expressions])

    def _looked(self, result: FrameResult, nouns: Tensor, looks: Tensor) -> Tensor:
        """`looks` with this frame's, where it is time for one."""
        is_time = _is_time(result.frame.index)
        chosen = [
            row
            for row, mask in enumerate(result.masks)
            if (is_time or not looks[row, 1]) and nouns[row].any() and np.count_nonzero(mask) >= LEAST_PIXELS
        ]
        if not chosen:
            return looks
        crops = [crop_of(result.frame.pixels, result.masks[row]) for row in chosen]
        verdicts = verdicts_on(self.model, self.second_look, crops, nouns[chosen])
        after = looks.clone()
        count = (looks[chosen, 1] + 1).clamp(max=LONGEST_MEAN)
        after[chosen, 0] += (verdicts - looks[chosen, 0]) / count
        after[chosen, 1] = count
        return after

    def _scored(self, result: FrameResult, nouns: Tensor, looks: Tensor, unjudged: frozenset[int]) -> FrameResult:
        familiarity = self.second_look.familiarity(nouns) * (looks[:, 1] > 0)
        with torch.inference_mode():
            likely = self.second_look.score(looks[:, 0], familiarity, torch.tensor(result.presence))
        is_marked = [bool(mask.any()) for mask in result.masks]
        scores = tuple(
            1.0 if row in unjudged else float(score) if marked else 0.0
            for row, (score, marked) in enumerate(zip(likely, is_marked, strict=True))
        )
        is_kept = np.array([score >= self.threshold for score in scores])[:, None, None]
        return replace(
            result,
            score=scores,
            masks=result.masks & is_kept,
            soft_masks=None if result.soft_masks is None else result.soft_masks * is_kept,
            state=replace(result.state, looks=looks),
        )


def named_in(text: str) -> str:
    """The words of a sentence that name the thing."""
    words = split_words(text)
    return " ".join(words[place] for place in head_noun(words))


def meanings_of(model: Locater, names: Sequence[str]) -> Tensor:
    """What names mean (N, d), on the CPU; zeros for those that the network has no word for."""
    embedding = model.text.embedding
    assert isinstance(embedding, PretrainedEmbedding)
    rows = [embedding.meaning(name) if name else embedding.middle * 0 for name in names]
    return torch.stack(rows).float().cpu()


def crop_of(pixels: Pixels, mask: Mask) -> Pixels:
    """The crop of a frame around its mask, as a second look sees it."""
    return square_crop(pixels, core_box(mask), SIDE)


def look_at(model: Locater, crops: Sequence[Pixels]) -> tuple[Tensor, Tensor]:
    """What the encoder sees in crops (N, C), and what it takes them for (N, E), both float on the CPU."""
    assert isinstance(model.visual, EfficientNetLite)
    device = model.memory.local_start.device
    pictures = torch.from_numpy(np.stack(crops)).permute(0, 3, 1, 2).to(device).float() / 255
    with torch.inference_mode():
        seen, taken_for = model.visual.look(pictures)
    return seen.float().cpu(), taken_for.float().cpu()


def verdicts_on(model: Locater, second_look: SecondLook, crops: Sequence[Pixels], nouns: Tensor) -> Tensor:
    """The logits (N,) of crops, each with the noun (N, d) that it is held against."""
    with torch.inference_mode():
        logits: Tensor = second_look(*look_at(model, crops), nouns)
    return logits.diagonal()


def _is_time(frame: int) -> bool:
    """Whether a frame is looked at: 0, 1, 2, 4, 8, then every 16th."""
    return frame % EVERY == 0 or (frame < EVERY and frame & (frame - 1) == 0)
