"""Serving: a socket, one line that says where, and a clean end."""

import asyncio
import ipaddress
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from secrets import token_urlsafe
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from quiltwork.beliefs.text import why_unread, why_unwritten
from quiltwork.errors import ParameterError
from quiltwork.web.app import create_app
from quiltwork.web.guard import MOST_HEADER_BYTES
from quiltwork.web.jobs import LAST_WORDS
from quiltwork.web.service import Settings

SHORTEST_TOKEN = 32
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not bound to
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_PORT = 65535
AT_ONCE = 400  # connections
MOST_WAITING, MOST_OF_ADDRESS = 200, 64  # connections that wait for a first or further request; of one address
HEADER_SECONDS = 10.0  # for the head of a request; else it takes no token to hold all connections


class _Waiting:
    """Connections that wait for a first or a further request: the oldest make room, so that they keep nobody out."""

    def __init__(self) -> None:
        self._address: dict[_Prompt, str] = {}

    def add(self, connection: "_Prompt", address: str) -> None:
        """One more; of too many, the oldest of the same address is closed, or the oldest of all."""
        same = [other for other, known in self._address.items() if known == address]
        if len(same) >= MOST_OF_ADDRESS:
            same[0].transport.abort()
            self.remove(same[0])
        elif len(self._address) >= MOST_WAITING:
            oldest = next(iter(self._address))
            oldest.transport.abort()
            self.remove(oldest)
        self._address[connection] = address

    def remove(self, connection: "_Prompt") -> None:
        """Its request has come, or it has gone."""
        self._address.pop(connection, None)

    def __len__(self) -> int:
        return len(self._address)


class _Prompt(H11Protocol):
    """Closes connections on which the head of a request does not arrive in time, or that are too many."""

    waiting = _Waiting()
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """A connection that was answered waits again, as a new one does: an answer takes no token either."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self.waiting.add(self, (self.transport.get_extra_info("peername") or ("",))[0])

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:  # the head is there
            self._forget()
        elif self._late is None:
            self._late = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _forget(self) -> None:
        self.waiting.remove(self)
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """Tells the service first that it stops: streams of events would otherwise hold it up."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None]):
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, at the first signal, as soon as releases that are being drawn are through."""
        self._stopping()
        super().handle_exit(sig, frame)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """A socket at the address, or an error that says why not."""
    found = None
    try:
        if not 0 <= port <= LARGEST_PORT:
            raise OSError(0, "a port is a number from 0 to 65535")
        known = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = known[0]
        found = socket.socket(family, kind, protocol)
        if os.name == "posix":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except (OSError, UnicodeError) as problem:
        if found is not None:
            found.close()
        raise ParameterError(
            "the address cannot be served",
            got=f"host {host}, port {port}",
            why=getattr(problem, "strerror", None) or "it is not one",
            fix="Choose another port, or --port 0 for any that is free",
        ) from None
    return found


def new_token() -> str:
    """A token that nobody can guess."""
    return token_urlsafe(32)


def token_in(path: Path) -> str:
    """The token in a file that only its owner can read; a new one if the file is not there."""
    try:
        if not path.exists():
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(new_token() + "\n")
    except OSError as problem:
        why, fix = why_unwritten(path, problem)
        raise ParameterError(f"token file {path} cannot be written", why=why, fix=fix) from None
    try:
        if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ParameterError(
                f"token file {path} must be for its owner only", got="one that others can use", fix=f"chmod 600 {path}"
            )
        token = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as problem:
        why, fix = why_unread(path, problem)
        raise ParameterError(f"token file {path} cannot be read", why=why, fix=fix) from None
    if len(token) < SHORTEST_TOKEN or not all(sign.isalnum() or sign in "-_." for sign in token):
        raise ParameterError(
            f"the token in {path} must have at least {SHORTEST_TOKEN} letters, digits, - or _",
            got="another text",
            fix="Delete the file, and a new one is made",
        )
    return token


def serve(settings: Settings, *, host: str, port: int, say: Callable[[str, str], None]) -> None:
    """Serve until SIGINT or SIGTERM. ``say`` is told the address and the address with the token, once it is open."""
    if settings.ledger is not None:
        _check_ledger(settings)
    sock = bound(host, port)
    port = int(sock.getsockname()[1])
    own = () if host in EVERYWHERE else (host,)
    near = LOOPBACK if host in EVERYWHERE or is_loopback(host) else ()
    settings = replace(
        settings,
        hosts=(*settings.hosts, *own, *near),
        any_address=host in EVERYWHERE,
        cookie=f"quiltwork-{port}",  # browsers do not tell ports of one machine apart
    )
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=_Prompt,
        lifespan="on",
        timeout_keep_alive=5,
        timeout_graceful_shutdown=int(LAST_WORDS),
        limit_concurrency=AT_ONCE,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
    )
    _log_to_stderr()
    for sign in (signal.SIGINT, signal.SIGTERM):  # the server raises them once more at its end
        signal.signal(sign, lambda *_: None)
    shown = "127.0.0.1" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/"
    try:
        say(address, f"{address}?token={settings.token}")
        asyncio.run(_Server(config, app.stop).serve(sockets=[sock]))
    finally:
        app.close()
        sock.close()


def _check_ledger(settings: Settings) -> None:
    """A ledger that cannot be opened, or does not say how protected files are read, is refused at the start."""
    from quiltwork.ledger import Ledger, read_key

    key = None if settings.key is None else read_key(settings.key)
    book = Ledger(settings.ledger or "", key=key)
    try:
        if settings.data_folder is not None:
            book.declared()
    finally:
        book.close()


def _log_to_stderr() -> None:
    log = logging.getLogger("quiltwork.web")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
