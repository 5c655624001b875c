"""Small changes to safety code that tests must notice: applied one by one in a copy, each with the tests named for it.

Run by `make mutants`. The list is tools/mutants.toml. A change that no test notices fails the run, and so does one
whose old text is not there exactly once any more.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "bench", "pyproject.toml")
PASSED, FAILED = 0, 1  # of pytest; all else says that the tests could not be run


@dataclass(frozen=True)
class Mutant:
    """One change: the only place of ``old`` in a file becomes ``new``, and one of the tests must fail."""

    what: str
    file: str
    old: str
    new: str
    tests: list[str]

    def apply(self, folder: Path) -> str:
        """Change the file in a copy of the project; what was in it before."""
        path = folder / self.file
        before = path.read_text(encoding="utf-8")
        if before.count(self.old) != 1:
            raise SystemExit(f"{self.what}: {self.file} has its old text {before.count(self.old)} times, not once")
        path.write_text(before.replace(self.old, self.new), encoding="utf-8")
        return before


def outcome(folder: Path, tests: list[str]) -> int:
    """Pytest's exit code."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    settings = os.environ | {"PYTHONPATH": str(folder / "src"), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, check=False).returncode


def survivors(mutants: list[Mutant], folder: Path) -> int:
    """Try each, print what became of it, and count those that no test noticed."""
    count = 0
    for mutant in mutants:
        path = folder / mutant.file
        stamps = path.stat()
        before = mutant.apply(folder)
        code = outcome(folder, mutant.tests)
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))  # compiled code of the original stays valid
        said = {PASSED: "SURVIVED", FAILED: "killed"}.get(code, f"not run (pytest: {code})")
        print(f"{said:9} {mutant.file.removeprefix('src/quiltwork/'):32} {mutant.what}", flush=True)
        count += code != FAILED
    return count


def main() -> None:
    """Try all mutants, or those whose description or file contains the word given."""
    listed = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    mutants = [mutant for one in listed if word in (mutant := Mutant(**one)).what + mutant.file]
    with tempfile.TemporaryDirectory(prefix="quiltwork-mutants-") as name:
        folder = Path(name)
        for part in COPIED:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, folder / part)
            else:
                shutil.copy2(source, folder / part)
        for tests in {tuple(mutant.tests) for mutant in mutants}:
            if outcome(folder, list(tests)) != PASSED:
                raise SystemExit(f"{' '.join(tests)} must pass without a mutant")
        lived = survivors(mutants, folder)
    print(f"{len(mutants) - lived} of {len(mutants)} killed")
    sys.exit(1 if lived else 0)


if __name__ == "__main__":
    main()
