"""The command `locater bench NAME`: measurements of speed and memory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.options import DeviceOption, ForceOption
from locater.cli.terminal import one_line, say
from locater.errors import LocaterError

LEAST_SIDE, LARGEST_SIDE = 64, 8192  # pixels of a video that is measured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from locater.bench.harness.report import Report
    from locater.bench.harness.request import BenchRequest

CheckpointOption = Annotated[
    str | None, typer.Option(help="Of precision, cpu, start, end_to_end, soak, load and batch: a trained network.")
]
DataOption = Annotated[
    str | None, typer.Option(help="Of precision: NAME[:ROOT] of data to ask about, as `coco-val:FOLDER`.")
]
SizeOption = Annotated[str | None, typer.Option(help="Of end_to_end: the video's size, as 1280x720.")]
StageOption = Annotated[int | None, typer.Option(help="Of training: the preset's stage, by default its last.", min=1)]

PrecisionOption = Annotated[
    str | None, typer.Option(help="float32, bfloat16 or float16; by default bfloat16 on a GPU.")
]
CompileOption = Annotated[
    bool, typer.Option("--compile/--no-compile", help="Also measure torch.compile, which takes minutes.")
]


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
    checkpoint: CheckpointOption = None,
    data: DataOption = None,
    size: SizeOption = None,
    stage: StageOption = None,
    precision: PrecisionOption = None,
    device: DeviceOption = None,
    force: ForceOption = False,
    repeats: Annotated[int, typer.Option(help="Measurements of each row, after the warm-up.", min=1)] = 10,
    compile: CompileOption = True,
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
        data=data,
        size=None if size is None else _sides(size),
        stage=stage,
        repeats=repeats,
        frames=frames,
        users=users,
        is_quick=quick,
        is_compiled=compile,
    )
    _measure(benchmarks, request, out)


def _sides(size: str) -> tuple[int, int]:
    """Width and height of a size as it is written."""
    width, _, height = size.partition("x")
    if not all(side.isascii() and side.isdigit() and len(side) <= len(str(LARGEST_SIDE)) for side in (width, height)):
        raise LocaterError(f"--size takes WIDTHxHEIGHT, as 1280x720, not '{size}'.")
    sides = int(width), int(height)
    if not (LEAST_SIDE <= sides[1] <= sides[0] <= LARGEST_SIDE) or sides[0] % 2 or sides[1] % 2:
        raise LocaterError(
            f"--size is '{size}'; sides are even, from {LEAST_SIDE} to {LARGEST_SIDE}, and the width is the longer one."
        )
    return sides


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
