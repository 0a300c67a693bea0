"""Ray: one of its own on this machine, or a cluster's; rows in, outcomes out as they come.

Ray Data gives each row to an actor of a pool, restarts actors that die and gives their row out again. That the work is
not done twice, and ends, is the worker's own care: what it has finished or saved lies in the job's folder.
"""

import contextlib
import logging
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from locater.batch.manifest import Named
from locater.batch.records import Outcome
from locater.batch.settings import Settings
from locater.batch.worker import OUTCOME, ROW, Worker
from locater.errors import LocaterError

_OBJECT_STORE = 96 << 20  # bytes: rows and outcomes are small, and video never goes through Ray
_SOCKET_ROOM = 30  # letters that a temporary folder's path may have: below it Ray puts sockets, whose paths are short


@dataclass(frozen=True)
class Pool:
    """How many workers, and what each has."""

    address: str | None = None  # of a cluster; None is a Ray of one's own on this machine
    workers: int | None = None  # None: as many as the machines have room for
    cpus: float = 1.0  # per worker
    gpus: float | None = None  # per worker; None: one where there are GPUs


@contextlib.contextmanager
def running(pool: Pool, log: Path) -> Iterator[None]:
    """Ray, ready; at the end one of our own is gone with its processes and files. What Ray prints goes to `log`."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # it would report over the network
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if pool.address is None:
        # Whoever gets in at its ports runs code: a token of this run alone, not the one that Ray keeps for a user.
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    import ray  # reads all of these

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with contextlib.ExitStack() as stack:
        printed = stack.enter_context(log.open("a", encoding="utf-8"))
        stack.enter_context(contextlib.redirect_stdout(printed))
        options: dict[str, Any] = {"address": pool.address}
        if pool.address is None:
            folder = _temporary_folder()
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            options = _own_ray(pool, folder)
        stack.callback(ray.shutdown)
        try:
            with _errors_to(printed):  # at its start it writes there whatever the level
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            told = " ".join(str(error).split())[:200]
            where = f"reached at {pool.address}" if pool.address else "started on this machine"
            raise LocaterError(f"Ray cannot be {where}: {told}; {log} may say more.") from error
        for number, handler in handlers.items():  # Ray's own would end the program without a word
            signal.signal(number, handler)
        yield


def outcomes(rows: Sequence[Named], settings: Settings, folder: Path, pool: Pool) -> Iterator[Outcome]:
    """What came of each row, in the order in which they finish."""
    import ray
    from ray.data import ActorPoolStrategy, DataContext, from_items

    logging.getLogger("ray.data").setLevel(logging.ERROR)  # only now: the import sets it
    context = DataContext.get_current()
    context.enable_progress_bars = False
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    gpus = _gpus(pool, resources)
    workers = min(len(rows), pool.workers or _room_for(pool.cpus, gpus, resources))
    # One row at a time and none in waiting: behind a long video a short one would wait while others are idle.
    results = from_items([{ROW: row.model_dump_json()} for row in rows], override_num_blocks=len(rows)).map_batches(
        Worker,
        fn_constructor_args=(settings.model_dump_json(), str(folder), max(1, int(pool.cpus))),
        batch_size=1,
        compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1),
        num_cpus=pool.cpus,
        num_gpus=gpus,
    )
    try:
        for batch in results.iter_batches(batch_size=1, prefetch_batches=0):
            for told in batch[OUTCOME]:
                outcome = Outcome.model_validate_json(str(told))
                if outcome.status == "stopped":
                    raise LocaterError(outcome.reason)
                yield outcome
    except ray.exceptions.RayError as error:
        told = " ".join(str(error).split())[-300:]
        raise LocaterError(f"Ray stopped the job: {told}; run the same command again to go on.") from error


@contextlib.contextmanager
def _errors_to(file: IO[str]) -> Iterator[None]:
    """The process's own standard error, which libraries in C++ write to, in a file for as long."""
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _own_ray(pool: Pool, folder: Path) -> dict[str, Any]:
    cores = os.cpu_count() or 1
    return {
        "address": "local",  # whatever RAY_ADDRESS says
        "include_dashboard": False,
        "num_cpus": max(1, round(pool.cpus * pool.workers)) if pool.workers else cores,
        "object_store_memory": _OBJECT_STORE,
        "_temp_dir": str(folder),
    }


def _temporary_folder() -> Path:
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="locater-", dir=usual if len(usual) <= _SOCKET_ROOM else "/tmp"))


def _gpus(pool: Pool, resources: dict[str, float]) -> float:
    if pool.gpus is not None:
        return pool.gpus
    return 1.0 if resources.get("GPU", 0) >= 1 else 0.0


def _room_for(cpus: float, gpus: float, resources: dict[str, float]) -> int:
    """How many workers all machines have room for, at least one: Ray waits for machines that are on their way."""
    by_gpus = [resources.get("GPU", 0) / gpus] if gpus else []
    return max(1, int(min([resources.get("CPU", 0) / cpus, *by_gpus])))
