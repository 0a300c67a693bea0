"""Every result with a score to trust: masks are looked at again, and what is hardly believed is not marked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from locater.compute.device import ahead_of_queue
from locater.inference.seen_colours import measurable, shares_of, verdict_on
from locater.model.locater import Locater
from locater.model.second_look import WELL_KNOWN, Asked, SecondLook
from locater.model.visual.efficientnet import EfficientNetLite
from locater.model.word_embedding import PretrainedEmbedding
from locater.records import FrameResult, Mask, Pixels
from locater.text.head_noun import carriers, head_noun
from locater.text.said_colours import SaidColour, said_colours
from locater.text.words import split_words
from locater.video.square_crop import core_box, square_crop

SIDE = 224  # pixels of a crop
EVERY = 16  # frames between looks, once a video has been seen for a while; before it twice as many each time
EVERY_DOUBTED = 4  # at most, while what is marked is not believed: something else may be marked any time
LONGEST_MEAN = 16.0  # looks that the verdict remembers
LEAST_PIXELS = 30  # of a mask that can be looked at
# Verdicts below which a mask is not believed to show what is said, chosen on the development videos (docs/results.md):
# of a noun that was trained often, of any other, and of what the thing is said to be on ("a man on a horse"), which
# colours are brought to as well.
DOUBTED, DOUBTED_IF_STRANGE, CARRIER_DOUBTED = -3.5, -5.0, -4.0
CLEAR = 3.5  # above these, a single look at what was doubted tells that another thing is marked now


@dataclass(frozen=True)
class Said:
    """What each of the sentences names, as directions among words; zeros where there is nothing to judge by."""

    nouns: Asked  # (E, d)
    familiarity: Tensor  # (E,)
    carriers: Tensor  # (C, d): well-trained nouns of what things are said to be on
    carried: tuple[int, ...]  # by carrier: the sentence
    colours: tuple[tuple[SaidColour, ...], ...]  # by sentence: those that are said of the thing itself

    @classmethod
    def of(cls, model: Locater, second_look: SecondLook, expressions: Sequence[str]) -> "Said":
        """What the sentences name."""
        nouns = second_look.heard(meanings_of(model, [named_in(text) for text in expressions]))
        named = [(row, name) for row, text in enumerate(expressions) for name in _carriers_in(text)]
        carriers = second_look.heard(meanings_of(model, [name for _, name in named])) if named else nouns[:0]
        known = (second_look.familiarity(carriers) > WELL_KNOWN).tolist()
        with torch.inference_mode():
            asked = second_look.asked(nouns)
        is_heard = nouns.any(-1).tolist()
        colours = [said_colours(split_words(text)) for text in expressions]
        return cls(
            asked,
            second_look.familiarity(nouns),
            carriers[known],
            tuple(row for (row, _), is_known in zip(named, known, strict=True) if is_known),
            tuple(said if heard else () for said, heard in zip(colours, is_heard, strict=True)),
        )

    def believed(self, verdicts: Tensor, by: float = 0.0, rows: Sequence[int] | None = None) -> Tensor:
        """Whether masks show what is said (N,) bool, clearly `by` so much, by the verdicts (N, 2 or more) on both."""
        familiarity = self.familiarity if rows is None else self.familiarity[list(rows)]
        return believed(verdicts[:, 0] - by, familiarity) & (verdicts[:, 1] >= CARRIER_DOUBTED)


class Judge:
    """Scores results as they come. Its memory is three numbers per expression in the video's state."""

    def __init__(self, model: Locater, second_look: SecondLook, threshold: float) -> None:
        self.model = model
        self.second_look = second_look
        self.threshold = threshold

    def over(
        self, results: Iterable[FrameResult], looks: Tensor | None, unjudged: frozenset[int] = frozenset()
    ) -> Iterator[FrameResult]:
        """`results` with scores; what is not believed, or has a score below the threshold, is not marked.

        `looks` (E, 3) is what an earlier state held: the mean verdicts on the noun and on what else is said of the
        thing, and how many looks they are of. Expressions that a person put right are `unjudged`.
        """
        said: Said | None = None
        for result in results:
            if said is None:  # words are looked up where the weights are
                with ahead_of_queue(self.model.memory.local_start.device):
                    said = Said.of(self.model, self.second_look, result.state.expressions)
            looks = self._looked(result, said, torch.zeros(len(said.familiarity), 3) if looks is None else looks)
            yield self._scored(result, said, looks, unjudged)

    def _looked(self, result: FrameResult, said: Said, looks: Tensor) -> Tensor:
        """`looks` with this frame's, where it is time for one."""
        is_time, is_doubted = _is_time(result.frame.index), ~said.believed(looks)
        is_time_if_doubted = result.frame.index % EVERY_DOUBTED == 0
        chosen = [
            row
            for row, mask in enumerate(result.masks)
            if (is_time or not looks[row, 2] or (is_time_if_doubted and is_doubted[row]))
            and np.count_nonzero(mask) >= LEAST_PIXELS
        ]
        if not chosen:
            return looks
        verdicts = self._verdicts(result, said, chosen)
        is_another = is_doubted[chosen] & said.believed(verdicts, CLEAR, chosen)
        count = torch.where(is_another, 1.0, (looks[chosen, 2] + 1).clamp(max=LONGEST_MEAN))[:, None]
        after = looks.clone()
        after[chosen, :2] += (verdicts - looks[chosen, :2]) / count
        after[chosen, 2:] = count
        return after

    def _verdicts(self, result: FrameResult, said: Said, chosen: Sequence[int]) -> Tensor:
        """On the noun, and on colours and what the thing is on (C, 2), of some of a frame's masks; 0 where none is."""
        crops = [crop_of(result.frame.pixels, result.masks[row]) for row in chosen]
        # A GPU is at the next chunk of frames by now, and this is waited for. The weights were used for this result.
        with ahead_of_queue(self.model.memory.local_start.device):
            seen, taken_for = look_at(self.model, crops)
        with torch.inference_mode():
            on_nouns = self.second_look.verdicts(seen, taken_for, said.nouns)
            on_carriers = self.second_look(seen, taken_for, said.carriers)
        verdicts = torch.zeros(len(chosen), 2)
        for place, row in enumerate(chosen):
            of_row = [float(on_carriers[place, carrier]) for carrier, owner in enumerate(said.carried) if owner == row]
            verdicts[place, 0] = on_nouns[place, row] if said.nouns.nouns[row].any() else 0.0
            if colours := said.colours[row] and measurable(said.colours[row], result.frame.pixels):
                shares = shares_of(result.frame.pixels, result.masks[row])
                of_row.append(verdict_on(colours, shares, CARRIER_DOUBTED))
            verdicts[place, 1] = min(of_row, default=0.0)
        return verdicts

    def _scored(self, result: FrameResult, said: Said, looks: Tensor, unjudged: frozenset[int]) -> FrameResult:
        with torch.inference_mode():
            likely = self.second_look.score(looks[:, 0], said.familiarity, torch.tensor(result.presence))
        is_believed = said.believed(looks)
        scores = []
        for row, mask in enumerate(result.masks):
            is_marked = bool(mask.any()) and (row in unjudged or bool(is_believed[row]))
            scores.append(0.0 if not is_marked else 1.0 if row in unjudged else float(likely[row]))
        is_kept = [score > 0 and score >= self.threshold for score in scores]
        return replace(
            result,
            score=tuple(scores),
            masks=only_kept(result.masks, is_kept),
            soft_masks=None if result.soft_masks is None else result.soft_masks * np.array(is_kept)[:, None, None],
            state=replace(result.state, looks=looks),
        )


def only_kept(masks: npt.NDArray[np.bool_], is_kept: Sequence[bool]) -> npt.NDArray[np.bool_]:
    """Masks (E, H, W), empty where they are not kept; the same array where nothing is to be taken away."""
    dropped = [row for row, kept in enumerate(is_kept) if not kept and masks[row].any()]
    if not dropped:
        return masks
    left = masks.copy()
    left[dropped] = False
    return left


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


def believed(verdicts: Tensor, familiarity: Tensor) -> Tensor:
    """Whether masks show what is said (N,) bool, by the verdicts (N,) on nouns of such a familiarity (N,)."""
    return verdicts >= torch.where(familiarity > WELL_KNOWN, DOUBTED, DOUBTED_IF_STRANGE)


def _carriers_in(text: str) -> list[str]:
    words = split_words(text)
    return [" ".join(words[place] for place in places) for places in carriers(words)]


def _is_time(frame: int) -> bool:
    """Whether a frame is looked at: 0, 1, 2, 4, 8, then every 16th."""
    return frame % EVERY == 0 or (frame < EVERY and frame & (frame - 1) == 0)
