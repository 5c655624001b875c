"""Build the wheel, install it into bare environments, and use it there as a stranger would.

python tools/wheel.py

One environment for each Python from 3.11 on that the machine has. The first is used for everything, also without the
extras; the others show that it installs and works. Sizes are printed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
OTHERS = ("3.12", "3.13")
HISTOGRAM = ("--belief", "sample/belief.json", "--column", "activity", "--subject", "person", "--time", "time")


def main() -> None:
    """Build, install, use."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = _built(folder)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        pinned = _pinned(folder)

        def other(version: str, python: str) -> None:
            bare = _Bare(folder / version, python, wheel, pinned)
            bare.prints("demo", "--json", says='"epsilon": 1.0')
            print(f"Python {version}: demo works, {bare.size:,.0f} MB")
            shutil.rmtree(bare.folder)

        with ThreadPoolExecutor(2) as pool:
            begun = [pool.submit(other, version, python) for version, python in _others()]
            _try_everything(_Bare(folder / "bare", sys.executable, wheel, pinned))
            for one in begun:
                one.result()


def _built(folder: Path) -> Path:
    """The wheel, built from what git knows: nothing else that lies around gets into it."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder], cwd=ROOT,
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    return wheel


def _pinned(folder: Path) -> Path:
    """The versions of the lock file; without hashes, since a wheel that was just built has none."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    file = folder / "pinned.txt"
    file.write_text("\n".join(line.removesuffix(" \\") for line in lines if line and not line.startswith(" ")))
    return file


def _others() -> Iterator[tuple[str, str]]:
    """Other versions of Python that work here: on the path, or beside the one that runs this."""
    for version in OTHERS:
        beside = Path(sys.base_prefix).parent.glob(f"{version}*/bin/python{version}")
        for python in (shutil.which(f"python{version}"), *map(str, sorted(beside))):
            if (
                python
                and not subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode
            ):
                yield version, python
                break
        else:
            print(f"Python {version}: not on this machine")


def _works(python: str) -> bool:
    """Whether it is a Python, not a name that stands for none."""
    return subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0


class _Bare:
    """An environment with the wheel and what it needs, and nothing else around it."""

    def __init__(self, folder: Path, python: str, wheel: Path, pinned: Path) -> None:
        self.folder, self._wheel, self._pinned = folder, wheel, pinned
        self.work = folder / "work"
        subprocess.run([python, "-m", "venv", folder / "env"], check=True)
        self.work.mkdir()
        self.install()

    def install(self, *extras: str) -> None:
        """The wheel, with extras."""
        wanted = f"{self._wheel}[{','.join(extras)}]" if extras else str(self._wheel)
        pip = [
            str(self._bin / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-compile",
        ]
        subprocess.run([*pip, "--constraint", str(self._pinned), wanted], check=True)

    @property
    def _bin(self) -> Path:
        return self.folder / "env" / ("Scripts" if os.name == "nt" else "bin")

    @property
    def size(self) -> float:
        """Megabytes of the environment."""
        return sum(file.lstat().st_size for file in (self.folder / "env").rglob("*") if not file.is_dir()) / 1e6

    @property
    def packages(self) -> int:
        """How many packages are in it, besides pip."""
        listed = [str(self._bin / "python"), "-m", "pip", "list", "--disable-pip-version-check", "--format", "json"]
        found = json.loads(subprocess.run(listed, check=True, capture_output=True).stdout)
        return len([one for one in found if one["name"] not in ("pip", "setuptools")])

    def prints(self, *words: str, says: str, code: int = 0) -> str:
        """Run the command: it ends with this code, and what it prints has this in it."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        environment = kept | {"HOME": str(self.folder)}
        command = [str(self._bin / "quiltwork"), *words]
        done = subprocess.run(
            command, cwd=self.work, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
        )
        printed = done.stdout + done.stderr
        if done.returncode != code or says not in printed:
            sys.exit(f"quiltwork {' '.join(words)}: exit {done.returncode}, expected {code} and {says!r}:\n{printed}")
        return printed


def _try_everything(bare: _Bare) -> None:
    """What a new user does, first without the extras."""
    print(f"Python {sys.version_info.major}.{sys.version_info.minor}: {bare.packages} packages, {bare.size:,.0f} MB")
    install = 'pip install "quiltwork[{}]"'
    bare.prints("--version", says="quiltwork 0.")
    bare.prints("--help", says="Commands:")
    bare.prints("demo", says="No report: a picture or a report needs packages that are not installed")
    bare.prints("demo", "--files", "sample", says="Wrote")
    bare.prints("plan", "sample/belief.json", "--query", "histogram", "--length", "672", "--epsilon", "1",
                says="Least noise with a guarantee")  # fmt: skip
    bare.prints("belief", "show", "sample/belief.json", says="sleep")
    bare.prints("ledger", "create", "sqlite:///ledger.db", "--belief", "sample/belief.json", "--budget", "3",
                says="Created sqlite:///ledger.db")  # fmt: skip
    release = ("release", "sample/diary.parquet", *HISTOGRAM, "--query", "histogram", "--epsilon", "1",
               "--ledger", "sqlite:///ledger.db")  # fmt: skip
    bare.prints(*release, "--out", "table.csv", says="Recorded as row")
    bare.prints(*release, "--out", "report.html", code=2, says=install.format("pictures"))  # before anything is spent
    bare.prints("ledger", "show", "sqlite:///ledger.db", says="ε")
    bare.prints("ledger", "verify", "sqlite:///ledger.db", says="whole")
    bare.prints("belief", "check", "sample/belief.json", "sample/diary.parquet", *HISTOGRAM[2:], says="Levels")
    bare.prints("serve", code=2, says=install.format("web"))
    bare.install("pictures")
    bare.prints(*release, "--out", "report.html", says="Recorded as row")
    report = (bare.work / "report.html").read_text(encoding="utf-8")
    if "<svg" not in report or "Verified by interval arithmetic" not in report:
        sys.exit("the report has no pictures, or its certificate was not verified")
    print(f"with pictures: {bare.packages} packages, {bare.size:,.0f} MB")
    shutil.rmtree(bare.folder)


if __name__ == "__main__":
    main()
