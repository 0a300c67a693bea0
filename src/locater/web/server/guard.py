"""Who may ask: whoever opened the address with the token, on this server's own page."""

import hmac
import re
import secrets
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from locater.web.server.requests import refusal

_HEADERS = {
    # Nothing from elsewhere, and no place inside another page.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_NO_STORE = "no-store"  # another set may be reviewed at this address tomorrow
_SAFE_METHODS = ("GET", "HEAD")
_CLIENT = re.compile(r"[\w-]{22}")


@dataclass(frozen=True)
class Address:
    """Where a page is, and the secret that opens it."""

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def is_local(self) -> bool:
        """Whether no other machine can reach it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which a local page is asked for, with the port, which browsers leave out where it is 80."""
        names = {self._bracketed, "localhost", "127.0.0.1"}
        return frozenset(f"{name}:{self.port}" for name in names) | (frozenset(names) if self.port == 80 else set())

    @property
    def url(self) -> str:
        """What a person opens."""
        return f"http://{self._bracketed}:{self.port}/?token={self.token}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


class Guard:
    """Lets requests with the token through to `app`: in the address once, in a cookie from then on, or in a header."""

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self._app = app
        self._address = address
        # Browsers share cookies among a machine's ports, so that the port is part of the name.
        self._token_cookie = f"locater-{address.port}"
        self._client_cookie = f"locater-client-{address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse; every answer has the security headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        cookies = _cookies(headers.get("cookie", ""))
        client = cookies.get(self._client_cookie, "")
        if not _CLIENT.fullmatch(client):
            client = secrets.token_urlsafe(16)
        is_opened = self._is_token(QueryParams(scope["query_string"]).get("token", ""))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answer[name] = value
                answer.setdefault("Cache-Control", _NO_STORE)
                if is_opened:
                    for name, value in ((self._token_cookie, self._address.token), (self._client_cookie, client)):
                        answer.append("Set-Cookie", f"{name}={value}; HttpOnly; SameSite=Strict; Path=/")
            await send(message)

        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        is_known = is_opened or self._is_token(cookies.get(self._token_cookie, "")) or self._is_token(bearer)
        refused = self._refusal(scope, headers, is_known)
        scope.setdefault("state", {})["client"] = client
        await (refused or self._app)(scope, receive, send_guarded)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._address.token.encode())

    def _refusal(self, scope: Scope, headers: Headers, is_known: bool) -> Response | None:
        # A foreign name that resolves to this machine is another site's attempt to read from here. Where other
        # machines are served, nobody knows by which names; there the token alone stands guard.
        if self._address.is_local and headers.get("host") not in self._address.hosts:
            return refusal(HTTPStatus.FORBIDDEN, "Open the page at the address that the terminal shows.")
        if not is_known:
            said = "This page opens at the address that the terminal shows, with the token at its end."
            if scope["path"] == "/":
                return PlainTextResponse(said + "\n", HTTPStatus.FORBIDDEN, {"Connection": "close"})
            return refusal(HTTPStatus.FORBIDDEN, said)
        origin = headers.get("origin")
        if scope["method"] not in _SAFE_METHODS and origin is not None and origin != f"http://{headers.get('host')}":
            return refusal(HTTPStatus.FORBIDDEN, "Requests are taken from this server's own page only.")
        return None


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header).items()}
    except CookieError:
        return {}
