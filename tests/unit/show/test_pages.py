"""Pages draw each release where it is."""

from pathlib import Path
from typing import Any

import pytest
from examples import LAZY

from quiltwork import Accountant, ReleaseRecord


def test_a_page_draws_a_release_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A series that grew: the first release ends where the series did."""
    from quiltwork.show import pages
    from quiltwork.show.losses import timeline_chart

    records = [
        ReleaseRecord(query="count:1", noise_scale=9.0, length=10),
        ReleaseRecord(query="count:1", noise_scale=9.0),
    ]
    composed = Accountant(LAZY, length=40, releases=records).composed()
    drawn: list[tuple[int, int]] = []
    chart = timeline_chart

    def noted(losses: Any, segments: Any, **options: Any) -> Any:
        drawn.extend(segments)
        return chart(losses, segments, **options)

    monkeypatch.setattr(pages, "timeline_chart", noted)
    pages.write_composed(tmp_path / "page.html", composed=composed, records=records, budget=None)
    assert drawn == [(1, 10), (1, 40)]
