"""The questions about real values, and functions of your own: a builder for each, with its text and its weights."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quiltwork.data import Series
from quiltwork.errors import QueryError
from quiltwork.question.groups import read_difference
from quiltwork.question.limits import fixed_limits
from quiltwork.question.over_time import (
    MOST_WEIGHTS,
    OverTime,
    difference_over_time,
    listed_over_time,
    trend_over_time,
)
from quiltwork.question.query import KINDS, Kind, Query, number_text, parse_query
from quiltwork.question.question import MOST, Numbers, Part, Question, declared_change
from quiltwork.question.table import States
from quiltwork.types import Codes, Floats, Segment


def Trend() -> Query:
    """How much real values rise from step to step: the slope of the straight line through them by least squares.

    >>> Trend().text
    'trend'
    """
    return Query("trend")


def ShareAbove(threshold: float | str, *, width: float | str) -> Query:
    """Which share of real values is above a threshold, with a ramp in place of the step.

    A value counts 0 up to half the width below the threshold, 1 from half the width above it on, and in between in
    proportion. A sharp step would change all at once where a value crosses it, and no theorem covers that here.

    >>> ShareAbove(2.0, width=1.0).text
    'above:2:1'
    """
    exact = {}
    for name, given in (("threshold", threshold), ("width", width)):
        try:
            exact[name] = Fraction("x" if isinstance(given, bool) else str(given))
        except (ValueError, ZeroDivisionError):
            raise QueryError(
                f"{name} must be a number", got=repr(given)[:40], fix="For example above:2.5:0.5"
            ) from None
    if not Fraction(1, 10**50) <= exact["width"] <= 10**50:
        raise QueryError(
            "width must be above 0",
            got=f"{float(exact['width']):g}",
            why="a ramp leads from 0 to 1 around the threshold: a sharp step would reveal too much",
            fix="A width of at least the distance that is hidden costs little",
        )
    return Query("above", tuple((name, number_text(number)) for name, number in exact.items()))


def Difference(before: Sequence[int], after: Sequence[int]) -> Query:
    """The mean of real values in a second period minus that in a first, both given by their first and last positions.

    >>> Difference((1, 2), (3, 6)).text
    'difference:1-2|3-6'
    """
    periods = {"before": before, "after": after}
    for name, period in periods.items():
        pair = isinstance(period, Sequence) and not isinstance(period, str) and len(period) == 2
        if not pair or not all(type(n) is int for n in period) or not 1 <= period[0] <= period[1] <= 10**15:
            raise QueryError(
                "a period must be its first and its last position, from 1",
                got=repr(period)[:40],
                fix="For example difference:1-96|97-192",
            )
        periods[name] = tuple(period)
    query = Query("difference", tuple(periods.items()))
    if before[0] <= after[1] and after[0] <= before[1]:
        raise QueryError("two periods must not overlap", got=query.text, fix="For example difference:1-96|97-192")
    return query


def WeightedSum(weights: Sequence[float | str]) -> Query:
    """Σ w_t x_t of real values: a weight for each position, for every subject the same; 0 beyond the last.

    >>> WeightedSum(["0.5", 1, -2]).text
    'weighted:0.5,1,-2'
    """
    try:
        exact = tuple(Fraction(str(weight)) for weight in weights)
    except (ValueError, ZeroDivisionError, TypeError):
        exact = ()
    if not 1 <= len(exact) <= MOST_WEIGHTS or isinstance(weights, str):
        raise QueryError(
            f"weights must be 1 to {MOST_WEIGHTS:,} numbers",
            got=type(weights).__name__ if not exact else f"{len(exact):,}",
            why="the value at each position has one",
        )
    if not any(exact) or max(map(abs, exact)) > 10**50 or min(abs(w) for w in exact if w) < Fraction(1, 10**50):
        raise QueryError(
            "weights must have sizes between 1e-50 and 1e50, or be 0, but not all of them",
            got="a smaller or larger one, or only 0",
        )
    return Query("weighted", (("weights", exact),))


def Lipschitz(function: Callable[[list[Floats]], ArrayLike], *, constant: float, name: str = "custom") -> Query:
    """Any function of real values, with a declared constant: how much its result changes, at most, with each value.

    ``function`` gets the stretches as a list of arrays of numbers and returns a number or a vector. You vouch for
    ``constant``: if each value changes by at most d_t, the result must change by at most constant · Σ d_t in L1 norm.

    >>> Lipschitz(lambda runs: float(np.abs(np.diff(runs[0])).sum()), constant=2.0, name="total change").text
    'total change'
    """
    if not callable(function):
        raise QueryError("a function of your own must be callable", got=type(function).__name__)
    return Query("function", (*_declared_lipschitz(name, constant).args, ("function", function)))


def Custom(
    function: Callable[[list[Codes]], ArrayLike], *, constant: float, integer: bool = False, name: str = "custom"
) -> Query:
    """Any function of the stretches of states, with a declared Lipschitz constant.

    ``function`` gets the stretches as a list of arrays of state codes and returns a number or a vector. You vouch for
    ``constant``: changing one value must change the result by at most that much in L1 norm. With ``integer=True`` the
    result is made of integers and gets exact integer noise; else it gets OpenDP's noise on floats.

    >>> Custom(lambda runs: sum(int((r[1:] != r[:-1]).sum()) for r in runs), constant=2, integer=True).to_dict()
    {'kind': 'declared', 'name': 'custom', 'sensitivity': 2.0}
    """
    if not callable(function):
        raise QueryError("a custom query needs a function", got=type(function).__name__)
    number = isinstance(constant, int | float) and not isinstance(constant, bool)
    if not (number and math.isfinite(constant) and constant >= 0):
        raise QueryError(
            "the Lipschitz constant must be finite and not negative",
            got=str(constant),
            why="it says how much one value can change the answer",
        )
    args = (("name", _own_name(name)), ("constant", float(constant)), ("integer", integer), ("function", function))
    return Query("custom", args)


def declared(name: str, sensitivity: float | Sequence[Sequence[float]]) -> Query:
    """A question of which only the sensitivity is known, as in the record of a release: it cannot be asked again.

    The sensitivity is how much one value can change the answer in L1 norm: a number, or one for each pair of states.

    >>> declared("my question", 2.0).to_dict()
    {'kind': 'declared', 'name': 'my question', 'sensitivity': 2.0}
    """
    try:
        table = np.array(sensitivity, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.array(np.nan)
    if not isinstance(name, str) or isinstance(sensitivity, bool | str):
        raise QueryError("a declared query needs a name and its sensitivity", got=type(sensitivity).__name__)
    if table.ndim not in (0, 2) or len(set(table.shape)) > 1 or not (np.isfinite(table) & (table >= 0)).all():
        raise QueryError(
            f"the sensitivity of {name} must be a number or a square table, finite and not negative",
            got=f"shape {table.shape}" if np.isfinite(table).all() else "a number that is not finite",
            why="it says how much one value can change the answer",
        )
    if table.ndim and (np.any(table != table.T) or np.any(np.diag(table))):
        raise QueryError(
            f"the sensitivity of {name} must be symmetric with zeros on its diagonal",
            got="a table that is not",
            why="a change and its reverse move the answer equally far",
        )
    changes = float(table) if table.ndim == 0 else tuple(map(tuple, table.tolist()))
    return Query("declared", (("name", _own_name(name)), ("sensitivity", changes)))


def _declared_lipschitz(name: str, constant: float) -> Query:
    """A function of real values of which only the constant is known, as in the record of a release."""
    number = isinstance(constant, int | float) and not isinstance(constant, bool)
    if not number or not 1e-50 <= constant <= 1e50:
        raise QueryError(
            "the constant must be a positive number",
            got=repr(constant)[:40],
            why="it says how much the result changes with each value",
        )
    return Query("lipschitz", (("name", _own_name(name)), ("constant", constant)))


def _own_name(name: object) -> str:
    """The name of a function of your own; what names another question would mean two things."""
    if not isinstance(name, str) or not name:
        raise QueryError("a function of your own needs a name", got=type(name).__name__)
    try:
        parse_query(name)
    except QueryError:
        return name
    raise QueryError(
        "a function of your own must not have the name of a question",
        got=repr(name),
        why="whoever reads it in a ledger or a report would take it for that question",
        fix="Give another name=",
    )


def _of_function(query: Query, states: States) -> Question:
    """A function of states, or what is left of one in a record."""
    integer = query.kind == "declared" or query["integer"]
    return Question(
        query=query,
        parts=(Part(None, states),),
        declared=(_table(query, states),),
        measure=None if query.kind == "declared" else partial(_result, query),
        integer=integer,
        ordered=query.kind == "custom",
        by_part=query.kind == "declared",
    )


def _table(query: Query, states: States) -> Floats:
    changes = query["constant"] if query.kind == "custom" else query["sensitivity"]
    if isinstance(changes, float):
        return declared_change(changes, len(states))
    if len(changes) != len(states):
        raise QueryError(
            f"the sensitivity of {query.text} must have a row for each of the {len(states)} states",
            got=f"{len(changes)} rows",
        )
    return np.array(changes)


def _result(query: Query, series: Series) -> Numbers:
    """The function's result as a vector."""
    name = query.text
    result = np.atleast_1d(np.asarray(query["function"]([run.copy() for run in series.stretches])))
    if result.ndim != 1 or result.dtype.kind not in "iuf":
        raise QueryError(f"{name} must return a number or a vector of numbers", got=f"shape {result.shape}")
    if query["integer"]:
        if result.dtype.kind == "f":
            raise QueryError(f"{name} must return integers", got="floats", why="integer=True was declared")
        if result.size and max(abs(int(n)) for n in (result.min(), result.max())) >= MOST:
            raise QueryError(f"{name} must stay below 2^62", why="exact noise is drawn on 64-bit integers")
        return result.astype(np.int64)
    floats = result.astype(np.float64)
    if not np.all(np.isfinite(floats)):
        raise QueryError(f"{name} must return finite numbers", got="infinity or NaN")
    return floats


def _vector(query: Query, stretches: Sequence[Floats]) -> Floats:
    """The result of a function of real values as a vector."""
    try:
        result = np.atleast_1d(np.asarray(query["function"]([run.copy() for run in stretches]), dtype=np.float64))
    except (TypeError, ValueError):
        result = np.array(np.nan)
    if result.ndim != 1 or not np.isfinite(result).all():
        raise QueryError(
            f"{query.text} must return a finite number, or a vector of them", got="a result that is neither"
        )
    return result


def _of_time(query: Query, over_time: OverTime, **more: Any) -> Question:
    return Question(query=query, parts=(), over_time=over_time, **more)


def _total(query: Query) -> Question:
    if query["values"] is not None:
        raise QueryError(
            f"{query.kind} of real values takes no numbers for states",
            got=f"{len(query['values'])} of them",
            fix="Omit values",
        )
    return _of_time(query, OverTime("sum"), divide="values" if query.kind == "mean" else "nothing")


def _above(query: Query) -> Question:
    width = Fraction(query["width"])
    ramp = float(Fraction(query["threshold"])), float(width)
    over_time = OverTime("number of values above the threshold", largest=1 / width, linear=False, ramp=ramp)
    return _of_time(query, over_time, divide="values", limited=partial(fixed_limits, 0.0, 1.0))


def _periods(query: Query) -> Question:
    periods: tuple[Segment, Segment] = (query["before"], query["after"])
    shorter = min(last - first + 1 for first, last in periods)
    return _of_time(query, difference_over_time(*periods), divide=shorter)


def _of_values(query: Query) -> Question:
    """A function of real values, or what is left of one in a record."""
    function = None if query["function"] is None else partial(_vector, query)
    over_time = OverTime(query.text, largest=Fraction(query["constant"]), linear=False, function=function)
    return _of_time(query, over_time, integer=False, by_part=False)


def _read_above(text: str) -> Query:
    """Threshold and width: ``2.5:0.5``."""
    try:
        threshold, width = (number_text(Fraction(part.strip())) for part in text.split(":"))
    except (ValueError, ZeroDivisionError):
        raise QueryError(
            "a share above a threshold must be above:THRESHOLD:WIDTH",
            got=repr(f"above:{text}")[:60],
            why="the width of the ramp around the threshold is needed: no theorem covers a sharp step",
            fix="above:2.5:0.5",
        ) from None
    return ShareAbove(threshold, width=width)


def _read_periods(text: str) -> Query:
    """Of real values ``1-96|97-192``; with a state before it, of shares."""
    if ":" in text:
        return read_difference(text)
    try:
        before, after = (tuple(map(int, period.split("-"))) for period in text.split("|"))
    except ValueError:
        raise QueryError("a difference must be A-B|C-D", got=repr(text)[:60], fix="difference:1-96|97-192") from None
    return Difference(before, after)


def _written_periods(query: Query) -> str:
    return "difference:{}-{}|{}-{}".format(*query["before"], *query["after"])


def _written_name(query: Query) -> str:
    return str(query["name"])


for _adding in ("sum", "mean"):
    KINDS[_adding] = KINDS[_adding].also(of_numbers=_total)
KINDS |= {
    "trend": Kind(
        Trend,
        lambda _: "trend",
        {"trend": ("", lambda _: Trend())},
        of_numbers=lambda query: _of_time(query, trend_over_time(), divide="line"),
    ),
    "above": Kind(
        lambda threshold, width: ShareAbove(threshold, width=width),
        lambda query: f"above:{query['threshold']}:{query['width']}",
        {"above": ("THRESHOLD:WIDTH", _read_above)},
        of_numbers=_above,
    ),
    "difference": Kind(Difference, _written_periods, {"difference": ("A-B|C-D", _read_periods)}, of_numbers=_periods),
    "weighted": Kind(
        WeightedSum,
        lambda query: f"weighted:{','.join(map(number_text, query['weights']))}",
        {"weighted": ("W1,W2,..", lambda text: WeightedSum(text.split(",")))},
        of_numbers=lambda query: _of_time(query, listed_over_time(query["weights"])),
    ),
    "lipschitz": Kind(_declared_lipschitz, _written_name, {}, of_numbers=_of_values),
    "function": Kind(
        Lipschitz,
        _written_name,
        {},
        of_numbers=_of_values,
        declared=lambda query: _declared_lipschitz(query["name"], query["constant"]).to_dict(),
    ),
    "declared": Kind(declared, _written_name, {}, _of_function, whole=True),
    "custom": Kind(
        Custom,
        _written_name,
        {},
        _of_function,
        whole=True,
        declared=lambda query: declared(query["name"], query["constant"]).to_dict(),
    ),
}
