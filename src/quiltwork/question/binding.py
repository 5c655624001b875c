"""From what was said to what is computed: the one place where a question meets a kind of belief."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.errors import NotCoveredError, QueryError
from quiltwork.numeric import float_above, round_up
from quiltwork.question.query import Query
from quiltwork.question.question import MOST, Part, Question, between_reals
from quiltwork.question.table import Variables, check_names
from quiltwork.question.workload import Asked, Questions, Workload, as_said
from quiltwork.types import Codes

FINE = 20  # binary digits of a plan about real values
MOST_KEPT = 64  # questions that a belief remembers


def bind(query: Questions | Asked, belief: Belief, *, windows: bool = False) -> Asked:
    """What is asked of the data that a belief is about; ``windows`` if each window of a series has an answer.

    A value may matter to two windows, and then changes more numbers than one. What is bound already stays as it is, if
    it is about the same states and variables.

    >>> from quiltwork import MarkovChain
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> bind("stays:1", coin).lipschitz, bind("stays:1", coin, windows=True).lipschitz
    (1.0, 2.0)
    """
    if isinstance(query, Asked):
        for question in query.questions:
            _check_about(question, belief)
        return query
    said = as_said(query)
    try:
        hash(said)
    except TypeError:  # a function of your own that cannot be told from others
        return _bind(said, belief, windows=windows)
    kept: dict[tuple[object, bool], Asked] = belief.__dict__.setdefault("_asked", {})
    if (said, windows) not in kept:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[said, windows] = _bind(said, belief, windows=windows)
    return kept[said, windows]


def _check_about(question: Question, belief: Belief) -> None:
    """Refuse what was bound to other states, or to the same ones in another order."""
    named = () if belief.real else ((None, belief.states),) if belief.variables is None else belief.variables.items()
    if [(part.name, part.states) for part in question.parts] != [(name, tuple(states)) for name, states in named]:
        raise QueryError(
            f"{question.text} must be bound to this belief",
            got="what was bound to one about other states, or the same in another order",
            why="it would count other states than it names",
            fix="Give the query itself, or its text",
        )


def _bind(said: Query | Workload, belief: Belief, *, windows: bool) -> Asked:
    if isinstance(said, Query):
        question = question_of(said, belief, windows=windows)
        return Asked(question.query, (question,))
    if belief.real:
        raise NotCoveredError(
            "several questions about real values need a release each",
            got=said.text,
            why="each of them is added up on a grid of its own, which the account keeps with it",
            fix="Ask them one by one, with a ledger or a session: it adds up what they tell together",
        )
    questions = tuple(question_of(query, belief, windows=windows) for query in said.queries)
    if belief.variables is not None and not all(question.additive for question in questions):
        raise QueryError("each question must add up over variables", got=said.text)
    bound = replace(said, questions=[question.query for question in questions])
    ratios = (Fraction(1),) if said.ratios is None else said.ratios
    return Asked(bound, questions, tuple(None if ratio is None else Fraction(ratio) for ratio in ratios))


def question_of(query: Query, belief: Belief, *, windows: bool) -> Question:
    """What one query asks of series, records, records over time, or real values."""
    if belief.real:
        return _of_numbers(query, belief)
    entry = query.entry
    if query.about == "numbers" or (entry.of_states is None and entry.of_variables is None):
        raise QueryError(
            f"{query.text} is about real values",
            got=f"a belief about {belief.noun if belief.variables is not None else 'states'}",
            why="under this belief values are states",
            fix='Use a belief of kind "gaussian", or ask for counts, a histogram, a sum or a mean of states',
        )
    steps = belief.step_variables
    if query.about is not None and (steps is None or dict(steps) != dict(query.about)):
        raise QueryError(
            f"{query.text} needs a belief about the variables that it was asked of",
            got="a belief about " + ("no variables" if steps is None else f"{len(steps)} variables"),
            why="the states of a step are those of its variables together",
            fix=f"They are {', '.join(name for name, _ in query.about)}, with the same states in the same order",
        )
    if belief.variables is not None:
        return _of_records(query, belief.variables)
    if steps is not None and not (entry.whole or entry.ordered):
        return _of_steps(query, steps, belief.states)
    if entry.of_states is None or query.over:
        raise QueryError(
            f"{query.text} asks named variables",
            got="a series",
            why="the values of a series have times, not names",
            fix="Use a network or a joint table, or a query without names",
        )
    question = entry.of_states(query, belief.states)
    twice = question.pairs is not None and any(steps.any() for steps in question.steps)
    return replace(question, windows=windows and twice)


def _of_numbers(query: Query, belief: Belief) -> Question:
    """Of real values that are the belief's distance apart."""
    entry = query.entry
    if entry.of_numbers is None or belief.distance is None:
        raise QueryError(
            f"{query.text} is about states",
            got="a belief about real values",
            why="under this belief values are numbers, of which hardly two are the same",
            fix="Ask for sum, mean, trend, above:THRESHOLD:WIDTH or difference:A-B|C-D",
        )
    question = entry.of_numbers(query if entry.of_states is None else replace(query, about="numbers"))
    largest = Fraction(1) if question.over_time is None else question.over_time.largest
    changes = between_reals(belief.distance, largest)
    unit = Fraction(2) ** (math.floor(math.log2(changes.max())) - FINE)
    return replace(question, declared=(changes,), unit=unit)


def _of_records(query: Query, variables: Variables) -> Question:
    """Of the variables of a record: the same of all of them, unless the query names some."""
    entry = query.entry
    if entry.of_variables is not None:
        return entry.of_variables(query, variables)
    if entry.ordered or entry.of_states is None:
        raise QueryError(
            f"{query.text} needs a series",
            got=f"a record of {len(variables)} variables",
            why="they have no order in time",
        )
    weights = dict(query.over) or dict.fromkeys(variables, Fraction(1))
    check_names(weights, variables)
    states = tuple(dict.fromkeys(state for name in weights for state in variables[name]))
    alone = entry.of_states(query, states)
    common = math.lcm(*(weight.denominator for weight in weights.values()))
    step = math.gcd(*(int(weight * common) for weight in weights.values())) or 1
    parts: list[Part] = []
    declared = []
    for name, names in variables.items():
        weight = weights.get(name, Fraction(0))
        places = [states.index(state) for state in names] if name in weights else [0] * len(names)
        if alone.declared is None:
            parts.append(Part(name, names, _times(alone.parts[0].steps, int(weight * common) // step, places)))
            continue
        parts.append(Part(name, names))
        factor = 1.0 if weight == 1 else round_up(float_above(abs(weight)), roundings=2)
        declared.append(factor * alone.declared[0][np.ix_(places, places)])
    unit = alone.unit * Fraction(step, common)
    changes = None if alone.declared is None else tuple(declared)
    return replace(alone, parts=tuple(parts), declared=changes, unit=unit, asked=len(weights))


def _times(steps: Codes | None, times: int, places: Sequence[int]) -> Codes:
    """What the states of a variable add, that many times."""
    assert steps is not None  # noqa: S101 - it adds up
    largest = int(np.abs(steps).max(initial=0))
    if abs(times) * largest >= MOST:
        raise QueryError(
            "weights and numbers must make less than 2^62 steps",
            got=f"{float(abs(times)):.1e} times the states' numbers",
            why="exact noise is drawn on 64-bit integers",
            fix="Round the weights and the states' numbers to fewer digits",
        )
    return np.asarray(times * steps[:, places])


def _of_steps(query: Query, variables: Mapping[str, tuple[str, ...]], states: tuple[str, ...]) -> Question:
    """Of series whose states are the values of several variables at one step: what the variables add together."""
    by_variable = _of_records(replace(query, about=None), variables)
    if not by_variable.additive:
        raise QueryError(
            f"{query.text} must add up over the variables of a step",
            got=f"{query.kind}, which does not",
            fix="Use a count, tally, histogram, frequencies, sum or mean",
        )
    sizes = (range(len(names)) for names in variables.values())
    codes = np.array(list(itertools.product(*sizes)), dtype=np.int64)  # the state of each variable in each of a step
    added = [steps[:, codes[:, place]] for place, steps in enumerate(by_variable.steps)]
    about = tuple((name, tuple(names)) for name, names in variables.items())
    return replace(
        by_variable,
        query=replace(by_variable.query, about=about),
        parts=(Part(None, states, np.sum(added, axis=0, dtype=np.int64)),),
    )


def unrolled(question: Question, names: Mapping[str, Sequence[str]]) -> Query | None:
    """The same asked of a network with a variable for each step, if it is about the variables of steps.

    ``names`` has what each variable is called at each step.
    """
    query = replace(question.query, about=None)
    if not isinstance(question.query.about, tuple):
        return None
    if query.entry.of_variables is not None:
        return query.with_args(values=tuple((at, states) for name, states in query["values"] for at in names[name]))
    if query.over:
        return replace(query, over=tuple((at, weight) for name, weight in query.over for at in names[name]))
    return replace(query, over=tuple((at, Fraction(1)) for named in names.values() for at in named))


def all_unrolled(asked: Asked, names: Mapping[str, Sequence[str]]) -> Query | Workload | None:
    """The same of all questions that noise is drawn for, with the same noise."""
    queries = [unrolled(one.question, names) for one in asked.drawn]
    known = [query for query in queries if query is not None]
    if len(known) < len(queries):
        return None
    return Workload(known, ratios=[one.ratio for one in asked.drawn]) if asked.several else known[0]
