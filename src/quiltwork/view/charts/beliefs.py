"""Pictures of beliefs: what follows what, how long stays last, how soon values are forgotten, how likely records."""

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from quiltwork.accounting.compare import Comparison
from quiltwork.beliefs import (
    AnyMixture,
    BayesianNetwork,
    Belief,
    DynamicNetwork,
    GaussianBelief,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
)
from quiltwork.beliefs.record import RecordLaw
from quiltwork.errors import NotCoveredError
from quiltwork.types import Floats
from quiltwork.view.charts import alt
from quiltwork.view.charts.fits import correlations_chart
from quiltwork.view.charts.networks import network_chart
from quiltwork.view.charts.style import (
    ACCENT,
    INK,
    PALETTE,
    QUIET,
    WARNING,
    Chart,
    chart_of,
    lag_axis,
    lag_ticks,
    nothing_to_draw,
    sized,
    styled,
)

MOST_NUMBERED = 16  # states up to which each cell has its number
WIDTH = 520
MOST_STATES = 8
LONGEST = 4096
GONE = 0.02  # what is left of stays, or of agreement beyond the long run, where lines end
PANEL, HEIGHT = 330, 200
MOST_OUTCOMES = 30
LONGEST_LAG = 10_000
FORGOTTEN = 0.01


def heat_chart(chain: MarkovChain) -> Chart:
    """How likely each state (column) follows each (row)."""
    return range_chart(chain.states, chain.transition, chain.transition)


def range_chart(states: Sequence[str], lower: Floats, upper: Floats) -> Chart:
    """How likely each state (column) follows each (row), at least and at most; the colour shows the middle."""
    rows = [
        {"from": a, "to": b, "p": (low + high) / 2, "label": _range(low, high), "strong": low + high > 1.1}
        for a, lows, highs in zip(states, lower.tolist(), upper.tolist(), strict=True)
        for b, low, high in zip(states, lows, highs, strict=True)
    ]
    order = list(states)
    base = chart_of(rows).encode(
        x=alt.X("to:N", sort=order, title="next state", axis=alt.Axis(orient="top", labelAngle=-35, labelLimit=120)),
        y=alt.Y("from:N", sort=order, title="state", axis=alt.Axis(labelLimit=160)),
    )
    cells = base.mark_rect(stroke="white").encode(
        color=alt.Color(
            "p:Q", scale=alt.Scale(domain=[0, 1], range=["#f4f7fb", ACCENT]), title="probability", legend=None
        )
    )
    size = max(22, min(56 if np.array_equal(lower, upper) else 72, 560 // len(order)))
    layers = [cells]
    if len(order) <= MOST_NUMBERED:
        colour = alt.condition("datum.strong", alt.value("white"), alt.value(INK))
        layers.append(base.mark_text(fontSize=11).encode(text="label:N", color=colour))
    return styled(alt.layer(*layers).properties(width=size * len(order), height=size * len(order) * 0.7))


def _range(low: float, high: float) -> str:
    least, most = ("0" if p == 0 else f"{p:.2g}" for p in (low, high))
    return least if least == most else f"{least}–{most}"


def longer_chart(found: Comparison) -> Chart:
    """ε against how many times as long stays last, with the ε that was asked for."""
    points = [(1.0, found.epsilon), *found.stays]
    rows = [{"times": times, "loss": loss, "label": f"{loss:#.3g}"} for times, loss in points if loss is not None]
    base = chart_of(rows).encode(
        x=alt.X(
            "times:Q",
            title="how many times as long stays last",
            scale=alt.Scale(type="log", zero=False, nice=False),
            axis=alt.Axis(values=[times for times, _ in points], format="~g", grid=False, labelOverlap=True),
        ),
        y=alt.Y("loss:Q", title="privacy loss (ε)", scale=alt.Scale(zero=True)),
    )
    line = base.mark_line(color=ACCENT)
    dots = base.mark_point(color=ACCENT, filled=True, size=70, opacity=1)
    text = base.mark_text(color=INK, align="left", dx=6, dy=14).encode(text="label:N")
    kept = chart_of([{"loss": found.epsilon}]).mark_rule(color=QUIET, strokeDash=[5, 4])
    layers = [kept.encode(y="loss:Q"), line, dots, text]
    if found.epsilon_other is not None:
        named = f"the other belief: {found.epsilon_other:.3g}"
        other = chart_of([{"loss": found.epsilon_other, "text": named}])
        layers += [
            other.mark_rule(color=WARNING, size=2).encode(y="loss:Q"),
            other.mark_text(color=WARNING, align="right", dx=-6, dy=-9).encode(
                y="loss:Q", x=alt.value(WIDTH), text="text:N"
            ),
        ]
    return styled(alt.layer(*layers).properties(width=WIDTH, height=260))


def stays_chart(belief: Belief) -> Chart:
    """How many stays last longer than some time, a line for each state, where the belief says it."""
    lengths = _powers()
    try:
        left = belief.stay_survival(lengths)
    except NotCoveredError:
        raise nothing_to_draw(belief) from None
    end = _end(lengths, left.max(axis=1) <= GONE)
    return _lines(belief, lengths[:end], left[:end], "length of stay (log axis)", "stays that last longer")


def forgetting_chart(belief: Belief) -> Chart:
    """How often a value is the same again some time later, a line for each state, where the belief says it."""
    lags = _powers()
    try:
        again = belief.again(lags)
    except NotCoveredError:
        raise nothing_to_draw(belief) from None
    end = _end(lags, abs(again - again[-1]).max(axis=1) <= GONE)
    return _lines(belief, lags[:end], again[:end], "time later (log axis)", "the same state again")


def _powers() -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ..: three places between a power of two and the next but one."""
    powers = [2**n for n in range(LONGEST.bit_length())]
    return sorted({*powers, *(3 * power // 2 for power in powers[1:] if 3 * power // 2 <= LONGEST)})


def _end(places: Sequence[int], gone: "Floats") -> int:
    """How many places are belief_chart: up to a little after the first at which nothing is left."""
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
    lines = chart_of(rows).mark_line(strokeWidth=2).encode(x=x, y=share, color=colour)
    return styled(lines.properties(width=PANEL, height=HEIGHT))


@singledispatch
def belief_chart(belief: Belief) -> Chart:
    """How likely each state follows each; where that is known up to a range only, the range."""
    if len(belief.chains) > 1:
        tables = np.stack([chain.transition for chain in belief.chains])
        return range_chart(belief.states, tables.min(axis=0), tables.max(axis=0))
    chain = belief.chains[0] if belief.chains else belief.average()
    if chain is not None:
        return heat_chart(chain)
    if belief.networks:
        return network_chart(belief.networks[0])
    raise nothing_to_draw(belief)


@belief_chart.register
def _(belief: IntervalChain) -> Chart:
    return range_chart(belief.states, belief.lower, belief.upper)


@belief_chart.register
def _(belief: MixingClass) -> Chart:
    """How likely a value is to be the same again, at most, until that no longer changes."""
    longest = 2
    while longest < LONGEST_LAG and _falls_after(belief, longest):
        longest *= 2
    lags = np.unique(np.geomspace(1, longest, 80).astype(int)).tolist()
    again = belief.again(lags).max(axis=1).tolist()
    rows = [{"lag": lag, "again": p} for lag, p in zip(lags, again, strict=True)]
    line = chart_of(rows).mark_line(color=ACCENT, strokeWidth=2)
    y = alt.Y("again:Q", title="the same state again, at most", axis=alt.Axis(format="%"))
    x = lag_axis(lag_ticks(belief.step, longest), "time later (log axis)")
    return styled(line.encode(x=x, y=y.scale(domain=[0, 1])).properties(width=520, height=220))


def _falls_after(belief: Belief, lag: int) -> bool:
    now, later = belief.again([lag, 2 * lag]).max(axis=1).tolist()
    return bool(now - later > FORGOTTEN or now >= 1)


@belief_chart.register
def _(belief: DynamicNetwork) -> Chart:
    """Two steps of the network, one after the other; where the first step may be any, how steps follow each other."""
    return belief_chart.dispatch(Belief)(belief) if belief.start == "any" else network_chart(belief.unrolled(2))


@belief_chart.register
def _(belief: GaussianBelief) -> Chart:
    return correlations_chart(belief)


@belief_chart.register
def _(belief: JointTable) -> Chart:
    return outcomes_chart([belief])


@belief_chart.register
def _(belief: AnyMixture) -> Chart:
    first = belief.mixed[0]
    return network_chart(first) if isinstance(first, BayesianNetwork) else outcomes_chart(belief.mixed)


def outcomes_chart(laws: Sequence[RecordLaw]) -> Chart:
    """How likely each record is, the most likely ones first; under several laws from the least to the most."""
    names = list(laws[0].variables.values())
    by_outcome: dict[tuple[int, ...], Floats] = {}
    for n, law in enumerate(laws):
        found = law.all_outcomes
        for codes, log in zip(found.codes.tolist(), found.logs.tolist(), strict=True):
            by_outcome.setdefault(tuple(codes), np.zeros(len(laws)))[n] = np.exp(log)
    most_likely = sorted(by_outcome.items(), key=lambda item: -float(item[1].max()))[:MOST_OUTCOMES]
    rows = [
        {
            "record": ", ".join(states[code] for states, code in zip(names, codes, strict=True)),
            "low": float(p.min()) if len(laws) > 1 else 0.0,
            "high": float(p.max()),
        }
        for codes, p in most_likely
    ]
    bars = (
        chart_of(rows)
        .mark_bar(color=ACCENT, height={"band": 0.62})
        .encode(
            y=alt.Y("record:N", sort=None, title=", ".join(laws[0].variables), axis=alt.Axis(labelLimit=300)),
            x=alt.X("low:Q", title="probability"),
            x2="high:Q",
        )
    )
    return sized(alt.layer(bars), len(rows))
