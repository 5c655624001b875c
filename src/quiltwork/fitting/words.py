"""Chains from plain words: how long stays last on average, and what follows what."""

from collections.abc import Mapping, Sequence

import numpy as np

from quiltwork.beliefs import Belief, MarkovChain
from quiltwork.beliefs.files import belief_from_dict
from quiltwork.errors import ParameterError, did_you_mean
from quiltwork.types import Duration, Floats, Step

UNITS = {"days": 86_400e6, "h": 3600e6, "min": 60e6, "s": 1e6, "ms": 1e3}


def chain_of_stays(
    stays: Mapping[str, str | float],
    *,
    step: str | float | None = None,
    follows: Mapping[str, Mapping[str, float] | Sequence[str]] | None = None,
) -> MarkovChain:
    """The chain in which stays last this long on average, and are followed by these states.

    Durations need a ``step``, the time between two values; without it stays are numbers of values. A stay ends at each
    step with the same probability, step / stay: stays are geometric. ``follows`` gives the states that may follow each
    state, with weights or alike; a state that is not in it is followed by all others alike.

    >>> day = chain_of_stays({"sleep": "8h", "sit": "1h", "walk": "30min"}, step="15min", follows={"sleep": ["sit"]})
    >>> day.transition.tolist()
    [[0.96875, 0.03125, 0.0], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]]
    """
    states = list(stays)
    if len(states) < 2:
        raise ParameterError("a belief needs at least two states", got=f"{len(states)}", fix="sleep=7h, walk=20min")
    transition = np.zeros((len(states), len(states)))
    for n, state in enumerate(states):
        leaving = 1 / _steps(stays[state], step, state)
        weights = _weights(state, states, (follows or {}).get(state))
        transition[n] = leaving * weights / weights.sum()
        transition[n, n] = 1 - leaving
    unknown = sorted(set(follows or {}) - set(states))
    if unknown:
        raise ParameterError("what follows must be said of a state", got=repr(unknown[0]), fix=_known(states))
    return MarkovChain(transition, states=states)


def _steps(stay: str | float, step: str | float | None, state: str) -> float:
    """A stay in steps, at least one."""
    lasts = Duration.parse(stay, name=f"the stay in {state!r}")
    unit = Duration.parse(1 if step is None else step, name="step")
    if lasts.steps != unit.steps and not lasts.steps:
        raise ParameterError(
            f"the stay in {state!r} needs a step", got=str(stay), why="it is a duration", fix="step='15min'"
        )
    steps = float(lasts.length if lasts.steps else lasts.length / unit.length)
    if steps < 1:
        raise ParameterError(
            f"the stay in {state!r} must last one step at least",
            got=str(stay),
            why="shorter stays fall between two values",
            fix="Choose a shorter step",
        )
    return steps


def _weights(state: str, states: Sequence[str], following: Mapping[str, float] | Sequence[str] | None) -> Floats:
    """How often each state follows this one, in proportion."""
    if following is None:
        following = [other for other in states if other != state]
    weights = dict(following) if isinstance(following, Mapping) else dict.fromkeys(following, 1.0)
    for name, weight in weights.items():
        if name not in states or name == state:
            raise ParameterError(
                f"what follows {state!r} must be another state",
                got=repr(name),
                fix=did_you_mean(name, states, _known([s for s in states if s != state])),
            )
        if not 0 < weight < np.inf:
            raise ParameterError(f"the weight of {name!r} after {state!r} must be positive", got=f"{weight:g}")
    if not weights:
        raise ParameterError(f"something must follow {state!r}", got="nothing")
    return np.array([weights.get(other, 0.0) for other in states])


def _known(states: Sequence[str]) -> str:
    return f"Known: {', '.join(states)}"


def with_step(belief: Belief, step: Step | None) -> Belief:
    """The belief with the time between two values written down.

    >>> str(with_step(MarkovChain([[0.9, 0.1], [0.4, 0.6]]), "15min").step)
    '15min'
    """
    if step is None:
        return belief
    return belief_from_dict(belief.to_dict() | {"step": Duration.parse(step, name="step").plain})


def in_time(steps: float, step: Duration | None) -> str:
    """A number of steps as people say it: in hours or minutes if the step is known.

    >>> in_time(28, Duration.parse("15min")), in_time(28, None), in_time(1, None)
    ('7 h', '28 steps', '1 step')
    """
    if step is None or step.steps:
        wide = "" if step is None or step.length == 1 else f" of {step.length:g}"
        count = f"{steps:,.0f}" if steps >= 1000 else f"{steps:,.3g}"
        return f"{count} step{'s' * (steps != 1)}{wide}"
    span = steps * step.length
    unit = next((name for name, size in UNITS.items() if span >= (2 if name == "days" else 1) * size), "ms")
    return f"{span / UNITS[unit]:,.3g} {unit}"


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.815)
    '82 %'
    """
    return f"{100 * share:.0f} %"


def in_words(lag: int, step: Duration | None) -> str:
    """So many steps, as people say it.

    >>> in_words(10, Duration.parse("15min")), in_words(96, Duration.parse("15min")), in_words(2, None)
    ('2 h 30 min', '1 day', '2 steps')
    """
    if step is None or step.steps:
        return "1 step" if lag == 1 else f"{lag:,} steps"
    left, words = int(step.length) * lag, []
    for name, size in (("day", 86_400 * 10**6), ("h", 3600 * 10**6), ("min", 60 * 10**6), ("s", 10**6)):
        count, left = divmod(left, size)
        if count:
            words.append(f"{count:,} {name}" + "s" * (name == "day" and count > 1))
    if left and not words:
        return str(Duration(left, steps=False))
    return " ".join(words[:2])
