"""What came of a job as tables: every video, and those that failed with their reasons."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from locater.batch.manifest import Named
from locater.batch.records import Outcome
from locater.io.atomic import atomic_path

SUMMARY, FAILED = "summary.csv", "failed.csv"
LEFT = "left"  # the status of what a stopped job did not come to
_COLUMNS = ("name", "status", "frames", "seconds", "resumed_from", "video", "sentences", "findings", "warnings")


def write_tables(folder: Path, rows: Sequence[Named], outcomes: Mapping[str, Outcome]) -> None:
    """Write `summary.csv`, a line per video in the manifest's order, and `failed.csv`."""
    _write(folder / SUMMARY, [_COLUMNS, *(_line(row, outcomes.get(row.name)) for row in rows)])
    failed = [(row, outcomes[row.name]) for row in rows if row.name in outcomes]
    lines = [
        (row.name, row.video, " | ".join(row.sentences), outcome.tries, outcome.reason)
        for row, outcome in failed
        if outcome.status == "failed"
    ]
    _write(folder / FAILED, [("name", "video", "sentences", "tries", "reason"), *lines])


def told(rows: Sequence[Named], outcomes: Mapping[str, Outcome], seconds: float) -> str:
    """The job in one line: how many, how fast."""
    found = [outcomes[row.name] for row in rows if row.name in outcomes]
    done = [outcome for outcome in found if outcome.status == "done"]
    kept, failed = (sum(outcome.status == status for outcome in found) for status in ("kept", "failed"))
    frames = sum(o.record.frames - o.record.resumed_from for o in done if o.record is not None)
    left = len(rows) - len(found)
    parts = [
        f"{len(done)} videos segmented",
        f"{kept} already done" if kept else "",
        f"{failed} failed" if failed else "",
        f"{left} left" if left else "",
    ]
    speed = f"; {frames} frames in {seconds:.1f} s, {frames / seconds:.1f} frames/s" if frames and seconds else ""
    return ", ".join(part for part in parts if part) + speed


def _line(row: Named, outcome: Outcome | None) -> tuple[object, ...]:
    about = (row.video, " | ".join(row.sentences))
    if outcome is None:
        return (row.name, LEFT, "", "", "", *about, "", "")
    if outcome.record is None:
        return (row.name, outcome.status, "", "", "", *about, outcome.reason, "")
    record = outcome.record
    findings, warnings = " ".join(record.findings), " ".join(record.warnings)
    return (row.name, outcome.status, record.frames, record.seconds, record.resumed_from, *about, findings, warnings)


def _write(path: Path, lines: Sequence[Sequence[object]]) -> None:
    with atomic_path(path) as partial, partial.open("w", encoding="utf-8", errors="replace", newline="") as file:
        csv.writer(file).writerows(lines)
