"""How many pictures of a pack show what each of its nouns means."""

from collections import Counter
from collections.abc import Mapping

from locater.worlds.composed.pack.nouns import ROLES, is_person
from locater.worlds.composed.pack.pack import Pack


def counted_pictures(pack: Pack) -> Mapping[str, int]:
    """Of each noun, the cut-outs and the things in photographs that training shows; sprites are nothing filmed.

    What people are called is said of any of them, so all people count for each, but for what is said by what they do.
    """
    names = [{cut.noun, *cut.broader} for cut in pack.cutouts if cut.split == "train" and not cut.is_sprite]
    photographs = [photograph for photograph in pack.photographs if photograph.split == "train"]
    names += [{thing.noun, *thing.broader} for photograph in photographs for thing in photograph.things]
    shown = Counter(noun for each in names for noun in each)
    people = sum(any(map(is_person, each)) for each in names)
    return {noun: people if is_person(noun) and noun not in ROLES else shown[noun] for noun in pack.nouns.broader}
