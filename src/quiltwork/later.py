"""Names of a package that are loaded when they are first asked for: importing it costs next to nothing."""

import ast
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from quiltwork.forks import working

_one_at_a_time = threading.RLock()
"""Two threads that import modules of one package in different orders may wait for each other, and one of them fails."""


def loaded_later(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the imports in the stub beside its file.

    The stub is also what type checkers and editors read, so every name stands in one place.
    """
    loader: Any = getattr(sys.modules[package].__spec__, "loader", None)  # files may be in an archive
    stub = ast.parse(loader.get_data(str(Path(file).with_suffix(".pyi"))))
    where = {
        name.name: f"{line.module}" for line in stub.body if isinstance(line, ast.ImportFrom) for name in line.names
    }

    def find(name: str) -> Any:
        if name not in where:
            module = sys.modules[package]  # Python then says which name it is like
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        with working(), _one_at_a_time:
            found = getattr(import_module(where[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    names = sorted(where)
    return find, lambda: sorted({*names, *vars(sys.modules[package])}), names
