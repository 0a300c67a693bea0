"""What is to be built from a dataset, decided from its sentences alone: no pixel is touched."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from locater.contrast.names import file_names
from locater.contrast.pairing import Candidate, Described, Filler, Pairing, PassedOver
from locater.errors import LocaterError
from locater.records import Dataset
from locater.text.roles import RoleLabeler, RolePhrase


@dataclass(frozen=True)
class Pair:
    """A query and its contrast, joined under one name in S and in T."""

    sequence: str
    query: Described
    contrast: Described
    shared: tuple[Filler, ...]
    is_relaxed: bool
    is_doubtful: bool
    rank: int  # among the query's candidates; above 1 where people rejected others

    @property
    def object_count(self) -> int | None:
        """Objects in both videos together; None where one is unknown."""
        counts = (self.query.info.object_count, self.contrast.info.object_count)
        return None if None in counts else sum(each or 0 for each in counts)


@dataclass(frozen=True)
class Outcome:
    """What became of one query: a pair, or a reason why there is none."""

    query: Described
    pair: Pair | None
    reason: str = ""  # one of a few, to be counted
    detail: str = ""  # what stood in the way of this query

    def as_json(self) -> dict[str, Any]:
        """One line of `pairs.jsonl`."""
        line: dict[str, Any] = {"query": _described_json(self.query), "paired": self.pair is not None}
        if self.pair is None:
            return {**line, "reason": self.reason, "detail": self.detail}
        return {
            **line,
            "sequence": self.pair.sequence,
            "contrast": _described_json(self.pair.contrast),
            **pair_json(self.pair),
        }


@dataclass(frozen=True)
class SeveralActors:
    """A video of M with all its sentences."""

    sequence: str
    video: str
    queries: tuple[Described, ...]

    @property
    def object_count(self) -> int:
        """Objects in the video."""
        return max(each.info.object_count or 0 for each in self.queries)


@dataclass(frozen=True)
class Plan:
    """Every query's outcome, and the videos of M."""

    dataset_name: str
    labeler: str
    seed: int
    outcomes: tuple[Outcome, ...]
    several: tuple[SeveralActors, ...]

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that were found, in the order of the dataset."""
        return tuple(outcome.pair for outcome in self.outcomes if outcome.pair is not None)

    @cached_property
    def source_digest(self) -> str:
        """A fingerprint of all that pairing depends on: the samples and their roles."""
        fingerprint = hashlib.sha256()
        for outcome in self.outcomes:
            fingerprint.update(repr(outcome.query).encode())
        return fingerprint.hexdigest()


def describe(dataset: Dataset, labeler: RoleLabeler) -> list[Described]:
    """Every sample of a dataset with its roles."""
    infos = dataset.samples()
    labelled = labeler.label([info.expression for info in infos])
    if len(labelled) != len(infos):
        raise LocaterError(
            f"The labeler {labeler.name} gave {len(labelled)} answers to {len(infos)} sentences; mend it."
        )
    return [Described(info, roles) for info, roles in zip(infos, labelled, strict=True)]


def plan(dataset: Dataset, labeler: RoleLabeler, seed: int, rejected: frozenset[str] = frozenset()) -> Plan:
    """What to build; `rejected` names the sequences that people do not want."""
    described = describe(dataset, labeler)
    names = file_names(each.info.key for each in described)
    pairing = Pairing(described, seed)
    return Plan(
        dataset_name=dataset.name,
        labeler=labeler.name,
        seed=seed,
        outcomes=tuple(_outcome(each, pairing, names, rejected) for each in described),
        several=_several_actors(described),
    )


def _outcome(query: Described, pairing: Pairing, names: dict[str, str], rejected: frozenset[str]) -> Outcome:
    unfit = _unfit(query)
    if unfit:
        return Outcome(query, None, unfit)
    passed_over = PassedOver()
    unwanted = 0
    for rank, candidate in zip(count(1), pairing.candidates(query, passed_over), strict=False):
        sequence = f"{names[query.info.key]}__{names[candidate.contrast.info.key]}"
        if sequence not in rejected:
            return Outcome(query, _pair(sequence, query, candidate, rank))
        unwanted += 1
    if unwanted:
        return Outcome(query, None, "people rejected every candidate", f"{unwanted} rejected")
    if not passed_over.sharing:
        return Outcome(query, None, "no other description shares a role's phrase")
    return Outcome(
        query,
        None,
        "every description that shares a phrase is barred",
        f"{passed_over.sharing} share a phrase: {passed_over.same_video} of the same video, {passed_over.also_true} of "
        "videos that the sentence fits too",
    )


def _unfit(query: Described) -> str:
    """Why a sentence cannot be a query of S and T; empty where it can."""
    if query.info.kind == "absent":
        return "nothing in its video is meant"
    if not query.roles.phrases:
        return "no semantic role was found"
    return "" if query.roles.has_verb else "it has no verb"


def _pair(sequence: str, query: Described, candidate: Candidate, rank: int) -> Pair:
    return Pair(
        sequence, query, candidate.contrast, candidate.shared, candidate.is_relaxed, candidate.is_doubtful, rank
    )


def _several_actors(described: Sequence[Described]) -> tuple[SeveralActors, ...]:
    """The paper's M: videos with more than one actor; where their number is unknown, they are none of it."""
    videos: dict[str, list[Described]] = {}
    for each in described:
        if (each.info.object_count or 0) > 1:
            videos.setdefault(each.info.video, []).append(each)
    names = file_names(videos)
    return tuple(SeveralActors(names[video], video, tuple(queries)) for video, queries in videos.items())


def pair_json(pair: Pair) -> dict[str, Any]:
    """What the two have in common, and how sure the choice is."""
    return {
        "shared": [{"role": str(role), "phrase": phrase} for role, phrase in pair.shared],
        "shared_roles": sorted({str(role) for role, _ in pair.shared}),
        "relaxed": pair.is_relaxed,
        "doubtful": pair.is_doubtful,
        "rank": pair.rank,
    }


def source_json(described: Described) -> dict[str, Any]:
    """Where a sentence comes from."""
    info = described.info
    return {"key": info.key, "video": info.video, "object_id": info.object_id, "kind": info.kind}


def roles_json(phrases: Sequence[RolePhrase]) -> list[dict[str, Any]]:
    """Roles in the order of the sentence."""
    return [
        {"role": str(each.role), "phrase": each.phrase, "head": each.head, "start": each.start, "end": each.end}
        for each in phrases
    ]


def _described_json(described: Described) -> dict[str, Any]:
    return {
        "source": source_json(described),
        "expression": described.info.expression,
        "roles": roles_json(described.roles.phrases),
    }
