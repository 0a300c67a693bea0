"""The command that tells why: `locater explain`."""

from pathlib import Path
from typing import Annotated

import typer

from locater.cli.opening import DEFAULT_CHECKPOINT, open_segmenter
from locater.cli.options import AnywayOption, CheckpointOption, DeviceOption, ForceOption
from locater.cli.terminal import plain_warnings, say


def explain(
    video: Annotated[str, typer.Argument(help="A video file, or a folder of images.")],
    expression: Annotated[str, typer.Argument(help='What to segment: "the dog on the left".')],
    out: Annotated[Path, typer.Option(help="Folder for the page, the numbers and the figure.")],
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
    device: DeviceOption = None,
    frames: Annotated[int, typer.Option(min=2, max=64, help="At most so many frames, spread over the video.")] = 12,
    anyway: AnywayOption = False,
    force: ForceOption = False,
) -> None:
    """Show which words decide, what changes without each, and what the memories were written from."""
    import json

    from locater.explain.explanation import explain as explained
    from locater.explain.page import explanation_page
    from locater.explain.pictures import words_figure
    from locater.io.results_folder import check_results_folder, results_folder
    from locater.video.reader import open_source

    check_results_folder(out, force=force)
    source = open_source(video)
    segmenter = open_segmenter(checkpoint, device, "float32")
    with plain_warnings(), results_folder(out, "locater explain", force=force) as partial:
        found = explained(segmenter, source, expression, frames, anyway)
        (partial / "index.html").write_text(explanation_page(found, source.info.name, checkpoint), encoding="utf-8")
        numbers = json.dumps(found.numbers(), indent=1, ensure_ascii=False)
        (partial / "explanation.json").write_text(numbers + "\n", encoding="utf-8")
        words_figure(found, found.word_attention).save(partial / "words.png")
    for word, weight in zip(found.words, found.word_attention.mean(0), strict=True):
        say(f"{weight:.2f}  {word}")
    for removed in sorted(found.removed, key=lambda each: each.mean_overlap):
        say(f"IoU {removed.mean_overlap:.2f}  without {removed.word}: {removed.sentence}")
    say(f"Open {out / 'index.html'}; the numbers are in {out / 'explanation.json'}, a figure in words.png.")
