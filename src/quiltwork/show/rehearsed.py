"""Pictures of a rehearsal: what is true of simulated data beside what would be released.

A picture is a shape and its rows: the shape is the same for every draw, so it is made once.
"""

import math
from typing import Any, NamedTuple

from quiltwork.releases.rehearsal import Rehearsal
from quiltwork.show.answers import COLUMNS, PANEL_HEIGHT, PANEL_WIDTH, titled
from quiltwork.show.pictures import alt
from quiltwork.show.style import ACCENT, FAINT, INK, NARROW, QUIET, Chart, styled, with_rows

TRUE, NOISY = "true, without noise", "as it would be released"
MOST_PANELS = 9
MOST_DOTS = 16
CELL, WIDEST = 34, 240
Row = dict[str, Any]


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


def parts(rehearsal: Rehearsal, rows: list[Row]) -> tuple[Shape, dict[str, list[Row]]]:
    """The shape of the picture, and its rows by name."""
    title = titled(rehearsal.release)
    if len(rehearsal.release.answers[0].question.labels[0]) == 2:
        labels = rehearsal.release.answers[0].question.labels
        cells, states = [{"from": a, "to": b} for a, b in labels], tuple(dict.fromkeys(a for a, _ in labels))
        in_cells = [cell | row for cell, row in zip(cells, rows, strict=False)]
        return Shape("heat", title, states), {"both": _both(in_cells)}
    names = tuple(dict.fromkeys(row["what"] for row in rows))
    windows = {name: n for n, name in enumerate(dict.fromkeys(row["window"] for row in rows), 1)}
    if len(windows) > 1:
        placed = [row | {"place": windows[row["window"]]} for row in rows if row["what"] in names[:MOST_PANELS]]
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
    return {"bars": _bars, "along": _along, "heat": _heat}[shape.kind](shape)


def _colours() -> alt.Color:
    return alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=[TRUE, NOISY], range=[QUIET, ACCENT]),
        legend=alt.Legend(orient="bottom", labelLimit=260, symbolType="square", symbolOpacity=1),
    )


def _bars(shape: Shape) -> Chart:
    place = alt.YOffset("kind:N", sort=[TRUE, NOISY], scale=alt.Scale(paddingInner=0.08))
    spaced = alt.Scale(paddingInner=0.32)
    names = alt.Y("what:N", sort=list(shape.names), title=None, axis=alt.Axis(labelLimit=160), scale=spaced)
    axis = alt.X("value:Q", title=shape.title, axis=alt.Axis(format=",~f", tickCount=5))
    bars = alt.Chart(alt.NamedData("both")).mark_bar().encode(x=axis, y=names, yOffset=place, color=_colours())
    whiskers = alt.Chart(alt.NamedData("ranges")).mark_rule(color=INK, strokeWidth=2)
    whiskers = whiskers.encode(x=alt.X("low:Q", title=shape.title), x2="high:Q", y=names, yOffset=place)
    return styled(alt.layer(bars, whiskers).properties(width=NARROW, height=max(70, 44 * len(shape.names))))


def _along(shape: Shape) -> Chart:
    shown = list(shape.names[:MOST_PANELS])
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


def _heat(shape: Shape) -> Chart:
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
