"""Is what was marked what was said? Masks are looked at again, and what is hardly believed is not marked."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from locater_lite.colours import measurable, shares_of, verdict_on
from locater_lite.graphs import Graphs
from locater_lite.pixels import Array
from locater_lite.sentences import Reader
from locater_lite.square_crop import core_box, square_crop
from locater_lite.text.head_noun import carriers, head_noun
from locater_lite.text.said_colours import said_colours
from locater_lite.text.words import split_words

LEAST_SURE = 1e-3


class Asked(NamedTuple):
    """Nouns that verdicts are wanted on, with what is the same for every picture."""

    nouns: Array  # (M, E)
    named: Array  # (M, D)
    is_rare: Array  # (M,) bool
    is_rival: Array  # (M, K + R) bool
    rivals_named: Array  # (K, D)


class Judge:
    """Scores one video's masks as they come; its memory is three numbers per sentence."""

    def __init__(self, graphs: Graphs, reader: Reader, texts: Sequence[str]) -> None:
        assert graphs.second_look is not None
        self._graphs, self._reader = graphs, reader
        self._weights, self._rules = graphs.second_look, graphs.settings["second_look"]
        words = [split_words(text) for text in texts]
        nouns = self._heard([[said[place] for place in head_noun(said)] for said in words])  # (B, E)
        self._asked = asked(self._weights, self._rules, nouns)
        named = [(row, [said[place] for place in each]) for row, said in enumerate(words) for each in carriers(said)]
        on = self._heard([name for _, name in named])
        known = self._familiarity(on) > self._rules["well_known"]
        self._carriers = on[known]  # (C, E): what things are said to be on
        self._carried = [row for (row, _), is_known in zip(named, known, strict=True) if is_known]
        self._colours = [said_colours(said) if heard.any() else () for said, heard in zip(words, nouns, strict=True)]
        self._familiar = self._familiarity(nouns)
        self._looks = np.zeros((len(texts), 3), np.float32)  # mean verdicts on the noun and the rest, of how many

    def judged(
        self, index: int, pixels: Array, small: Array, soft: Array, masks: Array
    ) -> tuple[Array, Array, tuple[float, ...]]:
        """`soft` and `masks` without what is not believed, and the scores; `small` is the network's soft mask."""
        self._look(index, pixels, masks)
        verdict = self._looks[:, 0]
        well_known = self._familiar > self._rules["well_known"]
        believed = self._believed(self._looks, slice(None))
        sure = _top(small).clip(LEAST_SURE, 1 - LEAST_SURE)
        measures = np.stack(
            [np.log(sure / (1 - sure)), well_known * verdict, ~well_known * self._familiar * verdict, well_known],
            axis=-1,
        )
        weighed = measures @ self._weights["weights.weight"][0] + self._weights["weights.bias"][0]
        scores = np.where(believed & masks.any((1, 2)), 1 / (1 + np.exp(-weighed)), 0.0)
        kept = (scores > 0)[:, None, None]
        return soft * kept, masks & kept, tuple(scores.tolist())

    def _believed(self, verdicts: Array, rows: int | slice, by: float = 0.0) -> Array:
        """Whether these rows' masks show what is said, clearly `by` so much, by their verdicts (..., 2 or more)."""
        well_known = self._familiar[rows] > self._rules["well_known"]
        least = np.where(well_known, self._rules["doubted"], self._rules["doubted_if_strange"])
        is_believed: Array = (verdicts[..., 0] - by >= least) & (verdicts[..., 1] >= self._rules["carrier_doubted"])
        return is_believed

    def _look(self, index: int, pixels: Array, masks: Array) -> None:
        rules, looks = self._rules, self._looks
        is_time = index % rules["every"] == 0 or (index < rules["every"] and index & (index - 1) == 0)
        is_doubted = ~self._believed(looks, slice(None))
        is_again = is_doubted if index % rules["every_doubted"] == 0 else np.zeros_like(is_doubted)
        large = np.count_nonzero(masks, axis=(1, 2)) >= rules["least_pixels"]
        for row in np.flatnonzero(large & (is_time | (looks[:, 2] == 0) | is_again)).tolist():
            verdict = self._verdict(pixels, masks[row], row)
            is_another = is_doubted[row] and self._believed(verdict, row, rules["clear"])
            count = 1.0 if is_another else min(looks[row, 2] + 1, rules["longest_mean"])
            looks[row, :2] += (verdict - looks[row, :2]) / count
            looks[row, 2] = count

    def _verdict(self, pixels: Array, mask: Array, row: int) -> Array:
        """On the noun of a sentence, and on colours and what the thing is on (2,), by a look at its mask."""
        crop = square_crop(pixels, core_box(mask), self._rules["side"])
        picture = np.ascontiguousarray(crop.transpose(2, 0, 1)[None], dtype=np.float32) / 255
        found = self._graphs.run("visual", {"frames": picture})
        own = [place for place, owner in enumerate(self._carried) if owner == row]
        on_noun = verdicts(self._weights, self._rules, found["seen"], found["taken_for"], self._asked)[0, row]
        placed, carriers_ = _placed(self._weights, found["seen"]), self._carriers[own]
        on = _logits(self._weights, placed, found["taken_for"], carriers_, _named(self._weights, carriers_))
        rest = on[0].tolist()
        if colours := self._colours[row] and measurable(self._colours[row], pixels, self._rules):
            rest.append(verdict_on(colours, shares_of(pixels, mask, self._rules), self._rules))
        return np.array([on_noun if self._asked.nouns[row].any() else 0.0, min(rest, default=0.0)], np.float32)

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


def asked(weights: Mapping[str, Array], rules: Mapping[str, float], nouns: Array) -> Asked:
    """Nouns (M, E), made ready for `verdicts`."""
    familiar = weights["familiar"]
    known = np.concatenate([familiar, weights["rare"]])
    is_same = nouns @ known.T > rules["well_known"]
    table = np.unpackbits(weights["rivals"], axis=1, count=len(known))
    is_rare: Array = is_same.any(-1) & ~is_same[:, : len(familiar)].any(-1)
    is_rival = is_same.astype(np.float32) @ table.astype(np.float32) > 0
    return Asked(nouns, _named(weights, nouns), is_rare, is_rival, _named(weights, familiar))


def verdicts(
    weights: Mapping[str, Array], rules: Mapping[str, float], seen: Array, taken_for: Array, nouns: Asked
) -> Array:
    """Logits (N, M) of pictures going with nouns, or what the lead over a rival weighs where that is lower.

    A noun that was seldom trained must also not stand far behind its rivals in what the picture is taken for.
    """
    placed, familiar = _placed(weights, seen), weights["familiar"]
    logits = _logits(weights, placed, taken_for, nouns.nouns, nouns.named)
    best = _best(_logits(weights, placed, taken_for, familiar, nouns.rivals_named), nouns.is_rival)
    lower = np.minimum(logits, np.where(nouns.is_rare, rules["rare_lead"], rules["lead"]) * (logits - best))
    taken = taken_for @ np.concatenate([familiar, weights["rare"]]).T
    behind = rules["taken_lead"] * (taken_for @ nouns.nouns.T - _best(taken, nouns.is_rival))
    found: Array = np.where(nouns.is_rare, np.minimum(lower, behind) + rules["rare_given"], lower)
    return found


def _best(values: Array, is_rival: Array) -> Array:
    """The largest of values (N, K) among the rivals of each noun, the first K of (M, L); -inf where it has none."""
    among = np.where(is_rival[:, : values.shape[1]], values[:, None], -np.inf)
    best: Array = among.max(-1, initial=-np.inf)
    return best


def _placed(weights: Mapping[str, Array], seen: Array) -> Array:
    return _unit(seen @ weights["from_crop.weight"].T + weights["from_crop.bias"])


def _named(weights: Mapping[str, Array], nouns: Array) -> Array:
    hidden = nouns @ weights["from_noun.0.weight"].T + weights["from_noun.0.bias"]
    hidden = hidden * 0.5 * (1 + np.vectorize(math.erf, otypes=[np.float32])(hidden / math.sqrt(2)))
    return _unit(hidden @ weights["from_noun.2.weight"].T + weights["from_noun.2.bias"])


def _logits(weights: Mapping[str, Array], placed: Array, taken_for: Array, nouns: Array, named: Array) -> Array:
    likeness = weights["likeness"] * taken_for @ nouns.T + weights["bias"]
    logits: Array = np.exp(weights["scale"]) * placed @ named.T + likeness
    return logits


def _unit(rows: Array) -> Array:
    unit: Array = rows / np.linalg.norm(rows, axis=-1, keepdims=True).clip(1e-12)
    return unit


def _top(soft: Array) -> Array:
    """The mean of the top hundredth of each soft mask (B, h, w): (B,)."""
    flat = np.sort(soft.reshape(len(soft), -1), axis=1)
    mean: Array = flat[:, -math.ceil(flat.shape[1] / 100) :].mean(1)
    return mean
