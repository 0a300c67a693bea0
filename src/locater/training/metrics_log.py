"""metrics.jsonl: what a training tells of itself, one event a line."""

import json
import math
from pathlib import Path
from typing import Any

from locater.io.atomic import atomic_path, plain_os_errors


def mean_score(scores: dict[str, float]) -> float:
    """The mean over the kinds of sentence, which is what the best checkpoint is best in."""
    return math.fsum(scores.values()) / max(1, len(scores))


def read_events(path: Path) -> list[dict[str, Any]]:
    """Every event of a metrics.jsonl, oldest first; a line that a kill cut off is left out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


class MetricsLog:
    """metrics.jsonl: one line an event; what an interrupted run wrote past its last state is dropped."""

    def __init__(self, path: Path, first_step: int, is_writing: bool) -> None:
        self.path = path
        self.is_writing = is_writing
        if is_writing:
            # Without a state it begins again, its validation before the first step included.
            kept = [event for event in read_events(path) if event["step"] <= first_step] if first_step else []
            with atomic_path(path) as partial:
                partial.write_text("".join(json.dumps(event) + "\n" for event in kept))

    def best_score(self) -> float | None:
        """The best mean score of a validation so far; None where there was none."""
        events = read_events(self.path)
        return max((mean_score(event["validation"]) for event in events if "validation" in event), default=None)

    def write(self, event: dict[str, Any]) -> None:
        """Append one event."""
        if self.is_writing:
            with plain_os_errors(self.path), self.path.open("a") as file:
                file.write(json.dumps(event) + "\n")
