"""The commands that train: `locater train`, `finetune`, `ablate`, `second-look`."""

from pathlib import Path
from typing import Annotated

import typer

from locater.cli.opening import DATA, DEFAULT_CHECKPOINT
from locater.cli.options import CheckpointArgument, CheckpointOption, read_weights
from locater.cli.terminal import plain_warnings, progress_display, say
from locater.errors import LocaterError

LARGEST_WEIGHT = 1e6  # as in a recipe's training.data
_TRAINED_ON = "What to train on: shapes, composed:PACK, or a dataset and its folder; several are mixed."
_WEIGHTS = "Of several --data, how often each is drawn, as 3,1; equally often by default."


def train(
    preset: Annotated[str, typer.Argument(help="A preset's name, as `locater presets` lists them, or a recipe.yaml.")],
    data: Annotated[list[str], typer.Option(metavar="NAME[:ROOT]", help=_TRAINED_ON)],
    out: Annotated[Path, typer.Option(help="Folder of the run; a run that was interrupted there goes on.")],
    weights: Annotated[str | None, typer.Option(help=_WEIGHTS)] = None,
    changes: Annotated[
        list[str], typer.Option("--set", help="A setting, as memory.write=paper or training.steps=100.")
    ] = [],  # noqa: B006
    start: Annotated[Path | None, typer.Option(help="A checkpoint of the same network to start from.")] = None,
    start_fits: Annotated[
        bool, typer.Option("--start-fits", help="Of another network: take the weights that fit, begin the rest afresh.")
    ] = False,
    start_parts: Annotated[
        str | None, typer.Option(help="Of another network: take these parts alone, as visual,text, where they fit.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the weights and of the data.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that prepare batches.")] = 2,
    track: Annotated[list[str], typer.Option(help="More trackers, by accelerate's names: tensorboard, wandb.")] = [],  # noqa: B006
) -> None:
    """Train a preset or a recipe, all of its stages; start it under `accelerate launch` or `torchrun` for many GPUs."""
    from locater.training.command import train_preset

    mixture = _mixture(data, weights)
    with progress_display("steps/s") as progress:
        task = progress.add_task("training", total=None)
        scores = train_preset(
            preset,
            mixture,
            out,
            changes,
            start=start,
            start_parts=start_parts.split(",") if start_parts else () if start_fits else None,
            seed=seed,
            workers=workers,
            trackers=tuple(track),
            listen=lambda at: progress.update(
                task,
                completed=at.step,
                total=at.steps,
                description=f"loss {at.loss:.4f}, {at.clips_per_second:.0f} clips/s",
                before=at.first_step,
            ),
        )
    _tell(scores, out)


def _tell(scores: dict[str, float], out: Path) -> None:
    """Print what came of a training; of several processes the first alone."""
    from locater.evaluation.run.processes import place_among_processes

    if place_among_processes().is_first:
        for kind, score in scores.items():
            say(f"{kind:<14}{score:.3f}")
        say(f"Checkpoint: {out / 'checkpoint'}")


def _mixture(data: list[str], weights: str | None) -> str | dict[str, float]:
    """What is trained on: one source's name, or every one's weight."""
    doubled = next((each for each in data if data.count(each) > 1), None)
    if doubled is not None:
        raise LocaterError(f"--data {doubled} is given twice; give it once, and a larger number of --weights.")
    numbers = [1.0] * len(data) if weights is None else read_weights(weights)
    if len(numbers) != len(data):
        raise LocaterError(f"--weights has {len(numbers)} numbers for {len(data)} --data; give one for each.")
    if not all(0 < number <= LARGEST_WEIGHT for number in numbers):
        raise LocaterError(f"--weights are numbers above 0, at most {LARGEST_WEIGHT:g}; leave out what is not wanted.")
    return data[0] if len(data) == 1 else dict(zip(data, numbers, strict=True))


def finetune(
    folder: Annotated[
        Path, typer.Argument(help="Your videos, masks and sentences, laid out as docs/datasets.md says.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the run; a run that was interrupted there goes on.")],
    start: CheckpointOption = DEFAULT_CHECKPOINT,
    changes: Annotated[
        list[str], typer.Option("--set", help="A setting of the training, as training.steps=200; none is needed.")
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(help="Of the data's order, and of which videos are held out.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that prepare batches.")] = 0,
) -> None:
    """Teach a checkpoint your own things and words: settings chosen for the machine, validated, with a report."""
    from locater.training.finetune.command import FinetuneRequest
    from locater.training.finetune.command import finetune as tune
    from locater.training.finetune.report import write_report

    request = FinetuneRequest(folder, out, start, changes, seed, workers)
    with plain_warnings(), progress_display("steps/s") as progress:
        task = progress.add_task("fine-tuning", total=None)
        found = tune(
            request,
            lambda at: progress.update(
                task,
                completed=at.step,
                total=at.steps,
                description=f"loss {at.loss:.4f}",
                before=at.first_step,
            ),
            lambda what: progress.update(task, description=what),
        )
    say(write_report(found))
    say(f"Checkpoint: {out / 'checkpoint'}; report: {out / 'report.html'}")


def ablate(
    table: Annotated[str, typer.Argument(help="key_components, memories, fusion_modules, memory_capacity, ...")],
    data: Annotated[
        list[str],
        typer.Option(metavar="NAME[:ROOT]", help=f"What to train and score on; further ones are scored too: {DATA}"),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the runs and of the table; finished runs are kept.")],
    preset: Annotated[str, typer.Option(help="The network that the rows change.")] = "shapes",
    seeds: Annotated[int, typer.Option(help="Runs of each row.", min=1)] = 3,
    changes: Annotated[list[str], typer.Option("--set", help="A setting of every row, as training.steps=1000.")] = [],  # noqa: B006
    side_by_side: Annotated[int, typer.Option(help="Runs at a time on this machine.", min=1)] = 1,
    workers: Annotated[int, typer.Option(help="Processes of each run that prepare batches.")] = 2,
    start: Annotated[
        Path | None, typer.Option(help="A checkpoint folder: every run begins with those of its weights that fit.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="What the first set is scored on; its usual split by default.")
    ] = None,
    count: Annotated[int, typer.Option(help="Of a world: videos to score per kind of sentence.")] = 16,
    limit: Annotated[int | None, typer.Option(help="Of a dataset: score only the first so many questions.")] = None,
) -> None:
    """Train and evaluate every row of one of the paper's ablation tables, and print it beside the paper's numbers."""
    from locater.training.ablation.report import write_table
    from locater.training.ablation.run import AblateRequest, run_table
    from locater.training.ablation.scoring import Amount

    asked = AblateRequest(
        table, preset, data, out, seeds, changes, side_by_side, workers, start, split, Amount(count, limit)
    )
    say(write_table(table, run_table(asked), out))


def second_look(
    checkpoint: CheckpointArgument,
    answers: Annotated[Path, typer.Option(help="Folder of `locater evaluate` on --data, with the checkpoint alone.")],
    data: Annotated[str, typer.Option(metavar="NAME[:ROOT]", help="What it was evaluated on, as coco-val:ROOT.")],
    out: Annotated[Path, typer.Option(help="The file; in a checkpoint's folder it is called second_look.safetensors.")],
    pack: Annotated[
        Path | None, typer.Option(help="A pack of the composed world, whose named things are learned.")
    ] = None,
    boxes: Annotated[
        list[Path],
        typer.Option(help="A file of named boxes in --pictures, as tools.coco_pack reads it; again for more."),
    ] = [],  # noqa: B006
    pictures: Annotated[Path | None, typer.Option(help="The folder of the pictures that --boxes are in.")] = None,
    photographs: Annotated[
        Path | None, typer.Option(help="A folder of photographs of single things, named as n02084071_dog.jpg.")
    ] = None,
    captioned: Annotated[
        Path | None, typer.Option(help="A folder as coco-val's, whose captions tell men, women, boys and girls apart.")
    ] = None,
    hold_out: Annotated[str, typer.Option(help="Nouns that are not learned, as zebra,giraffe.")] = "",
    seen: Annotated[
        Path | None, typer.Option(help="A file that keeps what was seen in the pictures, for further fits in seconds.")
    ] = None,
) -> None:
    """Train what tells whether a mask shows what was said, and how likely it is right."""
    from locater.datasets.catalog import find_source
    from locater.training.second_look.command import SecondLookRequest, make_second_look
    from locater.worlds.composed.pack.holdout import HoldOut

    if bool(boxes) != (pictures is not None):
        raise LocaterError("--boxes and --pictures, the folder that they are in, go together; give both.")
    source = find_source(data).open()
    held_out = HoldOut.of(hold_out.split(","))
    request = SecondLookRequest(
        checkpoint, pack, tuple(boxes), pictures, photographs, captioned, seen, held_out, answers, source, out
    )
    with progress_display("crops/s") as progress:
        task = progress.add_task("looking at named things")
        made = make_second_look(request, listen=lambda count: progress.update(task, completed=count))
    for each in made.calibration.bins:
        say(f"score {each.confidence:.2f}  right {each.right:.2f}  of {each.count}")
    found = made.calibration
    say(f"Expected calibration error {found.error:.3f} on {found.count} masks, scored by weights of other videos")
    say(f"{made.crops} crops, {made.words} words: {out}")
