"""The page's server: clips in, pictures, masks and progress out."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from locater.inference.demo import demo_clip
from locater.inference.segmenter import Segmenter
from locater.video.overlay import colour_of
from locater.video.writer import check_formats
from locater.web.segment.asked import plain_name, read_corrections, read_sentences
from locater.web.segment.clips import Clip, Clips, clip_facts
from locater.web.segment.exports import formats
from locater.web.segment.limits import LONGEST_SENTENCE, MOST_SENTENCES, Limits
from locater.web.segment.runs import Run
from locater.web.segment.scratch import Scratch
from locater.web.server.assets import asset_routes
from locater.web.server.requests import RefusedError, body_of, check_length, number_in, read_json
from locater.web.server.serving import LOCAL_HOST, PageServer

_ASSETS = ("page.html", "page.css", "page.js", "server.js", "player.js", "timeline.js", "sentences.js", "correcting.js")
_NEWS_SECONDS = 0.15  # between looks at what is new
_QUIET_SECONDS = 15.0  # after which a stream says that it lives
_FOREVER = {"Cache-Control": "private, max-age=3600, immutable"}  # a clip's key is used once


class SegmentServer(PageServer):
    """Serves the page at `url` until `shutdown`, with one network for everybody; its files go with it."""

    def __init__(
        self,
        segmenter: Segmenter,
        checkpoint: str,
        host: str = LOCAL_HOST,
        port: int = 0,
        limits: Limits | None = None,
    ) -> None:
        self._segmenter = segmenter
        self._checkpoint = checkpoint
        self._limits = limits or Limits()
        self._demo = demo_clip()
        self._clips: Clips
        one = "/api/clips/{key}"
        routes = [
            *asset_routes("locater.web.segment", _ASSETS),
            Route("/api/page", self._page, methods=["GET"]),
            Route("/api/clips", self._upload, methods=["POST"]),
            Route("/api/example", self._example, methods=["POST"]),
            Route(one, self._clip, methods=["GET"]),
            Route(f"{one}/events", self._events, methods=["GET"]),
            Route(f"{one}/runs", self._segment, methods=["POST"]),
            Route(f"{one}/cancel", self._cancel, methods=["POST"]),
            Route(f"{one}/leave", self._leave, methods=["POST"]),
            Route(f"{one}/close", self._close, methods=["POST"]),
            Route(f"{one}/frames/{{index}}", self._frame, methods=["GET"]),
            Route(f"{one}/masks/{{run}}/{{index}}", self._mask, methods=["GET"]),
            Route(f"{one}/exports", self._export, methods=["POST"]),
            Route(f"{one}/exports/{{format}}", self._download, methods=["GET"]),
        ]
        super().__init__(routes, host, port, self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        with Scratch() as scratch:
            self._clips = Clips(self._segmenter, scratch, self._limits)
            keeping = asyncio.create_task(self._drop_forgotten())
            try:
                yield
            finally:
                keeping.cancel()
                await run_in_threadpool(self._clips.close)

    async def _drop_forgotten(self) -> None:
        while True:
            await asyncio.sleep(min(2.0, self._limits.leaving_seconds / 4))
            await run_in_threadpool(self._clips.drop_forgotten)

    # ---- Opening -----------------------------------------------------------------------------------------------------

    def _page(self, _: Request) -> Response:
        """What the page needs to know before there is a clip."""
        limits = self._limits
        return JSONResponse(
            {
                "checkpoint": self._checkpoint,
                "formats": formats(),
                "colours": [colour_of(place) for place in range(MOST_SENTENCES)],
                "example": self._demo.expressions[:2],
                "limits": {
                    "megabytes": limits.upload_bytes // 2**20,
                    "seconds": limits.seconds,
                    "megapixels": limits.pixels / 1e6,
                    "sentences": MOST_SENTENCES,
                    "letters": LONGEST_SENTENCE,
                },
            }
        )

    async def _upload(self, request: Request) -> Response:
        most = self._limits.upload_bytes
        length = check_length(request, most, f"This page takes files of up to {most // 2**20} MB; cut the clip first.")
        name = plain_name(unquote(request.headers.get("x-file-name", ""), errors="replace"))
        client = request.state.client
        with self._place(client):
            await run_in_threadpool(self._clips.scratch.check_room, 2 * length)
            folder = await run_in_threadpool(self._clips.scratch.folder)
            try:
                path = folder / "clip"  # whatever its owner calls it
                with path.open("wb") as file:
                    async for piece in body_of(request, most):
                        await run_in_threadpool(file.write, piece)
                clip = await run_in_threadpool(self._clips.open, path, name, folder, client)
            except BaseException:
                with suppress(OSError):
                    (folder / "clip").unlink(missing_ok=True)
                    folder.rmdir()
                raise
        return JSONResponse(clip_facts(clip))

    async def _example(self, request: Request) -> Response:
        client = request.state.client
        with self._place(client):
            folder = await run_in_threadpool(self._clips.scratch.folder)
            path = self._demo.path
            clip = await run_in_threadpool(self._clips.open, path, path.name, folder, client)
        return JSONResponse(clip_facts(clip))

    @contextmanager
    def _place(self, client: str) -> Iterator[None]:
        self._clips.reserve(client)
        try:
            yield
        finally:
            self._clips.release(client)

    # ---- Looking -----------------------------------------------------------------------------------------------------

    def _found(self, request: Request) -> Clip:
        return self._clips.find(request.path_params["key"])

    def _clip(self, request: Request) -> Response:
        return JSONResponse(clip_facts(self._found(request)))

    def _frame(self, request: Request) -> Response:
        clip, index = self._found(request), number_in(request, "index")
        if index >= len(clip.previews):
            raise RefusedError(HTTPStatus.NOT_FOUND, f"There is no picture of frame {index} yet.")
        return Response(clip.previews.picture(index), media_type="image/jpeg", headers=_FOREVER)

    def _mask(self, request: Request) -> Response:
        index = number_in(request, "index")
        run = self._found(request).find_run(number_in(request, "run"))
        if run is None or index >= len(run):
            raise RefusedError(HTTPStatus.NOT_FOUND, f"There is no mask of frame {index} yet.")
        return Response(run.mask_picture(index), media_type="image/png", headers=_FOREVER)

    async def _events(self, request: Request) -> Response:
        clip = self._found(request)
        return StreamingResponse(self._news(clip), media_type="text/event-stream")

    async def _news(self, clip: Clip) -> AsyncIterator[str]:
        """What changes, as server-sent events; a reader that is slow gets more at a time."""
        told = _Told()
        quiet = 0.0
        clip.listeners += 1
        try:
            while not clip.is_gone:
                news = told.news(self._clips.state(clip), clip.run)
                quiet = 0.0 if news else quiet + _NEWS_SECONDS
                if news:
                    yield f"data: {json.dumps(news)}\n\n"
                elif quiet > _QUIET_SECONDS:
                    quiet = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(_NEWS_SECONDS)
        finally:
            clip.listeners -= 1
            if not clip.is_left:
                self._clips.touch(clip)

    # ---- Asking ------------------------------------------------------------------------------------------------------

    async def _segment(self, request: Request) -> Response:
        clip, body = self._found(request), await read_json(request)
        sentences = read_sentences(body)
        corrections = read_corrections(body, sentences, clip.source.info)
        anyway = body.get("anyway") is True
        run = await run_in_threadpool(self._clips.segment, clip, sentences, corrections, anyway)
        return JSONResponse({"number": run.number}, HTTPStatus.ACCEPTED)

    async def _cancel(self, request: Request) -> Response:
        clip = self._found(request)
        await read_json(request)
        await run_in_threadpool(self._clips.cancel, clip)
        return JSONResponse({})

    async def _leave(self, request: Request) -> Response:
        clip = self._found(request)
        self._clips.leave(clip)
        return JSONResponse({})

    async def _close(self, request: Request) -> Response:
        clip = self._found(request)
        await run_in_threadpool(self._clips.drop, clip)
        return JSONResponse({})

    # ---- Taking away -------------------------------------------------------------------------------------------------

    async def _export(self, request: Request) -> Response:
        clip, body = self._found(request), await read_json(request)
        name = str(body.get("format"))
        check_formats([name])
        export = await run_in_threadpool(self._clips.export, clip, name)
        return JSONResponse(export.as_json(), HTTPStatus.ACCEPTED)

    def _download(self, request: Request) -> Response:
        export = self._found(request).exports.get(request.path_params["format"])
        if export is None or export.path is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "This file is not ready; ask for it on the page.")
        name = export.path.name if export.path.suffix != ".zip" else f"locater-{export.format}.zip"
        return FileResponse(export.path, filename=name)


@dataclass
class _Told:
    """What a listener knows."""

    state: Any = None
    run: int = 0
    frames: int = 0

    def news(self, state: dict[str, Any], run: Run | None) -> dict[str, Any]:
        """What it does not know yet; empty where there is nothing."""
        news: dict[str, Any] = {} if state == self.state else {"state": state}
        self.state = state
        if run is not None:
            if run.number != self.run:
                self.run, self.frames = run.number, 0
            count = len(run)
            if count > self.frames:
                some = slice(self.frames, count)
                news["frames"] = {
                    "run": run.number,
                    "first": self.frames,
                    "scores": run.scores[some],
                    "areas": run.areas[some],
                }
                self.frames = count
        return news
