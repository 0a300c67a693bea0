"""What people said of the pairs: `decisions.jsonl`, one line a decision, the last about a sequence counts."""

import json
from pathlib import Path

from locater.errors import LocaterError

DECISIONS = "decisions.jsonl"
_KNOWN = ("accept", "reject", "undecided")


def rejected_sequences(folder: Path) -> frozenset[str]:
    """The sequences that people rejected; none where nobody has looked yet."""
    path = folder / DECISIONS
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return frozenset()
    except (OSError, UnicodeDecodeError) as error:
        raise LocaterError(f"{path} cannot be read ({error}); repair it or take it away.") from None
    whole, _, _ = text.rpartition("\n")  # a line that a kill cut short is no decision
    decisions: dict[str, str] = {}
    for number, line in enumerate(whole.split("\n"), start=1):
        if line.strip():
            sequence, decision = _decision(path, number, line)
            decisions[sequence] = decision
    return frozenset(sequence for sequence, decision in decisions.items() if decision == "reject")


def _decision(path: Path, number: int, line: str) -> tuple[str, str]:
    try:
        entry = json.loads(line)
        sequence, decision = entry["sequence"], entry["decision"]
    except (ValueError, KeyError, TypeError):
        sequence, decision = None, None
    if not isinstance(sequence, str) or decision not in _KNOWN:
        raise LocaterError(
            f'{path}, line {number} is no decision; write {{"sequence": ..., "decision": ...}} with '
            f"{', '.join(_KNOWN[:-1])} or {_KNOWN[-1]}."
        )
    return sequence, decision
