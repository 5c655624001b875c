"""What ties the rows of a ledger together: a hash, or with a key a code that nobody can compute without it (HMAC)."""

import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from quiltwork.beliefs.text import read_text, why_unwritten
from quiltwork.errors import LedgerError

VARIABLE = "QUILTWORK_LEDGER_KEY"
SHORTEST, LONGEST = 16, 4096


@dataclass(frozen=True)
class Seal:
    """Without a key whoever can write to the ledger can also compute all hashes anew; with one they cannot.

    >>> Seal().of("row") == Seal().of("row"), Seal(b"k" * 16).of("row") == Seal().of("row")
    (True, False)
    """

    key: bytes | None = field(default=None, repr=False)

    def of(self, text: str) -> str:
        """The hash of a text, or its code under the key; 64 digits."""
        if self.key is None:
            return hashlib.sha256(text.encode()).hexdigest()
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()

    @property
    def name(self) -> str | None:
        """By which a ledger knows its key; it tells nothing about the key itself."""
        return None if self.key is None else self.of("the key of a quiltwork ledger")[:16]


def read_key(path: str | Path) -> bytes:
    """The key in a file; white space around it does not count."""
    content = read_text(path, "key file", error=LedgerError, encoding="latin-1")
    return _checked(content.encode("latin-1").strip(), f"the key in {path}")


def new_key(path: str | Path) -> bytes:
    """A new random key, in a new file that only its owner may read."""
    key = secrets.token_hex(32)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR)
        with os.fdopen(handle, "w") as file:
            file.write(key + "\n")
    except OSError as problem:
        why, fix = why_unwritten(path, problem)
        raise LedgerError(f"key file {path} cannot be written", why=why, fix=fix) from problem
    return key.encode()


def key_of_environment() -> bytes | None:
    """The key in the environment variable QUILTWORK_LEDGER_KEY, if there is one."""
    found = os.environ.get(VARIABLE)
    return None if not found else _checked(os.fsencode(found).strip(), f"the key in {VARIABLE}")


def _checked(key: bytes, what: str) -> bytes:
    if not SHORTEST <= len(key) <= LONGEST:
        raise LedgerError(
            f"{what} must have {SHORTEST} to {LONGEST:,} bytes",
            got=f"{min(len(key), LONGEST + 1):,}",
            why="a short key can be guessed",
        )
    return key
