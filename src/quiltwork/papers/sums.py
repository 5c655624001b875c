"""When releases add up, and when they do not: paper C, and Bayesian differential privacy (docs/theory/errata.md)."""

import itertools
import math
from typing import Any

import numpy as np

from quiltwork.accounting.accountant import Accountant
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.auditor import Noisy, audit, audit_mechanism, leakage
from quiltwork.beliefs import JointTable, MarkovChain
from quiltwork.calibration.calibrate import calibrate
from quiltwork.calibration.record import Calibration
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.papers.base import Effort, Found
from quiltwork.question import Count
from quiltwork.view.charts import alt
from quiltwork.view.charts.losses import promises_chart
from quiltwork.view.charts.style import ACCENT, QUIET, WARNING, Chart, styled

APART = 1 - np.eye(2)
WIDTH = 24  # of a segment, so that its active quilt is two-sided
STICKY = [[0.9, 0.1], [0.4, 0.6]]


def theorem_3_4(effort: Effort) -> Found:
    """Two releases of X_1 + X_2 with Laplace noise of scale 1: more is told than twice what one tells (C Thm 3.4)."""
    p, q = 0.9, 0.01
    single = {w: _one(p, q, w) for w in np.linspace(-1, 3, 161)}
    alone, both = _most(p, q)
    side = 20 if effort.quick else 50
    chances = (np.arange(side) + 0.5) / side
    rows: list[dict[str, Any]] = []
    for n, a in enumerate(chances):
        effort.done(n / side)
        for b in chances:
            s, d = _most(float(a), float(b))
            rows.append({"p": round(float(a), 4), "q": round(float(b), 4), "one": s, "two": d, "excess": d - 2 * s})
    excess = [row["excess"] for row in rows]
    remarks = [
        f"p = P(X_2=1|X_1=1) = {p}, q = P(X_2=1|X_1=0) = {q}: one release tells S = {alone:.7f} about X_1, two tell "
        f"D = {both:.7f}, which is more than 2 S = {2 * alone:.7f}.",
        f"Adding fails in {sum(e > 1e-12 for e in excess) / len(excess):.0%} of the square of (p, q), by up to "
        f"{max(excess):.4f}.",
    ]
    return Found("Releases do not add up: Theorem 3.4", rows, remarks, _theorem_chart(single, rows, p, q))


def _density(w: float, chance: float, first: int) -> float:
    """P(w | X_1), up to a factor: Laplace noise of scale 1 on X_1 + X_2."""
    return (1 - chance) * math.exp(-abs(w - first)) + chance * math.exp(-abs(w - first - 1))


def _one(p: float, q: float, w: float) -> float:
    """S(w): what one output tells about X_1."""
    return math.log(_density(w, p, 1) / _density(w, q, 0))


def _joint(p: float, q: float, w: float, v: float) -> float:
    """D(w, v): what two outputs tell together."""

    def both(chance: float, first: int) -> float:
        return (1 - chance) * math.exp(-abs(w - first) - abs(v - first)) + chance * math.exp(
            -abs(w - first - 1) - abs(v - first - 1)
        )

    return math.log(both(p, 1) / both(q, 0))


def _most(p: float, q: float) -> tuple[float, float]:
    """The most that one and that two outputs tell; ratios are monotone between the values that a sum can have."""
    sums = (0.0, 1.0, 2.0)
    return (
        max(abs(_one(p, q, w)) for w in sums),
        max(abs(_joint(p, q, w, v)) for w, v in itertools.product(sums, repeat=2)),
    )


def _theorem_chart(single: dict[float, float], rows: list[dict[str, Any]], p: float, q: float) -> Chart:
    line = (
        alt.Chart(alt.InlineData([{"w": float(w), "S": s} for w, s in single.items()]), title="S(w), one release")
        .mark_line(color=ACCENT)
        .encode(x=alt.X("w:Q", title="output w"), y=alt.Y("S:Q", title="log-ratio"))
        .properties(width=240, height=240)
    )
    grid = np.linspace(-0.5, 2.5, 31)
    joint = [{"w": float(w), "v": float(v), "D": _joint(p, q, w, v)} for w, v in itertools.product(grid, repeat=2)]
    surface = _map(joint, "D(w, w'), two releases", {"w": "w", "v": "w'", "D": "log-ratio"}, ".1f")
    chances = {"p": "p = P(X2=1 given X1=1)", "q": "q = P(X2=1 given X1=0)", "excess": "excess"}
    region = _map(rows, "D - 2 S: above 0, adding fails", chances, ".2f")
    return styled(alt.hconcat(line, surface, region).resolve_scale(color="independent"))


def _map(rows: list[dict[str, Any]], title: str, names: dict[str, str], form: str) -> Any:
    """A colour for each place; ``names`` are the columns across, up and of the colour, and what they are called."""
    (x, across), (y, up), (z, colour) = names.items()
    axis = alt.Axis(format=form, labelOverlap=True)
    shown = alt.Chart(alt.InlineData(rows), title=title).mark_rect()
    return shown.encode(
        x=alt.X(f"{x}:O", title=across, axis=axis),
        y=alt.Y(f"{y}:O", title=up, sort="descending", axis=axis),
        color=alt.Color(f"{z}:Q", title=colour, scale=alt.Scale(scheme="blueorange", domainMid=0)),
    ).properties(width=240, height=240)


def parallel(effort: Effort) -> Found:
    """Two segments further and further apart: Theorem 3.1 as printed and corrected, 3.3, the curve, and the truth."""
    rows = [_example_7_1()]
    chain = MarkovChain(STICKY, initial="stationary")
    calibration = calibrate(Count("1"), belief=chain, epsilon=1.0, length=WIDTH, mechanism="quilt-approx")
    gaps = (1, 2, 5, 10, 30) if effort.quick else (*range(1, 11), 12, 15, 20, 25, 30)
    for n, gap in enumerate(gaps):
        effort.done(n / len(gaps))
        rows.append(_segments(chain, calibration, WIDTH, gap))
    below = [row for row in rows if row["printed 3.1"] < row["exact"]]
    remarks = [
        "In the first row (a chain that nearly forgets, ε = 10 and 8) the theorem as printed promises "
        f"{rows[0]['printed 3.1']:.4f} where {rows[0]['exact']:.4f} can be told; corrected it promises "
        f"{rows[0]['corrected 3.1']:.4f}.",
        f"As printed it is below the truth in {len(below)} of {len(rows)} rows; corrected never. The influence curve "
        "is the smallest bound in all others.",
    ]
    return Found("Separate segments: what two releases tell together", rows, remarks, _lines(rows[1:], "gap", PARALLEL))


PARALLEL = ("printed 3.1", "corrected 3.1", "3.3", "influence curve", "exact")


def _example_7_1() -> dict[str, Any]:
    """One value on either side, released by randomised response (docs/theory/errata.md)."""
    P = np.array([[0.999, 0.001], [0.99, 0.01]])
    outcomes = [((str(x), str(y)), 0.5 * float(P[x, y])) for x, y in itertools.product(range(2), repeat=2)]
    law = 0.5 * P  # of both values, for they are equally likely on the left
    forward = float(np.abs(np.log(P[0] / P[1])).max())
    back = law / law.sum(axis=0)
    backward = float(np.abs(np.log(back[:, 0] / back[:, 1])).max())
    return _parallel_row(
        "7.1",
        10.0,
        8.0,
        forward,
        backward,
        None,
        None,
        audit_mechanism(JointTable({"x": "01", "y": "01"}, outcomes), _responses(10.0, 8.0)).epsilon,
    )


def _responses(one: float, other: float) -> dict[tuple[str, str], list[float]]:
    """Two values, each released by randomised response: how likely each pair of outputs is, given each pair."""
    keep = [math.exp(epsilon) / (1 + math.exp(epsilon)) for epsilon in (one, other)]
    response = [{"0": [k, 1 - k], "1": [1 - k, k]} for k in keep]
    pairs = itertools.product("01", repeat=2)
    return {(a, b): [p * q for p in response[0][a] for q in response[1][b]] for a, b in pairs}


def _segments(chain: MarkovChain, calibration: Calibration, width: int, gap: int) -> dict[str, Any]:
    """Counts on [1, width] and on as many values, ``gap`` steps later."""
    length = 2 * width + gap - 1
    second = (width + gap, length)
    P = np.linalg.matrix_power(np.asarray(chain.transition), gap)
    forward = float(np.log(P[:, None, :] / P[None, :, :]).max())
    pi = np.asarray(chain.stationary)
    back = (pi[:, None] * P) / (pi @ P)  # P(X_T2 = row | X_T3 = column)
    backward = float(np.log(back[:, :, None] / back[:, None, :]).max())
    profile = Profile.of(
        [(APART / calibration.noise_scale, (1, width)), (APART / calibration.noise_scale, second)], length=length
    )
    curve = loss_along_time(chain, profile).epsilon
    seen = [Noisy(Count("1"), calibration.noise_scale, segment=part) for part in ((1, width), second)]
    exact = audit(chain, seen, length=length).epsilon
    records = [
        ReleaseRecord(
            mechanism="quilt-approx", epsilon=1.0, noise_scale=calibration.noise_scale, lipschitz=1.0, segment=part
        )
        for part in ((1, width), second)
    ]
    rules = Accountant(chain, length=length, releases=records).composed().rules
    far = next(rule.epsilon for rule in rules if rule.rule == "far-segments")
    return _parallel_row(gap, 1.0, 1.0, forward, backward, far, curve, exact)


def _parallel_row(
    gap: object,
    a: float,
    b: float,
    forward: float,
    backward: float,
    far: float | None,
    curve: float | None,
    exact: float,
) -> dict[str, Any]:
    """``forward`` is e(X_T3 | X_T2), ``backward`` e(X_T2 | X_T3)."""
    together = a + b
    return {
        "gap": gap,
        "printed 3.1": max(min(together, a + backward), min(together, b + forward)),
        "corrected 3.1": max(min(together, a + forward), min(together, b + backward)),
        "3.3": far,
        "influence curve": curve,
        "exact": exact,
    }


def sequential(effort: Effort) -> Found:
    """K counts of the same series: C 2.6, C 3.7, the influence curve, and the exact loss where it can be computed."""
    chain, length = MarkovChain(STICKY, initial="stationary"), 30
    calibration = calibrate(Count("1"), belief=chain, epsilon=0.5, length=length, mechanism="quilt-exact")
    most = 8 if effort.quick else 20
    audited = 2 if effort.quick else 3
    record = ReleaseRecord(mechanism="quilt-exact", epsilon=0.5, noise_scale=calibration.noise_scale, lipschitz=1.0)
    rows: list[dict[str, Any]] = []
    for count in range(1, most + 1):
        effort.done((count - 1) / most)
        composed = Accountant(chain, length=length, releases=[record] * count).composed()
        bounds = {rule.rule: rule.epsilon for rule in composed.rules}
        seen = [Noisy(Count("1"), calibration.noise_scale)] * count
        rows.append(
            {
                "releases": count,
                "C 3.7 (sum)": bounds["sequential-quilt"],
                "C 2.6 (same quilts)": bounds["same-quilts"],
                "influence curve": bounds["influence-curve"],
                "exact": audit(chain, seen, length=length).epsilon if count <= audited else None,
            }
        )
    last = rows[-1]
    remarks = [
        f"{most} releases of ε = 0.5 by quilts: the theorems promise {last['C 3.7 (sum)']:g}, the influence curve "
        f"{last['influence curve']:.4g}, {last['C 3.7 (sum)'] / last['influence curve']:.3g} times less.",
    ]
    names = ("C 3.7 (sum)", "C 2.6 (same quilts)", "influence curve", "exact")
    return Found("K releases of one series, ε = 0.5 each by quilts", rows, remarks, _lines(rows, "releases", names))


def _lines(rows: list[dict[str, Any]], along: str, names: tuple[str, ...]) -> Chart:
    """A line for each bound."""
    data = [
        {along: row[along], "bound": name, "ε": row[name]} for row in rows for name in names if row[name] is not None
    ]
    colours = [WARNING, QUIET, "#7a9e4e", ACCENT, "#22304a"][-len(names) :]
    chart = (
        alt.Chart(alt.InlineData(data))
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{along}:Q", title=along),
            y=alt.Y("ε:Q", title="ε together"),
            color=alt.Color(
                "bound:N", title=None, sort=list(names), scale=alt.Scale(domain=list(names), range=colours)
            ),
        )
    )
    return styled(chart.properties(width=560, height=320))


def bayesian_counterexamples(effort: Effort) -> Found:  # noqa: ARG001 - it takes no time
    """What two printed theorems promise that are false, what truly leaks, and what the projective curve says."""
    rows = [_two_counts(), _two_responses()]
    remarks = [
        "Adding needs results that are independent given what is known; here both see the same unknown value.",
        "Separate parts cost no more than the dearest only if they are independent; here one value tells the other.",
        "quiltwork adds profiles instead, and bounds what they leak to every adversary by the projective curve.",
    ]
    title = "Bayesian differential privacy: the printed composition theorems and the truth"
    return Found(title, rows, remarks, promises_chart(rows))


def _two_counts() -> dict[str, Any]:
    """Two counts of X_1 + X_2 with Laplace noise of scale 1 (C Theorem 3.4)."""
    chain = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
    noisy = Noisy(Count("1"), 1.0)
    alone, both = (leakage(chain, [noisy] * n, length=2).epsilon for n in (1, 2))
    bound = loss_along_time(chain, Profile.constant(2 * APART, length=2), guarantee="bayesian").epsilon
    return _promised("Theorem 1: two releases add up", alone, 2 * alone, both, bound)


def _two_responses() -> dict[str, Any]:
    """Two values, equal with probability .99, each released by randomised response with ε = 1."""
    same = JointTable({"x": "01", "y": "01"}, [((a, b), 0.495 if a == b else 0.005) for a in "01" for b in "01"])
    truth = audit_mechanism(same, _responses(1.0, 1.0)).epsilon
    chain = MarkovChain([[0.99, 0.01], [0.01, 0.99]], initial=[0.5, 0.5])
    bound = loss_along_time(chain, Profile.constant(APART, length=2), guarantee="bayesian").epsilon
    return _promised("Theorem 2: separate parts cost no more than one", 1.0, 1.0, truth, bound)


def _promised(example: str, alone: float, printed: float, truth: float, bound: float) -> dict[str, Any]:
    return {
        "example": example,
        "one release": round(alone, 6),
        "printed promise": round(printed, 6),
        "true leakage": round(truth, 6),
        "quiltwork": math.ceil(bound * 1e6) / 1e6,
    }
