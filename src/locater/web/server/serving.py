"""A page at an address, until it is told to end."""

import errno
import logging
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import Lifespan

from locater.errors import LocaterError
from locater.web.server.assets import shared_routes
from locater.web.server.connections import MOST_CONNECTIONS, BoundedConnection
from locater.web.server.guard import Address, Guard
from locater.web.server.requests import REFUSALS

LOCAL_HOST = "127.0.0.1"
_SHUTDOWN_SECONDS = 1  # for answers under way; an open browser must not keep the command from ending


class PageServer:
    """Serves some routes at `url` until `shutdown`; the port is taken from the beginning."""

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        host: str = LOCAL_HOST,
        port: int = 0,
        lifespan: Lifespan[Starlette] | None = None,
    ) -> None:
        self._socket = _bound(host, port)
        self.address = Address(host, self._socket.getsockname()[1])
        app = Starlette(routes=[*shared_routes(), *routes], exception_handlers=dict(REFUSALS), lifespan=lifespan)
        config = uvicorn.Config(
            Guard(app, self.address),
            http=BoundedConnection,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=MOST_CONNECTIONS,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        self._server = uvicorn.Server(config)
        # The terminal is for what a person needs to know; what a page could not do is logged where it is refused.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)

    @property
    def url(self) -> str:
        """Where the page is, with its token."""
        return self.address.url

    def serve_forever(self) -> None:
        """Answer until `shutdown`, or until the process is interrupted."""
        self._server.run(sockets=[self._socket])

    def shutdown(self) -> None:
        """End `serve_forever` soon; from any thread."""
        self._server.should_exit = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise LocaterError(f"{host} is no address of this machine: {_reason(error)}; choose another --host.") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen()  # now, so that two servers cannot believe to have the same port
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise LocaterError(f"Port {port} is in use; choose another --port, or leave it out.") from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise LocaterError(f"{host} is no address of this machine; choose another --host.") from None
        raise LocaterError(
            f"Port {port} cannot be had: {_reason(error)}; choose another --port, or leave it out."
        ) from None
    return listener


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
