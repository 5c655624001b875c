"""Several questions in one release, which share one ε: as they are said, and as they are asked of a belief's data."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quiltwork.beliefs.text import parse_json, read_text
from quiltwork.errors import QueryError
from quiltwork.numeric import add_up, float_above
from quiltwork.question.query import LARGEST, SMALLEST, Query, parse_query, query_from_dict
from quiltwork.question.question import Question, Totals
from quiltwork.question.sensitivity import Norm, largest_change
from quiltwork.types import Floats

MOST_QUESTIONS = 50
EXAMPLE = 'For example [{"query": "histogram", "weight": 2}, {"query": "transitions"}]'


@dataclass(frozen=True)
class Workload:
    """Several questions in one release, which share one ε.

    A noise scale λ of a workload gives its question q noise of scale ratio_q · λ on each number, before shares and
    means are divided. The sensitivity of the workload is Σ_q c_q / ratio_q: divided by λ, it is the most by which one
    value changes the log-density of all results together (Statement 72). ``ratios`` are chosen for the least total
    error when a workload is calibrated, unless they are given; ``weights`` say how much each question's error counts.

    A question that follows from another one need not be asked again; its ratio is None. Shares follow from a histogram.
    So does a count, but where it needs much less noise of its own it is asked.

    >>> from quiltwork import Histogram, Transitions
    >>> Workload([Histogram(), Transitions()], ratios=[1, 2])
    Workload('histogram + transitions', ratios 1, 2)
    """

    questions: Sequence[Query | str]
    weights: Sequence[float] | None = None
    ratios: Sequence[Fraction | int | str | None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", _questions(self.questions))
        count = len(self.questions)
        object.__setattr__(self, "weights", (1.0,) * count if self.weights is None else _weights(self.weights, count))
        if self.ratios is not None:
            object.__setattr__(self, "ratios", _ratios(self.ratios, count))

    def __repr__(self) -> str:
        ratios = (
            "" if self.ratios is None else f", ratios {', '.join('-' if r is None else str(r) for r in self.ratios)}"
        )
        return f"Workload({self.text!r}{ratios})"

    @property
    def queries(self) -> tuple[Query, ...]:
        """The questions."""
        return tuple(query for query in self.questions if isinstance(query, Query))

    @property
    def text(self) -> str:
        """The questions as written on the command line, joined."""
        return " + ".join(query.text for query in self.queries)

    def to_dict(self) -> dict[str, Any]:
        """The questions and the ratios of their noise as plain values; :func:`said_in` reads them back."""
        ratios = {} if self.ratios is None else {"ratios": [None if r is None else str(r) for r in self.ratios]}
        return {"kind": "workload", "questions": [query.to_dict() for query in self.queries]} | ratios


Said = Query | Workload
Questions = Said | str | Sequence[Query | str]
"""A query or its text; several of them are one release."""


def as_said(query: object) -> Said:
    """A query, the one that a text names, or several of them as one.

    >>> as_said(["histogram", "transitions"]).text
    'histogram + transitions'
    """
    if isinstance(query, str):
        return parse_query(query)
    if isinstance(query, Query | Workload):
        return query
    if isinstance(query, Sequence) and query:
        questions = [as_said(one) for one in query]
        return questions[0] if len(questions) == 1 else Workload(questions)  # type: ignore[arg-type]
    raise QueryError(
        "query must be a Query or its text",
        got=getattr(query, "__name__", type(query).__name__),
        fix='For example "histogram", or ["histogram", "transitions"]',
    )


def said_in(contents: Mapping[str, Any]) -> Said:
    """What ``to_dict`` wrote down of a query or a workload.

    >>> said_in(Workload(["histogram", "stays"], ratios=[1, 2]).to_dict()).text
    'histogram + stays'
    """
    if contents.get("kind") != "workload":
        return query_from_dict(contents)
    try:
        questions = [query_from_dict(question) for question in contents["questions"]]
    except (TypeError, KeyError):
        raise QueryError("a workload in a record must list its questions", got=repr(contents)[:40]) from None
    return Workload(questions, ratios=contents.get("ratios"))


class Drawn(NamedTuple):
    """A question that noise is drawn for: its place among all, and its noise as a multiple of the scale."""

    place: int
    question: Question
    ratio: Fraction


@dataclass(frozen=True, eq=False)
class Asked:
    """What one release asks of the data that a belief is about: one question, or several that share ε.

    ``ratios`` has the noise of each question as a multiple of the scale; None if it follows from another one.
    ``norm`` is how changes are measured: in L1 for Laplace noise, in L2 for Gaussian noise (Statement 78).

    >>> from quiltwork import MarkovChain
    >>> from quiltwork.question import bind
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> both = bind(Workload(["histogram", "transitions"], ratios=[1, 2]), coin)
    >>> both.table()[0].tolist()
    [[1.0, 3.0], [3.0, 1.0]]
    >>> [drawn.question.text for drawn in bind(Workload(["histogram", "frequencies", "stays"]), coin).drawn]
    ['histogram', 'stays']
    """

    said: Said
    questions: tuple[Question, ...]
    ratios: tuple[Fraction | None, ...] = (Fraction(1),)
    norm: Norm = 1

    def __post_init__(self) -> None:
        if isinstance(self.said, Workload) and self.said.ratios is None:
            needed = _needed(self.questions)
            every = range(len(self.questions))
            object.__setattr__(self, "ratios", tuple(Fraction(1) if place in needed else None for place in every))
        for place, ratio in enumerate(self.ratios):
            if ratio is None and self.source(place) is None:
                raise QueryError(
                    "a question without a ratio must follow from another one",
                    got=self.questions[place].text,
                    why="a ratio is how much noise it gets",
                )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asked) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.questions)

    @property
    def key(self) -> tuple[Any, ...]:
        """All that tells it from others."""
        return tuple(question.key for question in self.questions), self.ratios, self.norm

    @classmethod
    def single(cls, question: Question) -> "Asked":
        """One question by itself."""
        return cls(question.query, (question,))

    @property
    def text(self) -> str:
        """What was said, as written on the command line."""
        return self.said.text

    @property
    def several(self) -> bool:
        """Whether there is more than one question, or noise in proportions."""
        return isinstance(self.said, Workload)

    @property
    def only(self) -> Question:
        """The question, if there is one."""
        if self.several:
            raise QueryError("this needs a single question", got=self.text)
        return self.questions[0]

    @property
    def chosen(self) -> bool:
        """Whether it is known how much noise each question gets, in proportion to others."""
        return not isinstance(self.said, Workload) or self.said.ratios is not None

    @cached_property
    def drawn(self) -> tuple[Drawn, ...]:
        """The questions that noise is drawn for; all with the same noise where ratios are not chosen yet."""
        pairs = enumerate(zip(self.questions, self.ratios, strict=True))
        return tuple(Drawn(place, question, ratio) for place, (question, ratio) in pairs if ratio is not None)

    def source(self, place: int) -> int | None:
        """The place of the question that another one follows from; None if it is asked itself."""
        if self.ratios[place] is not None:
            return None
        question = self.questions[place]
        return next((one.place for one in self.drawn if gives(one.question, question)), None)

    @cached_property
    def sources(self) -> tuple[Question, ...]:
        """For each question, the one that its noise is drawn for: itself, unless it follows from another."""
        places = ((place, self.source(place)) for place in range(len(self.questions)))
        return tuple(self.questions[place if source is None else source] for place, source in places)

    def in_l2(self) -> "Asked":
        """The same with changes in L2 norm."""
        return replace(self, norm=2)

    @property
    def undivided(self) -> "Asked":
        """The counts and sums that the questions are made of."""
        return replace(self, questions=tuple(question.undivided for question in self.questions))

    def table(self, norm: Norm | None = None) -> tuple[Floats, ...]:
        """What one value changes of all questions, each divided by its ratio, rounded up; for each part."""
        norm = self.norm if norm is None else norm
        tables = [[_divided(table, one.ratio) for table in one.question.table(norm)] for one in self.drawn]
        together = _total if norm == 1 else _root
        return tuple(together(of_part) for of_part in zip(*tables, strict=True))

    @cached_property
    def lipschitz_by_part(self) -> tuple[float, ...]:
        """The most that one value of each part can change the answer."""
        return tuple(map(largest_change, self.table()))

    @property
    def lipschitz(self) -> float:
        """The most that any one value can change the answer."""
        return max(self.lipschitz_by_part)

    @property
    def whole(self) -> float:
        """The most that all variables of a record together can change the answer, where that is known."""
        return math.inf if self.several else self.only.whole

    @property
    def unit(self) -> Fraction:
        """The largest step of an answer, as a multiple of the noise scale's unit."""
        return max(one.question.unit / one.ratio for one in self.drawn)

    @property
    def divided(self) -> bool:
        """Whether it is a share or a mean: its size depends on what it is divided by."""
        return not self.several and self.only.divide not in ("nothing", 1)

    @property
    def totals(self) -> Totals:
        """Groups of numbers whose sum is public, of a single question."""
        return () if self.several else self.only.totals

    @property
    def keeps_totals(self) -> bool:
        """Whether noise of one of the questions keeps a public total."""
        return any(one.question.totals for one in self.drawn)

    @property
    def windows(self) -> bool:
        """Whether each window of a series has an answer."""
        return any(question.windows for question in self.questions)

    @property
    def ordered(self) -> bool:
        """Whether one of the questions needs the order of values."""
        return any(question.ordered for question in self.questions)

    @property
    def linked(self) -> bool:
        """Whether one of the questions counts which values follow each other."""
        return any(question.pairs is not None for question in self.questions)

    @property
    def by_part(self) -> bool:
        """Whether all can be asked of each window or subject."""
        return all(question.by_part for question in self.questions)

    @property
    def names_variables(self) -> bool:
        """Whether one of the questions names variables of a record."""
        return any(one.query.over or one.query.entry.of_variables is not None for one in self.questions)


def gives(source: Question, question: Question) -> bool:
    """Whether the noisy answer to one question has that to another one in it: all of its numbers, or one.

    Sets of states are not added up from single ones, since that would add up the noise of each.
    """
    places = question.places_in(source)
    return places is not None and (len(places) == 1 or places == list(range(len(source.labels))))


def same(question: Question, other: Question) -> bool:
    """Whether noise is drawn for the same numbers, so that one of them need not be asked."""
    return question.places_in(other) == list(range(len(other.labels)))


def _needed(questions: Sequence[Question]) -> set[int]:
    """Places of questions that are asked: of those about the same numbers, the one that gives the most others."""
    left, needed = set(range(len(questions))), set()
    while left:
        alike = [n for n in sorted(left) if same(questions[min(left)], questions[n])]
        needed.add(max(alike, key=lambda n: sum(gives(questions[n], other) for other in questions)))
        left -= set(alike)
    return needed


def _divided(changes: Floats, ratio: Fraction) -> Floats:
    """c / ratio, rounded up."""
    if ratio == 1:
        return changes
    values, places = np.unique(changes, return_inverse=True)
    return np.array([float_above(Fraction(value) / ratio) for value in values.tolist()])[places].reshape(changes.shape)


def _total(changes: Sequence[Floats]) -> Floats:
    total = changes[0]  # Statement 72
    for more in changes[1:]:
        total = add_up(total, more)
    return total


def _root(changes: Sequence[Floats]) -> Floats:
    """The root of the sum of squares, rounded up."""
    if len(changes) == 1:
        return changes[0]
    return np.asarray(np.sqrt(np.sum(np.square(changes), axis=0)) * (1 + 4 * len(changes) * 2.0**-52))  # Statement 79


def _questions(given: object) -> tuple[Query, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise QueryError("a workload needs a list of questions", got=type(given).__name__)
    if len(given) > MOST_QUESTIONS:
        raise QueryError(f"a workload has at most {MOST_QUESTIONS} questions", got=str(len(given)))
    questions = tuple(parse_query(query) if isinstance(query, str) else query for query in given)
    for query in questions:
        if not isinstance(query, Query):
            raise QueryError("the questions of a workload must be queries", got=type(query).__name__)
    return questions


def _weights(given: Sequence[float], count: int) -> tuple[float, ...]:
    fine = all(isinstance(w, int | float) and not isinstance(w, bool) and 1e-6 <= w <= 1e6 for w in given)
    if len(given) != count or not fine:
        raise QueryError(
            "a workload needs a weight between 1e-6 and 1e6 for each question",
            got=f"{len(given)} weights for {count} questions" if len(given) != count else "a smaller or larger one",
            why="it says how much the question's error counts",
            fix="Leave weights out if all count alike",
        )
    return tuple(float(w) for w in given)


def _ratios(given: Sequence[Fraction | int | str | None], count: int) -> tuple[Fraction | None, ...]:
    try:
        ratios = tuple(None if ratio is None else Fraction(ratio) for ratio in given)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise QueryError("ratios of a workload must be fractions", got="text that is none") from None
    known = [ratio for ratio in ratios if ratio is not None]
    if len(ratios) != count or not known or not all(SMALLEST <= ratio <= LARGEST for ratio in known):
        raise QueryError(
            "a workload needs a ratio between 1e-50 and 1e50 for each question that is asked",
            got=f"{len(ratios)} ratios for {count} questions" if len(ratios) != count else "a smaller or larger one",
        )
    return ratios


def rounded_ratio(ratio: float) -> Fraction:
    """The nearest number with a few binary digits: what is divided by it, and multiplied, stays nearly exact.

    >>> rounded_ratio(1.99), rounded_ratio(0.3333)
    (Fraction(127, 64), Fraction(85, 256))
    """
    mantissa, exponent = math.frexp(ratio)
    return Fraction(round(mantissa * 128), 128) * Fraction(2) ** exponent


def load_workload(path: str | Path) -> Said:
    """The questions that a file lists: texts, or objects with a ``query`` and a ``weight`` (1 if left out).

    A TOML file has them under ``questions``; a JSON file may, or is the list itself.

    >>> import json, tempfile
    >>> file = Path(tempfile.mkdtemp(), "workload.json")
    >>> _ = file.write_text(json.dumps([{"query": "histogram", "weight": 2}, "transitions"]))
    >>> load_workload(file).weights
    (2.0, 1.0)
    """
    path = Path(path)
    text = read_text(path, "workload", error=QueryError)
    toml = path.suffix.lower() == ".toml"
    content = _parse_toml(text, path) if toml else parse_json(text, f"workload {path}", error=QueryError)
    if isinstance(content, dict):
        if set(content) != {"questions"}:
            raise QueryError(
                f"workload {path} must have the key questions only", got=", ".join(sorted(content))[:60], fix=EXAMPLE
            )
        content = content["questions"]
    if not isinstance(content, list) or not content:
        raise QueryError(f"workload {path} must be a list of questions", got=type(content).__name__, fix=EXAMPLE)
    listed = [_listed(entry, n, path) for n, entry in enumerate(content, 1)]
    if len(listed) == 1:
        return listed[0][0]
    return Workload([query for query, _ in listed], weights=[weight for _, weight in listed])


def _listed(entry: Any, n: int, path: Path) -> tuple[Query, Any]:
    entry = {"query": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict) or not isinstance(entry.get("query"), str) or set(entry) - {"query", "weight"}:
        raise QueryError(
            f"question {n} of workload {path} must have a query, and may have a weight",
            got=type(entry).__name__ if not isinstance(entry, dict) else f"keys {', '.join(map(str, entry))}"[:60],
            fix=EXAMPLE,
        )
    return parse_query(entry["query"]), entry.get("weight", 1)


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        why = str(problem) if isinstance(problem, tomllib.TOMLDecodeError) else "it is nested too deeply"
        raise QueryError(f"workload {path} must be TOML", why=why) from problem
