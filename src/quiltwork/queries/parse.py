"""Queries by their names, as written on the command line, and from the plain values that records hold."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from quiltwork.errors import QueryError, nearest
from quiltwork.queries.base import Query
from quiltwork.queries.groups import ShareDifference
from quiltwork.queries.kinds import (
    Count,
    Declared,
    Frequencies,
    Histogram,
    Mean,
    Share,
    Sum,
    Transitions,
)
from quiltwork.queries.measured import (
    DeclaredChange,
    Difference,
    Measured,
    MeasuredMean,
    MeasuredSum,
    ShareAbove,
    Trend,
    Undivided,
    WeightedSum,
    periods,
    share_above,
)
from quiltwork.queries.ranked import FromHistogram, Quantile, Top
from quiltwork.queries.stays import StayLength, StayLengths, Stays
from quiltwork.queries.steps import InSteps
from quiltwork.queries.variables import Matching, Over, Tally
from quiltwork.queries.workload import Workload

_NAMED: dict[str, Callable[[], Query]] = {
    "histogram": Histogram,
    "frequencies": Frequencies,
    "mean": Mean,
    "sum": Sum,
    "transitions": Transitions,
    "stays": Stays,
    "median": lambda: Quantile("0.5"),
    "trend": Trend,
}


def parse_query(text: str, values: Mapping[str, float | str] | None = None) -> Query:
    """The query that a text names: ``count:STATE``, ``histogram``, ``frequencies``, ``mean``, ``sum``, ``transitions``.

    ``share:A|B`` asks which share of the values is A or B, ``stays`` for the number of stays in each state,
    ``stays:STATE`` in one, ``stay-length:STATE`` how long they are on average, and ``stay-lengths:STATE:2,5,10`` how
    many of them have each class of lengths. ``median`` and ``quantile:0.9`` of states that are numbers, and ``top:3``,
    the most frequent states, follow from a histogram. ``difference:STATE:1-96|97-192`` asks how much the share of a
    state changes from a first period to a second (or dates: ``2024-03-01..2024-03-07``), and
    ``difference:STATE:subjects=ann,bob|*`` from one group of subjects to another.

    Of a record, ``QUERY over A,B`` asks the variables A and B only, ``sum over A,B=2`` counts B twice, and
    ``tally:A=yes,B=low|high`` counts the variables that have one of these values, and ``records:A=yes&B=low|high`` the
    records in which all of them do.

    Of real values, ``trend`` asks how much they rise from step to step, ``above:2.5:0.5`` which share is above 2.5
    (with a ramp of width 0.5), ``difference:1-96|97-192`` how much the mean of a second period is above that of a
    first, and ``weighted:1,0.5`` for a sum with a weight for each position.

    ``values`` are the numbers that states stand for, for ``mean`` and ``sum``.

    >>> parse_query("count:walk")
    Count(state='walk')
    >>> parse_query("sum over visits,nights=2.5").variables
    {'visits': '1', 'nights': '2.5'}
    >>> parse_query("mean", {"off": "0", "on": "1.5"})
    Mean(values={'off': '0', 'on': '1.5'})
    """
    whole, over, chosen = text.partition(" over ")
    if over:
        return Over(parse_query(whole.strip(), values), _weights(chosen))
    if values is not None:
        if text not in ("mean", "sum"):
            raise QueryError("numbers for states are for mean and sum", got=f"query {text!r}", fix="Leave them out")
        return Mean(values) if text == "mean" else Sum(values)
    kind, colon, rest = text.partition(":")
    if kind in _WITH_MORE and rest:
        return _WITH_MORE[kind][1](rest)
    if not colon and kind in _NAMED:
        return _NAMED[kind]()
    known = (
        f"Known: {', '.join([f'{name}:{form}' for name, (form, _) in _WITH_MORE.items()] + list(_NAMED))}; for records "
        "also QUERY over A,B"
    )
    near = nearest(kind, [*_NAMED, *_WITH_MORE])
    more = f":{_WITH_MORE[near][0]}" if near in _WITH_MORE else ""
    meant = "" if near is None else f"Did you mean {near}{more}? "
    raise QueryError("the query is not known", got=repr(text), fix=meant + known)


def query_from_dict(contents: Mapping[str, Any]) -> Query:
    """The query that ``Query.to_dict`` wrote down.

    >>> query_from_dict({"kind": "sum", "values": {"off": "0", "on": "1.5"}}) == Sum({"off": "0", "on": "1.5"})
    True
    """
    kind = contents.get("kind")
    if not isinstance(kind, str) or kind not in _READERS:
        raise QueryError("a query's kind is not known", got=repr(kind)[:40], fix=f"Known: {', '.join(_READERS)}")
    given = {key: value for key, value in contents.items() if key != "kind"}
    try:
        return _READERS[kind](**given)
    except (TypeError, ValueError, AttributeError):
        raise QueryError(
            f"a query of kind {kind} cannot be read", got=f"keys {', '.join(sorted(given))}"[:80]
        ) from None


def _over(query: Mapping[str, Any], variables: list[list[str]]) -> Over:
    weights: dict[str, float | str] = {str(name): str(weight) for name, weight in variables}
    return Over(query_from_dict(query), list(weights) if set(weights.values()) == {"1"} else weights)


def _listed(values: list[list[Any]]) -> dict[str, list[str]]:
    return {str(name): [str(state) for state in states] for name, states in values}


def _measured(query: Mapping[str, Any]) -> Measured:
    read = query_from_dict(query)
    if not isinstance(read, Measured):
        raise TypeError
    return read


def _share_difference(
    state: str, before: str, after: str, sizes: list[int] | None = None, divided: bool = True
) -> ShareDifference:
    known = None if sizes is None else (int(sizes[0]), int(sizes[1]))
    return ShareDifference(str(state), str(before), str(after), known, divided is not False)


def _derived(query: FromHistogram, histogram: Mapping[str, Any] | None = None) -> Query:
    return query if histogram is None else replace(query, histogram=query_from_dict(histogram))


def _in_steps(query: Mapping[str, Any], variables: list[list[Any]]) -> InSteps:
    named = tuple((str(name), tuple(str(state) for state in states)) for name, states in variables)
    return InSteps(query_from_dict(query), named)


def _workload(questions: list[Mapping[str, Any]], ratios: list[str | None]) -> Workload:
    return Workload([query_from_dict(question) for question in questions], ratios=ratios)


_READERS: dict[str, Callable[..., Query]] = {
    "count": lambda state: Count(str(state)),
    "share": lambda state: Share(str(state)),
    **_NAMED,
    "stays": lambda state=None, windows=False: Stays(None if state is None else str(state), windows is True),
    "stay-length": lambda state, windows=False: StayLength(str(state), windows is True),
    "stay-lengths": lambda state, edges: StayLengths(str(state), tuple(edges)),
    "share-difference": _share_difference,
    "quantile": lambda at, **more: _derived(Quantile(at), **more),
    "top": lambda most, **more: _derived(Top(most), **more),
    "measured-sum": MeasuredSum,
    "measured-mean": MeasuredMean,
    "undivided": lambda query: Undivided(_measured(query)),
    "above": lambda threshold, width: ShareAbove(threshold, width=width),
    "difference": lambda before, after: Difference(tuple(before), tuple(after)),
    "weighted": lambda weights: WeightedSum(weights),
    "lipschitz": lambda name, constant: DeclaredChange(str(name), constant),
    "over": _over,
    "tally": lambda values: Tally(_listed(values)),
    "records": lambda values: Matching(_listed(values)),
    "in-steps": _in_steps,
    "workload": _workload,
    "declared": lambda name, sensitivity: Declared(name, sensitivity),
}


def _weights(text: str) -> list[str] | dict[str, float | str]:
    """Variables by name, with their weights if one of them has one."""
    named = [part.strip() for part in text.split(",")]
    if not any("=" in part for part in named):
        return named
    weights: dict[str, float | str] = {}
    for part in named:
        name, _, weight = (piece.strip() for piece in part.partition("="))
        if name in weights:
            raise QueryError("over must name each variable once", got=f"{name!r} twice")
        weights[name] = weight or "1"  # decimal text is taken at its word
    return weights


def _values(text: str, between: str) -> dict[str, list[str]]:
    """Variables with values: ``fever=high,cough=dry|wet``."""
    values: dict[str, list[str]] = {}
    for part in text.split(between):
        name, equals, named = part.partition("=")
        if not (name.strip() and equals and named):
            raise QueryError(
                f"values must be VARIABLE=STATE{between}...",
                got=repr(text),
                fix="tally:fever=high,cough=dry|wet or records:fever=high&cough=dry|wet",
            )
        if name.strip() in values:
            raise QueryError("each variable must be named once", got=f"{name.strip()!r} twice")
        values[name.strip()] = [value.strip() for value in named.strip().split("|")]
    return values


_WITH_MORE: dict[str, tuple[str, Callable[[str], Query]]] = {
    "count": ("STATE", Count),
    "share": ("STATE|STATE", Share),
    "stays": ("STATE", Stays),
    "stay-length": ("STATE", StayLength),
    "stay-lengths": ("STATE:2,5,10", StayLengths.parse),
    "quantile": ("0.9", Quantile),
    "top": ("3", Top.parse),
    "tally": ("A=x,B=y|z", lambda text: Tally(_values(text, ","))),
    "records": ("A=x&B=y|z", lambda text: Matching(_values(text, "&"))),
    "above": ("THRESHOLD:WIDTH", share_above),
    "difference": ("A-B|C-D", lambda text: ShareDifference.parse(text) if ":" in text else periods(text)),
    "weighted": ("W1,W2,..", lambda text: WeightedSum(text.split(","))),
}
