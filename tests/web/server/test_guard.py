"""Who gets in: the token's holders, on the server's own page; nobody else, wherever they ask from."""

import http.client
import threading
from collections.abc import Iterator

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from locater.errors import LocaterError
from locater.web.server.guard import Address
from locater.web.server.requests import read_json
from locater.web.server.serving import PageServer
from tests.support.pages.serving import JSON, Client


async def said(request: Request) -> Response:
    return JSONResponse(await read_json(request))


def root(_: Request) -> Response:
    return JSONResponse("the page")


def broken(_: Request) -> Response:
    raise RuntimeError("a secret of the server")


ROUTES = [Route("/", root), Route("/broken", broken), Route("/said", said, methods=["POST"])]


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    with PageServer(ROUTES) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server: PageServer) -> Client:
    return Client(server.url)


def test_another_local_user_gets_nothing(client: Client) -> None:
    for path in ("/", "/said", "/nothing", "/?token=", "/?token=guess", "/?token=%C3%A9"):
        for headers in ({}, {"Cookie": "locater-1=x"}, {"Authorization": "Bearer "}, {"Authorization": "Bearer é"}):
            status, content, _ = client.ask(path, headers={"Authorization": "", **headers})
            assert status == 403 and b"the terminal shows" in content


def test_the_address_opens_the_page_and_a_cookie_keeps_it_open(client: Client, server: PageServer) -> None:
    connection = http.client.HTTPConnection(client.host)
    connection.request("GET", f"/?token={client.token}")
    answer = connection.getresponse()
    assert answer.status == 200 and answer.read() == b'"the page"'
    cookies = answer.headers.get_all("Set-Cookie") or []
    assert len(cookies) == 2 and all("HttpOnly; SameSite=Strict; Path=/" in each for each in cookies)
    assert f"locater-{server.address.port}={client.token};" in cookies[0]
    held = "; ".join(each.partition(";")[0] for each in cookies)
    connection.request("GET", "/", headers={"Cookie": held})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.headers["Set-Cookie"] is None
    assert "default-src 'none'" in (answer.headers["Content-Security-Policy"] or "")
    connection.close()
    # Browsers send a machine's cookies to all of its ports: another server's token is no use here.
    other = held.replace(str(server.address.port), "1")
    assert client.ask("/", headers={"Authorization": "", "Cookie": other})[0] == 403


def test_every_address_has_a_token_of_its_own() -> None:
    tokens = {Address("127.0.0.1", 80).token for _ in range(100)}
    assert len(tokens) == 100 and all(len(token) >= 32 for token in tokens)
    assert Address("127.0.0.1", 1).token not in repr(Address("127.0.0.1", 1))


def test_other_sites_get_nothing_with_the_token_either(client: Client) -> None:
    assert client.ask("/", headers={"Host": "evil.example"})[0] == 403
    for origin in ("http://evil.example", "null", f"https://{client.host}"):
        assert client.ask("/said", {}, {**JSON, "Origin": origin})[0] == 403
    assert client.ask("/said", {}, {**JSON, "Origin": f"http://{client.host}"})[0] == 200


def test_a_server_for_other_machines_goes_by_any_name_and_needs_the_token() -> None:
    with PageServer(ROUTES, host="0.0.0.0") as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        client = Client(f"http://127.0.0.1:{server.address.port}/?token={server.address.token}")
        assert not server.address.is_local
        assert client.ask("/", headers={"Host": "studio.example"})[0] == 200
        assert client.ask("/", headers={"Host": "studio.example", "Authorization": ""})[0] == 403
        server.shutdown()
        thread.join()
    with pytest.raises(LocaterError, match="is no address of this machine"):
        PageServer(ROUTES, host="192.0.2.1")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"a": 1}', 200),
        (b'{"a":' * 10_000, 400),
        (b"[" * 60_000, 400),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, 400),
        (b"\xff", 400),
        (b"[]", 400),
        (b" " * 2**17, 413),
    ],
    ids=["object", "deep", "deep list", "deep and whole", "bytes", "list", "long"],
)
def test_bodies_that_are_no_objects_are_refused(client: Client, body: bytes, status: int) -> None:
    assert client.ask("/said", body)[0] == status


def test_what_breaks_is_told_without_the_details(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    status, content, _ = client.ask("/broken")
    assert status == 500 and b"secret" not in content and b"the terminal says what" in content
    assert "a secret of the server" in caplog.text
    assert client.ask("/")[0] == 200
