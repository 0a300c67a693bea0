"""The command `locater batch`: many videos on Ray."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.opening import DEFAULT_CHECKPOINT, DEFAULT_FORMATS
from locater.cli.options import (
    AnywayOption,
    CheckpointOption,
    FormatOption,
    PrecisionOption,
    ThresholdOption,
)
from locater.cli.segmenting.formats import read_formats
from locater.cli.terminal import progress_display, say, say_failure
from locater.errors import LocaterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from locater.batch.engine import Pool
    from locater.batch.run import Job
    from locater.batch.settings import Settings

_LOOK_EVERY = 2.0  # seconds between looks at what workers have saved


_Manifest = Annotated[
    Path,
    typer.Argument(help="A .csv file with the columns video, sentence, ... or .jsonl with video and sentences."),
]
_Out = Annotated[Path, typer.Option(help="Folder for the results, one in it per video; shared by all machines.")]
_Force = Annotated[
    bool, typer.Option("--force", help="Replace results of other sentences, settings or content in --out.")
]
_RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Try again what failed in an earlier run.")]
_Address = Annotated[
    str | None, typer.Option(help="Of a Ray cluster: auto, or HOST:PORT; by default one's own on this machine.")
]
_Workers = Annotated[int | None, typer.Option(help="As many as there is room for by default.", min=1)]
_Cpus = Annotated[float, typer.Option(help="CPU cores of each worker.", min=0.01)]
_Gpus = Annotated[
    float | None, typer.Option(help="GPUs of each worker, also parts of one; 1 by default where there are any.", min=0)
]
_SaveEvery = Annotated[
    float, typer.Option(help="Seconds after which a video under way is saved: what a lost machine costs.", min=0)
]
_Tries = Annotated[
    int, typer.Option(help="How often a worker may die at one place of a video before it is given up.", min=1)
]


def batch(
    manifest: _Manifest,
    out: _Out,
    force: _Force = False,
    retry_failed: _RetryFailed = False,
    format: FormatOption = DEFAULT_FORMATS,
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
    precision: PrecisionOption = "auto",
    anyway: AnywayOption = False,
    threshold: ThresholdOption = None,
    address: _Address = None,
    workers: _Workers = None,
    cpus: _Cpus = 1.0,
    gpus: _Gpus = None,
    save_every: _SaveEvery = 10.0,
    tries: _Tries = 3,
) -> None:
    """Segment every video of a list, on this machine or on many; run again, it goes on where it stopped."""
    from locater.batch.engine import Pool
    from locater.batch.manifest import read_manifest
    from locater.batch.run import opened_job
    from locater.batch.settings import Settings, checkpoint_digest, shared_name

    formats, rows = read_formats(format), read_manifest(manifest)
    settings = Settings(
        checkpoint=shared_name(checkpoint),
        weights=checkpoint_digest(checkpoint),
        precision=precision,
        threshold=threshold,
        formats=formats,
        anyway=anyway,
        save_every=save_every,
        most_tries=tries,
        replaces=force,
    )
    with opened_job(rows, settings, out, retry_failed=retry_failed) as job:
        _watch(job, settings, Pool(address, workers, cpus, gpus))
    say(f"{job.told()}: {out}")
    if job.failed:
        raise LocaterError(
            f"{job.failed} of {len(rows)} videos failed; {out / 'failed.csv'} says why, and --retry-failed tries them "
            "again."
        )


def _watch(job: "Job", settings: "Settings", pool: "Pool") -> None:
    """The job with progress: videos as they are done, and the frames of those under way."""
    from locater.batch.run import run_job

    before = len(job.outcomes)
    with progress_display("videos/s") as display:
        videos = display.add_task("videos", total=len(job.rows))

        def tell() -> None:
            frames = f"videos ({job.frames()} frames)"
            display.update(videos, description=frames, completed=len(job.outcomes), before=before)

        with _regularly(tell):
            for outcome in run_job(job, settings, pool):
                if outcome.status == "failed":
                    say_failure(outcome.name, LocaterError(outcome.reason))


@contextmanager
def _regularly(tell: "Callable[[], None]") -> "Iterator[None]":
    """Calls `tell` from a thread of its own now and then: long videos go on between the outcomes."""
    from threading import Event, Thread

    is_over = Event()

    def work() -> None:
        while not is_over.wait(_LOOK_EVERY):
            tell()
        tell()

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
