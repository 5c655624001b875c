"""What a user asks of a plan or a release, in the words of commands and forms: for every shell alike."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quiltwork.beliefs import Belief, GaussianBelief
from quiltwork.calibration.plan import Plan, plan
from quiltwork.data import Window
from quiltwork.errors import ParameterError, did_you_mean
from quiltwork.job import Ask
from quiltwork.question import Query, Said, Workload, as_said, parse_query
from quiltwork.types import Duration

DAYS_OF_MONTH = 30


def question(text: str, state_values: Mapping[str, Any] | None, belief: Belief) -> Query:
    """The query that a text names, with the numbers that states stand for.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["off", "on"])
    >>> question("sum", {"off": 0, "on": 1.5}, chain).text
    'sum:off=0,on=1.5'
    """
    if state_values is None:
        return parse_query(text)
    values = {state: number for state, number in state_values.items() if number is not None}
    for state in values if not belief.real else ():
        if state not in belief.states:
            raise ParameterError(
                "state values must be for states of the belief",
                got=repr(state),
                fix=did_you_mean(state, belief.states, f"Its states: {', '.join(belief.states[:20])}"),
            )
    return parse_query(text, values)


def questions(texts: Sequence[str], state_values: Mapping[str, Any] | None, belief: Belief) -> Said:
    """The question, or all questions of one release; numbers for states are for their means and sums."""
    several = len(texts) > 1
    return as_said([question(text, None if several and not _adds_up(text) else state_values, belief) for text in texts])


def asked(ask: Ask, belief: Belief) -> Said:
    """What one release of a job asks: a question, or several that share ε.

    >>> from quiltwork import MarkovChain
    >>> asked(Ask(ask=["histogram", "stays"], weight=[2, 1]), MarkovChain([[0.9, 0.1], [0.4, 0.6]])).weights
    (2.0, 1.0)
    """
    if ask.workload is not None:
        from quiltwork.question.workload import load_workload

        return load_workload(ask.workload)
    values = ask.state_values
    if isinstance(values, str):
        from quiltwork.data.values import read_mapping

        values = read_mapping(values, "state values", ("state", "value"))  # type: ignore[assignment]
    found = questions(ask.ask, values, belief)  # type: ignore[arg-type]
    return Workload(found.questions, weights=ask.weight) if ask.weight and isinstance(found, Workload) else found


def _adds_up(text: str) -> bool:
    return text.partition(" over ")[0].strip() in ("mean", "sum")


def values_of(values: int | None, people: int | None, length: int | None) -> int | None:
    """The number of values of all series together.

    >>> values_of(None, 200, 96)
    19200
    """
    if people is None:
        return values
    if values is not None or length is None or people < 1:
        raise ParameterError(
            "people go with a length, and without values=",
            got=f"people={people}",
            why="each has a series of that length",
            fix="For example length 96 and people 200",
        )
    return people * length


def in_each(window: str | int, length: int | None, step: Duration | None) -> int | None:
    """About how many values of a series of this length are in one window; None if the length is not known.

    >>> from quiltwork.types import Duration
    >>> quarter = Duration.parse("15min")
    >>> in_each("day", 672, quarter), in_each("hour-of-day", 672, quarter), in_each(5, 672, None)
    (96, 28, 5)
    """
    kind = Window.parse(window)
    if length is None:
        return None
    if not kind.on_the_clock:
        return min(kind.span, length)
    if kind.cycle is not None:
        return max(1, length // kind.cycle)
    if step is None or step.steps:
        raise ParameterError(
            f"windows by {kind.kind} need a belief that says its step",
            got="none",
            why="how many values a window has follows from it",
            fix="Give the belief a step, such as 15min, or ask for windows of a number of values",
        )
    return max(1, min(length, round(kind.span * (DAYS_OF_MONTH if kind.kind == "month" else 1) / step.length)))


def at_distances(belief: Belief, distances: Sequence[float] | None) -> list[Belief]:
    """The belief with each of these distances; as it is, if there are none."""
    if not distances:
        return [belief]
    if not isinstance(belief, GaussianBelief):
        raise ParameterError(
            "a distance is for beliefs about real values",
            got=f"distance= with {belief!r}",
            why="states have none: any two of them are hidden from each other",
            fix="Leave it out",
        )
    return [belief.with_distance(distance) for distance in distances]


def plan_wanted(
    query: Said,
    *,
    belief: Belief,
    epsilon: float | None,
    distances: Sequence[float] | None = None,
    target_error: str | float | None = None,
    **settings: Any,
) -> tuple[Belief, Plan, list[tuple[Belief, Plan]]]:
    """A plan at ε, or at the ε that the wanted error takes; and one for each of several distances.

    The belief comes with it: that of the only distance, if there is one. ``settings`` are those of :func:`plan`.
    """
    if epsilon is None and target_error is None:
        raise ParameterError(
            "plan needs an epsilon",
            got="none",
            why="it says how much privacy loss is allowed",
            fix="Set epsilon=, or ask which ε gives an accuracy: target_error='5%'",
        )

    def planned(believed: Belief, at: float) -> Plan:
        return plan(query, belief=believed, epsilon=at, target_error=target_error, **settings)

    beliefs = at_distances(belief, distances)
    held = beliefs[0] if len(beliefs) == 1 else belief
    made = planned(held, 1.0 if epsilon is None else epsilon)
    if epsilon is None and made.remedy is not None and made.remedy.epsilon is not None:
        found = replace(made.remedy, values=None, people=None, window=None)  # with as many values as there are
        made = replace(planned(held, made.remedy.epsilon), remedy=found)
    each = [(believed, planned(believed, made.epsilon)) for believed in beliefs] if len(beliefs) > 1 else []
    return held, made, each


def distances_to_dict(each: Sequence[tuple[Belief, Plan]]) -> list[dict[str, Any]]:
    """The plans for several distances, as ``plan --json`` prints them."""
    return [
        {
            "distance": getattr(believed, "distance", None),
            "noise_scale": None if made.best is None else made.best.noise_scale,
            "error_95": None if made.best is None else made.best.error_95,
        }
        for believed, made in each
    ]
