"""Docstrings as the site shows them: examples become blocks of code, names of classes and functions become links."""

import re
from typing import Any

import griffe

import quiltwork

EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
ROLE = re.compile(r":(?:class|func):`(\w+)`")


class Examples(griffe.Extension):
    """Marks the examples of every docstring as code, for griffe to hand on."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            text = EXAMPLE.sub(lambda example: f"```pycon\n{example[0]}\n```", obj.docstring.value)
            obj.docstring.value = ROLE.sub(lambda role: _link(role[1]), text)


def _link(name: str) -> str:
    return f"[`{name}`][quiltwork.{name}]" if name in quiltwork.__all__ else f"`{name}`"
