"""Fetch the scripts that pages use from their npm packages: ``python tools/vendor.py``.

They are kept in the repository, so that nothing comes from the network when the service runs or the site is read. A
test compares them with the lists of names, versions and SHA-256 that are written here.
"""

import hashlib
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
# package, version, its file (None: only its licence, because another package carries it), the name here
SERVICE = (
    ("vega", "6.4.0", "build/vega.min.js", "vega.js"),
    ("vega-lite", "6.5.0", "build/vega-lite.min.js", "vega-lite.js"),
    ("vega-embed", "7.3.0", "build/vega-embed.min.js", "vega-embed.js"),  # with the interpreter of expressions
    ("vega-interpreter", "2.3.2", None, None),  # in vega-embed
    ("htm", "3.1.1", "preact/standalone.module.js", "preact.js"),  # with preact and its hooks
    ("preact", "10.29.8", None, None),  # in htm
)
SITE = (("iframe-worker", "1.0.4", "shim/index.js", "iframe-worker.js"),)  # search in pages opened from files


def fetched(package: str, version: str, wanted: list[str]) -> list[bytes]:
    """Files of a package."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"{package}@{version}", "--pack-destination", folder]
        subprocess.run(command, check=True, capture_output=True)
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(packed) as archive:
            contents = []
            for name in wanted:
                file = archive.extractfile(f"package/{name}")
                if file is None:
                    raise FileNotFoundError(name)
                contents.append(file.read())
            return contents


def write(folder: Path, packages: Iterable[tuple[str, str, str | None, str | None]]) -> None:
    """Write the scripts, their licences, and the list."""
    folder.mkdir(parents=True, exist_ok=True)
    listed: list[dict[str, str]] = []
    for package, version, script, name in packages:
        named = {f"LICENSE-{package}.txt": "LICENSE"}
        if script is not None and name is not None:
            named |= {name: script}
        for own, content in zip(named, fetched(package, version, list(named.values())), strict=True):
            text = content.decode().rstrip() + "\n"
            text = "\n".join(line for line in text.split("\n") if not line.startswith("//# sourceMappingURL="))
            (folder / own).write_text(text, encoding="utf-8")
            sha256 = hashlib.sha256(text.encode()).hexdigest()
            listed.append({"file": own, "package": package, "version": version, "sha256": sha256})
    (folder / "vendor.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(ROOT / "src" / "quiltwork" / "web" / "static" / "vendor", SERVICE)
    write(ROOT / "docs" / "assets" / "vendor", SITE)
