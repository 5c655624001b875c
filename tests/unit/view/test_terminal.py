"""Progress on a terminal."""

import io

import pytest
from patience import PATIENCE, until
from rich.console import Console

from quiltwork.view import terminal


def test_progress_shows_on_a_terminal_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    screen_console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(terminal, "SHOW_AFTER", 0.0)
    with terminal.progress("Counting") as report:
        assert report is None  # not a terminal
    monkeypatch.setattr(terminal, "out", screen_console)
    monkeypatch.setattr(terminal, "err", screen_console)
    with terminal.progress("Counting") as report:
        assert report is not None
        report(0.5)
        until(lambda: "Counting" in screen.getvalue())
    screen.truncate(0)
    monkeypatch.setattr(terminal, "SHOW_AFTER", PATIENCE)
    with terminal.progress("Counting"):
        pass
    assert "Counting" not in screen.getvalue()
