"""A page that is served until somebody presses Ctrl-C."""

from typing import TYPE_CHECKING

from locater.cli.terminal import say

if TYPE_CHECKING:
    from locater.web.server.serving import PageServer


def serve_until_stopped(server: "PageServer", browser: bool) -> None:
    """Nothing, when Ctrl-C has ended it; `browser` opens the page in one."""
    import webbrowser

    if browser:
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        say("")  # the terminal has just shown ^C
