"""Every benchmark by its name."""

from collections.abc import Callable, Mapping, Sequence

from locater.bench.harness.report import Report
from locater.bench.harness.request import BenchRequest
from locater.bench.suites import (
    batch,
    cpu,
    end_to_end,
    expressions,
    fps,
    length,
    load,
    memory,
    peers,
    precision,
    soak,
    start,
    training,
    write_memory,
)
from locater.errors import LocaterError

ALL = "all"
BENCHMARKS: Mapping[str, Callable[[BenchRequest], Report]] = {
    "fps": fps.run,
    "memory": memory.run,
    "length": length.run,
    "expressions": expressions.run,
    "end_to_end": end_to_end.run,
    "peers": peers.run,
    "precision": precision.run,
    "cpu": cpu.run,
    "start": start.run,
    "write-memory": write_memory.run,
    "training": training.run,
    "soak": soak.run,
    "load": load.run,
    "batch": batch.run,
}


def find_benchmarks(name: str) -> Sequence[tuple[str, Callable[[BenchRequest], Report]]]:
    """The benchmark of that name, or each of them in turn."""
    if name == ALL:
        return tuple(BENCHMARKS.items())
    if name not in BENCHMARKS:
        raise LocaterError(f"There is no benchmark '{name}'; choose {', '.join(BENCHMARKS)} or {ALL}.")
    return ((name, BENCHMARKS[name]),)
