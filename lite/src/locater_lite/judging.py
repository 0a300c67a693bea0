"""Is what was marked what was said? Masks are looked at again, and what is hardly believed is not marked."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from locater_lite.graphs import Graphs
from locater_lite.pixels import Array
from locater_lite.sentences import Reader
from locater_lite.square_crop import core_box, square_crop
from locater_lite.text.head_noun import carriers, head_noun
from locater_lite.text.words import split_words

LEAST_SURE = 1e-3


class Judge:
    """Scores one video's masks as they come; its memory is three numbers per sentence."""

    def __init__(self, graphs: Graphs, reader: Reader, texts: Sequence[str]) -> None:
        assert graphs.second_look is not None
        self._graphs, self._reader = graphs, reader
        self._weights, self._rules = graphs.second_look, graphs.settings["second_look"]
        words = [split_words(text) for text in texts]
        self._nouns = self._heard([[said[place] for place in head_noun(said)] for said in words])  # (B, E)
        named = [(row, [said[place] for place in each]) for row, said in enumerate(words) for each in carriers(said)]
        on = self._heard([name for _, name in named])
        known = self._familiarity(on) > self._rules["well_known"]
        self._carriers = on[known]  # (C, E): what things are said to be on
        self._carried = [row for (row, _), is_known in zip(named, known, strict=True) if is_known]
        self._familiar = self._familiarity(self._nouns)
        self._looks = np.zeros((len(texts), 3), np.float32)  # mean verdicts on the noun and the carrier, of how many

    def judged(
        self, index: int, pixels: Array, small: Array, soft: Array, masks: Array
    ) -> tuple[Array, Array, tuple[float, ...]]:
        """`soft` and `masks` without what is not believed, and the scores; `small` is the network's soft mask."""
        self._look(index, pixels, masks)
        verdict, on_carrier, _ = self._looks.T
        well_known = self._familiar > self._rules["well_known"]
        least = np.where(well_known, self._rules["doubted"], self._rules["doubted_if_strange"])
        believed = (verdict >= least) & (on_carrier >= self._rules["carrier_doubted"])
        sure = _top(small).clip(LEAST_SURE, 1 - LEAST_SURE)
        measures = np.stack(
            [np.log(sure / (1 - sure)), well_known * verdict, ~well_known * self._familiar * verdict, well_known],
            axis=-1,
        )
        weighed = measures @ self._weights["weights.weight"][0] + self._weights["weights.bias"][0]
        scores = np.where(believed & masks.any((1, 2)), 1 / (1 + np.exp(-weighed)), 0.0)
        kept = (scores > 0)[:, None, None]
        return soft * kept, masks & kept, tuple(scores.tolist())

    def _look(self, index: int, pixels: Array, masks: Array) -> None:
        rules, looks = self._rules, self._looks
        is_time = index % rules["every"] == 0 or (index < rules["every"] and index & (index - 1) == 0)
        large = np.count_nonzero(masks, axis=(1, 2)) >= rules["least_pixels"]
        chosen = np.flatnonzero(large & (is_time | (looks[:, 2] == 0)))
        for row in chosen:
            crop = square_crop(pixels, core_box(masks[row]), rules["side"])
            picture = np.ascontiguousarray(crop.transpose(2, 0, 1)[None], dtype=np.float32) / 255
            found = self._graphs.run("visual", {"frames": picture})
            own = [place for place, owner in enumerate(self._carried) if owner == row]
            on_noun = verdicts(self._weights, rules, found["seen"], found["taken_for"], self._nouns[[row]])
            on = _logits(self._weights, found["seen"], found["taken_for"], self._carriers[own])
            verdict = [on_noun[0, 0] if self._nouns[row].any() else 0.0, min(on[0], default=0.0)]
            count = min(looks[row, 2] + 1, rules["longest_mean"])
            looks[row, :2] += (np.array(verdict, np.float32) - looks[row, :2]) / count
            looks[row, 2] = count

    def _familiarity(self, nouns: Array) -> Array:
        familiarity: Array = (nouns @ self._weights["familiar"].T).max(-1, initial=0.0).clip(0, 1)
        return familiarity

    def _heard(self, names: Sequence[Sequence[str]]) -> Array:
        """Directions (N, E) of names; zeros for those that there is nothing to say on."""
        rows = np.zeros((len(names), self._weights["familiar"].shape[1]), np.float32)
        for row, name in zip(rows, names, strict=True):
            if name:
                tokens = self._reader.numbers(name)
                feed = {"numbers": tokens.numbers, "word_of_token": tokens.word_of_token}
                meanings = self._graphs.run("text", feed)["word_meanings"][0, :, : len(row)]
                row[:] = _unit(meanings[tokens.word_of_token[0] >= 0].mean(0))
        is_taught: Array = (rows @ self._weights["taught"].T > self._rules["well_known"]).any(-1, keepdims=True)
        return np.where(is_taught, 0, rows)


def verdicts(
    weights: Mapping[str, Array], rules: Mapping[str, float], seen: Array, taken_for: Array, nouns: Array
) -> Array:
    """Logits (N, M) of pictures going with nouns (M, E), or `lead` times the lead over a rival where that is lower."""
    logits = _logits(weights, seen, taken_for, nouns)
    familiar = weights["familiar"]
    if not len(familiar):
        return logits
    likeness = nouns @ familiar.T
    is_rival = weights["rivals"][likeness.argmax(-1)] & (likeness.max(-1) > rules["well_known"])[:, None]
    best = np.where(is_rival, _logits(weights, seen, taken_for, familiar)[:, None], -np.inf).max(-1)
    lower: Array = np.minimum(logits, rules["lead"] * (logits - best))
    return lower


def _logits(weights: Mapping[str, Array], seen: Array, taken_for: Array, nouns: Array) -> Array:
    hidden = nouns @ weights["from_noun.0.weight"].T + weights["from_noun.0.bias"]
    hidden = hidden * 0.5 * (1 + np.vectorize(math.erf, otypes=[np.float32])(hidden / math.sqrt(2)))
    named = _unit(hidden @ weights["from_noun.2.weight"].T + weights["from_noun.2.bias"])
    crops = _unit(seen @ weights["from_crop.weight"].T + weights["from_crop.bias"])
    likeness = weights["likeness"] * taken_for @ nouns.T + weights["bias"]
    logits: Array = np.exp(weights["scale"]) * crops @ named.T + likeness
    return logits


def _unit(rows: Array) -> Array:
    unit: Array = rows / np.linalg.norm(rows, axis=-1, keepdims=True).clip(1e-12)
    return unit


def _top(soft: Array) -> Array:
    """The mean of the top hundredth of each soft mask (B, h, w): (B,)."""
    flat = np.sort(soft.reshape(len(soft), -1), axis=1)
    mean: Array = flat[:, -math.ceil(flat.shape[1] / 100) :].mean(1)
    return mean
