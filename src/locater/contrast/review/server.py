"""The page's server: for browsers on this machine alone, from Python's own library."""

import errno
import json
import logging
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from locater.contrast.review.pairs import BuiltPairs, NotThereError
from locater.contrast.review.session import Session
from locater.errors import LocaterError

_HOST = "127.0.0.1"
_ASSETS = {
    "page.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "player.js": "text/javascript; charset=utf-8",
    "sentence.js": "text/javascript; charset=utf-8",
}
_LARGEST_BODY = 64 * 2**10  # bytes; a decision has a few hundred
_HEADERS = {
    # Nothing from elsewhere, and no place inside another page.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",  # another set may be reviewed at this address tomorrow
}

log = logging.getLogger(__name__)


class ReviewServer(ThreadingHTTPServer):
    """Serves one folder's review at `url` until `shutdown`."""

    daemon_threads = True  # an open browser must not keep the command from ending

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.pairs = BuiltPairs(folder)
        self.session = Session(self.pairs)
        try:
            super().__init__((_HOST, port), _Handler)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise LocaterError(f"Port {port} is in use; choose another --port, or leave it out.") from None
            reason = (error.strerror or str(error)).lower()
            raise LocaterError(
                f"Port {port} cannot be had: {reason}; choose another --port, or leave it out."
            ) from None
        names = (_HOST, "localhost")
        self.hosts = frozenset(f"{name}:{self.server_port}" for name in names) | (
            frozenset(names) if self.server_port == 80 else frozenset()  # which browsers leave out
        )

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{_HOST}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing, for a browser that went away in the middle of an answer."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _RefusedError(Exception):
    """A request that is not answered."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"  # one connection for hundreds of frames

    def do_GET(self) -> None:
        """Answer with the page, its parts, and what it shows."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Save a decision, or undo one."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for what a person needs to know."""

    def _answer(self, respond: Callable[[list[str]], None]) -> None:
        try:
            self._check_host()
            respond([unquote(part) for part in urlsplit(self.path).path.split("/")[1:]])
        except _RefusedError as error:
            self._refuse(error.status, str(error))
        except NotThereError as error:
            self._refuse(HTTPStatus.NOT_FOUND, str(error))
        except LocaterError as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except ConnectionError:
            raise
        except Exception:
            log.exception("%s could not be answered", self.path)
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong; the terminal says what.")

    def _check_host(self) -> None:
        # A foreign name that resolves to this machine is another site's attempt to read from here.
        if self.headers.get("Host") not in self.server.hosts:
            raise _RefusedError(HTTPStatus.FORBIDDEN, f"Open the page at {self.server.url}")

    def _get(self, parts: list[str]) -> None:
        pairs = self.server.pairs
        match parts:
            case [name] if (name or "page.html") in _ASSETS:
                name = name or "page.html"
                self._send(HTTPStatus.OK, (files(__package__) / name).read_bytes(), _ASSETS[name])
            case ["api", "review"]:
                self._send_json(self.server.session.overview())
            case ["api", "pairs", sequence]:
                self._send_json(pairs.pair(sequence))
            case ["frames", sequence, index]:
                picture = pairs.picture(sequence, _number(index))
                self._send(HTTPStatus.OK, picture.content, picture.media_type)
            case ["outlines", sequence, half, place]:
                self._send_json({"path": pairs.outline(sequence, half, _number(place))})
            case _:
                raise NotThereError(f"There is nothing at {self.path}.")

    def _post(self, parts: list[str]) -> None:
        self._check_origin()
        body = self._read_body()
        match parts:
            case ["api", "decisions"]:
                said = self.server.session.decide(body.get("sequence"), body.get("decision"), body.get("reason", ""))
                self._send_json(said)
            case ["api", "undo"]:
                self._send_json(self.server.session.undo())
            case _:
                raise NotThereError(f"Nothing can be sent to {self.path}.")

    def _check_origin(self) -> None:
        """Nothing, unless another site's page is asking."""
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "Decisions are taken from the review's own page only.")
        # Another site's form can send no JSON, and its script must ask first, which is not answered.
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON.")

    def _read_body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdecimal():
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "Say how long the request is.")
        if int(length) > _LARGEST_BODY:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {_LARGEST_BODY} bytes.")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "Send a JSON object.")
        return body

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self.close_connection = True  # a body that was not read would be taken for the next request
        self._send(status, json.dumps({"error": message}).encode(), "application/json")

    def _send_json(self, content: Any) -> None:
        self._send(HTTPStatus.OK, json.dumps(content, ensure_ascii=False).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, media_type: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise NotThereError(f"{text} is no number of a frame.")
    return int(text)
