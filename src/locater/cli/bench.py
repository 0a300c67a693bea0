"""The command `locater bench NAME`: measurements of speed and memory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.options import DeviceOption, ForceOption
from locater.cli.terminal import one_line, say
from locater.errors import LocaterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from locater.bench.harness.report import Report
    from locater.bench.harness.request import BenchRequest


def bench(
    name: Annotated[
        str,
        typer.Argument(
            help="fps, memory, length, expressions, end_to_end, peers, precision, cpu, start, write-memory, training, "
            "soak, load, batch, or all."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and NAME.png.")],
    preset: Annotated[str, typer.Option(help="The network, with random weights.")] = "paper",
    checkpoint: Annotated[
        str | None, typer.Option(help="Of precision, cpu, start, end_to_end, soak, load and batch: a trained network.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="float32, bfloat16 or float16; by default bfloat16 on a GPU.")
    ] = None,
    device: DeviceOption = None,
    force: ForceOption = False,
    repeats: Annotated[int, typer.Option(help="Measurements of each row, after the warm-up.", min=1)] = 10,
    compile: Annotated[
        bool, typer.Option("--compile/--no-compile", help="Also measure torch.compile, which takes minutes.")
    ] = True,
    frames: Annotated[int, typer.Option(help="Of soak: frames through one state.", min=1)] = 100_000,
    users: Annotated[int, typer.Option(help="Of load: people who use the page at once.", min=1, max=30)] = 20,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: tries the program, measures nothing.")] = False,
) -> None:
    """Check results, then measure; print a table and write it as JSON with a plot."""
    from locater.bench.catalog import find_benchmarks
    from locater.bench.harness.request import BenchRequest
    from locater.compute.device import find_device
    from locater.compute.precision import find_precision

    benchmarks = find_benchmarks(name)
    _check_free(out, [each for each, _ in benchmarks], force)
    place = find_device(device)
    request = BenchRequest(
        device=place,
        precision=find_precision(precision, place),
        preset=preset,
        checkpoint=checkpoint,
        repeats=repeats,
        frames=frames,
        users=users,
        is_quick=quick,
        is_compiled=compile,
    )
    _measure(benchmarks, request, out)


def _check_free(out: Path, names: "Sequence[str]", force: bool) -> None:
    """Nothing, unless a file of a benchmark is there already."""
    there = [path for name in names for path in (out / f"{name}.json", out / f"{name}.png") if path.exists()]
    if there and not force:
        raise LocaterError(f"{there[0]} is there already; add --force to replace it, or choose another --out.")


def _measure(
    benchmarks: "Sequence[tuple[str, Callable[[BenchRequest], Report]]]", request: "BenchRequest", out: Path
) -> None:
    """Run and save each; one that stops does not keep the others from being measured."""
    failures: list[LocaterError] = []
    for each, run in benchmarks:
        try:
            report = run(request)
            report.save(out, request)
            say(report.text())
            say(f"Saved: {out / f'{each}.json'} and {out / f'{each}.png'}\n")
            report.fail_on_disagreement()
        except LocaterError as error:  # the others may still be measured
            failures.append(error)
            if len(benchmarks) > 1:
                say(f"{each} stopped: {one_line(str(error))}\n")
    if failures:
        others = f" {len(failures) - 1} more stopped too." if len(failures) > 1 else ""
        raise LocaterError(f"{failures[0]}{others}")
