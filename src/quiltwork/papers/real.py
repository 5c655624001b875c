"""Real data: the error of private frequencies by each mechanism and belief, and how long each takes to compute."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from quiltwork.beliefs import Belief, CycleChain, HiddenChain, MarkovChain
from quiltwork.calibration.calibrate import calibrate
from quiltwork.calibration.request import Request
from quiltwork.calibration.series import for_series
from quiltwork.data import Series
from quiltwork.errors import NotCoveredError, QuiltworkError
from quiltwork.fitting import fit_chain, with_step
from quiltwork.fitting.check import check_belief
from quiltwork.fitting.cycle import fit_cycle
from quiltwork.fitting.phases import fit_hidden
from quiltwork.papers.base import Effort, Found
from quiltwork.papers.experiments import laplace_noise
from quiltwork.papers.public_data import Periods, public_data
from quiltwork.queries import Histogram
from quiltwork.show.style import ACCENT, INK, QUIET, WARNING, Chart, styled, with_rows

EPSILONS = (0.2, 1.0, 5.0)
DRAWS, SEED = 20, 2016
MOST_FOR_PHASES = 3_000  # values that phases are fitted to: EM goes through all of them hundreds of times
USELESS = 2.0  # two laws are never further apart
CHAIN, ANY = "chain", "every belief"
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
    "2 phases": lambda series: fit_hidden(_latest(series), phases=2),
    "3 phases": lambda series: fit_hidden(_latest(series), phases=3),
}


@dataclass(frozen=True)
class Fitted:
    """A belief from the earlier period, or why there is none, and what the later period says about it."""

    belief: Belief | None
    seconds: float
    verdict: str
    refuted: bool = False


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
    return Found(title, rows, remarks, _picture(rows))


NOTE = (
    "Errors are those of the noise, from 20 draws with a fixed seed: mean, 5 % and 95 %. Group privacy needs no "
    "belief. The check compares each belief with the later period, which only public data allow. Where it refutes a "
    "belief, the noise is too small for the promise to be true of such data, however good the error looks."
)


def _latest(series: Series) -> Series:
    """The last values of a long series, for fits that take long."""
    if series.size <= MOST_FOR_PHASES:
        return series
    kept, left = [], MOST_FOR_PHASES
    for stretch in reversed(list(series.stretches)):
        if left > 0:
            kept.append(np.asarray(stretch)[-left:])
            left -= len(kept[-1])
    return Series.from_codes(kept[::-1], states=series.states)


def _fitted(kind: str, periods: Periods) -> Fitted:
    begun = time.perf_counter()
    try:
        belief = with_step(FITS[kind](periods.before), periods.before.step)
    except QuiltworkError as problem:
        return Fitted(None, time.perf_counter() - begun, f"not fitted: {problem}")
    seconds = time.perf_counter() - begun
    try:
        check = check_belief(belief, periods.after)
    except QuiltworkError as problem:
        return Fitted(belief, seconds, f"not checked: {problem}")
    return Fitted(belief, seconds, check.verdict, check.forgets_too_fast)


def _row(periods: Periods, mechanism: str, belief: str, fitted: Fitted, epsilon: float) -> dict[str, Any]:
    """One line of the table: the noise and its error, or why there is none."""
    row: dict[str, Any] = {"data": periods.name, "values": periods.after.size, "mechanism": mechanism, "belief": belief}
    row |= {"epsilon": epsilon, "noise scale": None, "L1 error": None, "5 %": None, "95 %": None, "seconds": None}
    row |= {"fitted in": None if belief == ANY else fitted.seconds, "check": _checked(belief, fitted), "refused": ""}
    if fitted.belief is None:
        return row | {"refused": fitted.verdict}
    begun = time.perf_counter()
    try:
        request = Request(query=Histogram(), belief=fitted.belief, epsilon=epsilon, mechanism=mechanism)
        calibration = for_series(periods.after, request).calibration
    except NotCoveredError as problem:
        return row | {"seconds": time.perf_counter() - begun, "refused": str(problem)}
    seconds = time.perf_counter() - begun
    scale = calibration.noise_scale / periods.after.size
    noise = laplace_noise(scale, DRAWS * len(periods.after.states), seed=SEED).reshape(DRAWS, -1)
    errors = np.abs(noise).sum(axis=1)
    low, high = np.quantile(errors, (0.05, 0.95)).tolist()
    measured = {"noise scale": scale, "L1 error": float(errors.mean()), "5 %": low, "95 %": high, "seconds": seconds}
    return row | measured | {"mechanism": calibration.mechanism}


def _checked(belief: str, fitted: Fitted) -> str:
    if belief == ANY:
        return "needs none"
    if fitted.belief is None:
        return ""
    return "refuted" if fitted.refuted else "not refuted" if not fitted.verdict.startswith("not checked") else "unknown"


def _said(periods: Periods, fits: dict[str, Fitted]) -> list[str]:
    size = f"{periods.before.size:,} values for the belief, {periods.after.size:,} released"
    return [
        f"{periods.name} ({size}): " + " ".join(f"{kind}: {fitted.verdict}" for kind, fitted in fits.items()),
    ]


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
    """Errors on a logarithmic axis, hollow where the check refutes the belief."""
    points = [
        {
            "data": row["data"],
            "method": _label(row),
            "ε": f"ε = {row['epsilon']:g}",
            "error": row["L1 error"],
            "low": row["5 %"],
            "high": row["95 %"],
            "belief": "refuted by the check" if row["check"] == "refuted" else "not refuted",
        }
        for row in rows
        if row["L1 error"] is not None
    ]
    labels = list(dict.fromkeys(map(_label, rows)))
    base = alt.Chart(alt.NamedData("points")).encode(
        y=alt.Y("method:N", title=None, sort=labels, axis=alt.Axis(labelLimit=220)),
        color=alt.Color(
            "ε:N",
            title=None,
            sort=None,
            scale=alt.Scale(range=[WARNING, "#5d9160", ACCENT]),
            legend=alt.Legend(orient="bottom"),
        ),
    )
    x = alt.X("error:Q", title="L1 error (log axis)", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g"))
    bars = base.mark_rule(size=2).encode(x=x, x2="high:Q").transform_calculate(error="datum.low")
    kinds = ["not refuted", "refuted by the check"]
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x,
        fillOpacity=alt.condition("datum.belief == 'not refuted'", alt.value(1), alt.value(0)),
        stroke=alt.Stroke("ε:N", legend=None, sort=None, scale=alt.Scale(range=[WARNING, "#5d9160", ACCENT])),
        shape=alt.Shape(
            "belief:N",
            title="belief",
            sort=kinds,
            scale=alt.Scale(domain=kinds, range=["circle", "square"]),
            legend=alt.Legend(orient="bottom"),
        ),
    )
    useless = alt.Chart(alt.NamedData("points")).mark_rule(color=QUIET, strokeDash=[6, 4]).encode(x=alt.datum(USELESS))
    panels = [
        alt.layer(useless, bars, dots)
        .transform_filter(f"datum.data == '{name}'")
        .properties(width=250, height=26 * len(labels), title=alt.TitleParams(name, color=INK))
        for name in dict.fromkeys(row["data"] for row in points)
    ]
    return with_rows(styled(alt.hconcat(*panels)), points=points)


def _label(row: dict[str, Any]) -> str:
    names = {"group": "group privacy", "quilt-approx": "approximate quilts", "quilt-exact": "exact quilts"}
    name = names.get(row["mechanism"], row["mechanism"])
    return name if row["belief"] == ANY else f"{name}, {row['belief']}"
