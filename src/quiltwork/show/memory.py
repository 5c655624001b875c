"""Pictures of what a belief remembers: how long stays last, and how soon a value is forgotten."""

from collections.abc import Sequence

from quiltwork.beliefs import Belief
from quiltwork.errors import NotCoveredError
from quiltwork.show.lags import lag_axis, lag_ticks
from quiltwork.show.pictures import alt
from quiltwork.show.style import PALETTE, Chart, styled
from quiltwork.types import Floats

MOST_STATES = 8
LONGEST = 4096
GONE = 0.02  # what is left of stays, or of agreement beyond the long run, where lines end
WIDTH, HEIGHT = 330, 200


def stays_chart(belief: Belief) -> Chart | None:
    """How many stays last longer than some time, a line for each state; None where the belief does not say."""
    lengths = _powers()
    try:
        left = belief.stay_survival(lengths)
    except NotCoveredError:
        return None
    end = _end(lengths, left.max(axis=1) <= GONE)
    return _lines(belief, lengths[:end], left[:end], "length of stay (log axis)", "stays that last longer")


def forgetting_chart(belief: Belief) -> Chart | None:
    """How often a value is the same again some time later, a line for each state; None where it does not say."""
    lags = _powers()
    try:
        again = belief.again(lags)
    except NotCoveredError:
        return None
    end = _end(lags, abs(again - again[-1]).max(axis=1) <= GONE)
    return _lines(belief, lags[:end], again[:end], "time later (log axis)", "the same state again")


def _powers() -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ..: three places between a power of two and the next but one."""
    powers = [2**n for n in range(LONGEST.bit_length())]
    return sorted({*powers, *(3 * power // 2 for power in powers[1:] if 3 * power // 2 <= LONGEST)})


def _end(places: Sequence[int], gone: "Floats") -> int:
    """How many places are drawn: up to a little after the first at which nothing is left."""
    found = [n for n, is_gone in enumerate(gone.tolist()) if is_gone]
    return min(len(places), max(6, (found[0] if found else len(places)) + 2))


def _lines(belief: Belief, lags: Sequence[int], shares: Floats, x_title: str, y_title: str) -> Chart:
    states = list(belief.states[:MOST_STATES])
    rows = [
        {"lag": lag, "state": state, "share": share}
        for lag, row in zip(lags, shares.tolist(), strict=True)
        for state, share in zip(states, row, strict=False)
    ]
    colour = alt.Color(
        "state:N",
        title=None,
        sort=states,
        scale=alt.Scale(domain=states, range=list(PALETTE[: len(states)])),
        legend=alt.Legend(orient="bottom", columns=3, labelLimit=110, symbolStrokeWidth=3),
    )
    share = alt.Y(
        "share:Q",
        title=y_title,
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    x = lag_axis(lag_ticks(belief.step, lags[-1]), x_title)
    lines = alt.Chart(alt.InlineData(rows)).mark_line(strokeWidth=2).encode(x=x, y=share, color=colour)
    return styled(lines.properties(width=WIDTH, height=HEIGHT))
