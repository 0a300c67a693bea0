"""A page's own files, out of the package by fixed names."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def shared_routes() -> list[Route]:
    """Routes of what every page has."""
    return asset_routes("locater.web.server", ("base.css", "ask.js"))


def asset_routes(package: str, names: Sequence[str]) -> list[Route]:
    """A route for each file, which must lie beside the package's modules; `page.html` is the root's."""
    return [_route(package, name) for name in names]


def _route(package: str, name: str) -> Route:
    content = (files(package) / name).read_bytes()
    kind = _KINDS[PurePosixPath(name).suffix]

    def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return Route("/" if name == "page.html" else f"/{name}", answer, methods=["GET"])
