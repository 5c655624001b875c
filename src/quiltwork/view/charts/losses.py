"""Pictures of noise and of privacy loss: by mechanism, along time, by variable, and what was promised."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from quiltwork.auditor import Audit
from quiltwork.beliefs.secrets import likely, posterior
from quiltwork.calibration.plan import Plan
from quiltwork.influence.curve.timeline import Losses
from quiltwork.types import Duration
from quiltwork.view.charts import alt
from quiltwork.view.charts.style import (
    ACCENT,
    FONT,
    INK,
    QUIET,
    WARNING,
    Chart,
    chart_of,
    filled,
    narrow,
    sized,
    styled,
    to_spec,
    with_rows,
)
from quiltwork.view.view import MOST_BARS

WIDTH = 520
HOUR = 3600e6  # microseconds


def noise_chart(plan: Plan) -> Chart:
    """The noise of each mechanism, on a logarithmic axis."""
    rows, ticks = noise_rows(plan)
    return with_rows(noise_shape([row["name"] for row in rows], ticks), noise=rows)


def noise_rows(plan: Plan) -> tuple[list[dict[str, Any]], list[float]]:
    """The rows of the picture, and the ticks of its axis."""
    offers = [(o.mechanism, o.noise_scale, o.calibration) for o in plan.offers if o.noise_scale]
    rows = [
        {
            "name": name,
            "noise": scale,
            "label": f"{scale:,.4g}" + (" (no guarantee)" if c is not None and c.guarantee == "none" else ""),
            "kind": "none" if c is not None and c.guarantee == "none" else "pufferfish",
        }
        for name, scale, c in offers
    ]
    return rows, _powers(scale for _, scale, _ in offers)


def noise_spec(plan: Plan) -> dict[str, Any]:
    """The same for a page, on which it is drawn again and again."""
    rows, ticks = noise_rows(plan)
    return filled(_noise_spec(tuple(row["name"] for row in rows), tuple(ticks)), {"noise": rows})


@lru_cache(maxsize=64)
def _noise_spec(names: tuple[str, ...], ticks: tuple[float, ...]) -> dict[str, Any]:
    return to_spec(narrow(noise_shape(names, ticks)))


def noise_shape(names: Sequence[str], ticks: Sequence[float]) -> Chart:
    """The picture without its rows, for these mechanisms."""
    base = alt.Chart(alt.NamedData("noise")).encode(
        y=alt.Y("name:N", sort=list(names), title=None, axis=alt.Axis(labelLimit=260))
    )
    axis = alt.X(
        "noise:Q",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=list(ticks), format="~g"),
        title="noise scale on each number (log axis)",
    )
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=axis,
        color=alt.Color("kind:N", scale=alt.Scale(domain=["pufferfish", "none"], range=[ACCENT, WARNING]), legend=None),
    )
    text = base.mark_text(align="left", dx=10, color=INK).encode(x=axis, text="label:N")
    return sized(alt.layer(dots, text), len(names))


def _powers(scales: Iterable[float]) -> list[float]:
    """Powers of ten around some numbers, every so many."""
    ends = [math.log10(scale) for scale in scales]
    low, high = (math.floor(min(ends)), math.ceil(max(ends))) if ends else (0, 1)
    return [10.0**n for n in range(low, high + 1, max(1, (high - low) // 5))]


def loss_chart(found: Audit, names: Sequence[str] | None = None) -> Chart:
    """The exact loss at each time step, with the worst one marked; or of each variable of a record, by name."""
    if names is not None:
        return _loss_bars(found, names)
    rows = [{"time": n, "loss": loss} for n, loss in enumerate(found.by_node, 1)]
    base = chart_of(rows).encode(
        x=alt.X("time:Q", title="time (the value attacked)", scale=alt.Scale(zero=False, nice=False)),
        y=alt.Y("loss:Q", title="exact loss", scale=alt.Scale(zero=True)),
    )
    worst = max(range(len(rows)), key=lambda n: rows[n]["loss"])
    mark = base.transform_filter(f"datum.time == {worst + 1}").mark_point(
        color=WARNING, size=120, filled=True, opacity=1
    )
    return sized(alt.layer(base.mark_line(color=ACCENT, point=len(rows) < 40), mark), 6)


def _loss_bars(audit: Audit, names: Sequence[str]) -> Chart:
    rows = [
        {"variable": name, "loss": loss, "worst": name == audit.node}
        for name, loss in zip(names, audit.by_node, strict=True)
    ]
    bars = (
        chart_of(rows)
        .mark_bar()
        .encode(
            y=alt.Y("variable:N", title=None, sort=None),
            x=alt.X("loss:Q", title="exact loss", scale=alt.Scale(zero=True)),
            color=alt.condition("datum.worst", alt.value(WARNING), alt.value(ACCENT)),
        )
    )
    return sized(alt.layer(bars), len(rows))


def timeline_chart(
    losses: Losses,
    segments: Sequence[tuple[int, int]],
    *,
    budget: float | None = None,
    names: Sequence[str] | None = None,
    width: int = WIDTH,
) -> Chart:
    """What releases tell about the value at each time, with the budget line and the segments they were about.

    Releases are numbered, unless they have ``names``.
    """
    # segments may go on after the length that the losses are known for: later times are told no more than the last
    end = max(losses.length, 2, *(last for _, last in segments))
    ends = [*(int(n) - 1 for n in losses.first[1:]), end]
    rows = [
        {"time": time, "loss": float(loss)}
        for first, last, loss in zip(losses.first.tolist(), ends, losses.epsilon_at.tolist(), strict=True)
        for time in ((first, last) if last > first else (first,))
    ]
    # many blocks are thinned, the largest loss of each kept
    rows = _thinned(rows, 4_000)
    ticks = alt.Axis(tickCount=max(3, width // 60), labelOverlap=True)
    x = alt.X("time:Q", title="time", axis=ticks, scale=alt.Scale(domain=[1, end], nice=False))
    y = alt.Y("loss:Q", title="privacy loss at each time, at most (ε)", scale=alt.Scale(zero=True))
    base = chart_of(rows).encode(x=x, y=y)
    layers = [base.mark_area(color=ACCENT, opacity=0.15), base.mark_line(color=ACCENT)]
    if budget is not None:
        layers += _budget_line(budget, "loss")
    upper = alt.layer(*layers).properties(width=width, height=220)
    if not segments:
        return styled(upper)
    bars = [
        {"first": first, "last": last + (0 if last > first else 0.5), "release": name}
        for name, (first, last) in zip(names or _numbered(segments), segments[:MOST_BARS], strict=False)
    ]
    lower = (
        chart_of(bars)
        .mark_bar(color=QUIET, height=8)
        .encode(
            x=alt.X("first:Q", title=None, axis=ticks, scale=alt.Scale(domain=[1, end], nice=False)),
            x2="last:Q",
            y=alt.Y("release:N", title=None, sort=None),
        )
        .properties(width=width, height=18 * max(len(bars), 1))
    )
    return styled(alt.vconcat(upper, lower))


def _budget_line(budget: float, field: str) -> list[Any]:
    line = chart_of([{field: budget, "text": f"budget {budget:g}"}])
    text = line.mark_text(color=WARNING, align="left", dx=6, dy=-7, font=FONT)
    return [
        line.mark_rule(color=WARNING, strokeDash=[6, 4], size=2).encode(y=f"{field}:Q"),
        text.encode(y=f"{field}:Q", x=alt.value(0), text="text:N"),
    ]


def _numbered(segments: Sequence[object]) -> list[str]:
    return [f"release {n}" for n in range(1, len(segments) + 1)]


def spending_chart(releases: Sequence[Mapping[str, Any]], *, budget: float) -> Chart:
    """What all releases of a ledger tell together, after each of them, with the budget line."""
    rows = [
        {
            "release": f"row {release['row']}",
            "spent": float(release["spent"] or 0.0),
            "who": str(release["who"]),
            "query": str(release["query"]),
            "epsilon": release["epsilon"],
        }
        for release in releases[-MOST_BARS:]
    ]
    bars = (
        chart_of(rows)
        .mark_bar(color=ACCENT, width={"band": 0.62})
        .encode(
            x=alt.X(
                "release:N", sort=None, title=None, axis=alt.Axis(labelAngle=0 if len(rows) < 8 else -40, labelLimit=90)
            ),
            y=alt.Y(
                "spent:Q",
                title="privacy loss together, at most (ε)",
                scale=alt.Scale(domainMin=0),
                axis={"tickCount": 5},
            ),
            tooltip=["release:N", "query:N", "who:N", alt.Tooltip("epsilon:Q", title="ε"), "spent:Q"],
        )
    )
    layers = [bars, *_budget_line(budget, "spent")]
    return styled(alt.layer(*layers[not rows :]).properties(width=min(WIDTH, max(200, 44 * len(rows))), height=220))


def _thinned(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    if len(rows) <= most:
        return rows
    step = -(-len(rows) // most)
    return [max(rows[n : n + step], key=lambda row: row["loss"]) for n in range(0, len(rows), step)]


def density_chart(outputs: Sequence[float], more: Sequence[float], less: Sequence[float], found: Audit) -> Chart:
    """The law of the output given each of the two values at the worst time, on a logarithmic axis."""
    pair = found.pair or ("", "")
    names = [f"given {state}" for state in pair]
    rows = [
        {"output": w, "density": p, "given": name}
        for name, curve in zip(names, (more, less), strict=True)
        for w, p in zip(outputs, curve, strict=True)
        if p > 0
    ]
    lines = (
        chart_of(rows)
        .mark_line()
        .encode(
            x=alt.X("output:Q", title="output"),
            y=alt.Y("density:Q", scale=alt.Scale(type="log"), title="density (log axis)", axis=alt.Axis(format="~e")),
            color=alt.Color("given:N", scale=alt.Scale(domain=names, range=[ACCENT, WARNING]), title=None),
        )
    )
    return sized(alt.layer(lines), 6)


def promises_chart(rows: Sequence[dict[str, Any]]) -> Chart:
    """For each example: what is promised, what truly leaks, and what our bound says."""
    kinds = ["printed promise", "true leakage", "quiltwork"]
    data = [{"example": row["example"], "what": kind, "value": row[kind]} for row in rows for kind in kinds]
    base = chart_of(data).encode(
        y=alt.Y(
            "example:N", title=None, sort=None, axis=alt.Axis(labelLimit=300, labelExpr="split(datum.label, ': ')")
        ),
        yOffset=alt.YOffset("what:N", sort=kinds),
        x=alt.X("value:Q", title="leakage (ε)", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5)),
    )
    bars = base.mark_bar(height=16).encode(
        color=alt.Color(
            "what:N",
            title=None,
            sort=kinds,
            scale=alt.Scale(domain=kinds, range=[QUIET, WARNING, ACCENT]),
            legend=alt.Legend(orient="bottom"),
        )
    )
    text = base.mark_text(align="left", dx=4, color=INK).encode(text=alt.Text("value:Q", format=".4f"))
    return sized(alt.layer(bars, text), 2 * len(rows))


def cycle_chart(losses: Sequence[float | None], step: Duration | None) -> Chart:
    """The loss of each time of a cycle: by the hour of the day if the step is known, else by number."""
    hours = None if step is None or step.steps else float(step.length) / HOUR
    title = "time of the cycle (step)" if hours is None else "hours since the cycle begins (midnight)"
    rows = [{"time": (n if hours is None else n * hours), "loss": loss} for n, loss in enumerate([*losses, losses[0]])]
    chart = chart_of(rows).mark_line(color=ACCENT, interpolate="step-after", strokeWidth=2)
    axis = alt.Axis(tickMinStep=1, labelFlush=True)
    encoded = chart.encode(
        x=alt.X("time:Q", title=title, scale=alt.Scale(domain=[0, rows[-1]["time"]], nice=False), axis=axis),
        y=alt.Y("loss:Q", title="privacy loss of a value (ε)", scale=alt.Scale(domainMin=0)),
    )
    return styled(encoded.properties(width=640, height=220))


def posterior_chart(epsilons: Mapping[str, float]) -> Chart:
    """What a probability may become at most and at least, against what it was before, for each named ε.

    Odds change by a factor of at most e^ε either way, which is what Pufferfish privacy says (its equation 3).
    """
    return with_rows(posterior_shape(tuple(epsilons)), **posterior_rows(epsilons))


def posterior_spec(name: str, epsilon: float) -> dict[str, Any]:
    """The same for a page, on which it is drawn again and again."""
    return filled(_posterior_spec(name), posterior_rows({name: epsilon}))


@lru_cache(maxsize=4)
def _posterior_spec(name: str) -> dict[str, Any]:
    return to_spec(posterior_shape([name], size=220))


def posterior_rows(epsilons: Mapping[str, float]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the picture by name: ranges, and what a half becomes."""
    return {
        "ranges": [
            {"what": name, "before": p, "low": 1 - posterior(1 - p, epsilon), "high": posterior(p, epsilon)}
            for name, epsilon in epsilons.items()
            for p in (n / 100 for n in range(101))
        ],
        "marks": [
            {"before": 0.5, "high": posterior(0.5, epsilon), "text": likely(posterior(0.5, epsilon)), "what": name}
            for name, epsilon in epsilons.items()
        ],
    }


def posterior_shape(names: Sequence[str], *, size: int = 300) -> Chart:
    """The picture without its rows, for these names."""
    colour = alt.Color(
        "what:N",
        title=None,
        sort=list(names),
        scale=alt.Scale(domain=list(names), range=[ACCENT, WARNING][: len(names)]),
        legend=alt.Legend(orient="bottom", columns=1, labelLimit=400, symbolOpacity=1),
    )
    axis = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    whole = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("before:Q", title="probability of a secret before seeing the result", axis=axis, scale=whole)
    base = alt.Chart(alt.NamedData("ranges")).encode(x=x, color=colour)
    after = alt.Y("high:Q", title="and after", axis=axis, scale=whole)
    band = base.mark_area(opacity=0.13).encode(y=after, y2="low:Q")
    edges = [base.mark_line(strokeWidth=2).encode(y=alt.Y(f"{edge}:Q", scale=whole)) for edge in ("low", "high")]
    same = chart_of([{"before": p, "high": p} for p in (0, 1)]).mark_line(color=QUIET, strokeDash=[4, 4])
    points = alt.Chart(alt.NamedData("marks")).encode(x=x, y=alt.Y("high:Q", scale=whole), color=colour)
    layers = [band, *edges, same.encode(x=x, y="high:Q"), points.mark_point(filled=True, size=70, opacity=1)]
    layers.append(points.mark_text(align="right", dx=-9, dy=-6, fontWeight="bold").encode(text="text:N"))
    return styled(alt.layer(*layers).properties(width=size, height=size))
