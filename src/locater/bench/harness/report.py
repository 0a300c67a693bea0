"""What a benchmark found: a table for people, JSON for programs, a plot."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from locater.bench.harness.chart import Bars, Lines
from locater.bench.harness.checks import Check
from locater.bench.harness.machine import machine_facts
from locater.bench.harness.request import BenchRequest
from locater.errors import LocaterError
from locater.io.atomic import atomic_entries

Row = dict[str, Any]  # a column's name to a text, a number, or None for what was not measured


@dataclass
class Report:
    """One benchmark's results."""

    name: str
    title: str
    timed: str  # what exactly the numbers are of
    columns: tuple[str, ...]
    chart: Lines | Bars
    rows: list[Row] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The whole as a person reads it."""
        facts = [f"{name}: {value}" for name, value in machine_facts().items()]
        return "\n".join(
            [
                f"== {self.name}: {self.title}",
                *facts,
                f"timed: {self.timed}",
                "",
                table(self.columns, self.rows),
                "",
                *(f"check: {check}" for check in self.checks),
                *(f"note: {note}" for note in self.notes),
            ]
        ).rstrip()

    def save(self, folder: Path, request: BenchRequest) -> None:
        """Write NAME.json and NAME.png into `folder`."""
        described: dict[str, Any] = {
            "benchmark": self.name,
            "title": self.title,
            "timed": self.timed,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            **machine_facts(),
            "request": {**asdict(request), "device": str(request.device)},
            "columns": self.columns,
            "rows": self.rows,
            "checks": [{**asdict(check), "holds": check.holds} for check in self.checks],
            "notes": self.notes,
        }
        with atomic_entries(folder) as partial:
            text = json.dumps(described, indent=1, ensure_ascii=False)
            (partial / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")
            self.chart.save(partial / f"{self.name}.png")

    def fail_on_disagreement(self) -> None:
        """Nothing, when every check holds."""
        wrong = [check for check in self.checks if not check.holds]
        if wrong:
            others = f" ({len(wrong) - 1} more disagree)" if len(wrong) > 1 else ""
            raise LocaterError(f"Benchmark {self.name} found a disagreement: {wrong[0]}{others}.")


def table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Rows under their columns' names, numbers to the right."""
    cells = [[_shown(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(column), *(len(row[place]) for row in cells), 1) for place, column in enumerate(columns)]
    is_number = [any(isinstance(row.get(column), (int, float)) for row in rows) for column in columns]
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, is_number, strict=True)
        ).rstrip()
        for line in [list(columns), *cells]
    ]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
