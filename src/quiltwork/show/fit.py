"""Pictures and the report of how well a belief fits public data."""

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quiltwork.beliefs import Belief
from quiltwork.fitting.gaussian_check import GaussianCheck
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.show.checks import check_title, other_lines
from quiltwork.show.gaussian import gaussian_figures, write_gaussian_check
from quiltwork.show.lags import lag_axis, lag_ticks
from quiltwork.show.page import WITHOUT_NOISE, figure, footer, paragraphs, write_page
from quiltwork.show.pictures import alt
from quiltwork.show.style import ACCENT, FONT, INK, WARNING, Chart, styled, to_svg
from quiltwork.types import Duration

MOST_PANELS = 12
COLOURS = {"data": ACCENT, "belief": WARNING}


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
    rows: Sequence[dict[str, Any]],
    state: str,
    ticks: dict[float, str],
    titles: tuple[str, str | None],
    least: float,
) -> Any:
    x = lag_axis(ticks, titles[0])
    quarters = [n / 4 for n in range(round(4 * least), 5)]
    y_axis = alt.Axis(format="%", values=quarters, labels=titles[1] is not None)
    share: dict[str, Any] = {
        "scale": alt.Scale(domain=[least, 1], clamp=True),
        "title": titles[1],
        "axis": y_axis,
    }
    base = alt.Chart(alt.InlineData(list(rows))).encode(x=x)
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


def write_check(path: str | Path, *, check: BeliefCheck, belief: Belief) -> Path:
    """Write one self-contained HTML file about how well a belief fits. It shows the data without noise."""
    if isinstance(check, GaussianCheck):
        return write_gaussian_check(path, check=check, belief=belief)
    sections = [
        f"<h1>{check_title(check)}</h1>",
        f"<p class=lead>{html.escape(repr(belief))} · fingerprint <code>{belief.fingerprint[:16]}</code> · "
        f"{check.subjects:,} series, {check.values:,} values</p>",
        paragraphs(check.verdict, check.remedy, *check.notes),
        *check_figures(check, belief, heading="h2"),
        "<h2>What else was looked at</h2>",
        paragraphs(*other_lines(check), WITHOUT_NOISE),
    ]
    return write_page(path, "belief check", [*sections, footer()])


def check_figures(check: BeliefCheck, belief: Belief, *, heading: str = "h4") -> list[str]:
    """Parts of a page that compare a belief with data: how soon values are forgotten, and how long stays last."""
    if isinstance(check, GaussianCheck):
        return gaussian_figures(check, belief, heading=heading)
    states = {one.state for one in check.lags}
    more = f" The {MOST_PANELS} states with the largest differences are drawn." if len(states) > MOST_PANELS else ""
    sections = [f"<{heading}>How soon values are forgotten</{heading}>"]
    if check.lags:
        caption = (
            "How much more likely a state is some time after itself than otherwise, whatever its share. Shaded: where "
            "chance may put it, for all states and lags at once. Dots: more than the belief allows, so its noise is "
            f"too small.{more}"
        )
        sections.append(figure(to_svg(memory_chart(check)), caption))
    if check.stays:
        caption = f"Part of the stays that last longer. Dots: longer than the belief says.{more}"
        sections += [f"<{heading}>How long stays last</{heading}>", figure(to_svg(stays_chart(check)), caption)]
    return sections
