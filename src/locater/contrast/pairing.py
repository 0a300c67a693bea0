"""Contrasting sampling: for each query the descriptions of other videos that share some of its roles, not all.

An index by role and phrase finds them, so that the time grows with how often phrases are shared and not with all pairs.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from locater.contrast.meaning import leaves_open, makes_true
from locater.records import SampleInfo
from locater.text.roles import Role, SentenceRoles

Filler = tuple[Role, str]  # a role and the phrase that fills it

# How much harder a role makes it to tell two videos apart when it is the same in both. The same actor in the same place
# who does something else can be told by watching alone: the hardest, and what the paper is about. At the other end,
# the same action by another actor is told by a look at one frame.
_CONFUSES: Mapping[Role, int] = {
    Role.ARG0: 6,
    Role.LOCATION: 5,
    Role.ARG1: 4,
    Role.TIME: 3,
    Role.ARG2: 2,
    Role.VERB: 1,
}


@dataclass(frozen=True)
class Described:
    """A sample and the roles of its sentence."""

    info: SampleInfo
    roles: SentenceRoles

    @property
    def fillers(self) -> frozenset[Filler]:
        """Every role with its phrase."""
        return frozenset((phrase.role, phrase.phrase) for phrase in self.roles.phrases)


@dataclass(frozen=True)
class Candidate:
    """A description that may stand in contrast to a query."""

    contrast: Described
    shared: tuple[Filler, ...]  # in the order of the query's sentence
    structure_distance: int  # roles that only one of the two has; 0: the same structure
    is_doubtful: bool  # something in its video may fit the query too

    @property
    def is_relaxed(self) -> bool:
        """Whether the structures differ."""
        return self.structure_distance > 0


@dataclass
class PassedOver:
    """How many descriptions share a phrase with a query, and why some can be no contrast."""

    sharing: int = 0
    same_video: int = 0
    also_true: int = 0


@dataclass
class _Seen:
    """What is known of each video while one query is looked at."""

    query: Described
    verdicts: dict[str, str] = field(default_factory=dict)


class Pairing:
    """Every description that can be a contrast, found by the phrases of its roles."""

    def __init__(self, described: Sequence[Described], seed: int) -> None:
        self._seed = seed
        self._of_video: dict[str, list[Described]] = {}
        self._index: dict[Filler, list[int]] = {}
        self._all = tuple(described)
        self._structures = [_structure(each.roles) for each in self._all]
        self._fillers = [each.fillers for each in self._all]
        self._distances: dict[tuple[tuple[Role, ...], tuple[Role, ...]], int] = {}
        for place, each in enumerate(self._all):
            if each.info.kind == "absent":  # it describes nothing in its video
                continue
            self._of_video.setdefault(each.info.video, []).append(each)
            if each.roles.has_verb:  # the paper abandons sentences without roles; "the black dog" says no action
                for filler in self._fillers[place]:
                    self._index.setdefault(filler, []).append(place)

    def candidates(self, query: Described, passed_over: PassedOver | None = None) -> Iterator[Candidate]:
        """Contrasts for a query, the most confusable first; what is passed over is counted as the search goes on.

        The order: the same structure before others, by how many roles differ; videos that the query surely does not
        fit before doubtful ones; more shared phrases first; then by `_CONFUSES`. Ties fall by a hash of the seed and
        the two keys, so that a sample added elsewhere moves nothing here.
        """
        tally = PassedOver() if passed_over is None else passed_over
        sharing: Counter[int] = Counter()
        for filler in query.fillers:
            sharing.update(self._index.get(filler, ()))
        structure = _structure(query.roles)
        groups: dict[int, dict[int, list[int]]] = {}  # structure distance, number of shared phrases
        for place, count in sharing.items():
            if self._all[place].info.key != query.info.key:
                distance = self._distance(structure, self._structures[place])
                groups.setdefault(distance, {}).setdefault(count, []).append(place)
        seen = _Seen(query)
        for distance in sorted(groups):
            doubtful: list[Candidate] = []
            for count in sorted(groups[distance], reverse=True):
                for candidate in self._ranked(seen, groups[distance][count], distance, tally):
                    if candidate.is_doubtful:
                        doubtful.append(candidate)
                    else:
                        yield candidate
            yield from doubtful

    def _ranked(self, seen: _Seen, places: Sequence[int], distance: int, tally: PassedOver) -> list[Candidate]:
        """The possible contrasts among descriptions with equally many shared phrases."""
        kept: list[tuple[int, str, Candidate]] = []
        for place in places:
            contrast = self._all[place]
            tally.sharing += 1
            verdict = self._verdict(seen, contrast.info.video)
            tally.same_video += verdict == "same"
            tally.also_true += verdict == "true"
            if verdict in ("", "doubtful"):
                candidate = self._candidate(seen.query, place, distance, verdict == "doubtful")
                kept.append((-_confusion(seen.query, candidate), self._tie(seen.query, contrast), candidate))
        return [candidate for _, _, candidate in sorted(kept, key=lambda each: each[:2])]

    def _candidate(self, query: Described, place: int, distance: int, is_doubtful: bool) -> Candidate:
        fillers = dict.fromkeys((phrase.role, phrase.phrase) for phrase in query.roles.phrases)
        shared = tuple(filler for filler in fillers if filler in self._fillers[place])
        return Candidate(self._all[place], shared, distance, is_doubtful)

    def _verdict(self, seen: _Seen, video: str) -> str:
        """Why a video cannot stand in contrast to the query; "doubtful" and "" are those that can."""
        if video not in seen.verdicts:
            told = [each.roles for each in self._of_video[video]]
            asked = seen.query.roles
            if video == seen.query.info.video:
                seen.verdicts[video] = "same"
            elif any(makes_true(each, asked) for each in told):
                seen.verdicts[video] = "true"
            else:
                seen.verdicts[video] = "doubtful" if any(leaves_open(each, asked) for each in told) else ""
        return seen.verdicts[video]

    def _distance(self, one: tuple[Role, ...], other: tuple[Role, ...]) -> int:
        if (one, other) not in self._distances:
            first, second = Counter(one), Counter(other)
            self._distances[one, other] = (first - second).total() + (second - first).total()
        return self._distances[one, other]

    def _tie(self, query: Described, contrast: Described) -> str:
        text = f"{self._seed}\0{query.info.key}\0{contrast.info.key}"
        return hashlib.sha256(text.encode()).hexdigest()


def _structure(roles: SentenceRoles) -> tuple[Role, ...]:
    """The roles, whatever the order: "on the left a dog runs" is built as "a dog runs on the left"."""
    return tuple(sorted(roles.structure))


def _confusion(query: Described, candidate: Candidate) -> int:
    """How hard it is to tell the two apart: shared phrases, and half as much for "white dog" beside "black dog"."""
    shared = {role for role, _ in candidate.shared}
    theirs = {(phrase.role, phrase.head) for phrase in candidate.contrast.roles.phrases}
    alike = {phrase.role for phrase in query.roles.phrases if (phrase.role, phrase.head) in theirs} - shared
    return sum(2 * _CONFUSES[role] for role in shared) + sum(_CONFUSES[role] for role in alike)
