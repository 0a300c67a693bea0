"""How many pictures of a pack show what each of its nouns means."""

from collections import Counter
from collections.abc import Mapping

from locater.worlds.composed.pack.nouns import is_person
from locater.worlds.composed.pack.pack import Pack


def counted_pictures(pack: Pack) -> Mapping[str, int]:
    """Each noun's cut-outs and things in photographs; sprites show nothing as it is filmed.

    What people are called is said of any of them, so all people count for each.
    """
    shown: Counter[str] = Counter()
    for cut in pack.cutouts:
        if not cut.is_sprite:
            shown.update({cut.noun, *cut.broader})
    for photograph in pack.photographs:
        for thing in photograph.things:
            shown.update({thing.noun, *thing.broader})
    people = sum(count for noun, count in shown.items() if is_person(noun))
    return {noun: people if is_person(noun) else shown[noun] for noun in pack.nouns.broader}
