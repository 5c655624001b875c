"""Where data may come from: folders that were named at the start, or files that were sent."""

import os
import secrets
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from quiltwork.data.text_files import ENDINGS, ending_of
from quiltwork.errors import DataError, visible
from quiltwork.web.refusals import RefusedError

BELIEFS = (".json", ".toml", ".bif")
MOST_LISTED = 1000
KEPT = 3600.0  # seconds for which an upload is kept after it was last used
MOST_UPLOADS = 20  # of one owner
LONGEST_NAME = 200
OUTSIDE = RefusedError("the path must lie below the folder. Choose one that /api/files lists.", "path", 403)


class Folder:
    """A folder whose files may be read, and nothing outside of it."""

    def __init__(self, path: Path):
        self.path = path.resolve(strict=True)

    def file(self, name: str, endings: tuple[str, ...] = ENDINGS) -> Path:
        """A regular file below the folder; links are followed first, so that none leads out of it."""
        if not name or "\0" in name or "://" in name or len(name) > 4096:
            raise OUTSIDE
        try:
            parts = Path(name)
            if parts.is_absolute() or ".." in parts.parts:
                raise OUTSIDE
            path = (self.path / parts).resolve()
            if not path.is_relative_to(self.path):
                raise OUTSIDE
            if not stat.S_ISREG(path.stat().st_mode):
                raise OUTSIDE
        except (OSError, ValueError, RuntimeError):
            raise RefusedError("there is no such file in the folder.", "path", 404) from None
        if any(mark in str(path) for mark in "*?["):
            raise DataError(
                "the name of a data file must not have *, ? or [",
                got="one with it",
                why="it would be read as a pattern",
                fix="Rename it",
            )
        if ending_of(path) not in endings:
            raise DataError(f"the file must end in {', '.join(endings)}", got=repr(path.suffix))
        return path

    def listed(self, endings: tuple[str, ...]) -> list[tuple[str, int]]:
        """The files below the folder that end so, by their paths in it, with their sizes in bytes."""
        found: list[tuple[str, int]] = []
        for folder, folders, names in os.walk(self.path, followlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                within = str(path.relative_to(self.path))
                if name.startswith(".") or ending_of(path) not in endings:
                    continue
                try:
                    found.append((within, self.file(within, endings).stat().st_size))
                except (RefusedError, DataError, OSError):
                    continue
                if len(found) == MOST_LISTED:
                    return found
        return found


@dataclass
class Upload:
    """A file that was sent, under a name of our own."""

    owner: str
    name: str
    path: Path
    size: int = 0
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    used: float = field(default_factory=time.monotonic)

    def to_dict(self) -> dict[str, object]:
        """What its owner may see."""
        return {"upload": self.id, "name": self.name, "bytes": self.size}


class Uploads:
    """Files that were sent, in a folder that nobody else can read, until they are deleted or forgotten."""

    def __init__(self, *, most_bytes: int):
        self.most_bytes = most_bytes
        self._folder: Path | None = None
        self._kept: dict[str, Upload] = {}
        self._lock = threading.Lock()

    async def receive(self, owner: str, name: str, chunks: AsyncIterator[bytes], *, declared: int | None) -> Upload:
        """Write a file as it comes; one that is too large is refused as soon as that is known."""
        self.forget_old()
        upload = self._new(owner, name)
        too_large = RefusedError(
            f"the file must have at most {self.most_bytes / 2**20:g} MiB. Use a path below --data-folder instead, or "
            "start the service with a larger --max-upload.",
            "size",
            413,
        )
        if declared is not None and declared > self.most_bytes:
            raise too_large
        try:
            with open(os.open(upload.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for chunk in chunks:
                    upload.size += len(chunk)
                    if upload.size > self.most_bytes:
                        raise too_large
                    file.write(chunk)
        except BaseException:
            upload.path.unlink(missing_ok=True)
            raise
        if upload.size == 0:
            upload.path.unlink(missing_ok=True)
            raise DataError("the file must not be empty", got="no bytes")
        with self._lock:
            self._kept[upload.id] = upload
        return upload

    def _new(self, owner: str, name: str) -> Upload:
        ending = ending_of(name)
        if ending not in ENDINGS:
            raise DataError(
                f"a data file must end in {', '.join(ENDINGS)}",
                got=repr(visible(ending)[:20]),
                why="it says what is in it",
            )
        with self._lock:
            if sum(one.owner == owner for one in self._kept.values()) >= MOST_UPLOADS:
                raise RefusedError(f"at most {MOST_UPLOADS} uploads are kept. Delete one first.", "size", 413)
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="quiltwork-"))
            shown = visible(name.replace("\\", "/").rpartition("/")[2])[-LONGEST_NAME:]
            return Upload(owner, shown, self._folder / (secrets.token_hex(16) + ending))

    def get(self, owner: str, name: str) -> Upload:
        """An upload, if it is its owner who asks."""
        with self._lock:
            upload = self._kept.get(name)
            if upload is None or upload.owner != owner:
                raise RefusedError("there is no such upload, or it was deleted. Send the file again.", "unknown", 404)
            upload.used = time.monotonic()
            return upload

    def of(self, owner: str) -> list[Upload]:
        """The uploads of an owner."""
        with self._lock:
            return [upload for upload in self._kept.values() if upload.owner == owner]

    def delete(self, upload: Upload) -> None:
        """Delete a file that was sent."""
        with self._lock:
            self._kept.pop(upload.id, None)
        upload.path.unlink(missing_ok=True)

    def forget_old(self) -> None:
        """Delete what nobody has used for long."""
        with self._lock:
            old = [upload for upload in self._kept.values() if time.monotonic() - upload.used > KEPT]
        for upload in old:
            self.delete(upload)

    def close(self) -> None:
        """Delete all of them."""
        with self._lock:
            self._kept.clear()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = None
