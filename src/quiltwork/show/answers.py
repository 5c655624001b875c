"""Pictures of what was released: bars, bands along time, heat maps of transitions, small multiples by person.

Drawn are the numbers that keep to what is public, where those are known. Ranges are those that the noise leaves of the
true numbers with probability 95 %, cut off at what is possible.
"""

from typing import Any, NamedTuple

from quiltwork.releases.answer import PartAnswer
from quiltwork.releases.result import Release
from quiltwork.show.pictures import alt
from quiltwork.show.style import ACCENT, FAINT, INK, QUIET, Chart, sized, styled

MOST_POINTS = 30
MOST_PANELS = 24
MOST_PEOPLE = 40  # in a panel, with a range each
COLUMNS = 3
PANEL_WIDTH, PANEL_HEIGHT = 190, 110
LEGEND_COLUMNS = 6


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


def caption(release: Release) -> str:
    """What the picture shows."""
    if all(answer.pure_noise for answer in release.answers):
        return "Noise only. Grey: the range of each true value with probability 95 %. Nothing else can be read off."
    shown = "Released values"
    poor = " Grey: noise only." if any(answer.pure_noise for answer in release.answers) else ""
    if release.answers[0].consistent is not None:
        shown = "Released values, made consistent with what is public"
    if len(release.answers[0].question.labels[0]) == 2:
        return f"{shown}: how often the state on the left is directly followed by the one below."
    if not release.parts:
        return f"{shown}. Lines: the range of the true values, all at once with probability 95 % (error of the noise)."
    return (
        f"{shown}. Shaded or with lines: the range of each true value with probability 95 % (error of the noise).{poor}"
    )


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
    base = alt.Chart(alt.InlineData(rows)).encode(
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
