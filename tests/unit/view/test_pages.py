"""Pages draw each release where it is."""

from typing import Any

import pytest
from examples import LAZY

from quiltwork import Accountant, ReleaseRecord


def test_a_page_draws_a_release_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A series that grew: the first release ends where the series did."""
    from quiltwork.view import html, of_account
    from quiltwork.view.charts import losses as charts

    records = [
        ReleaseRecord(query="count:1", noise_scale=9.0, length=10),
        ReleaseRecord(query="count:1", noise_scale=9.0),
    ]
    composed = Accountant(LAZY, length=40, releases=records).composed()
    drawn: list[tuple[int, int]] = []
    chart = charts.timeline_chart

    def noted(losses: Any, segments: Any, **options: Any) -> Any:
        drawn.extend(segments)
        return chart(losses, segments, **options)

    monkeypatch.setattr(charts, "timeline_chart", noted)
    html.page("composition", of_account.of_composed(composed, records))
    assert drawn == [(1, 10), (1, 40)]
