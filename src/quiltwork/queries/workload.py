"""Several questions in one release, which share one ε."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable, Series
from quiltwork.errors import NotCoveredError, QueryError
from quiltwork.numeric import add_up, float_above
from quiltwork.queries.base import Asked, Numbers, Query, States, Variables
from quiltwork.queries.kinds import Count, Histogram
from quiltwork.queries.steps import InSteps
from quiltwork.types import Floats

MOST_QUESTIONS = 50
SMALLEST, LARGEST = Fraction(1, 10**50), Fraction(10**50)


class Question(NamedTuple):
    """One of the questions that noise is drawn for: its place among all, and its noise as a multiple of the scale."""

    place: int
    query: Query
    ratio: Fraction


@dataclass(frozen=True)
class Workload(Query):
    """Several questions in one release, which share one ε.

    A noise scale λ of a workload gives its question q noise of scale ratio_q · λ on each number, before shares and
    means are divided. The sensitivity of the workload is Σ_q c_q / ratio_q: divided by λ, it is the most by which one
    value changes the log-density of all results together (Statement 72). ``ratios`` are chosen for the least total
    error when a workload is calibrated, unless they are given; ``weights`` say how much each question's error counts.

    A question that follows from another one need not be asked again; its ratio is None. Shares follow from a histogram.
    So does a count, but where it needs much less noise of its own it is asked.

    >>> from quiltwork import Frequencies, Histogram, Transitions
    >>> both = Workload([Histogram(), Transitions()], ratios=[1, 2])
    >>> both.text, both.sensitivity(["sit", "walk"]).tolist()
    ('histogram + transitions', [[1.0, 3.0], [3.0, 1.0]])
    >>> [question.query.text for question in Workload([Histogram(), Frequencies(), Transitions()]).asked]
    ['histogram', 'transitions']
    """

    questions: Sequence[Query]
    weights: Sequence[float] | None = None
    ratios: Sequence[Fraction | int | str | None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", _questions(self.questions))
        count = len(self.questions)
        object.__setattr__(self, "weights", (1.0,) * count if self.weights is None else _weights(self.weights, count))
        if self.ratios is None:
            return
        object.__setattr__(self, "ratios", _ratios(self.ratios, count))
        for place, ratio in enumerate(self.ratios):
            if ratio is None and self.source(place) is None:
                raise QueryError(
                    "a question without a ratio must follow from another one",
                    got=self.questions[place].text,
                    why="a ratio is how much noise it gets",
                )

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions that noise is drawn for; all with the same noise where ratios are not chosen yet."""
        ratios = self._effective
        return tuple(
            Question(place, query, ratio)
            for place, (query, ratio) in enumerate(zip(self.questions, ratios, strict=True))
            if ratio is not None
        )

    @property
    def chosen(self) -> bool:
        """Whether it is known how much noise each question gets, in proportion to others."""
        return self.ratios is not None

    def source(self, place: int) -> int | None:
        """The place of the question that another one follows from; None if it is asked itself."""
        ratios = self._effective
        if ratios[place] is not None:
            return None
        return next(
            (
                other
                for other, ratio in enumerate(ratios)
                if ratio is not None and gives(self.questions[other], self.questions[place])
            ),
            None,
        )

    @cached_property
    def _effective(self) -> tuple[Fraction | None, ...]:
        if self.ratios is not None:
            return tuple(None if ratio is None else Fraction(ratio) for ratio in self.ratios)
        needed = _needed(self.questions)
        return tuple(Fraction(1) if place in needed else None for place in range(len(self.questions)))

    @property
    def integer(self) -> bool:  # type: ignore[override]
        """Whether all answers are whole multiples of a unit."""
        return all(query.integer for query in self.questions)

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        """Whether one of the questions needs the order of values."""
        return any(query.ordered for query in self.questions)

    @property
    def followed(self) -> bool:  # type: ignore[override]
        """Whether one of the questions counts transitions."""
        return any(query.followed for query in self.questions)

    @property
    def by_part(self) -> bool:  # type: ignore[override]
        """Whether all can be asked of each window or subject."""
        return all(query.by_part for query in self.questions)

    @property
    def names_variables(self) -> bool:  # type: ignore[override]
        """Whether one of the questions names variables of a record."""
        return any(query.names_variables for query in self.questions)

    @property
    def text(self) -> str:
        """The questions as written on the command line, joined."""
        return " + ".join(query.text for query in self.questions)

    def to_dict(self) -> dict[str, Any]:
        """The questions and the ratios of their noise as plain values."""
        return {
            "kind": "workload",
            "questions": [query.to_dict() for query in self.questions],
            "ratios": [None if ratio is None else str(ratio) for ratio in self._effective],
        }

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """What one value changes of all questions, each divided by its ratio, rounded up."""
        return _total([_divided(query.sensitivity(states), ratio) for _, query, ratio in self.asked])  # Statement 72

    def euclidean(self, states: States) -> NDArray[np.float64]:
        """The same in L2 norm: squares add up over questions."""
        return _root([_divided(query.euclidean(states), ratio) for _, query, ratio in self.asked])  # Statement 79

    def unit(self, states: States) -> Fraction:
        """The largest step of an answer, as a multiple of the noise scale's unit."""
        return max(query.unit(states) / ratio for _, query, ratio in self.asked)

    def in_windows(self) -> Query:
        """Each question as it is asked of windows, where a change may move more than one answer."""
        return self._each([query.in_windows() for query in self.questions])

    def sized(self, series: Series) -> Query:
        """Each question with what is public about the data."""
        return self._each([query.sized(series) for query in self.questions])

    def within(self, belief: Belief) -> Query:
        """Each question as it is asked under the belief."""
        if belief.real:
            raise NotCoveredError(
                "several questions about real values need a release each",
                got=self.text,
                why="each of them is added up on a grid of its own, which the account keeps with it",
                fix="Ask them one by one, with a ledger or a session: it adds up what they tell together",
            )
        return self._each([query.within(belief) for query in self.questions])

    def undivided(self) -> Query:
        """The counts and sums that the questions are made of, as far as noise is drawn for them."""
        return self._of_asked([query.undivided() for _, query, _ in self.asked])

    def unrolled(self, names: Mapping[str, Sequence[str]]) -> "Query | None":
        """The same asked of a network with a variable for each step."""
        unrolled = [query.unrolled(names) for _, query, _ in self.asked]
        known = [query for query in unrolled if query is not None]
        return self._of_asked(known) if len(known) == len(unrolled) else None

    def _of_asked(self, questions: Sequence[Query]) -> "Workload":
        """The same about questions that take the place of those that noise is drawn for."""
        return Workload(questions, ratios=[ratio for _, _, ratio in self.asked])

    def _each(self, questions: Sequence[Query]) -> "Workload":
        """The same about questions that take the place of these, with the same noise."""
        return replace(self, questions=questions)

    def by_variable(self, variables: Variables) -> Asked:
        """What all questions together ask of each variable of a record."""
        asked = [(query.by_variable(variables), ratio) for _, query, ratio in self.asked]
        if any(steps is None for one, _ in asked for steps in one.steps):
            raise QueryError("each question must add up over variables", got=self.text)
        return Asked(
            query=self,
            unit=max(one.unit / ratio for one, ratio in asked),
            steps=(None,) * len(variables),
            sensitivity=tuple(
                _total([_divided(one.sensitivity[n], ratio) for one, ratio in asked]) for n in range(len(variables))
            ),
            asked=max(one.asked or 0 for one, _ in asked),
            states=(),
            euclidean=tuple(
                _root([_divided(one.euclidean[n], ratio) for one, ratio in asked]) for n in range(len(variables))
            ),
        )

    def evaluate(self, series: Countable) -> Numbers:  # noqa: ARG002 - answers have units of their own
        """Not together: each question has a unit of its own."""
        raise QueryError("the questions of a workload are answered one by one", got=self.text)

    def labels(self, states: States) -> tuple[str, ...]:
        """A name for each number that noise is drawn for."""
        return tuple(f"{query.text}: {label}" for _, query, _ in self.asked for label in query.labels(states))


def gives(source: Query, question: Query) -> bool:
    """Whether the noisy answer to one question has that to another one in it.

    >>> from quiltwork import Frequencies, Mean
    >>> gives(Histogram(), Frequencies()), gives(Histogram(), Count("sit")), gives(Histogram(), Mean())
    (True, True, False)
    """
    if isinstance(source, InSteps) and isinstance(question, InSteps):
        return source.variables == question.variables and gives(source.query, question.query)
    if same(source, question):
        return True
    wanted = question.undivided()
    if not isinstance(wanted, Count) or "|" in wanted.state:  # a set of states would add up the noise of each
        return False
    return isinstance(source.undivided(), Histogram)


def picked(source: Query, question: Query, states: States) -> list[int] | None:
    """Which of one question's numbers are those of another one that follows from it; None for all of them.

    >>> picked(Histogram(), Count("walk"), ["sit", "walk"])
    [1]
    """
    if isinstance(source, InSteps) and isinstance(question, InSteps):
        return picked(source.query, question.query, source.labels(states))
    wanted = question.undivided()
    if not isinstance(wanted, Count) or same(source, question):
        return None
    return np.flatnonzero(wanted.counted(states)).tolist()


def same(question: Query, other: Query) -> bool:
    """Whether noise is drawn for the same numbers, so that one of them need not be asked.

    >>> from quiltwork import Frequencies
    >>> same(Histogram(), Frequencies()), same(Histogram(), Count("sit"))
    (True, False)
    """
    if isinstance(question, InSteps) and isinstance(other, InSteps):
        return question.variables == other.variables and same(question.query, other.query)
    return question.undivided() == other.undivided()


def _needed(questions: Sequence[Query]) -> set[int]:
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
    total = changes[0]
    for more in changes[1:]:
        total = add_up(total, more)
    return total


def _root(changes: Sequence[Floats]) -> Floats:
    """The root of the sum of squares, rounded up."""
    if len(changes) == 1:
        return changes[0]
    return np.asarray(np.sqrt(np.sum(np.square(changes), axis=0)) * (1 + 4 * len(changes) * 2.0**-52))


def _questions(given: object) -> tuple[Query, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise QueryError("a workload needs a list of questions", got=type(given).__name__)
    if len(given) > MOST_QUESTIONS:
        raise QueryError(f"a workload has at most {MOST_QUESTIONS} questions", got=str(len(given)))
    for query in given:
        if not isinstance(query, Query) or isinstance(query, Workload):
            raise QueryError("the questions of a workload must be queries", got=type(query).__name__)
    return tuple(given)


def _weights(given: Sequence[float], count: int) -> tuple[float, ...]:
    fine = all(isinstance(w, int | float) and not isinstance(w, bool) and 1e-6 <= w <= 1e6 for w in given)
    if len(given) != count or not fine:
        raise QueryError(
            "a workload needs a weight between 1e-6 and 1e6 for each question",
            got=f"{len(given)} weights for {count} questions" if len(given) != count else "another weight",
            why="it says how much the question's error counts",
            fix="Leave weights out if all count alike",
        )
    return tuple(float(w) for w in given)


def _ratios(given: Sequence[Fraction | int | str | None], count: int) -> tuple[Fraction | None, ...]:
    try:
        ratios = tuple(None if ratio is None else Fraction(ratio) for ratio in given)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise QueryError("ratios of a workload must be fractions", got="something else") from None
    known = [ratio for ratio in ratios if ratio is not None]
    if len(ratios) != count or not known or not all(SMALLEST <= ratio <= LARGEST for ratio in known):
        raise QueryError(
            "a workload needs a ratio between 1e-50 and 1e50 for each question that is asked",
            got=f"{len(ratios)} ratios for {count} questions" if len(ratios) != count else "another ratio",
        )
    return ratios


def rounded_ratio(ratio: float) -> Fraction:
    """The nearest number with a few binary digits: what is divided by it, and multiplied, stays nearly exact.

    >>> rounded_ratio(1.99), rounded_ratio(0.3333)
    (Fraction(127, 64), Fraction(85, 256))
    """
    mantissa, exponent = math.frexp(ratio)
    return Fraction(round(mantissa * 128), 128) * Fraction(2) ** exponent
