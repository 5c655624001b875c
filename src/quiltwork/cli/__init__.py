"""The command: a thin shell over the library. No mathematics here."""

from quiltwork.cli.command import app, main

__all__ = ["app", "main"]
