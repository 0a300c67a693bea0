"""A job from its manifest to its tables: what is left to do, done on Ray, and written down whatever happens."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from locater.batch.addresses import check_protocols, local_path
from locater.batch.engine import Pool, outcomes, running
from locater.batch.job_folder import JobFolder
from locater.batch.manifest import Named
from locater.batch.parts import saved_frames
from locater.batch.records import Outcome
from locater.batch.settings import Settings
from locater.batch.summary import told, write_tables
from locater.batch.work import kept_record
from locater.errors import LocaterError


@dataclass
class Job:
    """A job under way: what came of which rows so far."""

    folder: JobFolder
    rows: Sequence[Named]
    known: frozenset[str]  # the names that had results when it began
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> list[Named]:
        """The rows without an outcome."""
        return [row for row in self.rows if row.name not in self.outcomes]

    @property
    def failed(self) -> int:
        """How many failed, now or earlier."""
        return sum(outcome.status == "failed" for outcome in self.outcomes.values())

    def frames(self) -> int:
        """Frames that are done or saved by now, of all videos."""
        finished = sum(each.record.frames for each in self.outcomes.values() if each.record is not None)
        return finished + sum(saved_frames(work) for work in self.folder.works() if work.name not in self.outcomes)

    def told(self) -> str:
        """What came of it, in one line."""
        return told(self.rows, self.outcomes, time.monotonic() - self.began)


@contextmanager
def opened_job(rows: Sequence[Named], settings: Settings, root: Path, *, retry_failed: bool = False) -> Iterator[Job]:
    """A job in its folder, with the outcomes of earlier runs; its tables are written at the end, whatever happens."""
    check_protocols(row.video for row in rows)
    folder = JobFolder(root)
    with folder.claimed():
        job = Job(folder, rows, _with_results(folder, rows, settings))
        for row in rows:
            if retry_failed and folder.failure(row.name) is not None:
                folder.forget_work(row.name)
            earlier = _earlier(folder, row, settings)
            if earlier is not None:
                job.outcomes[row.name] = earlier
        try:
            yield job
        finally:
            folder.tidy()
            write_tables(folder.root, rows, job.outcomes)


def run_job(job: Job, settings: Settings, pool: Pool) -> Iterator[Outcome]:
    """Each outcome as it comes; no Ray is started where nothing is left to do."""
    if not job.left:
        return
    with running(pool, job.folder.log):
        for outcome in outcomes(job.left, settings, job.folder.root, pool):
            if outcome.status == "kept" and outcome.name not in job.known:
                # Its worker died between finishing it and saying so.
                outcome = outcome.model_copy(update={"status": "done"})  # noqa: PLW2901
            job.outcomes[outcome.name] = outcome
            yield outcome


def _with_results(folder: JobFolder, rows: Sequence[Named], settings: Settings) -> frozenset[str]:
    """The names with results; those of other sentences or settings are refused, unless they may be replaced."""
    found = set()
    for row in rows:
        record = folder.record(row.name)
        if record is None:
            continue
        found.add(row.name)
        if record.asked != settings.asked(row) and not settings.replaces:
            raise LocaterError(
                f"{folder.results(row.name)} holds results of other sentences or settings; add --force to replace "
                "such results, or choose another --out."
            )
    return frozenset(found)


def _earlier(folder: JobFolder, row: Named, settings: Settings) -> Outcome | None:
    """What an earlier run left of a row, where this machine can tell without a network."""
    asked = settings.asked(row)
    failure = folder.failure(row.name)
    if failure is not None and failure.asked == asked:
        return Outcome(name=row.name, status="failed", reason=failure.reason, tries=failure.tries)
    record = kept_record(folder, row, asked) if local_path(row.video) is not None else None
    return None if record is None else Outcome(name=row.name, status="kept", record=record)
