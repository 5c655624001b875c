"""Draw the pictures of the documents again."""

import json
import re
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Count,
    Histogram,
    MarkovChain,
    ReleaseRecord,
    calibrate,
    check_belief,
    plan,
    read_series,
    release,
)
from quiltwork.papers.guessing import HourlyCounts
from quiltwork.papers.reproduce import reproduce_all
from quiltwork.samples import diary_belief, diary_path
from quiltwork.view.charts.fits import memory_chart
from quiltwork.view.charts.losses import noise_chart, posterior_chart, timeline_chart
from quiltwork.view.charts.networks import clique_chart, network_chart
from quiltwork.view.charts.releases import values_chart
from quiltwork.view.charts.style import ACCENT, INK, LINE, PALETTE, QUIET, WARNING, Chart, styled, to_svg

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
HOUR = 4  # values of the diary in an hour
WAYS = {
    "group_with_zcdp": "group privacy, zCDP",
    "quilts_by_theorem_3_7": "quilts (C Theorem 3.7)",
    "laplace_by_sums": "Laplace by sums",
    "laplace_by_squares": "Laplace by squares",
    "gaussian_by_squares": "Gaussian by squares",
}

INSTEAD = {
    "opendp": "OpenDP",
    "diffprivlib": "diffprivlib",
    "group": "group privacy",
    "quilt-approx": "quilts, approx.",
    "quilt-exact": "quilts, exact",
    "wasserstein": "Wasserstein",
    "curve": "influence curve",
    "audited": "least possible",
}
SETTINGS = {
    "mixing": "[[.9, .1], [.4, .6]], count, 1,000 values",
    "sticky": "[[.99, .01], [.02, .98]], count, 1,000 values",
    "ten_states": "10 states, count, 300 values",
    "diary": "sample diary, histogram, 2,688 values",
}
POWERS = [10.0**n for n in range(-3, 10)]
GROWTH = {
    "rows": ("scaling_with_rows", {"rows": "histogram"}),
    "people (20 million rows)": ("scaling_with_people", {"people": "histogram"}),
    "states": (
        "scaling_with_states",
        {"states_curve_rows": "curve, random rows", "states_curve_band": "curve, slow band", "states_quilts": "quilts"},
    ),
    "length, calibration": ("scaling_with_length", {"length_curve": "curve", "length_quilts": "quilts"}),
    "length, exact audit": ("scaling_with_length", {"length_audit": "audit"}),
    "releases": (
        "scaling_with_releases",
        {
            "releases_composed": "segments added up",
            "releases_whole": "added up",
            "releases_ledger": "one more in a ledger",
        },
    ),
}


def main() -> None:
    """Write the pictures of docs/images (histogram, noise, check, loss, network, and others), and the results."""
    belief = diary_belief()
    series = read_series(diary_path(), column="activity", states=belief.states, subject="person", time="time")
    result = release(series, Histogram(), belief=belief, epsilon=1.0)
    made = plan(Histogram(), belief=belief, epsilon=1.0, length=series.longest)
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / "histogram.svg").write_text(to_svg(values_chart(result)), encoding="utf-8")
    (IMAGES / "noise.svg").write_text(to_svg(noise_chart(made)), encoding="utf-8")
    mistaken = MarkovChain(belief.every(4).transition, states=belief.states, step=belief.step)
    checked = check_belief(mistaken, series)
    (IMAGES / "check.svg").write_text(to_svg(memory_chart(checked)), encoding="utf-8")
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    segments = [(1, 140), (100, 240), (1, 300)]
    records = [
        ReleaseRecord(noise_scale=scale, lipschitz=1.0, segment=segment)
        for scale, segment in zip((6.7, 6.7, 10.0), segments, strict=True)
    ]
    losses = Accountant(chain, length=300, releases=records).composed().losses
    meant = posterior_chart({"this release (ε = 1)": 1.0, "the whole budget (ε = 3)": 3.0})
    (IMAGES / "posterior.svg").write_text(to_svg(meant), encoding="utf-8")
    if losses is not None:
        (IMAGES / "loss.svg").write_text(to_svg(timeline_chart(losses, segments, budget=1.5)), encoding="utf-8")
    (IMAGES / "moment.svg").write_text(to_svg(moment_chart()), encoding="utf-8")
    (IMAGES / "many.svg").write_text(to_svg(many_chart()), encoding="utf-8")
    (IMAGES / "instead.svg").write_text(to_svg(instead_chart()), encoding="utf-8")
    (IMAGES / "scaling.svg").write_text(to_svg(scaling_chart()), encoding="utf-8")
    building = sensors()
    found = calibrate(Count("on"), belief=building, epsilon=3.0, mechanism="quilt-exact")
    (IMAGES / "network.svg").write_text(to_svg(network_chart(building, found)), encoding="utf-8")
    found = calibrate(Count("on"), belief=building, epsilon=1.0, mechanism="curve")
    (IMAGES / "reveals.svg").write_text(to_svg(network_chart(building, found)), encoding="utf-8")
    (IMAGES / "cliques.svg").write_text(to_svg(clique_chart(building, found)), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for one in reproduce_all(folder):
            drawn = one.files[2] if one.name == "theorem-3-4" else one.files[1]  # thousands of squares
            shutil.copy(drawn, IMAGES / "results" / drawn.name)


def moment_chart() -> Chart:
    """One day of the sample diary, and what noisy hourly counts reveal to somebody who knows that activities last."""
    belief = diary_belief().with_start("stationary")
    state = belief.states.index("sleep")
    days = pl.read_parquet(diary_path()).filter(pl.col("person") == "p01").sort("time")["activity"]
    asleep = (days[: 24 * HOUR] == "sleep").to_numpy()
    needed = calibrate(Count("sleep"), belief=belief, epsilon=1.0, length=len(asleep)).noise_scale
    nothing, ordinary, private = after = ["nothing", "ordinary noise", "quiltwork's noise"]
    rows = [{"hour": hour, "believed": float(belief.stationary[state]), "after": nothing} for hour in (0.0, 24.0)]
    adversary = HourlyCounts(belief, HOUR, state)
    for name, scale in ((ordinary, 1.0), (private, needed)):
        counts = asleep.reshape(24, HOUR).sum(axis=1) + np.random.default_rng(1).laplace(0.0, scale, 24)
        (believed,) = adversary.posterior(counts[None], noise_scale=scale).tolist()
        rows += [{"hour": (t + 0.5) / HOUR, "believed": p, "after": name} for t, p in enumerate(believed)]
    changes = [0, *(np.flatnonzero(np.diff(asleep)) + 1).tolist(), len(asleep)]
    nights = [{"hour": a / HOUR, "end": b / HOUR} for a, b in pairwise(changes) if asleep[a]]
    hours = alt.X("hour:Q", title="hour of the day", scale=alt.Scale(domain=[0, 24]), axis=alt.Axis(tickCount=9))
    likely = alt.Y("believed:Q", title="how likely the person is asleep", axis=alt.Axis(format="%", tickCount=5))
    colours = alt.Color("after:N", scale=alt.Scale(domain=after, range=[QUIET, WARNING, ACCENT]), legend=None)
    dashes = alt.Scale(domain=after, range=[[4, 4], [1, 0], [1, 0]])
    base = alt.Chart(alt.InlineData(rows)).encode(x=hours, y=likely, color=colours)
    lines = base.mark_line(size=2.5).encode(strokeDash=alt.StrokeDash("after:N", scale=dashes, legend=None))
    places = zip(after, (0.42, 0.06, 0.25), ("before", "with ordinary noise", "with quiltwork's noise"), strict=True)
    words = [{"hour": 9.0, "believed": height, "after": name, "text": text} for name, height, text in places]
    labels = alt.Chart(alt.InlineData(words)).mark_text(align="left", fontSize=13)
    bands = alt.Chart(alt.InlineData(nights)).mark_rect(color=LINE).encode(x=hours, x2="end:Q")
    layers = alt.layer(bands, lines, labels.encode(x=hours, y=likely, color=colours, text="text:N"))
    return styled(layers.properties(width=620, height=240))


def measured(benchmark: str) -> dict[str, Any]:
    """What a benchmark found in its last run."""
    found: dict[str, Any] = json.loads((ROOT / "bench" / "results.json").read_text())[benchmark]
    return found


def instead_chart() -> Chart:
    """The error of everything that one could use, with the privacy loss that is really there."""
    figures, ways = measured("instead_noise_and_true_loss"), list(INSTEAD.values())
    panels = []
    for place, (setting, title) in enumerate(SETTINGS.items()):
        rows: list[dict[str, Any]] = []
        for way, name in INSTEAD.items():
            found = {
                key.removeprefix(f"{setting}_{way}_"): n for key, n in figures.items() if f"{setting}_{way}_" in key
            }
            if "error_95" in found:
                most = found.get("true_epsilon", found.get("true_epsilon_at_most", 0.0))
                label = f"{found.get('true_epsilon_at_least', most):.3g}"
                label += f" to {most:.3g}" if "true_epsilon_at_least" in found else ""
                kind = "more than ε" if most > 1.001 else "within ε"
                rows.append({"way": name, "error": found["error_95"], "kind": kind, "label": f"ε {label}"})
            else:
                rows.append({"way": name, "error": 1.0, "kind": "", "label": "tables too large"})
        axis = alt.Axis(title=None, ticks=False, domain=False, labels=place % 2 == 0)
        base = alt.Chart(alt.InlineData(rows), title=alt.Title(title, color=INK, fontSize=12)).encode(
            y=alt.Y("way:N", sort=ways, axis=axis),
            x=alt.X(
                "error:Q",
                title="± of each number, 95 % (log axis)",
                scale=alt.Scale(type="log", domain=[1, 100_000]),
                axis=alt.Axis(values=[10**n for n in range(6)], format="~s"),
            ),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=["more than ε", "within ε", ""], range=[WARNING, ACCENT, QUIET]),
                legend=None,
            ),
        )
        points = base.transform_filter("datum.kind != ''").mark_point(filled=True, size=70, opacity=1)
        panels.append(
            (points + base.mark_text(align="left", dx=9).encode(text="label:N")).properties(width=270, height=190)
        )
    return styled(alt.concat(*panels, columns=2, spacing=24))


def scaling_chart() -> Chart:
    """How seconds grow with each size, on logarithmic axes."""
    panels = []
    for title, (benchmark, series) in GROWTH.items():
        figures = measured(benchmark)
        rows = [
            {"size": int(found[1]), "seconds": seconds, "series": f"{name} ({figures[f'{key}_exponent']:z.1f})"}
            for key, name in series.items()
            for figure, seconds in figures.items()
            if (found := re.fullmatch(rf"{key}_(\d+)_seconds", figure))
        ]
        names = list(dict.fromkeys(row["series"] for row in rows))
        logarithmic = alt.Scale(type="log")
        base = alt.Chart(alt.InlineData(rows), title=alt.Title(title, color=INK, fontSize=12)).encode(
            x=alt.X("size:Q", title=None, scale=logarithmic, axis=alt.Axis(values=POWERS, format="~s", grid=False)),
            y=alt.Y("seconds:Q", title="seconds", scale=logarithmic, axis=alt.Axis(values=POWERS, format="~g")),
            color=alt.Color(
                "series:N",
                scale=alt.Scale(domain=names, range=list(PALETTE[: len(names)])),
                legend=alt.Legend(title=None, orient="bottom", direction="vertical"),
            ),
        )
        panel = base.mark_line(size=2) + base.mark_point(filled=True, size=45, opacity=1)
        panels.append(panel.properties(width=200, height=150))
    return styled(alt.concat(*panels, columns=3, spacing=20).resolve_scale(color="independent"))


def many_chart() -> Chart:
    """The error of each of K releases within one (ε, δ), as the benchmark measured it."""
    figures = measured("many_releases")
    counts = (1, 10, 100, 1000)
    rows = [
        {"releases": count, "error": figures[f"diary_histogram_{way}_{count}_error_95"], "way": name}
        for way, name in WAYS.items()
        for count in counts
    ]
    colours = alt.Scale(domain=list(WAYS.values()), range=[PALETTE[n] for n in (7, 4, 1, 2, 0)])
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X(
            "releases:Q",
            title="number of releases within ε = 1, δ = 1e-6 (log axis)",
            scale=alt.Scale(type="log", domain=[1, 1000], nice=False),
            axis=alt.Axis(values=list(counts), format=",d"),
        ),
        y=alt.Y(
            "error:Q",
            title="± of each number, 95 % (log axis)",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=[10**n for n in range(2, 8)], format="~s"),
        ),
        color=alt.Color("way:N", scale=colours, legend=None),
    )
    ends = base.transform_filter("datum.releases == 1000").mark_text(align="left", dx=8)
    layers = alt.layer(
        base.mark_line(size=2), base.mark_point(filled=True, size=50, opacity=1), ends.encode(text="way:N")
    )
    return styled(layers.properties(width=400, height=300))


def sensors() -> BayesianNetwork:
    """Sensors in a building: two wings, each sensor following those before it."""
    parents = {
        "hall": ["door"],
        "stairs": ["hall"],
        "office": ["stairs", "badge"],
        "meeting": ["office"],
        "kitchen": ["hall"],
        "lab": ["kitchen", "key"],
        "store": ["lab"],
        "yard": ["store"],
    }
    names = ["door", "badge", "key", *parents]
    follows = np.array([[0.7, 0.3], [0.35, 0.65]])
    both = np.array([[[0.8, 0.2], [0.55, 0.45]], [[0.5, 0.5], [0.25, 0.75]]])
    tables = {n: [None, follows, both][len(parents[n])] if n in parents else np.array([0.6, 0.4]) for n in names}
    return BayesianNetwork(dict.fromkeys(names, ("off", "on")), parents=parents, tables=tables)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
