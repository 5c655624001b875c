"""Compiled code: numba's decorator with its types, and word of it when something is being compiled.

Machine code is kept beside the source, so each machine compiles once. ``quiltwork compile`` does it ahead of time.
"""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])
WAIT = "Compiling the numerical code for this machine: about 20 seconds, once. (`quiltwork compile` does it ahead.)"


class _Once(event.Listener):
    """Says so on a terminal, at the first function that is not kept from an earlier run."""

    said = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - numba's form
        if not self.said and sys.stderr.isatty():
            print(WAIT, file=sys.stderr)
        self.said = True

    def on_end(self, event: Any) -> None:
        """Nothing more to say."""


event.register("numba:compile", _Once())  # type: ignore[no-untyped-call]


def njit(**options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` with keyword arguments only."""
    return numba.njit(**options)  # type: ignore[no-any-return]
