"""What people said of the pairs: `decisions.jsonl`, one line a decision, the last about a sequence counts."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path

from locater.errors import LocaterError

DECISIONS = "decisions.jsonl"
ACCEPT, REJECT, UNDECIDED = "accept", "reject", "undecided"
_KNOWN = (ACCEPT, REJECT, UNDECIDED)


@dataclass(frozen=True)
class Decision:
    """What was said of one sequence; `undecided` takes an earlier one back."""

    sequence: str
    decision: str = UNDECIDED
    reason: str = ""


def rejected_sequences(folder: Path) -> frozenset[str]:
    """The sequences that people rejected; none where nobody has looked yet."""
    return frozenset(each.sequence for each in read_decisions(folder).values() if each.decision == REJECT)


def read_decisions(folder: Path) -> dict[str, Decision]:
    """The last decision about each sequence, by its name; empty where nobody has looked yet."""
    path = folder / DECISIONS
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise LocaterError(f"{path} cannot be read ({error}); repair it or take it away.") from None
    whole, _, _ = text.rpartition("\n")  # a line that a kill cut short is no decision
    decisions: dict[str, Decision] = {}
    for number, line in enumerate(whole.split("\n"), start=1):
        if line.strip():
            decision = _decision(path, number, line)
            decisions[decision.sequence] = decision
    return decisions


def append_decision(folder: Path, decision: Decision) -> None:
    """Write one more line; when this returns, neither a kill nor a power cut can take it away."""
    line = json.dumps(asdict(decision), ensure_ascii=False).encode() + b"\n"
    with _opened(folder / DECISIONS) as file:
        size = file.seek(0, os.SEEK_END)
        try:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(size)  # a decision that is reported as unsaved must not be found later
            raise


def prepare_decisions(folder: Path) -> None:
    """Nothing, where decisions can be written; said before people start, not at their first key press."""
    with _opened(folder / DECISIONS):
        pass
    read_decisions(folder)


@contextmanager
def _opened(path: Path) -> Iterator[FileIO]:
    """The log, ours alone, at a whole line's end, and in its folder for good."""
    try:
        is_new = not path.exists()
        with path.open("ab+", buffering=0) as file:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            file.truncate(file.readall().rfind(b"\n") + 1)  # else a line that a kill cut short would spoil the next
            if is_new:
                _sync_folder(path.parent)
            yield file
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LocaterError(f"Cannot write {path}: {reason}; make room or change the folder's permissions.") from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _decision(path: Path, number: int, line: str) -> Decision:
    try:
        entry = json.loads(line)
        sequence, decision, reason = entry["sequence"], entry["decision"], entry.get("reason", "")
    except (ValueError, KeyError, TypeError, AttributeError):
        sequence, decision, reason = None, None, ""
    if not isinstance(sequence, str) or decision not in _KNOWN:
        raise LocaterError(
            f'{path}, line {number} is no decision; write {{"sequence": ..., "decision": ...}} with '
            f"{', '.join(_KNOWN[:-1])} or {_KNOWN[-1]}."
        )
    return Decision(sequence, decision, str(reason))
