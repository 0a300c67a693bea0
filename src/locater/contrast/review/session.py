"""What people decide: saved as they go, counted, and undone."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from locater.contrast.decisions import (
    ACCEPT,
    REJECT,
    UNDECIDED,
    Decision,
    append_decision,
    prepare_decisions,
    read_decisions,
)
from locater.contrast.review.pairs import BuiltPairs, NotThereError
from locater.errors import LocaterError

REASONS = (
    "The sentence is also true of the contrast",
    "The sentence does not fit its own video",
    "The roles are wrong",
    "The mask is wrong",
    "A video is broken",
)
_LONGEST_REASON = 500  # characters


@dataclass(frozen=True)
class Counts:
    """How far the review has come."""

    total: int
    accepted: int
    rejected: int

    @property
    def decided(self) -> int:
        """Pairs that somebody has judged."""
        return self.accepted + self.rejected

    def as_json(self) -> dict[str, int]:
        """Plain values."""
        return {
            "total": self.total,
            "decided": self.decided,
            "accepted": self.accepted,
            "rejected": self.rejected,
        }


class Session:
    """One sitting. The file of decisions is the only record of them: nothing is known that a kill could take away."""

    def __init__(self, pairs: BuiltPairs) -> None:
        self._pairs = pairs
        self._lock = threading.Lock()
        self._before: list[Decision] = []  # what each decision of this sitting replaced, for undoing
        prepare_decisions(pairs.folder)

    def overview(self) -> dict[str, Any]:
        """The set, every pair with its decision, and the counts."""
        decisions = read_decisions(self._pairs.folder)
        listed = [
            {**pair.as_json(), **_said(decisions.get(sequence, Decision(sequence)))}
            for sequence, pair in self._pairs.listed.items()
        ]
        return {
            "folder": str(self._pairs.folder),
            "dataset": self._pairs.about.get("dataset"),
            "reasons": REASONS,
            "longest_reason": _LONGEST_REASON,
            "pairs": listed,
            "counts": self._count(decisions).as_json(),
        }

    def counts(self) -> Counts:
        """How many of the pairs that are there now are decided."""
        return self._count(read_decisions(self._pairs.folder))

    def decide(self, sequence: object, decision: object, reason: object) -> dict[str, Any]:
        """Save a decision; what comes back is on the disk."""
        said = _checked(sequence, decision, reason)
        if said.sequence not in self._pairs.listed:
            raise NotThereError(f"There is no pair {said.sequence} here; if it was built anew, start the review again.")
        with self._lock:
            before = read_decisions(self._pairs.folder).get(said.sequence, Decision(said.sequence))
            append_decision(self._pairs.folder, said)
            self._before.append(before)
        return self._saved(said)

    def undo(self) -> dict[str, Any]:
        """Bring back what the last decision of this sitting replaced."""
        with self._lock:
            if not self._before:
                raise NotThereError("Nothing was decided since the review was started, so there is nothing to undo.")
            append_decision(self._pairs.folder, self._before[-1])
            return self._saved(self._before.pop())

    def _saved(self, said: Decision) -> dict[str, Any]:
        return {"sequence": said.sequence, **_said(said), "counts": self.counts().as_json()}

    def _count(self, decisions: Mapping[str, Decision]) -> Counts:
        # Pairs that were rejected and built anew are still in the file, but no longer in the set.
        found = [decisions[sequence].decision for sequence in self._pairs.listed if sequence in decisions]
        return Counts(len(self._pairs.listed), found.count(ACCEPT), found.count(REJECT))


def _said(decision: Decision) -> dict[str, str]:
    return {"decision": decision.decision, "reason": decision.reason}


def _checked(sequence: object, decision: object, reason: object) -> Decision:
    if not isinstance(sequence, str) or decision not in (ACCEPT, REJECT, UNDECIDED) or not isinstance(reason, str):
        raise LocaterError("A decision needs a sequence, one of accept, reject and undecided, and a reason.")
    plain = " ".join(reason.encode("utf-8", "replace").decode().split())  # half a character cannot be written
    if decision == REJECT and not plain:
        raise LocaterError("Say why the pair is rejected; those who build the next one need to know.")
    if len(plain) > _LONGEST_REASON:
        raise LocaterError(f"The reason has {len(plain)} characters; {_LONGEST_REASON} are the most.")
    return Decision(sequence, str(decision), plain if decision == REJECT else "")
