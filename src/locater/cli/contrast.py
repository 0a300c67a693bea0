"""The commands `locater contrast ...`: contrasting pairs, and the harder test sets built from them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.opening import DATA, need_web
from locater.cli.options import SplitOption
from locater.cli.serving.until_stopped import serve_until_stopped
from locater.cli.terminal import progress_display, say

if TYPE_CHECKING:
    from locater.records import Dataset

contrast = typer.Typer(help="Build harder test sets from any dataset, as the paper's A2D-S+.", no_args_is_help=True)

_LABELER = "huggingface:FOLDER-or-hub-name, a trained one; your own, as module:callable; our rules by default."


@contrast.command("roles")
def contrast_roles(
    sentences: Annotated[list[str], typer.Argument(help='"A boy is skiing on the snow." "A dog runs."')],
    labeler: Annotated[str, typer.Option(help=_LABELER)] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with heads and places in the sentence.")] = False,
) -> None:
    """Print who does what to whom, where and when in each sentence."""
    import json
    from dataclasses import asdict

    from locater.text.roles import open_labeler

    labelled = open_labeler(labeler).label(sentences)
    if as_json:
        say(json.dumps([asdict(each) for each in labelled], ensure_ascii=False, indent=1))
        return
    for each in labelled:
        say(each.sentence)
        for phrase in each.phrases:
            say(f"  {phrase.role:<10}{phrase.phrase}")
        if not each.phrases:
            say("  nothing is done, so there are no roles")


@contrast.command("pairs")
def contrast_pairs(
    dataset: Annotated[str, typer.Argument(metavar="NAME[:ROOT]", help=DATA)],
    split: SplitOption = None,
    count: Annotated[int | None, typer.Option(help="Of a world: videos per kind of sentence; 100 by default.")] = None,
    seed: Annotated[int, typer.Option(help="Decides between equally good pairs.")] = 0,
    labeler: Annotated[str, typer.Option(help=_LABELER)] = "",
    out: Annotated[
        Path | None, typer.Option(help="Also write what became of each query, one line of JSON each.")
    ] = None,
) -> None:
    """Count what `build` would build, and say why a query has no pair; needs the sentences alone."""
    from locater.contrast.build import pairs_jsonl
    from locater.contrast.plan import plan
    from locater.contrast.statistics import count_joined, count_several, statistics_json, statistics_markdown
    from locater.io.atomic import atomic_path
    from locater.text.roles import open_labeler

    planned = plan(_open_source(dataset, split, count), open_labeler(labeler), seed)
    joined = count_joined(planned.pairs)
    columns = {"M": count_several(planned.several), "S": joined, "T": joined}
    if out is not None:
        with atomic_path(out) as partial:
            partial.write_text(pairs_jsonl(planned), "utf-8")
    say(statistics_markdown(statistics_json(planned, columns)).rstrip())
    if out is not None:
        say(f"\nQuery by query: {out}")


@contrast.command("build")
def contrast_build(
    dataset: Annotated[str, typer.Argument(metavar="NAME[:ROOT]", help=DATA)],
    out: Annotated[Path, typer.Option(help="Folder of the test set; a build that was interrupted there goes on.")],
    split: SplitOption = None,
    count: Annotated[int | None, typer.Option(help="Of a world: videos per kind of sentence; 100 by default.")] = None,
    subsets: Annotated[str, typer.Option(help="Any of M (several actors), S (side by side), T (in turn).")] = "M,S,T",
    seed: Annotated[int, typer.Option(help="Decides between equally good pairs.")] = 0,
    order: Annotated[str, typer.Option(help="query-first (left, ahead), query-last, or mixed.")] = "query-first",
    format: Annotated[str, typer.Option(help="folder, or authors (the paper's own layout).")] = "folder",
    video: Annotated[str, typer.Option(help="frames (pictures) or mp4.")] = "frames",
    labeler: Annotated[str, typer.Option(help=_LABELER)] = "",
) -> None:
    """Write M, S and T as files; run it again to go on, or to replace pairs that people rejected."""
    from locater.contrast.build import BuildRequest, build
    from locater.contrast.statistics import statistics_markdown
    from locater.text.roles import open_labeler

    chosen = tuple(each.strip().upper() for each in subsets.split(",") if each.strip())
    request = BuildRequest(out, chosen, seed, order, format, video)
    with progress_display("sequences/s") as progress:
        task = progress.add_task("building")
        built = build(
            _open_source(dataset, split, count),
            open_labeler(labeler),
            request,
            listen=lambda done, total: progress.update(task, completed=done, total=total),
        )
    say(statistics_markdown(built.statistics))
    for each in built.skipped:
        say(f"Skipped {each.subset}/{each.sequence}: {each.reason}")
    numbers = ", ".join(f"{number} in {subset}" for subset, number in built.sequences.items())
    say(f"Sequences: {numbers}; {len(built.skipped)} skipped. Test set: {out}")


@contrast.command("review")
def contrast_review(
    folder: Annotated[Path, typer.Argument(help="What `locater contrast build` wrote, its --out.")],
    port: Annotated[int, typer.Option(help="Where the page is served; a free port by default.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Let a person accept or reject each pair on a web page; every decision is saved at once."""
    from locater.contrast.decisions import DECISIONS

    need_web()
    from locater.web.review.server import ReviewServer

    with ReviewServer(folder, port) as server:
        counts = server.session.counts()
        say(f"{counts.decided} of {counts.total} pairs are decided. Review: {server.url} (Ctrl-C ends it)")
        serve_until_stopped(server, browser)
        counts = server.session.counts()
    say(
        f"{counts.decided} of {counts.total} pairs are decided: {counts.accepted} accepted, {counts.rejected} "
        f"rejected. Decisions: {folder / DECISIONS}"
    )
    if counts.rejected:
        say("Run the same `locater contrast build` command again to replace the rejected pairs.")


def _open_source(spec: str, split: str | None, count: int | None) -> "Dataset":
    """The dataset's or world's own questions."""
    from locater.datasets.catalog import find_source
    from locater.datasets.drawn_worlds import Drawing

    return find_source(spec).open(split, Drawing(count))
