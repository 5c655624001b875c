"""How the share of a state differs between two groups of values: two periods, or two groups of subjects."""

import re
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from quiltwork.data import Series, Window
from quiltwork.errors import QueryError
from quiltwork.question.limits import fixed_limits
from quiltwork.question.query import KINDS, Kind, Query, split_at
from quiltwork.question.question import MOST, Numbers, Part, Question
from quiltwork.question.table import States, among, named
from quiltwork.question.workload import Said
from quiltwork.types import Codes, Flags, Segment

POSITIONS = re.compile(r"(\d{1,15})-(\d{1,15})")
SUBJECTS = "subjects="
OTHERS = "*"
FORMS = "difference:walk:1-96|97-192, difference:walk:2024-03-01..2024-03-07|2024-03-08..2024-03-14 or "
FORMS += "difference:walk:subjects=ann,bob|*"


def ShareDifference(state: str, before: str, after: str, sizes: tuple[int, int] | None = None) -> Query:
    """The share of a state (or of a set: ``walk|run``) in a second group of values minus that in a first.

    Groups are periods, by positions (``1-96``) or dates (``2024-03-01..2024-03-07``), or subjects (``ann,bob``; ``*``
    for all others). How many values each of them has is public: ``sizes``, which a release fills in. A value counts 1
    in the smaller group and less in the larger, so that one count's noise is enough, divided by the size of the smaller
    group (Statement 69).

    >>> ShareDifference("walk", "1-2", "3-6").text
    'difference:walk:1-2|3-6'
    """
    args = (("state", state), ("before", before), ("after", after))
    query = Query("share-difference", args if sizes is None else (*args, ("sizes", (int(sizes[0]), int(sizes[1])))))
    kind = _kind(before, after)
    if not state or kind is None:
        raise QueryError(
            "a difference must name a state and two groups of the same kind", got=query.text[:60], fix=FORMS
        )
    first, second = _spans(query)
    if kind == SUBJECTS:
        alike = bool(set(first) & set(second))
    else:
        if any(one > other for one, other in (first, second)) or first[0] in ("0", 0):
            raise QueryError("a period must be its first and its last time", got=query.text[:60], fix=FORMS)
        alike = first[0] <= second[1] and second[0] <= first[1]
    if alike:
        raise QueryError("two groups must not overlap", got=query.text[:60], fix=FORMS)
    if sizes is not None and min(sizes) < 1:
        raise QueryError("both groups must have values", got="none in one of them", fix="Choose others")
    return query.with_args(state=named(state))


def read_difference(text: str) -> Query:
    """From ``STATE:FIRST|SECOND``."""
    *state, groups = split_at(text, ":")
    before, _, after = groups.partition("|")
    prefix = SUBJECTS if before.startswith(SUBJECTS) else ""
    return ShareDifference(":".join(state), before.strip(), prefix + after.strip().removeprefix(prefix))


def _written(query: Query) -> str:
    return f"difference:{query['state']}:{query['before']}|{query['after'].removeprefix(SUBJECTS)}"


def _kind(before: str, after: str) -> str | None:
    groups = before, after
    if all(POSITIONS.fullmatch(group) for group in groups):
        return "positions"
    if all(group.startswith(SUBJECTS) and len(group) > len(SUBJECTS) for group in groups):
        return SUBJECTS
    try:
        dated = [[date.fromisoformat(day) for day in group.split("..")] for group in groups]
    except ValueError:
        return None
    return "dates" if all(len(days) == 2 for days in dated) else None


def _spans(query: Query) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """First and last position or date of each group, or its subjects."""
    kind = _kind(query["before"], query["after"])

    def span(group: str) -> tuple[Any, ...]:
        if kind == "positions":
            return tuple(int(n) for n in group.split("-"))
        if kind == "dates":
            return tuple(group.split(".."))
        return tuple(name.strip() for name in group.removeprefix(SUBJECTS).split(","))

    return span(query["before"]), span(query["after"])


def sized(query: Query, series: Series) -> Query:
    """With how many values each of its groups has, which is public; any other query as it is."""
    if query.kind != "share-difference":
        return query
    one, other = _counted(query, series)
    sizes = int(one.sum()), int(other.sum())
    return ShareDifference(query["state"], query["before"], query["after"], sizes)


def all_sized(said: Said, series: Series) -> Said:
    """Each question with how many values its groups have."""
    if isinstance(said, Query):
        return sized(said, series)
    return replace(said, questions=[sized(query, series) for query in said.queries])


def _counted(query: Query, series: Series) -> tuple[Codes, Codes]:
    """How often each state occurs in each group."""
    first, second = _spans(query)
    kind = _kind(query["before"], query["after"])
    if kind == "positions":
        return series.between(*first).counts(), series.between(*second).counts()
    nothing = np.zeros(len(series.states), dtype=np.int64)
    if kind == "dates":
        days = series.parts(window=Window.parse("day"), by_subject=False, transitions=False)
        inside = [[part for day, part in days.items() if low <= day <= high] for low, high in (first, second)]
    else:
        people = series.parts(window=None, by_subject=True, transitions=False)
        named = {name for name in (*first, *second) if name != OTHERS}
        if not named <= set(people):
            raise QueryError(
                "both groups must name subjects of the data", got="a name that none has", fix="Check their names"
            )
        inside = [
            [part for name, part in people.items() if name in group or (OTHERS in group and name not in named)]
            for group in (first, second)
        ]
    one, other = (sum((part.counts() for part in parts), nothing) for parts in inside)
    return one, other


def _difference(query: Query, states: States) -> Question:
    inside, name = among(query["state"], states)
    known: Segment | None = query["sizes"]

    shorter: Any = "half"  # before data are read: half of the values, or the shorter period
    if _kind(query["before"], query["after"]) == "positions":
        shorter = int(min(last - first + 1 for first, last in _spans(query)))
    return Question(
        query=query.with_args(state=name),
        parts=(Part(None, states),),
        unit=Fraction(1) if known is None else Fraction(gcd(*known), max(known)),
        divide=shorter if known is None else min(known),
        declared=(np.not_equal.outer(inside, inside).astype(np.float64),),  # no value weighs more than 1 (Statement 69)
        measure=partial(_measured, query, inside),
        limited=partial(fixed_limits, -1.0, 1.0),
        ordered=True,
        by_part=False,
    )


def _measured(query: Query, inside: Flags, series: Series) -> Numbers:
    """Counts of the second group less those of the first, each times the size of the other."""
    counts = _counted(query, series)
    sizes = tuple(int(count.sum()) for count in counts)
    if sizes != (query["sizes"] or sizes):
        raise QueryError("the data must not change while they are read", got="groups of another size")
    step = gcd(*sizes)
    first, second = (int(count[inside].sum()) for count in counts)
    if sizes[0] // step * sizes[1] >= MOST:
        raise QueryError(
            "the sizes of the two groups must have a product below 2^62 in units",
            got=f"{float(sizes[0] // step * sizes[1]):.1e}",
            why="exact noise is drawn on 64-bit integers",
            fix="Choose groups whose sizes have a large common divisor",
        )
    return np.array([second * (sizes[0] // step) - first * (sizes[1] // step)], dtype=np.int64)


KINDS["share-difference"] = Kind(ShareDifference, _written, {}, _difference, whole=True, ordered=True)
