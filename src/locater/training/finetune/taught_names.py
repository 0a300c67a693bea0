"""What a second look says of a folder's names: nothing on new ones, and nothing on those whose use it would doubt."""

from itertools import islice

import torch

from locater.inference.judging import believed, crop_of, look_at, meanings_of, named_in
from locater.model.locater import Locater
from locater.model.second_look import SecondLook
from locater.records import Dataset, Pixels, SampleInfo
from locater.text.words import split_words

MOST_CROPS = 8  # of one name that are looked at


def look_after_tuning(
    look: SecondLook | None, model: Locater, dataset: Dataset, known: frozenset[str]
) -> SecondLook | None:
    """The second look of a network that learned a dataset's names, `known` being the words before; None for None.

    It was made for the things that `known` words name. Of a new name it knows nothing, and a known noun may mean
    something else in a folder (the "queen" of a chess board): it is silent where it would doubt the folder's own masks.
    """
    if look is None:
        return None
    named: dict[str, list[SampleInfo]] = {}
    for info in dataset.samples():
        named.setdefault(named_in(info.expression), []).append(info)
    names = [
        name
        for name, infos in named.items()
        if name and (not known.issuperset(split_words(name)) or not _is_believed(look, model, dataset, name, infos))
    ]
    if not names:
        return look
    meanings = meanings_of(model, names)
    return look.with_taught(meanings[meanings.any(-1)])


def _is_believed(look: SecondLook, model: Locater, dataset: Dataset, name: str, infos: list[SampleInfo]) -> bool:
    crops = list(islice((crop for info in infos for crop in _crops(dataset, info)), MOST_CROPS))
    noun = look.heard(meanings_of(model, [name]))
    if not crops or not noun.any():
        return True
    with torch.inference_mode():
        verdict = look.verdicts(*look_at(model, crops), look.asked(noun)).mean(0)
    return bool(believed(verdict, look.familiarity(noun)))


def _crops(dataset: Dataset, info: SampleInfo) -> list[Pixels]:
    """The thing in the first and in the last frame with a mask of it."""
    sample = dataset.load(info)
    shown = [index for index in sorted(sample.masks) if sample.masks[index].any()]
    frames = (next(iter(sample.frames.frames(start=index))) for index in dict.fromkeys((*shown[:1], *shown[-1:])))
    return [crop_of(frame.pixels, sample.masks[frame.index]) for frame in frames]
