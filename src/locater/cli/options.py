"""Options and arguments that several commands have, each said once."""

from pathlib import Path
from typing import Annotated

import typer

from locater.errors import LocaterError

_CHECKPOINT = "A folder, a shipped name or a hub name."

AnywayOption = Annotated[bool, typer.Option(help="Go on where a noun of a sentence is not understood.")]
AskAgainOption = Annotated[
    bool,
    typer.Option("--ask-again", help="Paint over what was found and ask again: does a sentence fit a second thing?"),
]
CheckpointArgument = Annotated[str, typer.Argument(help=_CHECKPOINT)]
CheckpointOption = Annotated[str, typer.Option(help=_CHECKPOINT)]
DeviceOption = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ...; the best one by default.")]
FormatOption = Annotated[
    str,
    typer.Option(
        help="Any of overlay, overlays, matte, alpha (videos); png, pngs, cutout, images, sheet (pictures); "
        "rle, coco-video, yolo, cvat, labelstudio, boxes (annotations): docs/outputs.md."
    ),
]
LiveOption = Annotated[
    bool, typer.Option("--live", help="Read once, as a camera would be: no knowledge of what comes later.")
]
BestOption = Annotated[bool, typer.Option("--best", help="The network whole, in float32: the slowest on a CPU.")]
FastOption = Annotated[
    bool, typer.Option("--fast", help="Smaller frames and coarser edges: faster, at a price in docs/benchmarks.md.")
]
PrecisionOption = Annotated[
    str, typer.Option(help="float32, bfloat16 or float16; auto is what the device computes soonest.")
]
PresetArgument = Annotated[str, typer.Argument(help="A preset's name; `locater presets` lists them.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace earlier results in --out.")]
FlipOption = Annotated[
    bool, typer.Option("--flip", help="Also mirrored, with left and right exchanged in the words; averaged.")
]
ScalesOption = Annotated[
    str, typer.Option(help="Sizes in which each video is segmented, as 0.75,1,1.25; their masks are averaged.")
]
SentenceOption = Annotated[
    list[str], typer.Option(help="A sentence too: for one that is also the name of a file that is there.")
]
SplitOption = Annotated[str | None, typer.Option(help="train, valid, test, ...; the one to evaluate on by default.")]
ThresholdOption = Annotated[
    float | None, typer.Option(help="Leave masks empty whose score, from 0 to 1, is below this.")
]
VideosAndSentences = Annotated[
    list[str],
    typer.Argument(
        metavar='VIDEO... "SENTENCE"...',
        help="Videos, folders of pictures or of videos, patterns; then what to segment: "
        '"the dog on the left" "the other dog". What exists as a file is a video, anything else a sentence.',
    ),
]
VideosOption = Annotated[Path | None, typer.Option(help="A file that lists the videos that count, one per line.")]

ClickOption = Annotated[
    list[str] | None,
    typer.Option(help="FRAME,X,Y: this is meant, FRAME,X,Y,-: this is not; 2:FRAME,X,Y is of the second sentence."),
]
BoxOption = Annotated[list[str] | None, typer.Option(help="FRAME,LEFT,TOP,RIGHT,BOTTOM: what is meant is in it.")]
MaskOption = Annotated[list[str] | None, typer.Option(help="FRAME,FILE: a picture of the right mask, black outside.")]


def read_weights(text: str) -> list[float]:
    """The numbers of `0.7,0.3` and its like."""
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise LocaterError(f"'{text}' is no list of weights; write numbers with commas, as 0.7,0.3.") from None
