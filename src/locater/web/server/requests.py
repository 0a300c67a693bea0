"""What a request's body may be, and refusals as one sentence in JSON."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from locater.errors import LocaterError

_LARGEST_JSON = 64 * 2**10  # bytes; what people type has a few hundred
_BODY_SECONDS = 15.0  # that the next piece of a body may take

log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A request that is not answered, with the reason as a sentence."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_json(request: Request) -> dict[str, Any]:
    """The object in a request's body; a body that is long, slow, deep or no object is refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        # Another site's form can send no JSON, and its script must ask first, which is not answered.
        raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON.")
    check_length(request, _LARGEST_JSON, f"A request has at most {_LARGEST_JSON} bytes.")
    content = b"".join([piece async for piece in body_of(request, _LARGEST_JSON)])
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "Send a JSON object.")
    return body


def check_length(request: Request, largest: int, too_large: str) -> int:
    """The bytes that a body says it has, when they are few enough."""
    length = request.headers.get("content-length", "")
    if not length.isascii() or not length.isdecimal() or len(length) > 18:
        raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "Say how long the request is.")
    if int(length) > largest:
        raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large)
    return int(length)


async def body_of(request: Request, largest: int) -> AsyncIterator[bytes]:
    """A body piece by piece, refused where it stalls or grows past `largest` bytes."""
    pieces = request.stream()
    total = 0
    while True:
        try:
            piece = await asyncio.wait_for(anext(pieces), _BODY_SECONDS)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise RefusedError(HTTPStatus.REQUEST_TIMEOUT, "The rest of the request did not come in time.") from None
        total += len(piece)
        if total > largest:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {largest} bytes.")
        yield piece


def number_in(request: Request, name: str) -> int:
    """A number of a frame in the address; anything else is nowhere."""
    text = str(request.path_params[name])
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise RefusedError(HTTPStatus.NOT_FOUND, f"{text} is no number of a frame.")
    return int(text)


def refusal(status: int, message: str) -> Response:
    """A refusal; the connection ends with it, since a body that was not read would be taken for the next request."""
    return JSONResponse({"error": message}, status, {"Connection": "close"})


def _refused(_: Request, error: Exception) -> Response:
    return refusal(error.status if isinstance(error, RefusedError) else HTTPStatus.BAD_REQUEST, str(error))


def _told(_: Request, error: Exception) -> Response:
    return refusal(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))


def _unrouted(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    return refusal(status, f"There is nothing to {request.method} at {request.url.path}.")


def _gone(_: Request, error: Exception) -> Response:  # noqa: ARG001
    return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody reads it


def _broken(request: Request, error: Exception) -> Response:
    log.error("%s could not be answered", request.url.path, exc_info=error)
    return refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong; the terminal says what.")


REFUSALS: Mapping[Any, Callable[[Request, Exception], Response]] = {
    RefusedError: _refused,
    LocaterError: _told,
    HTTPException: _unrouted,
    ClientDisconnect: _gone,
    Exception: _broken,
}
