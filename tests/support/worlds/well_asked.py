"""Whether a scene's sentence is true, for the tests of every world."""

from locater.worlds.claims import is_absent, is_unique, judge
from locater.worlds.describing import DescribedScene


def is_well_asked(scene: DescribedScene) -> bool:
    """Whether the scene's sentence means its referent and no other, or, when absent, nobody."""
    verdict = judge(scene.description, scene.objects)
    if scene.referent is None:
        return is_absent(verdict)
    return is_unique(verdict, scene.actor_of_member.index(scene.referent))
