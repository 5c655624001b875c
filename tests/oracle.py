"""The one door from property and audit tests to how questions are represented and prepared.

What these tests assert is about mathematics, so they should not change when the code's records do: only this module.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork import BayesianNetwork, Belief, MarkovChain, Query, parse_query
from quiltwork.calibration.calibrate import calibrated
from quiltwork.calibration.mechanisms.curve import curve
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.data import Countable
from quiltwork.question import Asked, Limits, Said, bind
from quiltwork.question.over_time import OverTime
from quiltwork.releases.pipeline import prepare
from quiltwork.releases.prepared import Prepared
from quiltwork.types import Floats


@dataclass(frozen=True)
class InWindows:
    """A question that each window has an answer to."""

    query: Said


Question = Said | InWindows | Asked


def bound(query: Question, states: Any) -> Asked:
    """What is asked of series of these states."""
    k, windows = len(states), isinstance(query, InWindows)
    said = query.query if isinstance(query, InWindows) else query
    return bind(said, MarkovChain(np.full((k, k), 1 / k), states=list(states)), windows=windows)


def asked(text: str, belief: Belief) -> Said:
    """A question in words, as it is asked under a belief."""
    return bind(parse_query(text), belief).said


def answer_to(query: Question, data: Countable) -> Floats:
    """The exact answer, in steps of the question's unit; those of several questions by their ratios."""
    found = bound(query, data.states)
    answers = [np.asarray(one.question.evaluate(data), dtype=float) / float(one.ratio) for one in found.drawn]
    return np.concatenate(answers)


def changes(query: Question, states: Any, *, norm: int = 1) -> Floats:
    """By how much one value that changes from one state to another moves the answer at most."""
    return bound(query, states).table(1 if norm == 1 else 2)[0]


def in_windows(query: Query) -> InWindows:
    """The same question, asked of each window."""
    return InWindows(query)


def between(query: Query, states: Any, values: int, links: int | None = None) -> Limits | None:
    """Where every answer lies, whatever the data."""
    return bound(query, states).only.limits(values, links)


def in_units(query: Query, states: Any, values: int) -> tuple[Fraction, float]:
    """What one step of the answer is, and what is divided by after the noise."""
    question = bound(query, states).only
    return question.unit, question.divisor(values)


def undivided(query: Said, belief: Belief) -> Asked:
    """What noise is added to, if it is divided by something afterwards."""
    return bind(query, belief).undivided


def largest_change(query: Query, belief: Belief) -> float:
    """What a record calls ``lipschitz``."""
    return bind(query, belief).lipschitz


def by_variable(query: Said, variables: Mapping[str, Sequence[str]]) -> Asked:
    """What is asked of records of these variables."""
    tables = {name: [1 / len(states)] * len(states) for name, states in variables.items()}
    return bind(query, BayesianNetwork(variables, tables=tables))


def over_time(query: Said | Asked | str, belief: Belief) -> OverTime:
    """Of real values, the weight of each time."""
    found = bind(query, belief).only.over_time
    assert found is not None
    return found


def kept_totals(query: Query, belief: Belief) -> tuple[tuple[int, ...], ...]:
    """Which numbers add up to what is public."""
    return bind(query, belief).totals


def noise_for(query: Said | str, *, belief: Belief, epsilon: float, **more: Any) -> Calibration:
    """How much noise, as everything that asks for it computes it."""
    return calibrated(Request.of(query, belief=belief, epsilon=epsilon, **more))


def by_curve(query: Said | str, *, belief: Belief, epsilon: float, **more: Any) -> Calibration:
    """How much noise the influence curve asks for, whatever else could be done with the belief."""
    return curve(Request.of(query, belief=belief, epsilon=epsilon, mechanism="curve", **more))


def prepared(data: Any, query: Said | str, *, belief: Belief, epsilon: float, **more: Any) -> Prepared:
    """A release of which all is known but its noise."""
    return prepare(data, Request.of(query, belief=belief, epsilon=epsilon, **more))
