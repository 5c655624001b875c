"""Data as a person has them (a file, a table, values, or what was read before), as a belief is about them."""

import functools
import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from quiltwork.beliefs import Belief
from quiltwork.data.records import Records
from quiltwork.data.series import POSITIONS, Series
from quiltwork.errors import DataError, NotCoveredError, did_you_mean
from quiltwork.fields import declared
from quiltwork.job import Data, Decimal, Duplicates, Gaps, Missing, Take, Unsorted
from quiltwork.types import SAME_SPAN, Duration, Segment

if TYPE_CHECKING:
    from quiltwork.data.measured import Measurements

F = TypeVar("F", bound=Callable[..., Any])
NO_STEP = (
    "The belief does not say how much time passes from one value to the next, so it cannot be compared with the data. "
    'Add it to the belief file: "step": "15min", or 1 for values without times.'
)


class Reads(TypedDict, total=False):
    """How a file or a table is read: the settings of :func:`read_series` and :func:`read_records`, as text."""

    column: str | None
    variable: str | None
    subject: str | None
    time: str | None
    missing: Missing
    gap: str | None
    every: str | None
    take: Take
    bins: str | None
    unsorted: Unsorted
    duplicates: Duplicates
    together: str | None
    separator: str | None
    decimal: Decimal | None
    date_format: str | None
    recode: str | Mapping[str, str | None] | None


def reads(function: F) -> F:
    """Shows in the signature of a function what it takes as ``**reading``, and refuses anything else."""
    plain = inspect.signature(function)
    known = declared(Data)
    settings = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=known[name].default, annotation=kind)
        for name, kind in Reads.__annotations__.items()
    ]
    own = [one for one in plain.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    signature = plain.replace(parameters=[*own, *settings])

    @functools.wraps(function)
    def called(*args: Any, **given: Any) -> Any:
        unknown = next((name for name in given if name not in signature.parameters), None)
        if unknown is not None:
            like = did_you_mean(unknown, list(signature.parameters), "")
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {unknown!r}. {like}".strip())
        return function(*args, **given)

    called.__signature__ = signature  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def held(
    data: object,
    belief: Belief,
    reading: Mapping[str, Any] | None = None,
    *,
    gaps: Gaps = "dependent",
    segment: Segment | None = None,
) -> Series | Records:
    """The data as a belief is about them: series of its states or of real values, or records of its variables.

    >>> from quiltwork import MarkovChain
    >>> import polars as pl
    >>> days, chain = pl.DataFrame({"doing": ["sit", "walk"]}), MarkovChain([[0.5, 0.5]] * 2, states=["sit", "walk"])
    >>> held(days, chain, {"column": "doing"}), held(["sit"], chain).size
    (Series(1 subjects, 2 values of 2 states), 1)
    """
    if is_table(data):
        from quiltwork.data.read import rows_of  # polars comes with it

        how, table = _as_job({**(reading or {}), "gaps": gaps}, data)
        found = rows_of(how, belief, table, segment=segment)
        _warn(found)
        return found
    _refuse(reading)
    if belief.variables is not None:
        if segment is not None:
            raise DataError("records have no segments", got="segment=", fix="Name variables in the query")
        return _records(data, belief.variables)
    series = measured(data) if belief.real else _series(data, belief)
    return series if segment is None else series.between(*segment)


def held_series(data: object, belief: Belief, reading: Mapping[str, Any] | None = None) -> Series:
    """The same where the data must be series."""
    found = held(data, belief, reading)
    if isinstance(found, Records):
        raise _other(found, "a series", "what is asked is about values in time")
    return found


def to_fit(
    data: object, reading: Mapping[str, Any], *, states: Sequence[str] | None = None, real: bool = False
) -> tuple[Series, list[str]]:
    """Public data, about which no belief says what there is; and of people together, their names."""
    if is_table(data):
        from quiltwork.data.read import rows_to_fit  # polars comes with it

        series, people = rows_to_fit(*_as_job(reading, data), states=states, real=real)
        _warn(series)
        return series, people
    _refuse(reading)
    if real:
        return measured(data), []
    return data if isinstance(data, Series) else Series.from_values(data, states=states), []  # type: ignore[arg-type]


def is_table(data: object) -> bool:
    """Whether it is a file, or a table of any library."""
    return isinstance(data, str | os.PathLike) or hasattr(type(data), "columns")


def _as_job(reading: Mapping[str, Any], data: object) -> tuple[Data, object]:
    """How data are read, with the file; and the table, if they are none."""
    in_file = isinstance(data, str | os.PathLike)
    return Data(**reading, path=os.fspath(data) if in_file else None), None if in_file else data  # type: ignore[call-overload]


def _refuse(reading: Mapping[str, Any] | None) -> None:
    for name in reading or ():
        raise DataError(
            f"{name}= says how a file or a table is read", got="values, or data that were read", fix="Leave it out"
        )


def _warn(found: object) -> None:
    doubt = getattr(found, "doubt", None)
    if doubt is not None:
        warnings.warn(f"{doubt}.", stacklevel=6)  # where the function that reads was called


def _other(data: object, wanted: str, why: str) -> DataError:
    got = "records" if isinstance(data, Records) else "states" if isinstance(data, Series) else type(data).__name__
    return DataError(f"the data must be {wanted}", got=got, why=why, fix="Pass a table, or values")


def _records(data: object, variables: Mapping[str, tuple[str, ...]]) -> Records:
    if isinstance(data, Series | Mapping) or not isinstance(data, Records | Iterable):
        raise _other(data, "records: a mapping of variables to states each", "the belief is about named variables")
    records = data if isinstance(data, Records) else Records.from_rows(data, variables=variables)
    if list(records.variables.items()) != list(variables.items()):
        raise DataError(
            "the records must have the belief's variables and states, in the same order",
            got="others",
            fix="Make them with variables=belief.variables",
        )
    return records


def measured(data: object) -> "Measurements":
    """Series of real values, from those or from numbers in memory."""
    from quiltwork.data.measured import Measurements  # it needs polars, which loads slowly

    if isinstance(data, Measurements):
        return data
    if isinstance(data, Series | Records | Mapping | str) or not isinstance(data, Iterable):
        raise _other(data, "numbers", "a Gaussian belief is about real values")
    return Measurements.of_numbers(data)


def _series(data: object, belief: Belief) -> Series:
    if isinstance(data, Records | Mapping) or not isinstance(data, Series | Iterable):
        raise _other(data, "a series of states", "the belief is about values in time")
    series = data if isinstance(data, Series) else Series.from_values(belief.values_of(data), states=belief.states)
    if series.states != belief.states:
        raise DataError(
            "the series must have the belief's states, in the same order",
            got=f"{len(series.states)} others",
            why="the noise is calibrated for the states that the belief knows",
            fix="Make the series with states=belief.states",
        )
    return series


def check_step(series: Series, belief: Belief) -> tuple[str, ...]:
    """Refuse data whose step is not the belief's; what could not be checked is said in the notes that come back.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], step="15min")
    >>> check_step(Series.from_values("0110", states=chain.states), chain)
    ("The data has no times; the belief's step of 15min was taken on trust.",)
    """
    wanted = belief.step
    if wanted is None:
        return (NO_STEP,)
    spacing = series.spacing
    if spacing is None:
        return (f"The data's times have no usual spacing; the belief's step of {wanted} was taken on trust.",)
    least, most = spacing
    if series.reading.time is None and not wanted.steps:
        return (f"The data has no times; the belief's step of {wanted} was taken on trust.",)
    low, high = least.length * (1 - SAME_SPAN), most.length * (1 + SAME_SPAN)
    if wanted.steps == least.steps and low <= wanted.length <= high:
        return ()
    raise _other_step(wanted, least, series, belief)


def _other_step(wanted: Duration, found: Duration, series: Series, belief: Belief) -> DataError:
    return DataError(
        f"the belief is about steps of {_named(wanted)}",
        got=f"data in steps of {_named(found)}",
        why="the noise is for how fast values forget each other from step to step",
        fix=_remedy(wanted, found, series, belief),
    )


def _named(step: Duration) -> str:
    return "1 (plain positions)" if step == POSITIONS else str(step)


def _remedy(wanted: Duration, found: Duration, series: Series, belief: Belief) -> str:
    if wanted.steps != found.steps:
        return f'If a step of the belief is {found}, write "step": {json.dumps(found.plain)} into the belief file'
    if wanted.multiple(of=found) is not None:
        if series.reading.time is None:
            return "Keep only every so many values, or use a belief about single steps"
        return f"Keep one row per step of the belief: every='{wanted}'"
    times = found.multiple(of=wanted)
    if times is not None:
        try:
            belief.every(times)
        except NotCoveredError:
            pass
        else:
            rows = ", or leave time= out if a step is one row" if wanted == POSITIONS else ""
            return f"Make a belief for the data's step: quiltwork belief every BELIEF {times} --out NEW.json{rows}"
    return f"Use a belief with a step of {found}"
