"""Parts of the system that some tests need: found, or installed where that is possible; else the tests say so."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest


def unavailable(what: str) -> NoReturn:
    """Skip with the reason; where everything should be there, fail."""
    reason = f"{what} is not here and cannot be installed (that takes root and apt)"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def postgresql_programs() -> Path:
    """The folder with initdb and pg_ctl; installs PostgreSQL if it is missing."""
    for _ in range(2):
        found = shutil.which("pg_ctl")
        folders = [Path(found).resolve().parent] if found else []
        folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        for folder in folders:
            if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
                return folder
        _apt_install("postgresql")
    unavailable("PostgreSQL")


def _apt_install(package: str) -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        unavailable(package)
    with Path(tempfile.gettempdir(), "quiltwork-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one test process at a time
        quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "capture_output": True, "check": False}
        subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", package], **quiet)  # type: ignore[call-overload]


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
    start = ("--log", str(folder / "log"), "--options", options, "--wait", "start")
    run(str(programs / "pg_ctl"), "--pgdata", str(data), *start)
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        run(str(programs / "pg_ctl"), "--pgdata", str(data), "--mode=immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def java_home() -> None:
    """Java, which Spark needs; installs it if it is missing."""
    if shutil.which("java") is None:
        _apt_install("openjdk-17-jre-headless")
    if shutil.which("java") is None:
        unavailable("Java")


def spark_session() -> Any:
    """A real Spark session of this machine with several workers; nothing is reached but this machine."""
    java_home()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from quiltwork.data.engines.spark import spark_session as started

    session = started("local[2]")
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.codegen.wholeStage", "false")  # compiling takes longer than a few rows do
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return session
