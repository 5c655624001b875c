"""Installs parts of the system that tests need (PostgreSQL, Java, Chromium), if they are missing and it is possible.

`make test` runs it first. Without root or apt it does nothing: those tests then skip with the reason, and fail in CI.
"""

import os
import shutil
import subprocess
from pathlib import Path

PARTS = {"postgresql": "PostgreSQL", "openjdk-17-jre-headless": "Java", "chromium": "Chromium"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def missing() -> list[str]:
    """The packages whose programs are not here."""
    server = shutil.which("pg_ctl") or any(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    here = {
        "postgresql": bool(server),
        "openjdk-17-jre-headless": shutil.which("java") is not None,
        "chromium": any(map(shutil.which, BROWSERS)),
    }
    return [package for package in PARTS if not here[package]]


def install(packages: list[str]) -> None:
    """With apt, quietly."""
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", "--quiet", *command], env=quiet, capture_output=True, check=False)
        if done.returncode:
            print(f"apt-get {command[0]} failed: tests that need {', '.join(PARTS[p] for p in packages)} cannot run.")
            return


if __name__ == "__main__":
    wanted = missing()
    if wanted and os.geteuid() == 0 and shutil.which("apt-get"):
        install(wanted)
