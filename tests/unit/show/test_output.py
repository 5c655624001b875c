"""Progress on a terminal."""

import io

import pytest
from patience import PATIENCE, until
from rich.console import Console

from quiltwork.show import output


def test_progress_shows_on_a_terminal_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    screen_console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(output, "SHOW_AFTER", 0.0)
    with output.progress("Counting") as report:
        assert report is None  # not a terminal
    monkeypatch.setattr(output, "out", screen_console)
    monkeypatch.setattr(output, "err", screen_console)
    with output.progress("Counting") as report:
        assert report is not None
        report(0.5)
        until(lambda: "Counting" in screen.getvalue())
    screen.truncate(0)
    monkeypatch.setattr(output, "SHOW_AFTER", PATIENCE)
    with output.progress("Counting"):
        pass
    assert "Counting" not in screen.getvalue()
