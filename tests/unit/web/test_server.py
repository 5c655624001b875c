"""The real command: it starts, says where, answers, and stops cleanly."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from patience import PATIENCE
from shell import run
from web_service import BELIEF, PLAN

from quiltwork import Ledger
from quiltwork.beliefs.files import belief_from_dict
from quiltwork.errors import ParameterError
from quiltwork.web import server
from quiltwork.web.server import bound, token_in


def ask(address: str, token: str, content: dict[str, Any] | None = None, **headers: str) -> Any:
    method = "GET" if content is None else "POST"
    sent = {"Authorization": f"Bearer {token}"} | headers
    return httpx2.request(method, address, json=content, headers=sent, timeout=PATIENCE)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_and_stops_cleanly(sign: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from quiltwork.cli import main; main()", "serve", "--port", "0", "--workers", "1"]
    command += ["--public-folder", str(tmp_path)]
    environment = os.environ | {"TMPDIR": str(tmp_path / "uploads")}
    (tmp_path / "uploads").mkdir()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"quiltwork serves (http://127\.0\.0\.1:\d+/)\?token=(\S{43})\n", line)
        assert found is not None, line
        address, token = found[1], found[2]
        assert ask(f"{address}api/status", token).json()["read_only"] is False
        assert ask(f"{address}api/status", "x").status_code == 401
        assert ask(f"{address}api/status", token, Host="evil.example").status_code == 421
        if sign == signal.SIGTERM:
            assert ask(f"{address}api/plan", token, PLAN).json()["mechanisms"][0]["noise_scale"] > 0
        bearer = {"Authorization": f"Bearer {token}"}
        sending: dict[str, Any] = {"content": b"doing\nsit\n", "headers": bearer, "timeout": PATIENCE}
        sent = httpx2.post(f"{address}api/uploads?name=x.csv", **sending)
        assert sent.status_code == 201
        assert list((tmp_path / "uploads").glob("quiltwork-*/*.csv"))
        ask(f"{address}api/plan?wait=0", token, PLAN | {"length": 8, "mechanisms": ["wasserstein"]})
        process.send_signal(sign)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert out == ""
    assert token not in err
    assert "Traceback" not in err
    assert "GET /api/status 200" in err
    assert list((tmp_path / "uploads").glob("quiltwork-*")) == []


def test_wrong_starts_are_refused_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", "--port", taken.getsockname()[1], code=2)
        assert "--port 0" in done.stderr
    assert "must exist" in run("serve", "--data-folder", tmp_path / "none", code=2).stderr
    assert "need a ledger" in run("serve", "--data-folder", tmp_path, code=2).stderr
    apart = ("--data-folder", tmp_path, "--public-folder", tmp_path)
    assert "must lie apart" in run("serve", *apart, "--ledger", "x.db", code=2).stderr
    book = f"sqlite:///{tmp_path / 'plain.db'}"
    Ledger.create(book, belief=belief_from_dict(BELIEF), budget=1.0).close()
    undeclared = run("serve", "--data-folder", tmp_path, "--ledger", book, code=2).stderr
    assert "does not say how its data are read" in undeclared
    assert "does not exist" in run("serve", "--ledger", tmp_path / "none.db", code=2).stderr
    assert "--ledger" in run("serve", "--key", tmp_path / "key", code=2).stderr


def test_without_its_packages_serve_says_how_to_get_them() -> None:
    code = "import sys; sys.modules['fastapi'] = None; sys.modules['uvicorn'] = None\n"
    code += "sys.argv = ['quiltwork', 'serve']; from quiltwork.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'pip install "quiltwork[web]"' in done.stderr


def test_other_commands_do_not_load_the_web() -> None:
    code = "import sys, quiltwork.cli; print({'fastapi', 'uvicorn', 'pydantic', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_token_can_be_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = token_in(path)
    assert len(token) >= 32
    assert token_in(path) == token
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o644)
    with pytest.raises(ParameterError, match="chmod 600"):
        token_in(path)
    path.chmod(0o600)
    path.write_text("short\n")
    with pytest.raises(ParameterError, match="at least 32"):
        token_in(path)
    with pytest.raises(ParameterError, match="cannot be written"):
        token_in(tmp_path / "none" / "token")


HALF = b"GET / HTTP/1.1\r\n"
WHOLE = HALF + b"Host: x\r\n\r\n"
LONG = 3600.0  # seconds that no test takes


class Skipping(asyncio.SelectorEventLoop):
    """A loop whose clock a test can put forward."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped


async def ok(_: Any, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[tuple[uvicorn.Server, tuple[str, int]]]:
    """A server in this loop, and its address."""
    sock = bound("127.0.0.1", 0)
    limits: dict[str, Any] = {"limit_concurrency": server.AT_ONCE, "lifespan": "off", "log_config": None}
    served = uvicorn.Server(uvicorn.Config(app, http=server._Prompt, timeout_keep_alive=int(LONG), **limits))
    task = asyncio.create_task(served.serve(sockets=[sock]))
    while not served.started:
        await asyncio.sleep(0.01)
    yield served, sock.getsockname()
    served.should_exit = True
    await task


def test_half_a_request_does_not_hold_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", LONG)
    with asyncio.Runner(loop_factory=Skipping) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, Skipping)

        async def skip() -> None:
            loop.skipped += 2 * LONG
            for _ in range(5):  # whatever is due now is done
                await asyncio.sleep(0)

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await skip()  # answers may take longer than requests
            await ok(scope, receive, send)

        async def talk() -> None:
            async with serving(slow) as (served, address):
                for before in (b"", WHOLE):
                    reader, writer = await asyncio.open_connection(*address)
                    writer.write(before)
                    if before:
                        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
                    writer.write(HALF)
                    while not any(one._late for one in served.server_state.connections):  # type: ignore[union-attr]
                        await asyncio.sleep(0.001)
                    await skip()
                    assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
                    writer.close()

        runner.run(talk())


@pytest.mark.parametrize("answered", [False, True], ids=["at once", "after an answer"])
def test_connections_that_ask_for_nothing_keep_nobody_out(answered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", LONG)

    async def answer(reader: asyncio.StreamReader) -> bytes:
        return await asyncio.wait_for(reader.readuntil(b"ok"), PATIENCE)

    async def talk() -> None:
        async with serving(ok) as (_, address):
            held = []
            for _ in range(2 * server.AT_ONCE):
                reader, writer = await asyncio.open_connection(*address)
                if answered:
                    writer.write(WHOLE)
                    assert (await answer(reader)).startswith(b"HTTP/1.1 200")
                    writer.write(HALF)
                held.append(writer)
            reader, writer = await asyncio.open_connection(*address)
            writer.write(WHOLE)
            assert (await answer(reader)).startswith(b"HTTP/1.1 200")
            assert len(server._Prompt.waiting) <= server.MOST_OF_ADDRESS
            for other in [*held, writer]:
                other.close()

    asyncio.run(talk())


def test_addresses_that_are_none() -> None:
    for host, port in (("256.0.0.1", 0), ("127.0.0.1", 99999)):
        with pytest.raises(ParameterError, match="cannot be served"):
            bound(host, port)
