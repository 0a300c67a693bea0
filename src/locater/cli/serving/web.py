"""The command that serves a page: `locater web`."""

from typing import Annotated

import typer

from locater.cli.opening import DEFAULT_CHECKPOINT, need_web, open_segmenter
from locater.cli.options import BestOption, CheckpointOption, DeviceOption, FastOption, PrecisionOption
from locater.cli.serving.until_stopped import serve_until_stopped
from locater.cli.terminal import say


def web(
    host: Annotated[
        str, typer.Option(help="This machine alone by default; 0.0.0.0 lets others in, unencrypted, with the token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where the page is served; a free port by default.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    megabytes: Annotated[int, typer.Option(help="The largest upload.", min=1)] = 512,
    minutes: Annotated[float, typer.Option(help="The longest clip.", min=0.01)] = 10.0,
    megapixels: Annotated[float, typer.Option(help="The largest frame.", min=0.01)] = 9.0,
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
    device: DeviceOption = None,
    precision: PrecisionOption = "auto",
    fast: FastOption = False,
    best: BestOption = False,
) -> None:
    """Segment clips on a page: drop one, type sentences, watch, correct, download."""
    import warnings

    need_web()
    from locater.inference.segmenter import NotUnderstoodWarning
    from locater.video.guarded.processes import start_decoders
    from locater.web.segment.limits import Limits
    from locater.web.segment.server import SegmentServer

    limits = Limits(upload_bytes=megabytes * 2**20, seconds=60 * minutes, pixels=round(megapixels * 1e6))
    start_decoders()
    warnings.simplefilter("ignore", NotUnderstoodWarning)  # the page tells them to whoever typed the sentence
    segmenter = open_segmenter(checkpoint, device, precision, fast, best)
    with SegmentServer(segmenter, checkpoint, host, port, limits) as server:
        say(f"Segment clips at {server.url} (Ctrl-C ends it)")
        if not server.address.is_local:
            say("Other machines can reach it, unencrypted: whoever has this address can use it.")
        serve_until_stopped(server, browser)
    say("The page is closed; every upload was removed.")
