"""The questions about states: a builder for each, with its text and its matrices; ``numbers`` has others.

To add a question, write the function that checks its arguments and one that builds it, and an entry for both.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from quiltwork.data import Series
from quiltwork.data.values import level_numbers
from quiltwork.errors import QueryError, did_you_mean
from quiltwork.question.derive import MeanLength, MostFrequent, StateAtShare
from quiltwork.question.limits import Limits
from quiltwork.question.query import (
    KINDS,
    LARGEST,
    SMALLEST,
    Kind,
    Query,
    number_text,
    quoted,
    split_at,
    unquoted,
)
from quiltwork.question.question import MOST, Part, Question
from quiltwork.question.sensitivity import Pairs
from quiltwork.types import Codes, Flags

States = tuple[str, ...]
Build = Callable[[Query, States], Question]
Variables = Mapping[str, States]


def Count(state: str) -> Query:
    """How often a state occurs, or any of several: ``walk|run``, unless a state has that very name.

    >>> Count("walk|run").text
    'count:walk|run'
    """
    return Query("count", (("state", named(state)),))


def Share(state: str) -> Query:
    """Which share of the values is one of these states: the count, divided by the public number of values.

    >>> Share("walk|run").text
    'share:walk|run'
    """
    return Query("share", (("state", named(state)),))


def Histogram() -> Query:
    """How often each state occurs, as one release of all counts.

    >>> Histogram().text
    'histogram'
    """
    return Query("histogram")


def Frequencies() -> Query:
    """Which share of the values each state has: the histogram, divided by the public number of values.

    >>> Frequencies().text
    'frequencies'
    """
    return Query("frequencies")


def Sum(values: Mapping[str, float | str] | Sequence[Sequence[Any]] | None = None) -> Query:
    """The sum of numeric states: of the numbers that their names are, or of given ``values``.

    Levels from ``bins``, which are named by their edges, count as their midpoints (the outer two as wide as their
    neighbours). Under a belief about real values it is the sum of those.

    >>> Sum({"off": 0, "on": 1.5}).text
    'sum:off=0,on=1.5'
    """
    return Query("sum", _state_values(values))


def Mean(values: Mapping[str, float | str] | Sequence[Sequence[Any]] | None = None) -> Query:
    """The mean of numeric states: the sum, divided by the public number of values.

    >>> Mean().text
    'mean'
    """
    return Query("mean", _state_values(values))


def Quantile(at: float | str) -> Query:
    """The least number below or at which at least this share of the values lies, where states are numbers or levels.

    It follows from a histogram, with its noise.

    >>> Quantile("0.9").text, Quantile(0.5).text
    ('quantile:0.9', 'median')
    """
    try:
        share = Fraction(str(at))
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1:
        raise QueryError(
            "a quantile must be between 0 and 1", got=repr(at)[:40], fix="For example quantile:0.9, or median"
        )
    return Query("quantile", (("at", number_text(share)),))


def Top(most: int) -> Query:
    """The states that occur most often, from the most frequent on, with their counts: it follows from a histogram.

    >>> Top(2).text
    'top:2'
    """
    if type(most) is not int or most < 1:
        raise QueryError("top needs the number of states to name", got=repr(most)[:40], fix="For example top:3")
    return Query("top", (("most", most),))


def Transitions() -> Query:
    """How often each state is directly followed by each.

    Changing one value moves the transition into it and the one out of it: two counts fall and two rise. Changing n
    neighbours moves n + 1 transitions, not 2n.

    >>> Transitions().text
    'transitions'
    """
    return Query("transitions")


def Stays(state: str | None = None) -> Query:
    """How many stays each state has, or how many there are in one state (or set of states: ``walk|run``).

    A stay of a state is a run of it that is as long as possible; a gap ends it, and so does the end of the series. It
    begins with each value that is not directly preceded by the same state, so that the number of stays is the number of
    values less the number of times that the state follows itself (Statement 67). With windows a stay counts where it
    begins: a value that changes may then begin a stay in its own window and end one that began in the next.

    >>> Stays().text, Stays("walk").text
    ('stays', 'stays:walk')
    """
    return Query("stays", () if state is None else (("state", named(state)),))


def StayLength(state: str) -> Query:
    """How long stays in a state are on average: how many values there are in it, and in how many stays.

    Both numbers get noise, and their ratio is what people read. With windows the stays that begin in a window are set
    against the values in it.

    >>> StayLength("walk").text
    'stay-length:walk'
    """
    return Query("stay-length", (("state", named(state)),))


def StayLengths(state: str, edges: Sequence[int]) -> Query:
    """How many stays in a state have each class of lengths: below the first edge, from one to the next, from the last.

    >>> StayLengths("walk", (2, 4)).text
    'stay-lengths:walk:2,4'
    """
    listed = tuple(edges) if not isinstance(edges, str) else ()
    whole = all(isinstance(edge, int) and not isinstance(edge, bool) for edge in listed)
    rising = all(b > a for a, b in pairwise(listed))
    if not listed or not whole or listed[0] < 2 or not rising or listed[-1] > 10**15:
        raise QueryError(
            "lengths must be whole numbers from 2 on, each larger than the one before",
            got=repr(edges)[:40],
            why="they part the lengths of stays into classes",
            fix="For example stay-lengths:walk:2,5,10",
        )
    return Query("stay-lengths", (("state", named(state)), ("edges", listed)))


def Tally(values: Mapping[str, str | Sequence[str]] | Sequence[Sequence[Any]]) -> Query:
    """How many of the named variables have one of the values named for them.

    >>> Tally({"fever": "high", "cough": ["dry", "wet"]}).text
    'tally:fever=high,cough=dry|wet'
    """
    return Query("tally", (("values", _listed(values, "a tally needs variables with values")),))


def Matching(values: Mapping[str, str | Sequence[str]] | Sequence[Sequence[Any]]) -> Query:
    """How many records have one of the values named for each of these variables, all at once.

    Whatever changes in a record, it counts or it does not: one record changes the answer by at most 1, however many
    variables are asked and however they depend on each other (Statement 70).

    >>> Matching({"fever": "high", "cough": ["dry", "wet"]}).text
    'records:fever=high&cough=dry|wet'
    """
    return Query("records", (("values", _listed(values, "records need variables with values")),))


def named(state: object) -> str:
    """What a user says of states: a name, or several with ``|`` between them; safe to stand in a text."""
    if not isinstance(state, str) or not state:
        raise QueryError("a question about a state must name it", got=repr(state)[:40], fix="For example count:walk")
    alone = len(split_at(state, " over ")) > 1
    return "|".join(map(quoted, state.split("|"))) if alone else state


def among(text: str, states: States) -> tuple[Flags, str]:
    """Which states a text names: one of them, or several with ``|`` between them; and their names in one form only.

    That form leads to the same states again, also where a state is called like a list of others.

    >>> [among(text, states)[0].tolist() for text, states in (("b|c", ("a", "b", "c")), ("b|c", ("a", "b|c")))]
    [[False, True, True], [False, True]]
    >>> among('"b"|c', ("b", "c", "b|c"))[1]
    '"b"|"c"'
    """
    listed = [unquoted(part.strip()) for part in split_at(text, "|")]
    in_quotes = text.startswith('"') and set(listed) <= set(states)
    named = [text] if text in states and not in_quotes else listed
    for state in named:
        if state not in states:
            raise QueryError(
                "the counted state must be one of the belief's states",
                got=repr(state),
                fix=did_you_mean(state, states, f"Choose from {', '.join(states)}"),
            )
    written = "|".join(map(quoted, named))
    if len(named) > 1 and written in states:
        written = "|".join(json.dumps(state, ensure_ascii=False) for state in named)
    return np.array([state in named for state in states]), written


def _state_values(values: object) -> tuple[tuple[str, Any], ...]:
    if values is None:
        return ()
    try:
        given = dict(values)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise QueryError("values must be a mapping of states to numbers", got=type(values).__name__) from None
    return (("values", tuple((str(state), str(number)) for state, number in given.items())),)


def _listed(values: object, need: str) -> tuple[tuple[str, States], ...]:
    if (
        not isinstance(values, Mapping | Sequence)
        or isinstance(values, str)
        or not values
        or not all(dict(values).values())
    ):
        raise QueryError(need, got="none", fix='For example {"fever": "high"}')
    named = {
        str(name): (states,) if isinstance(states, str) else tuple(states) for name, states in dict(values).items()
    }
    return tuple(named.items())


def _written_values(word: str) -> Callable[[Query], str]:
    def write(query: Query) -> str:
        pairs = (f"{quoted(state)}={number}" for state, number in query["values"] or ())
        return word if query["values"] is None else f"{word}:{','.join(pairs)}"

    return write


def _written_tally(word: str, between: str) -> Callable[[Query], str]:
    def write(query: Query) -> str:
        named = (f"{quoted(name)}={'|'.join(map(quoted, states))}" for name, states in query["values"])
        return f"{word}:{between.join(named)}"

    return write


def _read_values(make: Callable[[Mapping[str, str]], Query]) -> Callable[[str], Query]:
    """States with their numbers: ``off=0,on=1.5``; nothing if there is no text."""

    def read(text: str) -> Query:
        if not text:
            return make(None)  # type: ignore[arg-type]
        pairs = [split_at(part, "=") for part in split_at(text, ",")]
        if not all(len(pair) == 2 for pair in pairs):
            raise QueryError("numbers of states must be STATE=NUMBER,..", got=repr(text)[:60], fix="sum:off=0,on=1.5")
        return make({unquoted(state.strip()): number.strip() for state, number in pairs})

    return read


def _read_tally(make: Callable[[Any], Query], between: str) -> Callable[[str], Query]:
    """Variables with values: ``fever=high,cough=dry|wet``."""

    def read(text: str) -> Query:
        values: dict[str, list[str]] = {}
        for part in split_at(text, between):
            name, *named = split_at(part, "=")
            name = unquoted(name.strip())
            if not (name and named and "=".join(named)):
                raise QueryError(
                    f"values must be VARIABLE=STATE{between}...",
                    got=repr(text),
                    fix="tally:fever=high,cough=dry|wet or records:fever=high&cough=dry|wet",
                )
            if name in values:
                raise QueryError("each variable must be named once", got=f"{name!r} twice")
            values[name] = [unquoted(value.strip()) for value in split_at("=".join(named).strip(), "|")]
        return make(values)

    return read


def _read_top(text: str) -> Query:
    return Top(int(text) if text.isdecimal() and text.isascii() else 0)


def _read_lengths(text: str) -> Query:
    """From ``STATE:E1,E2,..``."""
    *state, edges = split_at(text, ":")
    try:
        listed = tuple(int(edge) for edge in edges.split(","))
    except ValueError:
        listed = ()
    return StayLengths(":".join(state), listed)


def _counts(query: Query, states: States) -> Question:
    inside, name = among(query["state"], states)
    return Question(
        query=query.with_args(state=name),
        parts=(Part(None, states, inside[None, :].astype(np.int64)),),
        divide="values" if query.kind == "share" else "nothing",
    )


def _every_state(query: Query, states: States) -> Question:
    derive: StateAtShare | MostFrequent | None = None
    if query.kind == "quantile":
        derive = StateAtShare(Fraction(query["at"]), query.text)
        derive.numbers(states)
    elif query.kind == "top":
        derive = MostFrequent(query["most"])
    return Question(
        query=query,
        parts=(Part(None, states, np.eye(len(states), dtype=np.int64)),),
        labels=tuple((state,) for state in states),
        divide="values" if query.kind == "frequencies" else "nothing",
        derive=derive,
    )


def _sums(query: Query, states: States) -> Question:
    numbers = _numbers(query, states)
    common = math.lcm(*(n.denominator for n in numbers))
    unit = Fraction(math.gcd(*(int(n * common) for n in numbers)), common) or Fraction(1)
    multiples = [int(n / unit) for n in numbers]
    if max(map(abs, multiples)) >= MOST:
        raise QueryError(
            f"{query.kind} must stay below 2^62 steps of {float(unit):g}",
            got=f"{float(max(map(abs, multiples))):.1e}",
            why="exact noise is drawn on 64-bit integers",
            fix="Round the values of the states to fewer digits",
        )
    steps = np.array([multiples], dtype=np.int64)
    divide = "values" if query.kind == "mean" else "nothing"
    return Question(query=query, parts=(Part(None, states, steps),), unit=unit, divide=divide)  # type: ignore[arg-type]


def _numbers(query: Query, states: States) -> list[Fraction]:
    """The number that each state stands for; decimal text is taken at its word: 0.1 is one tenth."""
    given = None if query["values"] is None else dict(query["values"])
    levels = level_numbers(states) if given is None else None
    numbers: list[Fraction] = []
    for n, state in enumerate(states):
        value = levels[n] if levels else state if given is None else given.get(state)
        try:
            numbers.append(Fraction(str(value)))
        except (ValueError, ZeroDivisionError):
            raise QueryError(
                f"{query.kind} needs a number for every state",
                got=f"state {state!r} without one",
                why="only numbers can be added up",
                fix="Name the states by their numbers, use bins with two edges or more, or say which number each "
                f"stands for: {query.kind.title()}({{state: number}}), state_values='off=0,on=1.5'; for records, "
                "use `over A,B`",
            ) from None
        if numbers[-1] and not SMALLEST <= abs(numbers[-1]) <= LARGEST:
            raise QueryError(
                f"{query.kind} needs numbers between 1e-50 and 1e50, or 0",
                got=f"a smaller or larger one for state {state!r}",
                fix="Change the unit",
            )
    return numbers


def _transitions(query: Query, states: States) -> Question:
    k = len(states)
    rows = np.arange(k * k, dtype=np.int64).reshape(k, k)
    return Question(
        query=query,
        parts=(Part(None, states, np.broadcast_to(np.int64(0), (k * k, k))),),
        pairs=Pairs(rows, np.ones((k, k), dtype=np.int64)),
        labels=tuple((x, y) for x in states for y in states),
        limited=partial(_limits_of_links, k**2),
        ordered=True,
    )


def _limits_of_links(count: int, size: int, links: int | None) -> Limits:
    total = float(max(0, size - 1) if links is None else links)  # in one series all values but the first
    return Limits((0.0,) * count, (total,) * count, total)


def _stays(query: Query, states: States) -> Question:
    k = len(states)
    rows, steps = np.full((k, k), -1, dtype=np.int64), np.zeros((k, k), dtype=np.int64)
    if query["state"] is None:
        counted = np.eye(k, dtype=np.int64)
        labels: tuple[tuple[str, ...], ...] = tuple((state,) for state in states)
        np.fill_diagonal(rows, np.arange(k))
        np.fill_diagonal(steps, -1)
        count = k
    else:
        inside, name = among(query["state"], states)
        query = query.with_args(state=name)
        counted, labels = inside[None, :].astype(np.int64), ((),)
        if query.kind == "stay-length":
            counted, labels = np.repeat(counted, 2, axis=0), (("values in it",), ("stays",))
        count = len(counted)
        both = np.ix_(inside, inside)
        rows[both], steps[both] = count - 1, -1
    return Question(
        query=query,
        parts=(Part(None, states, counted),),
        pairs=Pairs(rows, steps),
        labels=labels,
        limited=partial(_limits_of_stays, None if query.kind == "stay-length" else count),
        derive=MeanLength() if query.kind == "stay-length" else None,
        ordered=True,
    )


def _limits_of_stays(count: int | None, size: int, links: int | None) -> Limits:
    """Of the stays in so many states; or (None) of the values in one, and of its stays."""
    most = float(most_stays(size, links))
    high = (float(size), most) if count is None else (most,) * count
    return Limits((0.0,) * len(high), high)


def _stay_lengths(query: Query, states: States) -> Question:
    inside, name = among(query["state"], states)
    edges = query["edges"]
    inner = [(low, high - 1) for low, high in pairwise((1, *edges))]
    labels = [*(str(low) if low == high else f"{low}..{high}" for low, high in inner), f">={edges[-1]}"]
    return Question(
        query=query.with_args(state=name),
        parts=(Part(None, states),),
        declared=(3.0 * np.not_equal.outer(inside, inside),),  # two stays become one, or one two (Statement 67)
        measure=partial(_lengths_of_stays, inside, edges),
        labels=tuple((label,) for label in labels),
        limited=partial(_limits_of_lengths, edges),
        ordered=True,
        by_part=False,
    )


def _lengths_of_stays(inside: Flags, edges: tuple[int, ...], series: Series) -> Codes:
    """How many stays have each class of lengths, from the values themselves, which come into memory."""
    lengths = [np.zeros(0, dtype=np.int64)]
    for stretch in series.stretches:
        ends = np.diff(inside[stretch].astype(np.int8), prepend=0, append=0)
        lengths.append(np.flatnonzero(ends < 0) - np.flatnonzero(ends > 0))
    classes = np.searchsorted(np.array(edges), np.concatenate(lengths), side="right")
    return np.bincount(classes, minlength=len(edges) + 1)


def _limits_of_lengths(edges: tuple[int, ...], size: int, links: int | None) -> Limits:
    """A class has no more stays than values for stays of its least length."""
    most = most_stays(size, links)
    high = tuple(float(min(most, size // least)) for least in (1, *edges))
    return Limits((0.0,) * len(high), high)


def most_stays(size: int, links: int | None) -> int:
    """The most stays in one state that this many values can have, of which so many directly follow another.

    >>> most_stays(5, 4), most_stays(5, 0), most_stays(5, None)
    (3, 5, 5)
    """
    return size if links is None else (2 * size - links) // 2


def _tallied(query: Query, variables: Variables) -> Question:
    """1 for the values named, 0 for all others."""
    chosen = dict(query["values"])
    check_names(chosen, variables)
    for name, tallied in chosen.items():
        if not set(tallied) <= set(variables[name]):
            raise QueryError(
                f"the tallied values of {name} must be its states",
                got=repr(wrong := next(v for v in tallied if v not in variables[name])),
                fix=did_you_mean(wrong, variables[name], f"Choose from {', '.join(variables[name])}"),
            )
    return Question(
        query=query,
        parts=tuple(
            Part(name, states, np.array([[state in chosen.get(name, ()) for state in states]], dtype=np.int64))
            for name, states in variables.items()
        ),
        asked=len(chosen),
        join="all" if query.kind == "records" else "sum",
    )


def check_names(names: Mapping[str, Any], variables: Variables) -> None:
    """Refuse variables that are not there."""
    for name in names:
        if name not in variables:
            shown = ", ".join(list(variables)[:20]) + (", ..." if len(variables) > 20 else "")
            raise QueryError(
                "the query must ask variables of the belief",
                got=repr(name),
                fix=did_you_mean(name, variables, f"Its variables: {shown}"),
            )


def _plain(make: Callable[[], Query], build: Build, **more: Any) -> Kind:
    """A question without arguments: its name is its text."""
    word = make().kind
    return Kind(make, lambda _: word, {word: ("", lambda _: make())}, build, **more)


def _in_states(word: str, make: Callable[[str], Query], build: Build, **more: Any) -> Kind:
    """A question about one state, or some."""
    return Kind(make, lambda query: f"{word}:{query['state']}", {word: ("STATE", make)}, build, **more)


def _sum_kind(word: str, make: Callable[[Mapping[str, str]], Query], **more: Any) -> Kind:
    return Kind(make, _written_values(word), {word: ("[STATE=NUMBER,..]", _read_values(make))}, _sums, **more)


def _tally_kind(word: str, make: Callable[[Any], Query], form: str, between: str) -> Kind:
    read = _read_tally(make, between)
    return Kind(make, _written_tally(word, between), {word: (form, read)}, of_variables=_tallied)


IN_ORDER: dict[str, Any] = {"whole": True, "ordered": True}
KINDS |= {
    "count": _in_states("count", Count, _counts),
    "share": _in_states("share", Share, _counts, divided="count"),
    "stays": Kind(
        Stays,
        lambda query: "stays" if query["state"] is None else f"stays:{query['state']}",
        {"stays": ("[STATE]", lambda text: Stays(text or None))},
        _stays,
        **IN_ORDER,
    ),
    "stay-length": _in_states("stay-length", StayLength, _stays, **IN_ORDER),
    "stay-lengths": Kind(
        StayLengths,
        lambda query: f"stay-lengths:{query['state']}:{','.join(map(str, query['edges']))}",
        {"stay-lengths": ("STATE:2,5,10", _read_lengths)},
        _stay_lengths,
        **IN_ORDER,
    ),
    "quantile": Kind(
        Quantile,
        lambda query: "median" if Fraction(query["at"]) == Fraction(1, 2) else f"quantile:{query['at']}",
        {"quantile": ("0.9", Quantile), "median": ("", lambda _: Quantile("0.5"))},
        _every_state,
    ),
    "top": Kind(Top, lambda query: f"top:{query['most']}", {"top": ("3", _read_top)}, _every_state),
    "tally": _tally_kind("tally", Tally, "A=x,B=y|z", ","),
    "records": _tally_kind("records", Matching, "A=x&B=y|z", "&"),
    "histogram": _plain(Histogram, _every_state),
    "frequencies": _plain(Frequencies, _every_state, divided="histogram"),
    "mean": _sum_kind("mean", Mean, divided="sum"),
    "sum": _sum_kind("sum", Sum),
    "transitions": _plain(Transitions, _transitions, **IN_ORDER),
}
