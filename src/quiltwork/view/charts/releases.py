"""Pictures of what was released, and of rehearsals: bars, bands along time, heat maps, small multiples by person.

Drawn are the numbers that keep to what is public, where those are known. Ranges are those that the noise leaves of the
true numbers with probability 95 %, cut off at what is possible. A picture of a rehearsal is a shape and its rows: the
shape is the same for every draw, so it is made once.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

from quiltwork.releases.answer import PartAnswer
from quiltwork.releases.rehearsal import Rehearsal
from quiltwork.releases.result import Release
from quiltwork.view.charts import alt
from quiltwork.view.charts.style import (
    ACCENT,
    FAINT,
    INK,
    QUIET,
    Chart,
    chart_of,
    filled,
    sized,
    styled,
    to_spec,
    with_rows,
)
from quiltwork.view.view import NARROW

MOST_POINTS = 30
MOST_PANELS = 24
MOST_PEOPLE = 40  # in a panel, with a range each
COLUMNS = 3
PANEL_WIDTH, PANEL_HEIGHT = 190, 110
LEGEND_COLUMNS = 6
TRUE, NOISY = "true, without noise", "as it would be released"
MOST_REHEARSED = 9
MOST_DOTS = 16
CELL, WIDEST = 34, 240
Row = dict[str, Any]


class Drawn(NamedTuple):
    """A number of an answer with its range."""

    subject: str
    window: str
    what: str
    value: float
    low: float
    high: float
    poor: bool = False
    """Whether it is noise only: then its range is all there is to see."""


def release_chart(release: Release) -> Chart:
    """The picture that suits what was released; of several questions, one below the other."""
    if release.questions:
        charts = [release_chart(question) for question in release.questions]
        for chart in charts:
            for own in ("config", "padding", "background", "autosize"):  # a chart within a chart has none of these
                setattr(chart, own, alt.Undefined)
        return styled(alt.vconcat(*charts).resolve_scale(color="independent"))
    if len(release.answers[0].question.labels[0]) == 2:
        return heat_chart(release)
    if not release.parts:
        return values_chart(release)
    subjects, windows = (any(getattr(p, name) for p in release.parts) for name in ("subject", "window"))
    if subjects and windows:
        return by_person_chart(release)
    return people_chart(release) if subjects else windows_chart(release)


def numbers_drawn(release: Release, *, simultaneous: bool = False) -> list[Drawn]:
    """All numbers with the ranges that the noise leaves of the true ones, drawn so that the number is within."""
    drawn = []
    for answer in release.answers:
        for what, value, raw in zip(_names(answer), answer.best, answer.numbers, strict=True):
            low, high = answer.between(raw, release.error(simultaneous=True) if simultaneous else None)
            if answer.pure_noise:
                value = low  # it is not drawn, and must not stretch an axis
            low, high = min(low, value), max(high, value)
            drawn.append(Drawn(answer.subject, answer.window, what, value, low, high, answer.pure_noise))
    return drawn


def _names(answer: PartAnswer) -> tuple[str, ...]:
    return (answer.query.text,) if len(answer.numbers) == 1 else answer.labels


def _ranges(base: alt.Chart, **ends: Any) -> alt.Chart:
    """Grey ranges of what is noise only: nothing that looks like a value."""
    grey: alt.Chart = base.transform_filter("datum.poor").mark_rule(color=QUIET, strokeWidth=7, opacity=0.4)
    return grey.encode(**ends)


def _layered(drawn: list[Drawn], poor: list[alt.Chart], worth: list[alt.Chart]) -> alt.LayerChart | alt.FacetChart:
    """Layers of what is noise only and of all else, without those that would be empty."""
    kept = poor if any(number.poor for number in drawn) else []
    return alt.layer(*kept, *(worth if any(not number.poor for number in drawn) else []))


def _worth(base: alt.Chart) -> alt.Chart:
    """Without what is noise only."""
    worth: alt.Chart = base.transform_filter("!datum.poor")
    return worth


def _data(drawn: list[Drawn]) -> alt.InlineData:
    return alt.InlineData([number._asdict() for number in drawn])


def titled(release: Release) -> str:
    """What an axis of released numbers shows, with its unit if that is known."""
    unit, text = getattr(release.belief, "unit", None), release.calibration.query.text
    unit = None if text.startswith(("above", "weighted")) else unit
    if unit is not None and text == "trend":
        unit = f"{unit} per step"
    return f"{text}, with noise" + ("" if unit is None else f" ({unit})")


def _value_axis(release: Release, **more: Any) -> dict[str, Any]:
    return {"title": titled(release), "axis": alt.Axis(format=",~f", **more)}


def values_chart(release: Release) -> Chart:
    """Bars, with how far the noise may have moved all of them at once."""
    drawn = numbers_drawn(release, simultaneous=True)
    base = alt.Chart(_data(drawn)).encode(
        y=alt.Y("what:N", sort=[number.what for number in drawn], title=None, axis=alt.Axis(labelLimit=260))
    )
    axis = _value_axis(release, tickCount=5)
    if drawn[0].poor:
        return sized(_ranges(base, x=alt.X("low:Q", **axis), x2="high:Q"), len(drawn))
    bars = base.mark_bar(color=ACCENT, height={"band": 0.62}).encode(x=alt.X("value:Q", **axis))
    whiskers = base.mark_rule(color=INK, strokeWidth=2).encode(x="low:Q", x2="high:Q")
    return sized(alt.layer(bars, whiskers), len(drawn))


def heat_chart(release: Release) -> Chart:
    """How often each state is followed by each; a panel for each window or person, if there are any."""
    rows: list[dict[str, Any]] = [
        {
            "part": answer.name,
            "from": x,
            "to": y,
            "value": 0.0 if answer.pure_noise else value,
            "shown": "?" if answer.pure_noise else answer.rounded(value),
        }
        for answer in release.answers[:MOST_PANELS]
        for (x, y), value in zip(answer.question.labels, answer.best, strict=True)
    ]
    states = list(dict.fromkeys(x for x, _ in release.answers[0].question.labels))
    size = max(34, min(64, 420 // len(states)))
    single = not release.parts
    side = size * len(states) if single else PANEL_WIDTH
    base = chart_of(rows).encode(
        x=alt.X("to:N", sort=states, title="followed by", axis=alt.Axis(labelAngle=-40, labelLimit=120)),
        y=alt.Y("from:N", sort=states, title=None, axis=alt.Axis(labelLimit=160)),
    )
    most = max(1e-9, *(row["value"] for row in rows))
    scale = alt.Scale(domain=[0, most], range=[FAINT, ACCENT], type="sqrt", clamp=True)
    cells = base.mark_rect().encode(color=alt.Color("value:Q", scale=scale, legend=None))
    if single and size >= 40:
        dark = f"datum.value > {0.4 * most}"
        light = alt.condition(dark, alt.value("white"), alt.value(INK))
        cells = cells + base.mark_text(fontSize=11).encode(text="shown:N", color=light)
    cells = cells.properties(width=side, height=side if single else side * 0.8)
    if single:
        return styled(cells)
    names = list(dict.fromkeys(row["part"] for row in rows))
    return styled(cells.facet(alt.Facet("part:N", title=None, sort=names), columns=COLUMNS))


def windows_chart(release: Release) -> Chart:
    """From window to window, each number with its band; a panel for each number if there are several."""
    drawn = numbers_drawn(release)
    windows, kinds = (list(dict.fromkeys(getattr(n, field) for n in drawn)) for field in ("window", "what"))
    base = _along(windows, drawn)
    several = len(kinds) > 1
    title: dict[str, Any] = {"title": None if several else titled(release), "axis": alt.Axis(format=",~f", tickCount=4)}
    title["scale"] = alt.Scale(nice=4)  # every axis ends at a tick, so that panels stand in line
    points = {"color": ACCENT, "size": 18} if len(windows) <= MOST_POINTS else False
    layers = _layered(
        drawn,
        [_ranges(base, y=alt.Y("low:Q", **title), y2="high:Q")],
        [
            _worth(base).mark_area(color=ACCENT, opacity=0.2).encode(y=alt.Y("low:Q", **title), y2="high:Q"),
            _worth(base).mark_line(color=ACCENT, point=points).encode(y=alt.Y("value:Q", **title)),
        ],
    )
    if not several:
        return styled(layers.properties(width=600, height=300))
    panels = layers.properties(width=PANEL_WIDTH, height=PANEL_HEIGHT).facet(
        alt.Facet("what:N", title=titled(release), sort=kinds), columns=COLUMNS
    )
    return styled(panels.resolve_scale(y="independent"))


def _along(windows: list[str], drawn: list[Drawn]) -> alt.Chart:
    axis = alt.Axis(labelOverlap=True, labelAngle=-40, labelLimit=110)
    return alt.Chart(_data(drawn)).encode(x=alt.X("window:O", sort=windows, title=None, axis=axis))


def by_person_chart(release: Release) -> Chart:
    """A panel for each person: from window to window, a line for each number."""
    everyone = list(dict.fromkeys(part.subject for part in release.parts))
    drawn = [number for number in numbers_drawn(release) if number.subject in everyone[:MOST_PANELS]]
    windows, kinds = (list(dict.fromkeys(getattr(n, field) for n in drawn)) for field in ("window", "what"))
    legend = alt.Legend(orient="bottom", columns=LEGEND_COLUMNS) if len(kinds) > 1 else None
    base = _along(windows, drawn).encode(color=alt.Color("what:N", title=None, sort=kinds, legend=legend))
    axis: dict[str, Any] = {"title": None, "axis": alt.Axis(format=",~f", tickCount=4)}
    opacity = 0.2 if len(kinds) <= COLUMNS else 0.08
    band = _worth(base).mark_area(opacity=opacity).encode(y=alt.Y("low:Q", **axis), y2="high:Q")
    lines = _worth(base).mark_line(strokeWidth=1.5).encode(y=alt.Y("value:Q", **axis))
    grey = _ranges(base, y=alt.Y("low:Q", **axis), y2="high:Q", color=alt.value(QUIET))
    panel = _layered(drawn, [grey], [band, lines]).properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
    more = "" if len(everyone) <= MOST_PANELS else f" (the first {MOST_PANELS} of {len(everyone)} people)"
    return styled(
        panel.facet(alt.Facet("subject:N", title=titled(release) + more, sort=everyone[:MOST_PANELS]), columns=COLUMNS)
    )


def people_chart(release: Release) -> Chart:
    """A point and a range for each person, a panel for each number; for many people, points alone."""
    drawn = numbers_drawn(release)
    people, kinds = (list(dict.fromkeys(getattr(n, field) for n in drawn)) for field in ("subject", "what"))
    several = len(kinds) > 1
    few = len(people) <= MOST_PEOPLE
    names = alt.Axis(labelLimit=140) if few else None
    base = alt.Chart(_data(drawn)).encode(y=alt.Y("subject:N", sort=people, title=None, axis=names))
    axis: dict[str, Any] = {"title": None if several else titled(release), "axis": alt.Axis(format=",~f", tickCount=4)}
    rules = base.mark_rule(color=QUIET, strokeWidth=1.5).encode(x=alt.X("low:Q", **axis), x2="high:Q")
    points = (
        _worth(base)
        .mark_point(filled=True, color=ACCENT, size=36 if few else 8, opacity=1)
        .encode(x=alt.X("value:Q", **axis))
    )
    height = min(900, (14 if few else 3) * len(people) + 20)
    poor = any(number.poor for number in drawn)  # then ranges are all there is to see of some
    layers = alt.layer(
        *([rules] if few or poor else []), *([points] if any(not number.poor for number in drawn) else [])
    )
    if not several:
        return styled(layers.properties(width=520, height=height))
    panels = layers.properties(width=PANEL_WIDTH - 30, height=height).facet(
        alt.Facet("what:N", title=titled(release), sort=kinds), columns=COLUMNS
    )
    return styled(panels.resolve_scale(x="independent"))


class Shape(NamedTuple):
    """Everything about a picture but its rows."""

    kind: str
    title: str
    names: tuple[str, ...]
    windows: int = 0


def compared(rehearsal: Rehearsal) -> list[Row]:
    """Each number of the answer: true, as it would be released, and its range with probability 95 %."""
    rows = []
    for answer, exact in zip(rehearsal.release.answers, rehearsal.truth, strict=True):
        names = (answer.query.text,) if len(answer.numbers) == 1 else answer.labels
        error = answer.error()
        least, most = (-math.inf, math.inf)
        if answer.limits is not None:
            least, most = min(answer.limits.low), max(answer.limits.high)
        for what, true, noisy, raw in zip(names, exact, answer.best, answer.numbers, strict=True):
            low, high = (min(most, max(least, end)) for end in (raw - error, raw + error))
            ends = {"low": min(low, noisy), "high": max(high, noisy)}
            rows.append({"window": answer.window, "what": what, "true": true, "noisy": noisy} | ends)
    return rows


def rehearsal_chart(rehearsal: Rehearsal) -> Chart:
    """The picture that suits the answer: lines along windows, two heat maps for transitions, pairs of bars."""
    shape, rows = parts(rehearsal, compared(rehearsal))
    return with_rows(shaped(shape), **rows)


def rehearsal_spec(rehearsal: Rehearsal, rows: list[Row]) -> dict[str, Any]:
    """The same for a page, on which it is drawn again and again."""
    shape, by_name = parts(rehearsal, rows)
    return filled(_shaped_spec(shape), by_name)


@lru_cache(maxsize=64)
def _shaped_spec(shape: Shape) -> dict[str, Any]:
    return to_spec(shaped(shape))


def parts(rehearsal: Rehearsal, rows: list[Row]) -> tuple[Shape, dict[str, list[Row]]]:
    """The shape of the picture, and its rows by name."""
    title = titled(rehearsal.release)
    labels = rehearsal.release.answers[0].question.labels
    if len(labels[0]) == 2:
        cells, states = [{"from": a, "to": b} for a, b in labels], tuple(dict.fromkeys(a for a, _ in labels))
        in_cells = [cell | row for cell, row in zip(cells, rows, strict=False)]
        return Shape("heat", title, states), {"both": _both(in_cells)}
    names = tuple(dict.fromkeys(row["what"] for row in rows))
    windows = {name: n for n, name in enumerate(dict.fromkeys(row["window"] for row in rows), 1)}
    if len(windows) > 1:
        placed = [row | {"place": windows[row["window"]]} for row in rows if row["what"] in names[:MOST_REHEARSED]]
        return Shape("along", title, names, len(windows)), {"both": _both(placed)}
    return Shape("bars", title, names), {"both": _both(rows), "ranges": [row | {"kind": NOISY} for row in rows]}


def _both(rows: list[Row]) -> list[Row]:
    """A row for what is true, and one for what would be released."""
    return [
        {key: value for key, value in row.items() if key not in ("true", "noisy", "low", "high", "window")}
        | {"kind": kind, "value": row[key]}
        | ({"low": row["low"], "high": row["high"]} if kind == NOISY else {"low": None, "high": None})
        for row in rows
        for kind, key in ((TRUE, "true"), (NOISY, "noisy"))
    ]


def shaped(shape: Shape) -> Chart:
    """The picture without its rows."""
    return {"bars": _true_bars, "along": _true_along, "heat": _true_heat}[shape.kind](shape)


def _colours() -> alt.Color:
    return alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=[TRUE, NOISY], range=[QUIET, ACCENT]),
        legend=alt.Legend(orient="bottom", labelLimit=260, symbolType="square", symbolOpacity=1),
    )


def _true_bars(shape: Shape) -> Chart:
    place = alt.YOffset("kind:N", sort=[TRUE, NOISY], scale=alt.Scale(paddingInner=0.08))
    spaced = alt.Scale(paddingInner=0.32)
    names = alt.Y("what:N", sort=list(shape.names), title=None, axis=alt.Axis(labelLimit=160), scale=spaced)
    axis = alt.X("value:Q", title=shape.title, axis=alt.Axis(format=",~f", tickCount=5))
    bars = alt.Chart(alt.NamedData("both")).mark_bar().encode(x=axis, y=names, yOffset=place, color=_colours())
    whiskers = alt.Chart(alt.NamedData("ranges")).mark_rule(color=INK, strokeWidth=2)
    whiskers = whiskers.encode(x=alt.X("low:Q", title=shape.title), x2="high:Q", y=names, yOffset=place)
    return styled(alt.layer(bars, whiskers).properties(width=NARROW, height=max(70, 44 * len(shape.names))))


def _true_along(shape: Shape) -> Chart:
    shown = list(shape.names[:MOST_REHEARSED])
    several = len(shown) > 1
    whole = alt.Axis(tickMinStep=1, grid=False, format="d")
    x = alt.X("place:Q", title="window", scale=alt.Scale(nice=False, zero=False), axis=whole)
    y: dict[str, Any] = {"title": None if several else shape.title}
    y["axis"] = alt.Axis(format=",~f", tickCount=4, minExtent=38)
    base = alt.Chart(alt.NamedData("both")).encode(x=x, color=_colours())
    band = base.transform_filter("isValid(datum.low)").mark_area(opacity=0.18)
    lines = base.mark_line(strokeWidth=2, point={"size": 16} if shape.windows <= MOST_DOTS else False)
    layers = alt.layer(band.encode(y=alt.Y("low:Q", **y), y2="high:Q"), lines.encode(y=alt.Y("value:Q", **y)))
    if not several:
        return styled(layers.properties(width=540, height=240))
    more = "" if len(shape.names) == len(shown) else f" (the first {len(shown)} of {len(shape.names)})"
    panels = layers.properties(width=PANEL_WIDTH - 20, height=PANEL_HEIGHT - 10).facet(
        alt.Facet("what:N", title=shape.title + more, sort=shown), columns=COLUMNS
    )
    return styled(panels.resolve_scale(y="independent"))


def _true_heat(shape: Shape) -> Chart:
    """What is true on the left, what would be released on the right; of several windows, the first."""
    states = list(shape.names)
    scale = alt.Scale(domainMin=0, range=[FAINT, ACCENT], type="sqrt", clamp=True)
    side = min(WIDEST, CELL * len(states))
    cells = alt.Chart(alt.NamedData("both")).mark_rect()
    cells = cells.encode(
        x=alt.X("to:N", sort=states, title="followed by", axis=alt.Axis(labelAngle=-40, labelLimit=90)),
        y=alt.Y("from:N", sort=states, title=None, axis=alt.Axis(labelLimit=110)),
        color=alt.Color("value:Q", scale=scale, legend=None),
    )
    faceted = alt.Facet("kind:N", title=None, sort=[TRUE, NOISY])
    return styled(cells.properties(width=side, height=side).facet(faceted, columns=2))
