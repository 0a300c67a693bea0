"""The review's server: pairs, their pictures and outlines, and decisions that are on the disk before they are told."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from locater.contrast.review.pairs import BuiltPairs, NotThereError
from locater.contrast.review.session import Session
from locater.web.server.assets import asset_routes
from locater.web.server.requests import RefusedError, number_in, read_json
from locater.web.server.serving import PageServer

_ASSETS = ("page.html", "page.css", "page.js", "player.js", "sentence.js")


class ReviewServer(PageServer):
    """Serves one folder's review at `url` until `shutdown`."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.pairs = BuiltPairs(folder)
        self.session = Session(self.pairs)
        routes = [
            *asset_routes("locater.web.review", _ASSETS),
            Route("/api/review", self._review, methods=["GET"]),
            Route("/api/pairs/{sequence:path}", self._pair, methods=["GET"]),
            Route("/frames/{sequence:path}/{index}", self._frame, methods=["GET"]),
            Route("/outlines/{sequence:path}/{half}/{place}", self._outline, methods=["GET"]),
            Route("/api/decisions", self._decide, methods=["POST"]),
            Route("/api/undo", self._undo, methods=["POST"]),
        ]
        super().__init__(routes, port=port)

    def _review(self, _: Request) -> Response:
        return JSONResponse(self.session.overview())

    def _pair(self, request: Request) -> Response:
        return JSONResponse(_found(self.pairs.pair, request.path_params["sequence"]))

    def _frame(self, request: Request) -> Response:
        picture = _found(self.pairs.picture, request.path_params["sequence"], number_in(request, "index"))
        return Response(picture.content, media_type=picture.media_type)

    def _outline(self, request: Request) -> Response:
        sequence, half = request.path_params["sequence"], request.path_params["half"]
        return JSONResponse({"path": _found(self.pairs.outline, sequence, half, number_in(request, "place"))})

    async def _decide(self, request: Request) -> Response:
        body = await read_json(request)
        said = body.get("sequence"), body.get("decision"), body.get("reason", "")
        return JSONResponse(await run_in_threadpool(_found, self.session.decide, *said))

    async def _undo(self, request: Request) -> Response:
        await read_json(request)
        return JSONResponse(await run_in_threadpool(_found, self.session.undo))


def _found(look_up: Any, *where: Any) -> Any:
    """What `look_up` finds there; what is not there is not found."""
    try:
        return look_up(*where)
    except NotThereError as error:
        raise RefusedError(HTTPStatus.NOT_FOUND, str(error)) from None
