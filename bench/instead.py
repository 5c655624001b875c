"""What else could be used: noise, the privacy loss that is really there, and time, of every way in one run.

Seconds are processor time, of all threads together: what other programs do on the machine hardly changes it,
if threads of BLAS do not wait for each other (one is enough for matrices of this size).

diffprivlib is not among the dependencies: ``pip install diffprivlib``. If it needs other versions than the lock file
has, install it elsewhere and set DIFFPRIVLIB_PYTHON to that interpreter.
"""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import opendp.prelude as dp
import polars as pl
from chains import band_chain
from temporal import step_epsilon, temporal_leakage
from threadpoolctl import threadpool_limits

from quiltwork import (
    Accountant,
    MarkovChain,
    Noisy,
    NotCoveredError,
    ReleaseRecord,
    entry_epsilon,
    entry_guarantee,
    read_series,
    release,
)
from quiltwork.auditor.exact import scales_in_units, secret_laws
from quiltwork.auditor.loss import exact_loss
from quiltwork.auditor.noisy import each_question
from quiltwork.data import Series
from quiltwork.laws.exact import SecretLaws, Statistic
from quiltwork.samples import diary_belief, diary_path

Row = dict[str, Any]
EPSILON = 1.0
DRAWS = 2000
PARTS: tuple[tuple[Literal["any", "stationary"], int], ...] = (("any", 96), ("stationary", 672))
"""A day and a week of the diary: exact audits of those say what the loss is at least."""
LASTING = ("count:sleep", "count:work")
MECHANISMS = ("group", "gk16", "quilt-approx", "quilt-exact", "wasserstein", "curve", "audited")
DIFFPRIVLIB = Path(__file__).parent / "diffprivlib_draws.py"


@dataclass(frozen=True)
class Case:
    """A belief, what is asked, and data to ask."""

    belief: MarkovChain
    query: str
    length: int
    values: tuple[int, ...]
    series: Series

    @classmethod
    def simulated(cls, transition: Sequence[Sequence[float]], query: str, length: int) -> "Case":
        """A path of a stationary chain."""
        belief, chance = MarkovChain(transition, initial="stationary"), np.random.default_rng(1)
        path = [int(chance.choice(len(belief.states), p=belief.stationary))]
        for _ in range(length - 1):
            path.append(int(chance.choice(len(belief.states), p=belief.transition[path[-1]])))
        series = read_series(pl.DataFrame({"x": [belief.states[n] for n in path]}), column="x", states=belief.states)
        return cls(belief, query, length, tuple(path), series)

    @classmethod
    def diary(cls) -> "Case":
        """The sample diary."""
        belief = diary_belief()
        series = read_series(diary_path(), column="activity", states=belief.states, subject="person", time="time")
        words = pl.read_parquet(diary_path())["activity"].to_list()
        return cls(belief, "histogram", series.longest, tuple(map(belief.states.index, words)), series)

    @property
    def indicators(self) -> list[int]:
        """What a library counts: states by number, or whether a value is the state asked for."""
        if self.query == "histogram":
            return list(self.values)
        wanted = self.belief.states.index(self.query.partition(":")[2])
        return [int(value == wanted) for value in self.values]

    @cached_property
    def audited(self) -> list[tuple[SecretLaws, float]]:
        """Exact laws, and the unit of the noise: of the answer, or of what is audited in its place."""
        if self.query != "histogram":
            return [_laws(self.belief, self.query, self.length)]
        return [_laws(self.belief.with_start(start), query, n) for start, n in PARTS for query in LASTING]

    def true_epsilon(self, scale: float) -> dict[str, float]:
        """The privacy loss of Laplace noise of this scale: exactly, or between an audit and the influence curve."""
        audited = max(exact_loss(laws, np.array([unit * scale])) for laws, unit in self.audited)
        if self.query != "histogram":
            return {"true_epsilon": audited}
        record = ReleaseRecord(noise_scale=scale, lipschitz=2.0)
        at_most = Accountant(self.belief, length=self.length, releases=[record]).composed().epsilon
        rounded = {"true_epsilon_at_least": (audited, ROUND_FLOOR), "true_epsilon_at_most": (at_most, ROUND_CEILING)}
        return {name: three_digits(epsilon, rounding) for name, (epsilon, rounding) in rounded.items()}


def three_digits(number: float, rounding: str) -> float:
    """A bound that can be shown in full, rounded to its safe side.

    >>> three_digits(11.8199, ROUND_FLOOR), three_digits(19.381, ROUND_CEILING)
    (11.8, 19.4)
    """
    exact = Decimal(repr(number))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2), rounding=rounding))


def _laws(belief: MarkovChain, query: str, length: int) -> tuple[SecretLaws, float]:
    (asked,) = each_question([Noisy(query, 1.0)], belief)
    unit = float(scales_in_units(belief, [asked], length)[0])
    return secret_laws(belief, [Statistic(asked.question)], length), unit


def cases() -> dict[str, Case]:
    """The settings, by the names that they have in the results."""
    return {
        "mixing": Case.simulated([[0.9, 0.1], [0.4, 0.6]], "count:1", 1000),
        "sticky": Case.simulated([[0.99, 0.01], [0.02, 0.98]], "count:1", 1000),
        "ten_states": Case.simulated(band_chain(10).tolist(), "count:0", 300),
        "diary": Case.diary(),
    }


def shortest(work: Callable[[], Any], most: float = 3.0) -> tuple[Any, float]:
    """What it returns, and its processor time: the shortest of up to five calls, no more than fit into some seconds."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < most:
        with threadpool_limits(1, user_api="blas"):
            begun = time.process_time()
            found = work()
            times.append(time.process_time() - begun)
    return found, min(times)


def by_quiltwork(case: Case, mechanism: str) -> Row:
    """Noise scale, ± and seconds of a release, from the belief and the data to the answer."""
    made, seconds = shortest(
        lambda: release(case.series, case.query, belief=case.belief, epsilon=EPSILON, mechanism=mechanism)
    )
    return {"noise": made.noise_scale, "error_95": made.error(), "seconds": seconds}


def by_opendp(case: Case) -> Row:
    """The same by OpenDP for one value replaced by another; ± as drawn."""
    dp.enable_features("contrib", "honest-but-curious")
    counted, metric = case.indicators, dp.symmetric_distance()
    states = list(range(len(case.belief.states)))

    def answer() -> tuple[float, Any]:
        if case.query == "histogram":
            domain = dp.vector_domain(dp.atom_domain(T=int), size=len(counted))
            exact = dp.t.make_count_by_categories(domain, metric, categories=states, null_category=False)
        else:
            exact = dp.t.make_sum(dp.vector_domain(dp.atom_domain(bounds=(0, 1)), size=len(counted)), metric)
        scale = dp.binary_search_param(lambda s: exact >> dp.m.then_laplace(s), d_in=2, d_out=EPSILON)
        return scale, (exact >> dp.m.then_laplace(scale))(counted)

    (scale, _), seconds = shortest(answer)
    noise = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale)
    return {"noise": scale, "error_95": _drawn_error([abs(noise(0)) for _ in range(DRAWS)]), "seconds": seconds}


def by_diffprivlib(case: Case) -> Row:
    """The same by diffprivlib, whose sensitivity is 1 for histograms too: a value is there or not."""
    histogram = case.query == "histogram"
    asked = {"kind": "histogram" if histogram else "count", "values": case.indicators, "epsilon": EPSILON}
    asked |= {"states": len(case.belief.states) if histogram else 2, "draws": DRAWS // 4 if histogram else DRAWS}
    command = [os.environ.get("DIFFPRIVLIB_PYTHON", sys.executable), str(DIFFPRIVLIB)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)  # noqa: S603 - our own file
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        print(f"diffprivlib is left out: {reason}. pip install diffprivlib 'scikit-learn<1.8', here or elsewhere;")
        print("if elsewhere, set DIFFPRIVLIB_PYTHON to the interpreter that has it.")
        return {}
    found = json.loads(done.stdout)
    return {"noise": 1 / EPSILON, "error_95": _drawn_error(found["errors"]), "seconds": found["seconds"]}


def _drawn_error(errors: Sequence[float]) -> float:
    """The smallest size that 95 % of the drawn noise stays within."""
    return float(np.quantile(errors, 0.95, method="higher"))


WAYS: dict[str, Callable[[Case], Row]] = {
    "opendp": by_opendp,
    "diffprivlib": by_diffprivlib,
    **{name: partial(by_quiltwork, mechanism=name) for name in MECHANISMS},
}


def instead_noise_and_true_loss() -> Row:
    """ε = 1: noise scale, ± with 95 %, the loss that is really there and seconds, of each way, on four settings."""
    row: Row = {"draws": DRAWS}
    warm = Case.simulated([[0.8, 0.2], [0.3, 0.7]], "count:1", 20)
    for case_name, case in {"": warm, **cases()}.items():
        for way, work in WAYS.items():
            try:
                found = work(case)
            except NotCoveredError as refusal:
                row[f"{case_name}_{way}_refused"] = str(refusal).partition(":")[0]
                continue
            found |= case.true_epsilon(found["noise"]) if found else {}
            row |= {f"{case_name}_{way}_{key}": value for key, value in found.items()}
    kept = {key: value for key, value in row.items() if not key.startswith("_")}
    return kept | {"target": "ordinary libraries above 1; curve and audited at 1, the least noise of all"}


def instead_step_by_step() -> Row:
    """A noisy value at every step: the leakage if each has ε = 1, and the ε whose leakage is 1; TPL and the curve."""
    row: Row = {}
    for name, case in cases().items():
        chain = case.belief.with_start("stationary")  # temporal privacy leakage is about one start
        leakage, seconds = shortest(partial(temporal_leakage, chain, EPSILON, case.length))
        ours, our_seconds = shortest(partial(entry_guarantee, chain, EPSILON, length=case.length))
        row |= {f"{name}_leakage": float(leakage.max()), f"{name}_curve_leakage": ours.epsilon}
        row |= {f"{name}_seconds": seconds, f"{name}_curve_seconds": our_seconds}
        allowed = {
            "step_epsilon": step_epsilon(chain, EPSILON, case.length),
            "curve_step_epsilon": entry_epsilon(chain, EPSILON, length=case.length).epsilon_dp or 0.0,
        }
        changed = 2 if case.query == "histogram" else 1
        row |= {f"{name}_{key}": value for key, value in allowed.items()}
        # a sum of many independent draws, each of variance 2 s², is nearly normal
        row[f"{name}_summed_error_95"] = 1.96 * math.sqrt(2 * case.length) * changed / allowed["step_epsilon"]
    return row | {"target": "our leakage never above theirs"}
