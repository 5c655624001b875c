"""The axis of lags: how much later a value is, from one step to months, on a logarithmic scale."""

from quiltwork.fitting.words import in_words
from quiltwork.show.pictures import alt
from quiltwork.types import Duration

MARKS = ("1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d", "7 d", "28 d", "364 d")


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
