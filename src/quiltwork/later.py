"""Names of a package that are loaded when they are first asked for: importing it costs next to nothing."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from quiltwork.forks import working


def loaded_later(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the imports in the stub beside its file.

    The stub is also what type checkers and editors read, so every name stands in one place.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    where = {
        name.name: f"{line.module}" for line in stub.body if isinstance(line, ast.ImportFrom) for name in line.names
    }

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with working():
            found = getattr(import_module(where[name]), name)
        import_module(package).__dict__[name] = found
        return found

    names = sorted(where)
    return find, lambda: names, names
