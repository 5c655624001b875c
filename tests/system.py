"""Parts of the system that some tests need, where `make test` has put them; else the tests say so."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from patience import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def unavailable(what: str) -> NoReturn:
    """Skip with the reason; where everything should be there, fail."""
    reason = f"{what} is not here: tools/system_parts.py installs it, which takes root and apt"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def postgresql_programs() -> Path:
    """The folder with initdb and pg_ctl."""
    on_path = shutil.which("pg_ctl")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    unavailable("PostgreSQL")


@contextmanager
def postgresql_server() -> Iterator[str]:
    """A server of its own in a folder of its own, reached through a socket; its address."""
    programs = postgresql_programs()
    owner = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="quiltwork-pg-"))
    if owner:
        shutil.chown(folder, owner)

    def run(*command: str) -> None:
        done = subprocess.run(command, user=owner, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout

    data = folder / "data"
    run(str(programs / "initdb"), "--auth=trust", "--username=postgres", "--no-sync", str(data))
    options = f"-k {folder} -c listen_addresses='' -c max_connections=100"
    start = ("--log", str(folder / "log"), "--options", options, "--wait", f"--timeout={PATIENCE:.0f}", "start")
    run(str(programs / "pg_ctl"), "--pgdata", str(data), *start)
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        run(str(programs / "pg_ctl"), "--pgdata", str(data), "--mode=immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def behind_its_back(url: str, script: str) -> None:
    """Run statements on the database of a ledger, as somebody else who may write to it."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(script)
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(script)


def chromium_program() -> str:
    """A browser to drive: Chromium, or one that is made of it."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if (found := shutil.which(name)) is not None:
            return found
    unavailable("Chromium")


@contextmanager
def chromium() -> Iterator["Browser"]:
    """The system's browser without a window. While it is open, this thread cannot run an asyncio loop of its own."""
    from playwright.sync_api import sync_playwright

    program = chromium_program()
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments, timeout=1000 * PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


def spark_session() -> Any:
    """A real Spark session of this machine with several workers; nothing is reached but this machine."""
    if shutil.which("java") is None:
        unavailable("Java")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # it lives for seconds
    from quiltwork.data.engines.sql import spark_session as started

    session = started("local[2]")
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.codegen.wholeStage", "false")  # compiling takes longer than a few rows do
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return session
