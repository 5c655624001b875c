"""Pictures of checks: memory, stays and correlations in the data and in the belief, and the shape of values."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork.beliefs import GaussianBelief
from quiltwork.beliefs.correlation import Correlation
from quiltwork.fitting.gaussian import first_below
from quiltwork.fitting.gaussian_check import BINS, GaussianCheck, Shape
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.types import Duration
from quiltwork.view.charts import alt
from quiltwork.view.charts.style import ACCENT, FONT, INK, WARNING, Chart, chart_of, lag_axis, lag_ticks, styled

MOST_PANELS = 12
COLOURS = {"data": ACCENT, "belief": WARNING}
WIDTH, HEIGHT = 520, 240
POINTS = 160
FADED = 0.01
"""Lags are drawn until the belief's correlation is below this."""
LEAST_DRAWN, FURTHEST = 10, 10**9
"""How many lags are drawn, at least and at most."""


def memory_chart(check: BeliefCheck) -> Chart:
    """How much more likely a state is after itself than otherwise, by lag: a panel for each, data against belief."""
    rows = [
        {"lag": one.lag, "state": one.state, "data": one.memory_data, "belief": one.memory_belief}
        | {"exceeds": one.exceeds}
        | _ends(one.band)
        for one in sorted(check.lags, key=lambda one: one.lag)
    ]
    gaps = {one.state: 0.0 for one in check.lags}
    for one in check.lags:
        gaps[one.state] = max(gaps[one.state], one.memory_data - one.memory_belief)
    low = min(min(one.memory_data, one.memory_belief) for one in check.lags)
    least = math.floor(4 * min(low, 0.0)) / 4
    return _panels(rows, gaps, check.step, "time later (log axis)", "more likely than otherwise", least)


def stays_chart(check: BeliefCheck) -> Chart:
    """How many stays last longer, by length: a panel for each state, data with its band against the belief."""
    rows = [
        {"lag": one.length, "state": one.state, "data": one.data, "belief": one.belief, "exceeds": one.longer}
        | _ends(one.band)
        for one in check.stays
    ]
    gaps = {one.state: 0.0 for one in check.stays}
    for one in check.stays:
        gaps[one.state] = max(gaps[one.state], abs(one.data - one.belief))
    return _panels(rows, gaps, check.step, "length of stay (log axis)", "stays that last longer")


def _ends(band: tuple[float, float] | None) -> dict[str, float | None]:
    return {"low": None, "high": None} if band is None else {"low": band[0], "high": band[1]}


def _panels(
    rows: Sequence[dict[str, Any]],
    gaps: dict[str, float],
    step: Duration | None,
    x_title: str,
    y_title: str,
    least: float = 0.0,
) -> Chart:
    kept = set(sorted(gaps, key=lambda state: -gaps[state])[:MOST_PANELS])
    ticks = lag_ticks(step, max(row["lag"] for row in rows))
    panels = [
        _panel(
            [row for row in rows if row["state"] == state],
            state,
            ticks,
            (x_title, y_title if n % 3 == 0 else None),
            least,
        )
        for n, state in enumerate(state for state in gaps if state in kept)
    ]
    chart = alt.concat(*panels, columns=3, bounds="flush", spacing={"row": 64, "column": 36})
    chart = chart.configure_title(color=INK, font=FONT, fontSize=12)
    return styled(chart.configure_legend(orient="bottom", symbolSize=300, labelFontSize=12, labelFont=FONT))


def _panel(
    rows: Sequence[dict[str, Any]], state: str, ticks: dict[float, str], titles: tuple[str, str | None], least: float
) -> Any:
    x = lag_axis(ticks, titles[0])
    quarters = [n / 4 for n in range(round(4 * least), 5)]
    y_axis = alt.Axis(format="%", values=quarters, labels=titles[1] is not None)
    share: dict[str, Any] = {"scale": alt.Scale(domain=[least, 1], clamp=True), "title": titles[1], "axis": y_axis}
    base = chart_of(rows).encode(x=x)
    band = (
        base.transform_filter("isValid(datum.low)")
        .mark_area(color=ACCENT, opacity=0.18)
        .encode(y=alt.Y("low:Q", **share), y2="high:Q")
    )
    colour = alt.Color("what:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), title=None)
    lines = [
        base.mark_line(strokeWidth=2, strokeDash=[5, 3] if name == "belief" else [1, 0])
        .transform_calculate(what=f"'{name}'")
        .encode(y=alt.Y(f"{name}:Q", **share), color=colour)
        for name in COLOURS
    ]
    marks = (
        base.transform_filter("datum.exceeds")
        .mark_point(filled=True, size=36, color=INK, opacity=1)
        .encode(y=alt.Y("data:Q", **share))
    )
    return alt.layer(band, *lines, marks).properties(width=190, height=120, title=state)


def correlation_chart(check: GaussianCheck, belief: GaussianBelief | None = None) -> Chart:
    """The correlation of the data by lag, with its band, against what the belief says: at many lags if it is given."""
    longest = check.lags[-1].lag
    ticks = lag_ticks(check.step, longest)
    x = lag_axis(ticks, "time later (log axis)")
    rows: list[dict[str, Any]] = [
        {"lag": one.lag, "value": one.data, "low": band[0], "high": band[1], "flagged": one.exceeds, "what": "data"}
        for one in check.lags
        for band in [one.band or (one.data, one.data)]
    ]
    base = chart_of(rows)
    if belief is None:
        said = [{"lag": one.lag, "value": one.belief, "what": "belief"} for one in check.lags]
        bottom = min(one.belief for one in check.lags)
    else:
        said, bottom = _believed(belief.correlation, longest)
    lowest = min(0.0, bottom, *(row["low"] for row in rows))
    y = _correlations(lowest)
    band = base.mark_area(color=ACCENT, opacity=0.18).encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q")
    colour = alt.Color(
        "what:N", scale=alt.Scale(domain=["data", "belief"], range=[ACCENT, WARNING]), title=None, legend=_legend()
    )
    line = base.mark_line(strokeWidth=2).encode(x=x, y=alt.Y("value:Q", **y), color=colour)
    marks = (
        base.transform_filter("datum.flagged")
        .mark_point(filled=True, size=40, color=INK, opacity=1)
        .encode(x=x, y=alt.Y("value:Q", **y))
    )
    return styled(alt.layer(band, line, *_bounds(said, x, y, colour), marks).properties(width=WIDTH, height=HEIGHT))


def correlations_chart(belief: GaussianBelief) -> Chart:
    """What a belief says about the correlation of values, by lag."""
    correlation = belief.correlation
    faded = first_below(correlation, FADED)
    longest = min(FURTHEST, max(LEAST_DRAWN, len(correlation.listed) if faded is None else faded))
    x = lag_axis(lag_ticks(belief.step, longest), "time later (log axis)")
    said, bottom = _believed(correlation, longest)
    colour = alt.Color("what:N", scale=alt.Scale(domain=["belief"], range=[WARNING]), legend=None)
    layers = _bounds(said, x, _correlations(min(0.0, bottom)), colour)
    return styled(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT))


def shape_chart(shape: Shape) -> Chart:
    """A histogram of what is left after the means, in standard deviations, with the Gaussian curve."""
    width = float(BINS[1] - BINS[0])
    rows = [
        {"from": left, "to": left + width, "share": share / width}
        for left, share in zip(BINS[:-1].tolist(), shape.histogram, strict=True)
    ]
    curve = [
        {"at": at, "share": math.exp(-at * at / 2) / math.sqrt(2 * math.pi), "what": "Gaussian"}
        for at in np.linspace(float(BINS[0]), float(BINS[-1]), POINTS).tolist()
    ]
    x: dict[str, Any] = {
        "scale": alt.Scale(domain=[float(BINS[0]), float(BINS[-1])], nice=False),
        "title": "standard deviations from the mean of its time (beyond 5: at the ends)",
    }
    y: dict[str, Any] = {"title": "density", "axis": alt.Axis(tickCount=4), "scale": alt.Scale(zero=True)}
    colour = alt.Color(
        "what:N", scale=alt.Scale(domain=["data", "Gaussian"], range=[ACCENT, WARNING]), title=None, legend=_legend()
    )
    bars = (
        chart_of([row | {"what": "data"} for row in rows])
        .mark_rect(opacity=0.45, stroke="white", strokeWidth=0.5)
        .encode(x=alt.X("from:Q", **x), x2="to:Q", y=alt.Y("share:Q", **y), y2=alt.Y2Datum(0), color=colour)
    )
    line = chart_of(curve).mark_line(strokeWidth=2).encode(x=alt.X("at:Q", **x), y=alt.Y("share:Q", **y), color=colour)
    return styled(alt.layer(bars, line).properties(width=WIDTH, height=200))


def _legend() -> alt.Legend:
    return alt.Legend(orient="top", labelFont=FONT, labelFontSize=12, symbolSize=200, symbolOpacity=1)


def _correlations(lowest: float) -> dict[str, Any]:
    scale = alt.Scale(domain=[max(-1.0, math.floor(lowest * 4) / 4), 1], nice=False)
    return {"scale": scale, "title": "correlation", "axis": alt.Axis(tickCount=5, format=".2~f")}


def _believed(correlation: Correlation, longest: int) -> tuple[list[dict[str, Any]], float]:
    """What the belief says at many lags, and the lowest of it."""
    lags = np.unique(np.concatenate([np.geomspace(1, longest, POINTS), np.arange(1, min(longest, 40) + 1)]).astype(int))
    said = correlation.at(lags)
    rows = [{"lag": lag, "value": r, "what": "belief"} for lag, r in zip(lags.tolist(), said.tolist(), strict=True)]
    return rows, float(said.min())


def _bounds(said: Sequence[dict[str, Any]], x: alt.X, y: dict[str, Any], colour: alt.Color) -> list[Any]:
    base = chart_of(said)
    zero = chart_of([{"zero": 0}]).mark_rule(color=INK, strokeWidth=0.7).encode(y=alt.Y("zero:Q", **y))
    line = base.mark_line(strokeWidth=2, strokeDash=[5, 3]).encode(x=x, y=alt.Y("value:Q", **y), color=colour)
    return [zero, line]
