"""How much noise each mechanism needs: simulations and households of paper A, a grid, a diary, and a false bound."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, MarkovChain, MixingClass
from quiltwork.calibration.calibrate import calibrate
from quiltwork.calibration.plan import plan
from quiltwork.calibration.request import Request
from quiltwork.calibration.series import for_series
from quiltwork.data import Series, read_series
from quiltwork.errors import NotCoveredError
from quiltwork.influence.quilts.spectral import spectral_influence
from quiltwork.influence.quilts.tables import ChainTables
from quiltwork.papers.base import Effort, Found, drawn_frequencies, laplace_error, laplace_noise, reversible_chain
from quiltwork.question import Count, Histogram
from quiltwork.samples import contagion_belief, diary_belief, diary_path, household_network
from quiltwork.types import Floats
from quiltwork.view.charts import alt
from quiltwork.view.charts.losses import noise_chart
from quiltwork.view.charts.style import (
    ACCENT,
    INK,
    QUIET,
    WARNING,
    Chart,
    styled,
)

GRID = ("curve", "quilt-exact", "quilt-approx", "gk16", "group", "wasserstein", "audited")
HOUSEHOLDS = ("wasserstein", "quilt-exact", "group", "audited", "entry")
SEED = 2016


def figure_2(effort: Effort) -> Found:
    """L1 error of a private histogram of frequencies against ε (A Figure 2), and what curve and exact quilts need."""
    chain = reversible_chain(5, pi_min=0.05, gap=0.1, seed=SEED)
    epsilons = (0.2, 1.0, 5.0) if effort.quick else (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    usual: dict[str, float] = {"pi_est": 0.05, "g_est": 0.1, "T": 10_000}
    panels = {"pi_est": (0.01, 0.02, 0.05), "g_est": (0.02, 0.05, 0.1), "T": (3_000, 10_000, 30_000)}
    rows: list[dict[str, Any]] = []
    times = 50 if effort.quick else 100
    lengths = sorted({int(usual["T"]), *(int(length) for length in panels["T"])})
    data = {length: drawn_frequencies(chain, length, repetitions=times, seed=SEED) for length in lengths}
    for n, (panel, values) in enumerate(panels.items()):
        for value in values:
            chosen = usual | {panel: value}
            mixing = MixingClass(states=5, pi_min=chosen["pi_est"], gap=chosen["g_est"], reversible=True)
            shares = data[int(chosen["T"])]
            rows += _errors(panel, f"{value:g}", mixing, "quilt-approx", int(chosen["T"]), epsilons, shares)
        effort.done((n + 0.5) / 3)
        for mechanism in ("quilt-exact", "curve"):
            rows += _errors(panel, mechanism, chain, mechanism, int(usual["T"]), epsilons, data[int(usual["T"])])
        effort.done((n + 1) / 3)
    best = {name: _at(rows, "T", name, epsilons[0]) for name in ("10000", "quilt-exact", "curve")}
    remarks = [
        "The error falls as ε, the assumed least probability, the assumed gap and the length grow; the gap matters "
        "more than the least probability.",
        f"Knowing the chain instead of its class, at ε = {epsilons[0]:g}: {best['quilt-exact']:.4g} by exact quilts, "
        f"{best['curve']:.4g} by the influence curve, against {best['10000']:.4g} (the paper has neither line).",
        "The data are series of the chain with a start drawn uniformly from all laws, as in the paper. The error is "
        "that of the noise alone, whatever the data.",
    ]
    return Found("L1 error of private frequencies, k = 5 (Figure 2 of paper A)", rows, remarks, _panels(rows))


def _errors(
    panel: str, line: str, belief: Belief, mechanism: str, length: int, epsilons: Sequence[float], shares: Floats
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for n, epsilon in enumerate(epsilons):
        calibration = calibrate(Histogram(), belief=belief, epsilon=epsilon, length=length, mechanism=mechanism)
        error = laplace_error(calibration.noise_scale / length, shares, seed=SEED + n)
        row = {"panel": panel, "line": line, "epsilon": epsilon, "noise scale": calibration.noise_scale}
        rows.append(row | {"L1 error": error})
    return rows


def _at(rows: list[dict[str, Any]], panel: str, line: str, epsilon: float) -> float:
    return next(
        float(row["L1 error"]) for row in rows if (row["panel"], row["line"], row["epsilon"]) == (panel, line, epsilon)
    )


def _panels(rows: list[dict[str, Any]]) -> Chart:
    charts = []
    for panel in dict.fromkeys(row["panel"] for row in rows):
        panel_rows = [row for row in rows if row["panel"] == panel]
        lines = list(dict.fromkeys(row["line"] for row in panel_rows))
        colours = [WARNING, "#d9a441", "#7a9e4e", QUIET, ACCENT]
        charts.append(
            alt.Chart(alt.InlineData(panel_rows), title=f"by {panel}")
            .mark_line(point=True)
            .encode(
                x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log")),
                y=alt.Y("L1 error:Q", title="L1 error", scale=alt.Scale(type="log")),
                color=alt.Color(
                    "line:N",
                    title=None,
                    sort=lines,
                    scale=alt.Scale(domain=lines, range=colours),
                    legend=alt.Legend(orient="bottom", columns=2),
                ),
            )
            .properties(width=240, height=260)
        )
    return styled(alt.hconcat(*charts).resolve_scale(color="independent"))


def binary_grid(effort: Effort) -> Found:
    """Noise of a count, T = 100 and ε = 1, for chains that stay in state 0 with chance p and in state 1 with q."""
    chances = (0.2, 0.5, 0.8) if effort.quick else tuple(n / 10 for n in range(1, 10))
    rows: list[dict[str, Any]] = []
    for n, p in enumerate(chances):
        effort.done(n / len(chances))
        for q in chances:
            chain = MarkovChain([[p, 1 - p], [1 - q, q]], initial="stationary")
            planned = plan(Count("1"), belief=chain, epsilon=1.0, length=100, mechanisms=GRID)
            rows.append({"p": p, "q": q} | {offer.mechanism: offer.noise_scale for offer in planned.offers})
    ratios = {name: [row[name] / row["audited"] for row in rows if row[name]] for name in GRID[:-1]}
    remarks = [
        "Times the least possible noise, at the median and at most: "
        + "; ".join(
            f"{name} {np.median(multiples):.3g}, {max(multiples):.3g}"
            for name, multiples in ratios.items()
            if multiples
        )
        + ".",
        f"gk16 applies to {len(ratios['gk16'])} of the {len(rows)} chains.",
    ]
    return Found("Noise of a count, two states, T = 100, ε = 1", rows, remarks, _ratio_maps(rows))


def _ratio_maps(rows: list[dict[str, Any]]) -> Chart:
    data = [
        {"p": row["p"], "q": row["q"], "mechanism": name, "ratio": row[name] / row["audited"]}
        for row in rows
        for name in GRID[:-1]
        if row[name]
    ]
    maps = (
        alt.Chart(alt.InlineData(data))
        .mark_rect()
        .encode(
            x=alt.X("p:O", title="p: 0 stays 0"),
            y=alt.Y("q:O", title="q: 1 stays 1", sort="descending"),
            color=alt.Color("ratio:Q", title="× least", scale=alt.Scale(type="log", scheme="oranges")),
        )
        .properties(width=170, height=170)
        .facet(alt.Facet("mechanism:N", title=None, sort=list(GRID)), columns=3)
    )
    return styled(maps)


def gap_counterexample(effort: Effort) -> Found:  # noqa: ARG001 - it takes no time
    """C Lemma 2.3 with the repeated eigenvalue 1 left out, as printed, against the true influence (theory 7.2)."""
    chain = MarkovChain([[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]])
    far = 60
    printed = spectral_influence(np.arange(1, far + 1), pi_min=chain.pi_min, gap=0.75, reversible=False)
    tables = ChainTables(chain.transition)
    tables.extend(far)
    truth = tables.right(far).max(axis=1)
    rows = [
        {"distance": d + 1, "printed bound": float(printed[d]), "true influence": float(truth[d])}
        for d in range(far)
        if printed[d] < 100 and truth[d] < 100
    ]
    at = {row["distance"]: row for row in rows}[40]
    first = next(row["distance"] for row in rows if row["printed bound"] < row["true influence"])
    remarks = [
        "P P* has the eigenvalues 1, 1 and 0.25. Skipping the second 1 gives the gap 0.75 and a bound that is false "
        f"from distance {first} on: at 40 it is {at['printed bound']:.3g}, the truth is {at['true influence']:.3g}.",
        "With its multiplicity counted the gap is 0: the lemma does not apply, and quiltwork says so.",
    ]
    data = [
        {"distance": row["distance"], "what": name, "influence": row[name]}
        for row in rows
        for name in ("printed bound", "true influence")
    ]
    chart = (
        alt.Chart(alt.InlineData(data))
        .mark_line()
        .encode(
            x=alt.X("distance:Q", title="distance"),
            y=alt.Y("influence:Q", title="influence", scale=alt.Scale(type="log")),
            color=alt.Color("what:N", title=None, scale=alt.Scale(range=[WARNING, INK])),
        )
    )
    title = "A spectral bound that is false if a repeated eigenvalue is skipped"
    return Found(title, rows, remarks, styled(chart.properties(width=560, height=320)))


SIMULATED = (
    "The true shares are shown because the diary is simulated, and the noise has a fixed seed: this is a picture, "
    "not a release. Do not publish it of your own data."
)
OWN_DATA = (
    "This shows true shares of your own data, without noise, and noise that anybody can take away again, for its seed "
    "is fixed. Do not publish the table or the figures; quiltwork release makes numbers that may be published."
)


def activity(effort: Effort, series: Series | None = None, belief: Belief | None = None) -> Found:
    """True and private frequencies of a diary side by side, for each mechanism and ε."""
    held, own = belief if belief is not None else diary_belief(), series is not None
    if series is None:
        series = read_series(diary_path(), column="activity", states=held.states, subject="person", time="time")
    truth = series.counts() / series.size
    epsilons = (0.2, 1.0, 5.0)
    rows: list[dict[str, Any]] = []
    for n, mechanism in enumerate(("curve", "quilt-exact", "quilt-approx", "group")):
        for epsilon in epsilons:
            effort.done((n + epsilons.index(epsilon) / 3) / 4)
            try:
                request = Request(query=Histogram(), belief=held, epsilon=epsilon, mechanism=mechanism)
                calibration = for_series(series, request).calibration
            except NotCoveredError:
                continue
            scale = calibration.noise_scale / series.size
            noise = laplace_noise(scale, len(truth), seed=SEED + len(rows))
            for state, true, noisy in zip(series.states, truth.tolist(), (truth + noise).tolist(), strict=True):
                row = {"mechanism": mechanism, "epsilon": epsilon, "state": state, "true": true}
                rows.append(row | {"private": noisy, "noise scale": scale})
    remarks = [OWN_DATA if own else SIMULATED]
    title = f"{'True and private' if own else 'Private'} frequencies of {series.size:,} values"
    return Found(title, rows, remarks, _side_by_side(rows))


def _side_by_side(rows: list[dict[str, Any]]) -> Chart:
    data = [
        {"row": f"{row['mechanism']}, ε = {row['epsilon']:g}", "state": row["state"], "kind": kind, "share": row[kind]}
        for row in rows
        for kind in ("true", "private")
        if math.isfinite(row[kind])
    ]
    order = list(dict.fromkeys(row["row"] for row in data))
    bars = (
        alt.Chart(alt.InlineData(data))
        .mark_bar()
        .encode(
            x=alt.X("state:N", sort=None, title=None),
            xOffset=alt.XOffset("kind:N", sort=["true", "private"]),
            y=alt.Y("share:Q", title=None),
            color=alt.Color("kind:N", title=None, sort=["true", "private"], scale=alt.Scale(range=[ACCENT, QUIET])),
        )
        .properties(width=190, height=120)
        .facet(alt.Facet("row:N", title=None, sort=order), columns=3)
        .resolve_scale(y="independent")
    )
    return styled(bars)


def contagion(effort: Effort) -> Found:  # noqa: ARG001 - it takes no time
    """How much noise hides who has the flu: in one household of four, and in a street (A section 2 and 3)."""
    street = household_network(
        {
            ("ann", "bob", "cem", "dea"): (0.1, 0.15, 0.5, 0.15, 0.1),
            ("eve", "fay"): (0.6, 0.1, 0.3),
            ("gus", "hal", "ida"): (0.5, 0.2, 0.2, 0.1),
            ("jim",): (0.9, 0.1),
        }
    )
    beliefs = {"one household of four": contagion_belief(), "four households, ten people": street}
    plans = {
        name: plan(Count("yes"), belief=belief, epsilon=1.0, mechanisms=HOUSEHOLDS) for name, belief in beliefs.items()
    }
    rows = [
        {
            "households": name,
            "mechanism": offer.mechanism,
            "noise scale": offer.noise_scale,
            "guarantee": None if offer.calibration is None else offer.calibration.guarantee,
        }
        for name, planned in plans.items()
        for offer in planned.offers
    ]
    remarks = [
        "Given one person's status the number of infected people in their household has laws that are 2 apart "
        "(Wasserstein), while group privacy covers all 4.",
        "Households are independent of each other, so a street needs no more noise than its most demanding household. "
        "In a clique nobody is cut off by a quilt; still two of the others may serve as one, if they tell little.",
    ]
    return Found("Number of people with flu, ε = 1", rows, remarks, noise_chart(plans["one household of four"]))
