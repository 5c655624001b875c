"""The look of all pictures, and how they are drawn without a network."""

from typing import Any, cast

import vl_convert
from altair.typing import ChartType

from quiltwork.errors import visible

INK, QUIET, ACCENT, WARNING = "#22304a", "#8792a6", "#2f6fb3", "#c2703d"
FONT = "system-ui, sans-serif"

Chart = ChartType
"""A chart of Altair; what draws it turns it into Vega-Lite's own form."""


def sized(chart: Any, rows: int) -> Chart:
    """A chart high enough for its rows."""
    return styled(chart.properties(width=520, height=34 * max(rows, 2)))


def styled(chart: Any) -> Chart:
    """A chart in the house's colours and letters."""
    styled = (
        chart.properties(background="white", padding={"left": 10, "right": 24, "top": 10, "bottom": 10})
        .configure_view(stroke=None)
        .configure_axis(labelColor=INK, titleColor=QUIET, gridColor="#e6e9ef", labelFont=FONT, titleFont=FONT)
        .configure_text(font=FONT)
    )
    return cast(Chart, styled)


def _shown(content: Any) -> Any:
    """A chart whose names can be drawn: control characters in them would end the process."""
    if isinstance(content, dict):
        return {_shown(key): _shown(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_shown(value) for value in content]
    return visible(content) if isinstance(content, str) else content


def to_png(chart: Chart) -> bytes:
    """A chart as a PNG picture, drawn without a network."""
    return bytes(vl_convert.vegalite_to_png(_shown(chart.to_dict()), scale=2))


def to_svg(chart: Chart) -> str:
    """A chart as SVG text, drawn without a network."""
    return str(vl_convert.vegalite_to_svg(_shown(chart.to_dict())))
