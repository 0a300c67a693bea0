"""The commands of a challenge entry: `locater ensemble train`, `propose` and `run`."""

from pathlib import Path
from typing import Annotated

import typer

from locater.cli.opening import DATA, open_segmenter
from locater.cli.options import DeviceOption, ForceOption
from locater.cli.terminal import progress_display, say

ensemble = typer.Typer(help="Several systems' masks, scored and joined (section 5.6).", no_args_is_help=True)

SplitOption = Annotated[str | None, typer.Option(help="test, valid, ...; the dataset's usual one by default.")]
CountOption = Annotated[int | None, typer.Option(help="Of a world: videos per kind of sentence, as evaluated.")]
SizeOption = Annotated[int, typer.Option(help="Of a world: pixels per side, as the members were evaluated.")]
LimitOption = Annotated[int | None, typer.Option(help="Only the first so many questions.")]
PartsOption = Annotated[
    bool, typer.Option("--parts", help="Each thing that a member marks is a candidate too; with --grounding.")
]
DataArgument = Annotated[str, typer.Argument(metavar="NAME[:ROOT]", help=DATA)]


@ensemble.command("train")
def ensemble_train(
    backbone: Annotated[str, typer.Argument(help="The checkpoint whose frozen features it sees.")],
    data: Annotated[str, typer.Option(metavar="NAME[:ROOT]", help="What to train on, as for `locater train`.")],
    out: Annotated[Path, typer.Option(help="Folder of the grounding module.")],
    weak: Annotated[list[str], typer.Option(help="A checkpoint whose masks are candidates too.")] = [],  # noqa: B006
    kinds: Annotated[str, typer.Option(help="Of a world: kinds of sentence, as appearance,position; else all.")] = "",
    steps: Annotated[int, typer.Option(help="Optimiser steps.")] = 2000,
    batch: Annotated[int, typer.Option(help="Clips per step.")] = 16,
    held_out: Annotated[int, typer.Option(help="Batches of held-out candidates to try it on.")] = 16,
    changes: Annotated[list[str], typer.Option("--set", help="A setting of the module, as width=64 or frames=4.")] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(help="Of weights, clips and candidates.")] = 0,
    device: DeviceOption = None,
    force: ForceOption = False,
) -> None:
    """Train the module that scores candidate masks, on candidates made from a dataset's or world's truth."""
    from locater.config import GroundingConfig, parse_settings
    from locater.model.grounding.files import check_grounding_folder
    from locater.presets.changes import parse_changes
    from locater.training.grounding.command import GroundingRequest, train_grounding

    check_grounding_folder(out, force)
    settings = parse_settings(GroundingConfig, parse_changes(changes), "--set")
    chosen = tuple(kind.strip() for kind in kinds.split(",") if kind.strip())
    request = GroundingRequest(backbone, data, out, tuple(weak), settings, steps, batch, held_out, chosen, seed, device)
    with progress_display("steps/s") as progress:
        task = progress.add_task("training", total=steps)
        found = train_grounding(
            request,
            lambda step, loss: progress.update(task, completed=step, description=f"training, loss {loss:.3f}"),
        )
    if found is not None:
        say(
            f"Right candidate chosen in {found.right:.1%} of {found.sets} held-out sets (by chance "
            f"{found.by_chance:.1%}); mean IoU of the choice {found.chosen:.3f}, of the best {found.best:.3f}."
        )
    say(f"Grounding module: {out}")


@ensemble.command("propose")
def ensemble_propose(
    model: Annotated[str, typer.Argument(help="A CLIPSeg: a local folder, or a hub name.")],
    dataset: DataArgument,
    out: Annotated[Path, typer.Option(help="Folder of the masks, <question>/<frame>.png.")],
    follow: Annotated[
        str | None, typer.Option(help="A checkpoint that follows the surest masks through each video, as default.")
    ] = None,
    key_frames: Annotated[int, typer.Option(help="Of each video: how many of its surest masks are followed.")] = 1,
    split: SplitOption = None,
    count: CountOption = None,
    size: SizeOption = 128,
    limit: LimitOption = None,
    device: DeviceOption = None,
    force: ForceOption = False,
) -> None:
    """Write the masks of an image-level model for every question of a dataset: a member for `ensemble run`."""
    from locater.datasets.catalog import find_source
    from locater.datasets.drawn_worlds import Drawing
    from locater.evaluation.ensemble.proposing import propose
    from locater.inference.ensemble.image_model import ImageModel

    opened = find_source(dataset).open(split, Drawing(count, size))
    image_model = ImageModel.from_pretrained(model, device)
    segmenter = None if follow is None else open_segmenter(follow, device, "float32")
    with progress_display("questions/s") as progress:
        task = progress.add_task("proposing", total=None)
        questions = propose(
            image_model,
            opened,
            out,
            segmenter=segmenter,
            key_frames=key_frames,
            limit=limit,
            force=force,
            listen=lambda done, total: progress.update(task, completed=done, total=total),
        )
    say(f"Masks of {questions} questions: {out}")


@ensemble.command("run")
def ensemble_run(
    dataset: DataArgument,
    member: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=PATH",
            help="A folder of `locater evaluate`, or a folder, zip or JSON of anybody's masks; the first is the main "
            "one. Give it again for each.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for masks/, scores.json and the results.")],
    grounding: Annotated[
        Path | None, typer.Option(help="A folder of `locater ensemble train`; without it all members count alike.")
    ] = None,
    how: Annotated[
        str,
        typer.Option(help="select: the best; fuse: a vote by score; fill: the first, but where another is better."),
    ] = "select",
    doubt: Annotated[float, typer.Option(help="Of fill: the first member's score below which others are asked.")] = 0.5,
    parts: PartsOption = False,
    split: SplitOption = None,
    count: CountOption = None,
    size: SizeOption = 128,
    limit: LimitOption = None,
    submission: Annotated[Path | None, typer.Option(help="Also write this zip, to hand in.")] = None,
    device: DeviceOption = None,
    force: ForceOption = False,
) -> None:
    """Join several systems' masks for every question of a dataset, and score the result."""
    from locater.datasets.catalog import find_source
    from locater.evaluation.ensemble.run import EnsembleRequest, run_ensemble
    from locater.inference.ensemble.fusing import checked_how

    source, asked = find_source(dataset), (split, count, size, limit)
    joining = (grounding, checked_how(how), doubt, parts)
    request = EnsembleRequest(source, tuple(member), out, *joining, *asked, submission, device, force)
    with progress_display("questions/s") as progress:
        task = progress.add_task("joining", total=None)
        report = run_ensemble(request, lambda done, total: progress.update(task, completed=done, total=total))
    say(report.markdown())
    say(f"Results: {out}")
