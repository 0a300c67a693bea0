"""The commands `locater data ...`: looking at datasets, and making packs for the composed world."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from locater.cli.opening import DATA, OLD_ROOT
from locater.cli.options import ForceOption, SplitOption
from locater.cli.terminal import progress_display, say
from locater.errors import LocaterError

if TYPE_CHECKING:
    from locater.worlds.composed.pack.compose import Composed

_DATASET = "A dataset and the folder it was unpacked in, as mevis:~/data/mevis; docs/datasets.md lists them."

data = typer.Typer(help="Look at the datasets that others made.", no_args_is_help=True)


@data.command("check")
def data_check(
    dataset: Annotated[str, typer.Argument(metavar="NAME:ROOT", help=_DATASET)],
    root: Annotated[Path | None, typer.Argument(help=OLD_ROOT, hidden=True)] = None,
    split: SplitOption = None,
) -> None:
    """Count a dataset against the published figures, and name every file that is missing or broken."""
    from locater.datasets.catalog import find_source
    from locater.datasets.inspect.check import check_dataset

    source = find_source(dataset, root)
    with progress_display("videos/s") as progress:
        task = progress.add_task("checking")
        report = check_dataset(
            source.name,
            source.root,
            split,
            on_video=lambda done, total: progress.update(task, completed=done, total=total),
        )
    say("\n".join(report.lines()))
    if not report.is_fine:
        raise typer.Exit(2)


@data.command("show")
def data_show(
    dataset: Annotated[str, typer.Argument(metavar="NAME[:ROOT]", help=DATA)],
    out: Annotated[Path, typer.Option(help="The picture to write.")],
    root: Annotated[Path | None, typer.Argument(help=OLD_ROOT, hidden=True)] = None,
    count: Annotated[int, typer.Option(help="How many sentences, evenly spaced.")] = 12,
    split: SplitOption = None,
) -> None:
    """Make a contact sheet of frames with their masks and sentences."""
    from locater.datasets.catalog import find_source
    from locater.datasets.inspect.sheet import write_contact_sheet

    shown = write_contact_sheet(find_source(dataset, root).open(split), out, count)
    say(f"{shown} sentences shown in {out}")


@data.command("cutout")
def data_cutout(
    photos: Annotated[Path, typer.Option(help="Folder of photographs that show one thing each, and its sub-folders.")],
    model: Annotated[Path, typer.Option(help="A saliency network's ONNX file, such as u2netp.onnx.")],
    out: Annotated[Path, typer.Option(help="File of masks to write or go on with.")],
    names: Annotated[
        Path | None,
        typer.Option(help="Table of files, nouns and broader nouns, split by tabs; else files' or sub-folders' names."),
    ] = None,
) -> None:
    """Find the one thing in each photograph: masks for `compose --cutouts`, kept where the network is sure."""
    from locater.worlds.composed.pack.photo_masks import mask_photographs
    from locater.worlds.composed.pack.saliency import SaliencyModel

    with progress_display("pictures/s") as progress:
        task = progress.add_task("looking", total=None)
        reasons = mask_photographs(
            photos,
            names,
            SaliencyModel(model),
            out,
            listen=lambda done, total: progress.update(task, completed=done, total=total),
        )
    kept = reasons.pop("", 0)
    say(f"{kept} of {kept + reasons.total()} photographs kept.")
    say("".join(f"Left out, {reason}: {count}\n" for reason, count in reasons.most_common()) + f"Masks: {out}")


class _GatheringCommand(TyperCommand):
    """A command whose options named here take several values each, and may be given again; typer has no such thing."""

    widths: ClassVar[dict[str, int]] = {"--coco": 2, "--masks": 3, "--cutouts": 2}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Typer's own, after joining each such option's values into one."""
        joined: list[str] = []
        rest = list(args)
        while rest:
            joined.append(rest.pop(0))
            width = self.widths.get(joined[-1], 0)
            values, rest = rest[:width], rest[width:]
            if width and (len(values) < width or any(value.startswith("--") for value in values)):
                raise LocaterError(f"{joined[-1]} takes {width} values; `locater data compose --help` names them.")
            joined += ["\0".join(values)] if width else []
        return super().parse_args(ctx, joined)


@data.command("compose", cls=_GatheringCommand)
def data_compose(
    out: Annotated[Path, typer.Option(help="Folder of the pack.")],
    coco: Annotated[
        list[str], typer.Option(metavar="FILE IMAGES", help="A COCO instance file and its folder of images.")
    ] = [],  # noqa: B006
    masks: Annotated[
        list[str],
        typer.Option(
            metavar="NAME IMAGES MASKS",
            help="A class and its folders of images and masks; NAME 'breeds': Oxford-IIIT Pet's file names say.",
        ),
    ] = [],  # noqa: B006
    cutouts: Annotated[
        list[str], typer.Option(metavar="FILE PHOTOS", help="A file that `data cutout` made and its photographs.")
    ] = [],  # noqa: B006
    sprites: Annotated[
        list[Path], typer.Option(help="A folder of pictures with alpha; names.json may name them.")
    ] = [],  # noqa: B006
    backgrounds: Annotated[list[Path], typer.Option(help="A folder of photographs to compose on.")] = [],  # noqa: B006
    hold_out: Annotated[
        str, typer.Option(help="Classes for the split heldout alone: zebra,train; or a share of all classes: 5%.")
    ] = "",
    per_noun: Annotated[int, typer.Option(help="At most so many cut-outs of one noun from each source.")] = 100,
    photographs: Annotated[int, typer.Option(help="At most so many photographs of each source.")] = 1500,
    cutout_size: Annotated[int, typer.Option(help="The longer side of a cut-out in pixels.")] = 160,
    photograph_size: Annotated[int, typer.Option(help="A photograph's side in pixels.")] = 256,
    force: ForceOption = False,
) -> None:
    """Cut things out of annotated pictures into a pack: what the composed world draws from."""
    from locater.worlds.composed import Limits, Sources, compose
    from locater.worlds.composed.pack.pack import check_pack_folder

    check_pack_folder(out, force)
    named = [each.split("\0") for each in masks]
    with progress_display("pictures/s") as progress:
        task = progress.add_task("cutting out", total=None)
        made = compose(
            Sources(
                coco=[_two_paths(each) for each in coco],
                masks=[(name, Path(images), Path(drawn)) for name, images, drawn in named],
                cutouts=[_two_paths(each) for each in cutouts],
                sprites=sprites,
                backgrounds=backgrounds,
            ),
            out,
            [name for name in hold_out.split(",") if name.strip()],
            Limits(per_noun, photographs, cutout_size, photograph_size),
            listen=lambda done: progress.update(task, completed=done),
        )
    _tell_of_pack(made, out)


def _tell_of_pack(made: "Composed", out: Path) -> None:
    say(f"{made.cutouts} cut-outs of {made.nouns} nouns, {made.held_out} of them held out;")
    say(f"{made.photographs} photographs with {made.things} things of their own; {made.megabytes:.1f} MB.")
    say(f"Pack: {out}")


def _two_paths(joined: str) -> tuple[Path, Path]:
    first, second = joined.split("\0")
    return Path(first), Path(second)
