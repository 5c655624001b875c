"""Real data: the error of private frequencies by each mechanism and belief, and how long each takes to compute."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, CycleChain, HiddenChain, MarkovChain
from quiltwork.calibration.calibrate import calibrate
from quiltwork.calibration.request import Request
from quiltwork.calibration.series import for_series
from quiltwork.data import Series
from quiltwork.errors import NotCoveredError, QuiltworkError
from quiltwork.fitting import fit_chain, with_step
from quiltwork.fitting.check import check_memory
from quiltwork.fitting.cycle import fit_cycle
from quiltwork.fitting.phases import fit_hidden
from quiltwork.fitting.remedies import latest
from quiltwork.papers.base import Effort, Found, laplace_noise
from quiltwork.papers.public_data import Periods, public_data
from quiltwork.question import Histogram
from quiltwork.view.charts import alt
from quiltwork.view.charts.style import (
    ACCENT,
    INK,
    PALETTE,
    QUIET,
    WARNING,
    Chart,
    styled,
    with_rows,
)

EPSILONS = (0.2, 1.0, 5.0)
DRAWS, SEED = 20, 2016
CROSS = "M-0.8,-0.8L0.8,0.8M0.8,-0.8L-0.8,0.8"  # a shape in the picture
USELESS = 2.0  # two laws are never further apart
CHAIN, ANY = "chain", "any"
STANDS, REFUTED = "not refuted by the check, or no belief needed", "refuted by the check"
METHODS = (
    ("group", ANY),
    ("quilt-approx", CHAIN),
    ("quilt-exact", CHAIN),
    ("curve", CHAIN),
    ("curve", "time of day"),
    ("curve", "2 phases"),
    ("curve", "3 phases"),
)
FITS: dict[str, Callable[[Series], Belief]] = {
    CHAIN: lambda series: fit_chain(series, initial="stationary").chain,
    "time of day": lambda series: fit_cycle(series, step=series.step, cycle="day"),
    "2 phases": lambda series: fit_hidden(latest(series), phases=2),
    "3 phases": lambda series: fit_hidden(latest(series), phases=3),
}


@dataclass(frozen=True)
class Fitted:
    """A belief from the earlier period, or why there is none, and what the later period says about it."""

    belief: Belief | None
    seconds: float
    verdict: str
    outcome: str = "unknown"


def real(effort: Effort, folder: str | Path) -> Found:
    """L1 error of relative frequencies on public data in a folder, for each mechanism, belief and ε."""
    data, missing = public_data(folder, residents=1 if effort.quick else 2)
    methods = [one for one in METHODS if not (effort.quick and one[1] == "3 phases")]
    _compile()
    rows: list[dict[str, Any]] = []
    remarks = []
    for n, periods in enumerate(data):
        fits: dict[str, Fitted] = {}
        for m, (mechanism, belief) in enumerate(methods):
            effort.done((n + m / len(methods)) / len(data))
            kind = CHAIN if belief == ANY else belief
            if kind not in fits:
                fits[kind] = _fitted(kind, periods)
            rows += [_row(periods, mechanism, belief, fits[kind], epsilon) for epsilon in EPSILONS]
        remarks += _said(periods, fits)
    remarks += [*missing, NOTE]
    title = "L1 error of private frequencies of public data, beliefs from an earlier period"
    return Found(title, rows, remarks, _picture(rows), _brief(rows))


NOTE = (
    "Errors are those of the noise, from 20 draws with a fixed seed: the mean here, 5 % and 95 % in the table that is "
    "written. An error of 2 (dashed) is that of shares that have nothing in common with the true ones. Seconds are "
    "those of the processor, for the noise and for fitting the belief. Group privacy needs no "
    "belief. The check compares each belief with the later period, which only public data allow. Where it refutes a "
    "belief, the noise is too small for the promise to be true of such data, however good the error looks."
)


def _fitted(kind: str, periods: Periods) -> Fitted:
    begun = time.process_time()
    try:
        belief = with_step(FITS[kind](periods.before), periods.before.step)
    except QuiltworkError as problem:
        return Fitted(None, time.process_time() - begun, f"not fitted: {problem}")
    seconds = time.process_time() - begun
    try:
        check = check_memory(belief, periods.after)
    except QuiltworkError as problem:
        return Fitted(belief, seconds, f"not checked: {problem}")
    return Fitted(belief, seconds, check.verdict, check.outcome)


def _row(periods: Periods, mechanism: str, belief: str, fitted: Fitted, epsilon: float) -> dict[str, Any]:
    """One line of the table: the noise and its error, or why there is none."""
    row: dict[str, Any] = {"data": periods.name, "mechanism": mechanism, "belief": belief}
    row |= {"epsilon": epsilon, "noise scale": None, "L1 error": None, "5 %": None, "95 %": None, "seconds": None}
    row |= {"fit seconds": None if belief == ANY else fitted.seconds, "check": _checked(belief, fitted), "refused": ""}
    if fitted.belief is None:
        return row | {"refused": fitted.verdict}
    begun = time.process_time()
    try:
        request = Request(query=Histogram(), belief=fitted.belief, epsilon=epsilon, mechanism=mechanism)
        calibration = for_series(periods.after, request).calibration
    except NotCoveredError as problem:
        return row | {"seconds": time.process_time() - begun, "refused": str(problem)}
    seconds = time.process_time() - begun
    scale = calibration.noise_scale / periods.after.size
    noise = laplace_noise(scale, DRAWS * len(periods.after.states), seed=SEED).reshape(DRAWS, -1)
    errors = np.abs(noise).sum(axis=1)
    low, high = np.quantile(errors, (0.05, 0.95)).tolist()
    measured = {"noise scale": scale, "L1 error": float(errors.mean()), "5 %": low, "95 %": high, "seconds": seconds}
    return row | measured | {"mechanism": calibration.mechanism}


def _checked(belief: str, fitted: Fitted) -> str:
    if belief == ANY:
        return "needs none"
    return "" if fitted.belief is None else fitted.outcome


def _said(periods: Periods, fits: dict[str, Fitted]) -> list[str]:
    size = f"{periods.before.size:,} values for the belief, {periods.after.size:,} released"
    return [
        f"{periods.name} ({size}): " + " ".join(f"{kind}: {fitted.verdict}" for kind, fitted in fits.items()),
    ]


def _brief(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each method, with the mean error at each ε."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        start = {"data": row["data"], "method": _label(row)} | {f"ε = {epsilon:g}": None for epsilon in EPSILONS}
        line = lines.setdefault((row["data"], _label(row)), start)
        line[f"ε = {row['epsilon']:g}"] = None if row["L1 error"] is None else f"{row['L1 error']:.3g}"
        line["seconds"] = f"{float(line.get('seconds', 0)) + (row['seconds'] or 0.0):.2f}"
        line["check"] = row["check"] or "not fitted"
    return list(lines.values())


def _compile() -> None:
    """Small problems of each kind, so that computing times are not those of compiling."""
    table = [[0.8, 0.2], [0.4, 0.6]]
    small: tuple[Belief, ...] = (
        MarkovChain(table, initial="stationary"),
        CycleChain([table, table], initial="stationary"),
        HiddenChain([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], shows=["0", "0", "1"], initial="stationary"),
    )
    for belief in small:
        for length in (None, 40):
            calibrate(Histogram(), belief=belief, epsilon=1.0, length=length, mechanism="curve")
    for mechanism in ("quilt-exact", "quilt-approx"):
        calibrate(Histogram(), belief=small[0], epsilon=1.0, length=40, mechanism=mechanism)


def _picture(rows: Sequence[dict[str, Any]]) -> Chart:
    """Errors on a logarithmic axis, a panel for each series; crosses where the check refutes the belief."""
    labels = list(dict.fromkeys(map(_label, rows)))
    series = list(dict.fromkeys(row["data"] for row in rows))
    points = {f"series{n}": [_point(row) for row in rows if row["data"] == name] for n, name in enumerate(series)}
    points = {named: [point for point in own if point["error"] is not None] for named, own in points.items()}
    x = _errors_axis([point for own in points.values() for point in own])
    panels = [
        _panel(named, labels, x, first=n == 0).properties(title=alt.TitleParams(name, color=INK))
        for n, (named, name) in enumerate(zip(points, series, strict=True))
    ]
    return with_rows(styled(alt.hconcat(*panels).resolve_scale(x="shared")), **points)


def _point(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": _label(row),
        "ε": f"ε = {row['epsilon']:g}",
        "error": row["L1 error"],
        "low": row["5 %"],
        "high": row["95 %"],
        "belief": REFUTED if row["check"] == "refuted" else STANDS,
    }


def _errors_axis(points: Sequence[dict[str, Any]]) -> alt.X:
    """From the smallest error to the largest, with a tick at each power of ten."""
    low = min([USELESS, *(point["low"] for point in points)]) / 1.3
    high = max([USELESS, *(point["high"] for point in points)]) * 1.3
    ticks = [10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return alt.X("error:Q", title="L1 error (log axis)", scale=scale, axis=alt.Axis(format="~g", values=ticks))


def _panel(named: str, labels: list[str], x: alt.X, *, first: bool) -> Any:
    epsilons = [f"ε = {epsilon:g}" for epsilon in EPSILONS]
    colours = alt.Scale(domain=epsilons, range=[WARNING, PALETTE[2], ACCENT])
    colour = alt.Color("ε:N", title=None, scale=colours, legend=alt.Legend(orient="bottom", symbolType="stroke"))
    base = alt.Chart(alt.NamedData(named)).encode(
        y=alt.Y("method:N", title=None, sort=labels, axis=alt.Axis(labels=first, ticks=first, labelLimit=220)),
    )
    bars = base.mark_rule(size=2, opacity=0.5).encode(x=alt.X("low:Q"), x2="high:Q", color=colour)
    dots = base.mark_point(size=60, opacity=1, strokeWidth=2).encode(
        x=x,
        color=colour,
        fill=alt.Fill("ε:N", scale=colours, legend=None),
        shape=alt.Shape(
            "belief:N",
            title=None,
            scale=alt.Scale(domain=[STANDS, REFUTED], range=["circle", CROSS]),
            legend=alt.Legend(orient="bottom", labelLimit=0, symbolStrokeColor=INK, symbolFillColor=INK),
        ),
    )
    useless = alt.Chart(alt.InlineData([{"error": USELESS}])).mark_rule(color=QUIET, strokeDash=[6, 4]).encode(x=x)
    return alt.layer(useless, bars, dots).properties(width=230, height=26 * len(labels))


def _label(row: dict[str, Any]) -> str:
    names = {"group": "group privacy", "quilt-approx": "approximate quilts", "quilt-exact": "exact quilts"}
    name = names.get(row["mechanism"], row["mechanism"])
    return name if row["belief"] == ANY else f"{name}, {row['belief']}"
