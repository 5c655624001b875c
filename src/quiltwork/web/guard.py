"""The door: who may come in, from where, and with how much; and what every answer says to browsers.

Each request passes, in this order: Host (a page elsewhere must not reach us under a name of its own: DNS rebinding),
Origin and Sec-Fetch-Site (a page elsewhere must not act for the user: CSRF), token or cookie, and the size of its body.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from quiltwork.errors import ParameterError, visible
from quiltwork.session import written_down
from quiltwork.view.terminal import json_line
from quiltwork.web.refusals import RefusedError

log = logging.getLogger("quiltwork.web")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

SAFE_METHODS = {"GET", "HEAD"}
ONCE = {"host", "origin", "authorization", "sec-fetch-site", "content-length"}
OPEN = ("/static/",)  # style sheets of the page that asks for the token
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
MOST_BYTES = 32 * 2**20  # of a request that is not an upload
MOST_HEADER_BYTES = 16 * 2**10
SIGNED_IN = 12 * 3600.0  # seconds without a request after which a browser has to show the token again
MOST_SESSIONS = 1000
BODY_SECONDS = 60.0
SIGN_OUT = "/sign-out"
UPLOADS = "/api/uploads"  # which are written to a file as they come
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
NO_TOKEN = RefusedError(
    "a token is needed. Open the address that `quiltwork serve` printed, or send it: Authorization: Bearer TOKEN.",
    "token",
    401,
)
FOREIGN = RefusedError("the request comes from another site.", "origin", 403)


@dataclass(frozen=True)
class Client:
    """Who asks: the owner of jobs and uploads, and the name for the ledger (None: the user who started the service)."""

    owner: str
    name: str | None = None


@dataclass
class Sessions:
    """Browsers that have shown the token; what they keep is not the token itself."""

    _used: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def new(self) -> str:
        """Sign a browser in."""
        name = secrets.token_urlsafe(32)
        with self._lock:
            now = time.monotonic()
            for old in [key for key, used in self._used.items() if now - used > SIGNED_IN]:
                del self._used[old]
            while len(self._used) >= MOST_SESSIONS:
                del self._used[min(self._used, key=lambda key: self._used[key])]
            self._used[_digest(name)] = now
        return name

    def owner(self, name: str) -> str | None:
        """Whose browser it is, if it is signed in. Digests are looked up, so that time tells nothing about names."""
        key = _digest(name)
        with self._lock:
            used = self._used.get(key)
            if used is None or time.monotonic() - used > SIGNED_IN:
                return None
            self._used[key] = time.monotonic()
        return f"browser {key}"

    def end(self, name: str) -> None:
        """Sign a browser out."""
        with self._lock:
            self._used.pop(_digest(name), None)


class SignIn(Protocol):
    """Makes the page that asks for the token; ``wrong`` after one that is not right."""

    def __call__(self, *, wrong: bool = False) -> bytes:
        """The page."""


class Guard:
    """An application behind the door."""

    def __init__(
        self,
        app: App,
        *,
        token: str,
        hosts: Iterable[str],
        any_address: bool = False,
        user_header: str | None = None,
        cookie: str = "quiltwork",
        sign_in_page: SignIn,
        signed_in_page: Callable[[], bytes],
    ):
        self._app, self._token = app, token
        self._hosts, self._any_address = {host.lower().strip("[]") for host in hosts}, any_address
        self._user_header = None if user_header is None else user_header.lower()
        self._cookie, self._sessions = cookie, Sessions()
        self._sign_in_page, self._signed_in_page = sign_in_page, signed_in_page

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other kind is offered
        begun, status = time.monotonic(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_headers(message.get("headers", []), scope["path"])
            await send(message)

        try:
            await self._let_in(scope, receive, sent)
        except RefusedError as refused:
            if not status:
                await _answer(sent, refused.status, json_line(refused.content).encode(), "application/json")
        except Exception as problem:  # its text may hold data, so only its name is written down
            log.error("internal error: %s", type(problem).__name__)
            if not status:
                content = {"error": f"something went wrong that should not have ({type(problem).__name__}).",
                           "kind": "internal", "exit_code": 2}  # fmt: skip
                await _answer(sent, 500, json_line(content).encode(), "application/json")
        finally:  # the path without what follows "?", where a token may stand
            took = 1000 * (time.monotonic() - begun)
            log.info("%s %s %d %.0f ms", scope["method"], _on_a_line(scope["path"]), status, took)

    async def _let_in(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = _headers_of(scope, ONCE if self._user_header is None else ONCE | {self._user_header})
        self._check_host(headers)
        self._check_origin(scope, headers)
        path = str(scope["path"])
        if path.startswith(OPEN) and scope["method"] in SAFE_METHODS:
            await self._app(scope, receive, send)
            return
        shown = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if shown and scope["method"] == "GET" and path == "/":
            if not self._is_token(shown):
                if "text/html" not in headers.get("accept", ""):
                    raise NO_TOKEN
                await _answer(send, 401, self._sign_in_page(wrong=True), "text/html; charset=utf-8")
                return
            held = self._cookie_in(headers)  # a browser that is signed in stays who it is, and keeps its jobs
            name = held if self._sessions.owner(held) is not None else self._sessions.new()
            # a page that leads on, not a redirect: after one from a link elsewhere, strict cookies would not be sent
            cookie = self._set_cookie(name, secure=headers.get("x-forwarded-proto") == "https")
            await _answer(send, 200, self._signed_in_page(), "text/html; charset=utf-8", [(b"set-cookie", cookie)])
            return
        client = self._client(headers)
        if client is None:
            if path.startswith("/api/") or "text/html" not in headers.get("accept", ""):
                raise NO_TOKEN
            await _answer(send, 401, self._sign_in_page(), "text/html; charset=utf-8")
            return
        if path == SIGN_OUT and scope["method"] == "POST":
            self._sessions.end(self._cookie_in(headers))
            gone = [(b"set-cookie", self._set_cookie("", secure=False, age=0))]
            if "text/html" in headers.get("accept", ""):  # the button of a page
                await _answer(send, 303, b"", "text/plain", [*gone, (b"location", b"/")])
            else:
                await _answer(send, 204, b"", "text/plain", gone)
            return
        scope.setdefault("state", {})["client"] = client
        await self._app(scope, receive if path == UPLOADS else await _received(receive, headers), send)

    def _check_host(self, headers: MutableMapping[str, str]) -> None:
        try:
            name = (urlsplit(f"//{headers.get('host', '')}").hostname or "").rstrip(".")
            known = name in self._hosts or (self._any_address and _is_address(name))
        except ValueError:
            known = False
        if not known:
            raise RefusedError(
                "the service is not known under this name. Start it with --allow-host NAME if it is.",
                "host",
                421,
            )

    def _check_origin(self, scope: Message, headers: MutableMapping[str, str]) -> None:
        fetched = headers.get("sec-fetch-site", "none")
        changes = scope["method"] not in SAFE_METHODS
        if changes or str(scope["path"]).startswith("/api/"):
            if fetched not in ("same-origin", "none"):
                raise FOREIGN
            origin = headers.get("origin")
            if origin == "null" and fetched == "same-origin" and scope["path"] == SIGN_OUT:
                return  # a form of our own pages, which tell no referrer; browsers set the other header themselves
            if origin is not None and _site(origin) != headers.get("host", "").lower():
                raise FOREIGN

    def _is_token(self, shown: str) -> bool:
        return hmac.compare_digest(_digest(shown), _digest(self._token))

    def _client(self, headers: MutableMapping[str, str]) -> Client | None:
        """Who asks, if they have shown the token."""
        kind, _, shown = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(shown.strip()):
            owner: str | None = "token"
        else:
            owner = self._sessions.owner(self._cookie_in(headers))
        if owner is None:
            return None
        if self._user_header is None:
            return Client(owner)
        try:
            name = headers.get(self._user_header, "").encode("latin-1").decode()
            written_down(name, "quiltwork serve")
        except (ParameterError, UnicodeError):
            raise RefusedError(
                "a user name is needed. The proxy in front of the service has to send it in the trusted header.",
                "user",
                401,
            ) from None
        return Client(f"user {name}", name)

    def _cookie_in(self, headers: MutableMapping[str, str]) -> str:
        """What a browser keeps of us. Ours are plain names, so cutting at ; is enough, and its time is linear."""
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == self._cookie), "")

    def _set_cookie(self, value: str, *, secure: bool, age: int | None = None) -> bytes:
        ended = "" if age is None else f"; Max-Age={age}"
        text = f"{self._cookie}={value}; Path=/; HttpOnly; SameSite=Strict{ended}{'; Secure' if secure else ''}"
        return text.encode("ascii")


def _site(origin: str) -> str | None:
    """Host and port of an origin; None where it is not one.

    >>> _site("http://localhost:8765"), _site("http://[")
    ('localhost:8765', None)
    """
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _on_a_line(path: str) -> str:
    return visible(path[:200]).replace("\n", "\\n").replace("\t", "\\t")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _headers_of(scope: Message, once: set[str]) -> dict[str, str]:
    """The headers by name; one that stands twice where one is meant is refused."""
    found: dict[str, str] = {}
    if sum(len(key) + len(value) for key, value in scope["headers"]) > MOST_HEADER_BYTES:
        raise RefusedError(f"headers must have at most {MOST_HEADER_BYTES // 2**10} kB together.", "size", 431)
    for key, value in scope["headers"]:
        name = key.decode("latin-1").lower()
        if name in found and name in once:
            raise RefusedError(f"the header {name} must stand once.", "request", 400)
        found[name] = f"{found[name]}; {value.decode('latin-1')}" if name in found else value.decode("latin-1")
    return found


async def _received(receive: Receive, headers: MutableMapping[str, str]) -> Receive:
    """The whole request, of bounded size and within bounded time, to be read again."""
    too_large = RefusedError(f"a request must have at most {MOST_BYTES // 2**20} MiB.", "size", 413)
    declared = headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > MOST_BYTES:
        raise too_large
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                parts.append(message.get("body", b""))
                if sum(map(len, parts)) > MOST_BYTES:
                    raise too_large
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    break
    except TimeoutError:
        raise RefusedError(f"the request must arrive within {BODY_SECONDS:g} s.", "time", 408) from None
    pending: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again


def _with_headers(given: Iterable[tuple[bytes, bytes]], path: str) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in given if name.lower().decode("latin-1") not in HEADERS]
    kept += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    if not any(name.lower() == b"cache-control" for name, _ in kept):
        kept.append((b"cache-control", b"no-cache" if path.startswith("/static/") else b"no-store"))
    return kept


async def _answer(send: Send, status: int, body: bytes, kind: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    own = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": body})
