"""Attacks: how often an adversary who knows the chain guesses a value, against what each release promises."""

import math
from typing import Any

import numpy as np

from quiltwork.auditor import Noisy, audit
from quiltwork.beliefs import MarkovChain
from quiltwork.beliefs.secrets import likely
from quiltwork.calibration.calibrate import calibrate
from quiltwork.fitting.made_up import made_up
from quiltwork.papers.base import Effort, Found, laplace_noise
from quiltwork.papers.guessing import HourlyCounts, best_success, success_from_count
from quiltwork.question import Count
from quiltwork.types import Codes, Floats
from quiltwork.view.charts import alt
from quiltwork.view.charts.style import (
    ACCENT,
    INK,
    QUIET,
    WARNING,
    Chart,
    styled,
    with_rows,
)

STAY = 120  # minutes that somebody is at home, or away, on average
HOUR, HOURS = 60, 24
DAYS, FEW_DAYS, SEED = 200, 40, 2016
HOME = "home"
RELEASES = {"entry": "ordinary DP, one record", "curve": "quiltwork, curve"}
ONE, DAY = "an hour", "a day"  # one count; a count for each hour
PROMISED = "promised: at most"
EPSILONS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
SHOWN = 1.0  # the ε of the day in the picture


def slow_home() -> MarkovChain:
    """Whether somebody is at home, by the minute: both stays last two hours on average.

    >>> slow_home().stationary.tolist()
    [0.5, 0.5]
    """
    leave = 1 / STAY
    table = [[1 - leave, leave], [leave, 1 - leave]]
    return MarkovChain(table, states=["away", HOME], initial="stationary", step="1min")


def noise_of(chain: MarkovChain, mechanism: str, epsilon: float, length: int) -> float:
    """The noise scale of a count.

    Counts of separate windows that cover a series need the same: a value changes one of them, by 1.

    >>> round(noise_of(slow_home(), "entry", 0.5, 60), 9)
    2.0
    """
    return calibrate(Count(HOME), belief=chain, epsilon=epsilon, length=length, mechanism=mechanism).noise_scale


def attack(effort: Effort) -> Found:
    """The best guess of single minutes from noisy counts of minutes at home: entry-level noise, and the curve's."""
    chain = slow_home()
    epsilons = (0.2, 1.0, 3.0) if effort.quick else EPSILONS
    series = made_up(chain, length=HOUR * HOURS, people=FEW_DAYS if effort.quick else DAYS, seed=SEED)
    days: Codes = np.stack([np.asarray(stretch) for stretch in series.stretches])
    counted, rows, lines = HourlyCounts(chain, HOUR, 1), [], {}
    for n, (mechanism, epsilon) in enumerate((name, epsilon) for name in RELEASES for epsilon in epsilons):
        effort.done(n / (len(RELEASES) * len(epsilons)))
        rows.append(_one_count(chain, mechanism, epsilon))
        scale = noise_of(chain, mechanism, epsilon, HOUR * HOURS)
        noise = laplace_noise(scale, len(days) * HOURS, seed=SEED).reshape(len(days), HOURS)
        posterior = counted.posterior(counted.counts(days) + noise, noise_scale=scale)
        rows.append(_every_minute(mechanism, epsilon, scale, posterior, days))
        if epsilon == SHOWN:
            lines[mechanism] = posterior[0]
    title = "Guessing one minute from noisy counts: success against what is promised"
    return Found(title, rows, _remarks(rows), _picture(rows, lines, days[0]), _brief(rows))


def _row(release: str, mechanism: str, epsilon: float, scale: float, **measured: float | None) -> dict[str, Any]:
    return {
        "release": release,
        "mechanism": mechanism,
        "epsilon": epsilon,
        "noise scale": scale,
        "bound": best_success(epsilon),
        **measured,
    }


def _one_count(chain: MarkovChain, mechanism: str, epsilon: float) -> dict[str, Any]:
    """Exact: the minute that is easiest to guess, and the largest posterior odds of any output."""
    scale = noise_of(chain, mechanism, epsilon, HOUR)
    success = float(success_from_count(chain, HOUR, scale).max())
    odds = audit(chain, [Noisy(Count(HOME), scale)], length=HOUR).epsilon
    measured = {"success": success, "guessed right": None, "advantage": 2 * success - 1, "log odds": odds}
    return _row(ONE, mechanism, epsilon, scale, **measured)


def _every_minute(mechanism: str, epsilon: float, scale: float, posterior: Floats, days: Codes) -> dict[str, Any]:
    """Simulated days, all their minutes guessed by the exact posterior; the largest odds that were seen."""
    likelier = np.maximum(posterior, 1 - posterior)
    right = float(((posterior > 0.5) == (days == 1)).mean())
    success, largest = float(likelier.mean()), float(likelier.max())
    odds = math.log(largest / (1 - largest)) if largest < 1 else math.inf
    measured = {"success": success, "guessed right": right, "advantage": 2 * success - 1, "log odds": odds}
    return _row(DAY, mechanism, epsilon, scale, **measured)


def _brief(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both releases side by side."""
    success = {(row["release"], row["mechanism"], row["epsilon"]): row["success"] for row in rows}
    return [
        {"counts of": row["release"], "ε": row["epsilon"], "bound": likely(row["bound"])}
        | {name: _percent(success[row["release"], name, row["epsilon"]]) for name in RELEASES}
        for row in sorted(rows, key=lambda row: row["release"] == DAY)
        if row["mechanism"] == "entry"
    ]


def _percent(measured: float) -> str:
    return f"{100 * measured:.1f} %"


def _remarks(rows: list[dict[str, Any]]) -> list[str]:
    at = {(row["release"], row["mechanism"]): row for row in rows if row["epsilon"] == SHOWN}
    ordinary, ours = at[DAY, "entry"], at[DAY, "curve"]
    return [
        f"At ε = {SHOWN:g} a promise about each minute allows {likely(ordinary['bound'])} right guesses. Hourly "
        f"counts with noise for one record: {_percent(ordinary['success'])}; by the influence curve: "
        f"{_percent(ours['success'])}.",
        f"One count of an hour, the easiest minute: {_percent(at[ONE, 'entry']['success'])} and "
        f"{_percent(at[ONE, 'curve']['success'])}. The exact loss is {at[ONE, 'entry']['log odds']:.4g} and "
        f"{at[ONE, 'curve']['log odds']:.4g}.",
        "Ordinary differential privacy keeps its word: it hides what one record adds if all others stay the same. "
        "Here the others do not stay the same, because somebody who is at home stays there.",
    ]


def _picture(rows: list[dict[str, Any]], lines: dict[str, Floats], day: Codes) -> Chart:
    panels = alt.hconcat(_rates("one", "One count of an hour"), _rates("day", "A count for each hour of a day"))
    told = [
        {"hour": n / HOUR, "chance": float(chance), "line": RELEASES[mechanism]}
        for mechanism, line in lines.items()
        for n, chance in enumerate(line)
        if n % 3 == 0
    ]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (day == 1).astype(int), [0]])))
    stays = [{"hour": first / HOUR, "end": last / HOUR} for first, last in edges.reshape(-1, 2).tolist()]
    chart = styled(alt.vconcat(panels, _day()).resolve_scale(color="independent"))
    return with_rows(chart, one=_points(rows, ONE), day=_points(rows, DAY), told=told, stays=stays)


def _points(rows: list[dict[str, Any]], release: str) -> list[dict[str, Any]]:
    own = [row for row in rows if row["release"] == release]
    points = [{"ε": row["epsilon"], "success": row["success"], "line": RELEASES[row["mechanism"]]} for row in own]
    ends = min(row["epsilon"] for row in own), max(row["epsilon"] for row in own)
    along = np.geomspace(*ends, 40).tolist()
    return points + [{"ε": epsilon, "success": best_success(epsilon), "line": PROMISED} for epsilon in along]


def _rates(named: str, title: str) -> Chart:
    """Success against ε, and the line that the promise draws."""
    names = [RELEASES["entry"], PROMISED, RELEASES["curve"]]
    base = alt.Chart(alt.NamedData(named), title=title).encode(
        x=alt.X("ε:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 3])),
        y=alt.Y(
            "success:Q", title="right guesses", scale=alt.Scale(domain=[0.5, 1]), axis=alt.Axis(format="%", tickCount=5)
        ),
        color=alt.Color(
            "line:N",
            title=None,
            sort=names,
            scale=alt.Scale(domain=names, range=[WARNING, INK, ACCENT]),
            legend=alt.Legend(orient="bottom") if named == "one" else None,
        ),
    )
    promised = base.transform_filter(f"datum.line == '{PROMISED}'").mark_line(strokeDash=[6, 4])
    measured = base.transform_filter(f"datum.line != '{PROMISED}'").mark_line(point=True)
    return alt.layer(promised, measured).properties(width=300, height=240)


def _day() -> Chart:
    """One simulated day: where somebody was at home, and what the adversary believes minute by minute."""
    names = [RELEASES["entry"], RELEASES["curve"]]
    x = alt.X(
        "hour:Q", title="hour of one simulated day (grey: at home)", scale=alt.Scale(domain=[0, HOURS], nice=False)
    )
    home = alt.Chart(alt.NamedData("stays")).mark_rect(color=QUIET, opacity=0.25).encode(x=x, x2="end:Q")
    bounds = [{"chance": best_success(sign * SHOWN)} for sign in (1, -1)]
    limits = alt.Chart(alt.InlineData(bounds)).mark_rule(color=INK, strokeDash=[6, 4]).encode(y="chance:Q")
    told = (
        alt.Chart(alt.NamedData("told"), title=f"What the hourly counts tell at ε = {SHOWN:g}")
        .mark_line(size=1.5)
        .encode(
            x=x,
            y=alt.Y(
                "chance:Q",
                title="posterior of “at home”",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=5),
            ),
            color=alt.Color("line:N", legend=None, scale=alt.Scale(domain=names, range=[WARNING, ACCENT])),
        )
    )
    return alt.layer(home, told, limits).properties(width=660, height=170)
