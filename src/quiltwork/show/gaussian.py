"""Pictures of Gaussian beliefs: correlation by lag, in the data and under the belief, and what is left after means."""

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, GaussianBelief
from quiltwork.beliefs.correlation import Correlation
from quiltwork.fitting.gaussian import belief_lines, first_below
from quiltwork.fitting.gaussian_check import BINS, GaussianCheck, Shape
from quiltwork.show.lags import lag_axis, lag_ticks
from quiltwork.show.page import WITHOUT_NOISE, figure, footer, paragraphs, write_page
from quiltwork.show.pictures import alt
from quiltwork.show.style import ACCENT, FONT, INK, WARNING, Chart, styled, to_svg

WIDTH, HEIGHT = 520, 240
POINTS = 160
FADED = 0.01
"""Lags are drawn until the belief's correlation is below this."""
LEAST_DRAWN, FURTHEST = 10, 10**9
"""How many lags are drawn, at least and at most."""


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
    base = alt.Chart(alt.InlineData(rows))
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


def belief_chart(belief: GaussianBelief) -> Chart:
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
        alt.Chart(alt.InlineData([row | {"what": "data"} for row in rows]))
        .mark_rect(opacity=0.45, stroke="white", strokeWidth=0.5)
        .encode(x=alt.X("from:Q", **x), x2="to:Q", y=alt.Y("share:Q", **y), y2=alt.Y2Datum(0), color=colour)
    )
    line = (
        alt.Chart(alt.InlineData(curve))
        .mark_line(strokeWidth=2)
        .encode(x=alt.X("at:Q", **x), y=alt.Y("share:Q", **y), color=colour)
    )
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
    base = alt.Chart(alt.InlineData(list(said)))
    zero = alt.Chart(alt.InlineData([{"zero": 0}])).mark_rule(color=INK, strokeWidth=0.7).encode(y=alt.Y("zero:Q", **y))
    line = base.mark_line(strokeWidth=2, strokeDash=[5, 3]).encode(x=x, y=alt.Y("value:Q", **y), color=colour)
    return [zero, line]


def about_gaussian(belief: GaussianBelief) -> list[str]:
    """Parts of a page about what a Gaussian belief says."""
    caption = (
        "The correlation of two values is at most this, by how much time is between them."
        if belief.correlation.at_most
        else "The correlation of two values, by how much time is between them."
    )
    lines = (f"<p>{html.escape(line)}</p>" for line in belief_lines(belief))
    return [figure(to_svg(belief_chart(belief)), caption), *lines]


def write_gaussian_check(path: str | Path, *, check: GaussianCheck, belief: Belief) -> Path:
    """Write one self-contained HTML file about how well a Gaussian belief fits. It shows the data without noise."""
    title = (
        "This belief forgets too fast"
        if check.forgets_too_fast
        else "The data contradict this belief"
        if check.contradicts
        else "This belief holds"
        if check.outcome == "holds"
        else "This belief is not refuted"
    )
    sections = [
        f"<h1>{title}</h1>",
        f"<p class=lead>{html.escape(repr(belief))} · fingerprint <code>{belief.fingerprint[:16]}</code> · "
        f"{check.subjects:,} series, {check.values:,} values</p>",
        paragraphs(check.verdict, check.remedy, *check.notes),
        *gaussian_figures(check, belief, heading="h2"),
    ]
    if check.shape is not None:
        sections.append(paragraphs(check.shape.verdict))
    if check.spread is not None:
        sections += ["<h2>Whether the spread is stable</h2>", paragraphs(check.spread.verdict)]
    return write_page(path, "belief check", [*sections, paragraphs(WITHOUT_NOISE), footer()])


def gaussian_figures(check: GaussianCheck, belief: Belief, *, heading: str = "h4") -> list[str]:
    """Parts of a page that compare a Gaussian belief with data: how long values stay correlated, and their law."""
    removed = "the mean of each subject" if check.rhythm == "none" else f"the mean of each time of {check.rhythm}"
    sections: list[str] = []
    if check.lags and isinstance(belief, GaussianBelief):
        bound = "a bound on its size" if belief.correlation.at_most else "stated exactly"
        caption = (
            f"Correlation of values by the time between them, after {removed} was taken out. Shaded: 97 % for all lags "
            f"at once. The belief's is {bound}. Dots: the data contradict it, and its noise is too small."
        )
        sections += [
            f"<{heading}>How long values stay correlated</{heading}>",
            figure(to_svg(correlation_chart(check, belief)), caption),
        ]
    if check.shape is not None:
        caption = f"What is left after {removed} was taken out, against a Gaussian with the same spread."
        sections += [
            f"<{heading}>Whether values are Gaussian</{heading}>",
            figure(to_svg(shape_chart(check.shape)), caption),
        ]
    return sections
