"""The one door from property and audit tests to how questions are represented and prepared.

What these tests assert is about mathematics, so they should not change when the code's records do: only this module.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork import Belief, Query, Workload, parse_query
from quiltwork.calibration.calibrate import calibrated
from quiltwork.calibration.mechanisms.curve import curve
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.data import Countable
from quiltwork.queries.limits import Limits
from quiltwork.releases.pipeline import prepare
from quiltwork.releases.prepared import Prepared
from quiltwork.types import Floats


def asked(text: str, belief: Belief) -> Query:
    """A question in words, as it is asked under a belief."""
    return parse_query(text).within(belief)


def answer_to(query: Query, data: Countable) -> Floats:
    """The exact answer, in steps of the question's unit; those of several questions by their ratios."""
    if isinstance(query, Workload):
        return np.concatenate([answer_to(one, data) / float(ratio) for _, one, ratio in query.asked])
    return np.asarray(query.evaluate(data), dtype=float)


def changes(query: Query, states: Any, *, norm: int = 1) -> Floats:
    """By how much one value that changes from one state to another moves the answer at most."""
    return np.asarray(query.sensitivity(states) if norm == 1 else query.euclidean(states))


def in_windows(query: Query) -> Query:
    """The same question, asked of each window."""
    return query.in_windows()


def between(query: Query, states: Any, values: int, links: int | None = None) -> Limits | None:
    """Where every answer lies, whatever the data."""
    return query.limits(states, values, links)


def in_units(query: Query, states: Any, values: int) -> tuple[Fraction, float]:
    """What one step of the answer is, and what is divided by after the noise."""
    return query.unit(states), query.divisor(values)


def undivided(query: Query) -> Query:
    """What noise is added to, if it is divided by something afterwards."""
    return query.undivided()


def largest_change(query: Query, belief: Belief) -> float:
    """What a record calls ``lipschitz``."""
    return query.on(belief).lipschitz


def kept_totals(query: Query, belief: Belief) -> tuple[tuple[int, ...], ...]:
    """Which numbers add up to what is public."""
    return query.on(belief).totals


def noise_for(query: Query | str, *, belief: Belief, epsilon: float, **more: Any) -> Calibration:
    """How much noise, as everything that asks for it computes it."""
    return calibrated(Request.of(query, belief=belief, epsilon=epsilon, **more))


def by_curve(query: Query | str, *, belief: Belief, epsilon: float, **more: Any) -> Calibration:
    """How much noise the influence curve asks for, whatever else could be done with the belief."""
    return curve(Request.of(query, belief=belief, epsilon=epsilon, mechanism="curve", **more))


def prepared(data: Any, query: Query | str, *, belief: Belief, epsilon: float, **more: Any) -> Prepared:
    """A release of which all is known but its noise."""
    return prepare(data, Request.of(query, belief=belief, epsilon=epsilon, **more))
