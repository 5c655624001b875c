"""The look of all pictures, the axes that several share, and the only way from a chart to SVG or PNG."""

import html
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

from altair.typing import ChartType

from quiltwork.errors import ParameterError, visible
from quiltwork.fitting.words import in_words
from quiltwork.types import Duration
from quiltwork.view.charts import alt
from quiltwork.view.charts.drawing import PictureWarning, svg_of
from quiltwork.view.view import NARROW

INK, QUIET, ACCENT, WARNING = "#22304a", "#8792a6", "#2f6fb3", "#c2703d"
LINE, FAINT = "#e6e9ef", "#f4f7fb"
PALETTE = (ACCENT, WARNING, "#5d9160", "#8b6fb5", "#b39a3c", "#4b9a9c", "#ab5d76", QUIET)
"""Colours that tell lines apart, on light and dark paper."""
FONT = "system-ui, sans-serif"

MISSING = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="32"><text x="0" y="20" font-size="12" '
    f'font-family="{FONT}" fill="{WARNING}">{{why}}</text></svg>'
)
"""In place of a picture that could not be drawn."""
Chart = ChartType
"""A chart of Altair; what draws it turns it into Vega-Lite's own form."""
MARKS = ("1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d", "7 d", "28 d", "364 d")


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of these rows, which are part of it."""
    return alt.Chart(alt.InlineData(list(rows)))


def sized(chart: Any, rows: int) -> Chart:
    """A chart high enough for its rows."""
    return styled(chart.properties(width=520, height=34 * max(rows, 2)))


def styled(chart: Any) -> Chart:
    """A chart in the house's colours and letters."""
    text: dict[str, Any] = {"labelColor": INK, "labelFont": FONT, "titleFont": FONT}
    text |= {"labelFontSize": 12, "titleFontSize": 12}
    styled = (
        chart.properties(background="white", padding={"left": 10, "right": 24, "top": 10, "bottom": 10})
        .configure_view(stroke=None)
        .configure_axis(titleColor=QUIET, titleFontWeight="normal", gridColor=LINE, domainColor=QUIET, **text)
        .configure_header(titleColor=QUIET, titleFontWeight="normal", **text)
        .configure_text(font=FONT)
    )
    if styled.config.legend is alt.Undefined:
        styled = styled.configure_legend(titleColor=QUIET, **text)
    return cast(Chart, styled)


def with_rows(chart: Any, **rows: list[dict[str, Any]]) -> Chart:
    """A chart whose parts name their data (``alt.NamedData``), with the rows: Altair copies charts again and again."""
    kept = {} if chart.datasets is alt.Undefined else chart.datasets
    chart.datasets = {**kept, **rows}
    return cast(Chart, chart)


def narrow(chart: Chart) -> Chart:
    """A chart that stays readable on a phone and beside a table: not wider than it must be, if it is a single one."""
    width = getattr(chart, "width", None)
    if isinstance(width, int | float) and width > NARROW:
        chart = chart.properties(width=NARROW)
    return chart


def shown(content: Any) -> Any:
    """A chart whose names can be drawn: control characters in them would end the process."""
    if isinstance(content, dict):
        return {shown(key): shown(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [shown(value) for value in content]
    return visible(content) if isinstance(content, str) else content


def nothing_to_draw(thing: object) -> ParameterError:
    """That there is no picture of something."""
    return ParameterError("there is nothing to draw", got=repr(thing)[:80], fix="Print it, or use to_dict()")


def to_spec(chart: Chart) -> dict[str, Any]:
    """A chart in Vega-Lite's own form, for pages that draw it themselves, on their own background."""
    spec: dict[str, Any] = shown(chart.to_dict(validate=False))
    return spec | {"background": "transparent"}


def filled(shape: dict[str, Any], rows: Mapping[str, Any]) -> dict[str, Any]:
    """A picture in Vega-Lite's own form with its rows by name, beside those that it has of its own."""
    return shape | {"datasets": shape.get("datasets", {}) | rows}


def to_png(chart: Chart) -> bytes:
    """A chart as a PNG picture, drawn without a network."""
    import vl_convert  # a process of its own draws SVG

    return bytes(vl_convert.vegalite_to_png(shown(chart.to_dict()), scale=2))


def to_svg(chart: Chart) -> str:
    """A chart as SVG text, drawn without a network; a line that says why where it cannot be drawn."""
    try:
        return svg_of(shown(chart.to_dict()))
    except PictureWarning as problem:
        warnings.warn(problem, stacklevel=2)
        return MISSING.format(width=7 * len(str(problem)), why=html.escape(f"{problem}."))


def lag_axis(ticks: dict[float, str], title: str) -> alt.X:
    """The axis of the field ``lag``, with these ticks."""
    names = ", ".join(f"'{int(at) if at.is_integer() else at}': '{name}'" for at, name in ticks.items())
    return alt.X(
        "lag:Q",
        scale=alt.Scale(type="log", nice=False, domain=[1, max(ticks)]),
        title=title,
        axis=alt.Axis(
            values=[at for at, name in ticks.items() if name],
            labelExpr=f"({{{names}}})['' + datum.value] || ''",
            labelOverlap=True,
            labelFlush=False,
        ),
    )


def lag_ticks(step: Duration | None, longest: int) -> dict[float, str]:
    """Places on the axis of lags, from the first lag to the last, with what they are called."""
    end = float(max(longest, 2))
    if step is None or step.steps:
        marks = {10.0**n: f"{10**n:,}" for n in range(12)}
        if end < 10:
            marks = {float(n): str(n) for n in (1, 2, 4, 8)}
    else:
        marks = {Duration.parse(name.replace(" ", "")).length / step.length: name for name in MARKS}
    marks = {at: name for at, name in marks.items() if 1 <= at <= end}
    if min(marks, default=end) > 1.5:
        marks = {1.0: in_words(1, step)} | marks
    return marks | {end: marks.get(end, "")}
