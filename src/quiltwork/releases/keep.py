"""Results that were paid for and not taken yet: kept until whoever asked has them, or a day has passed.

A result is written down after it was drawn and before anything is shown, so that no closed pipe, full disk, stopped
service or failed report loses it. Folder and files are their owner's alone (0700, 0600), and each file carries a code
under a key, by which a changed one is noticed. Nothing is encrypted: the values are noisy already.
"""

import hmac
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from quiltwork.ledger.seal import Seal

FOLDER = "QUILTWORK_KEPT"
"""The environment variable that names another folder."""
DAY = 86400.0  # seconds for which a result is kept
ENDING = ".json"
NAMES = re.compile(r"[A-Za-z0-9_-]{1,80}")


class Kept:
    """A folder of results; ``key`` is the ledger's, or the token of a service. Without one, only damage is noticed.

    >>> import tempfile
    >>> kept = Kept(tempfile.mkdtemp() + "/kept")
    >>> name = kept.put({"value": 42})
    >>> kept.get(name), kept.remove(name), kept.get(name)
    ({'value': 42}, None, None)
    """

    def __init__(self, folder: str | Path | None = None, *, key: bytes | None = None):
        self.folder, self._seal = Path(folder) if folder is not None else usual_folder(), Seal(key)

    def put(self, content: Mapping[str, Any], name: str | None = None) -> str | None:
        """Keep a result, in place of one of the same name; its name. None if the system does not let us."""
        name = name or f"{time.strftime('%Y%m%d-%H%M%S')}-{token_hex(4)}"
        written = self._path(name).with_suffix(f".{token_hex(4)}")
        try:
            text = json.dumps(content)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._ours():
                return None
            handle = os.open(written, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{self._code(name, text)}\n{text}\n")
                file.flush()
                os.fsync(handle)
            os.replace(written, self._path(name))
        except (OSError, TypeError, ValueError):  # the release goes on: its value may still be taken
            with suppress(OSError):
                written.unlink()
            return None
        self._forget_old()
        return name

    def get(self, name: str) -> dict[str, Any] | None:
        """A result; None if there is none of this name, it is too old, or it is not what was written."""
        if NAMES.fullmatch(name) is None or not self._ours():
            return None
        try:
            if self.since(name) < time.time() - DAY:
                return None
            code, text, *_ = self._path(name).read_text(encoding="utf-8").split("\n")
            content = json.loads(text) if hmac.compare_digest(code, self._code(name, text)) else None
        except (OSError, ValueError, TypeError):
            return None
        return content if isinstance(content, dict) else None

    def since(self, name: str) -> float:
        """When it was kept, in seconds since 1970; 0 if it is not."""
        try:
            return self._path(name).stat().st_mtime
        except OSError:
            return 0.0

    def remove(self, name: str | None) -> None:
        """Forget a result that was taken, if it was kept."""
        with suppress(OSError):
            if name is not None:
                self._path(name).unlink()

    def __iter__(self) -> Iterator[str]:
        """The names of all results, the oldest first."""
        try:
            names = sorted((file.stat().st_mtime, file.stem) for file in self.folder.glob(f"*{ENDING}"))
        except OSError:
            return
        yield from (name for since, name in names if since >= time.time() - DAY)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{ENDING}"

    def _code(self, name: str, text: str) -> str:
        return self._seal.of(f"a result that quiltwork keeps\n{name}\n{text}")

    def _ours(self) -> bool:
        """Whether the folder is ours, and nobody else may look into it."""
        try:
            found = self.folder.lstat()
        except OSError:
            return False
        own = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
        return stat.S_ISDIR(found.st_mode) and own

    def _forget_old(self) -> None:
        for file in self.folder.iterdir():
            with suppress(OSError):
                if file.stat().st_mtime < time.time() - DAY:
                    file.unlink()


def usual_folder() -> Path:
    """Where the user's results are kept, unless the environment variable QUILTWORK_KEPT names another folder."""
    named = os.environ.get(FOLDER)
    state = os.environ.get("XDG_STATE_HOME")
    return Path(named) if named else (Path(state) if state else Path("~/.local/state").expanduser()) / "quiltwork"
