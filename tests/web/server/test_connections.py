"""Connections that are held open for nothing: they end, and people get in meanwhile."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from locater.web.server import connections, requests
from locater.web.server.requests import read_json
from locater.web.server.serving import PageServer
from tests.support.pages.serving import Client

MOST = 40


async def said(request: Request) -> Response:
    return JSONResponse(await read_json(request))


def large(_: Request) -> Response:
    return PlainTextResponse("x" * 2**25)


ROUTES = [Route("/", lambda _: JSONResponse("here")), Route("/large", large), Route("/said", said, methods=["POST"])]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", MOST)
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.8)
    monkeypatch.setattr(connections, "READER_SECONDS", 0.5)
    monkeypatch.setattr(requests, "_BODY_SECONDS", 0.5)
    with PageServer(ROUTES) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Client(server.url)
        server.shutdown()
        thread.join()


def connect(client: Client) -> socket.socket:
    host, _, port = client.host.partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def request_of(client: Client, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {client.host}\r\nAuthorization: Bearer {client.token}\r\n\r\n".encode()


def is_ended(connection: socket.socket) -> bool:
    try:
        while connection.recv(2**16):
            pass
    except ConnectionError:
        return True
    return True


def test_half_open_requests_hold_no_threads_and_keep_nobody_out(client: Client) -> None:
    assert client.ask("/")[0] == 200  # the pool's first thread
    threads = threading.active_count()
    rude = []
    for _ in range(5 * MOST):
        rude.append(connect(client))
        rude[-1].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
    assert client.ask("/")[0] == 200
    assert threading.active_count() <= threads
    began = time.monotonic()
    assert all(is_ended(each) for each in rude)  # by the cap, or by the deadline
    assert time.monotonic() - began < 20
    assert client.ask("/")[0] == 200


def test_a_head_that_trickles_in_is_not_waited_for(client: Client) -> None:
    began = time.monotonic()
    with connect(client) as slow, pytest.raises(ConnectionError):
        for _ in range(100):
            slow.sendall(b"GET / HT")  # never a whole line
            time.sleep(0.1)
    assert time.monotonic() - began < 9


def test_a_body_that_stalls_is_refused(client: Client) -> None:
    with connect(client) as slow:
        head = f"POST /said HTTP/1.1\r\nHost: {client.host}\r\nAuthorization: Bearer {client.token}\r\n"
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
        assert b" 408 " in slow.recv(1000)
        assert is_ended(slow)


def test_who_does_not_read_is_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = threading.Event()
    lost = connections.BoundedConnection.connection_lost

    def connection_lost(self: connections.BoundedConnection, exc: Exception | None) -> None:
        lost(self, exc)
        gone.set()

    monkeypatch.setattr(connections.BoundedConnection, "connection_lost", connection_lost)
    with connect(client) as slow:
        slow.sendall(request_of(client, "/large"))
        assert gone.wait(20)
        got = 0
        with pytest.raises(ConnectionError):
            while piece := slow.recv(2**20):
                got += len(piece)
            raise ConnectionError  # an end before the whole is one too
        assert got < 2**25
    assert client.ask("/")[0] == 200


def test_a_connection_answers_one_request_after_another(client: Client) -> None:
    with connect(client) as kept:
        for requests_at_once in (1, 1, 3):
            kept.sendall(request_of(client, "/") * requests_at_once)
            got = b""
            while got.count(b'"here"') < requests_at_once:
                got += kept.recv(2000)
        assert is_ended(kept)  # idle
