"""What a set of beliefs promises to those who do not know which of its members is true.

A set covers an adversary who knows the member. One who does not holds a mixture of the members: what is released says
something about which member it is, and so about how much somebody does of something (Statement 84).
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.cycle import CycleChain
from quiltwork.beliefs.hidden import HiddenChain
from quiltwork.beliefs.record import RecordLaw
from quiltwork.errors import QuiltworkError
from quiltwork.numeric import round_up
from quiltwork.types import Floats

CLOSE, MOST_TIMES = 1e-10, 20_000
"""When a given start counts as forgotten, and how long that is waited for; what is left is added."""
ROUNDING = 1e-9
MOST_OUTCOMES = 100_000
ANY_START = "members may begin with any law"
A_CLASS = "the class holds chains with every share that its bounds allow"
IMPOSSIBLE = "a state is impossible under one member and possible under another"
LEFT_FOR_GOOD = "a member with a given start leaves states for good"
TOO_LARGE = "the networks are too large to list their records"
OTHER_KIND = "shares are not known for this kind of belief"


@dataclass(frozen=True)
class UnknownMember:
    """How much is added to ε for those who do not know the member: infinite where there is no limit, and why."""

    adds: float
    why: str = ""

    @property
    def finite(self) -> float | None:
        """What is added; None where there is no limit."""
        return self.adds if math.isfinite(self.adds) else None

    def sentence(self, epsilon: float | None = None) -> str:
        """What a set promises, and what it does not.

        >>> UnknownMember(0.775).sentence(1.0)
        'This is for those who know which belief in the class is true; for those who do not, ε is at most 1.78.'
        """
        known = "This is for those who know which belief in the class is true"
        if math.isinf(self.adds):
            return f"{known}; for those who do not, no limit holds: {self.why}."
        if epsilon is None:
            return f"{known}; for those who do not, {_up(self.adds)} is added to ε."
        return f"{known}; for those who do not, ε is at most {_up(epsilon + self.adds)}."


def unknown_member(belief: Belief) -> UnknownMember | None:
    """What not knowing the member adds to ε; None where a belief has one member only.

    It is the largest of log P_j(X_i = a) P_l(X_i = b) / (P_j(X_i = b) P_l(X_i = a)) over members j and l, times i and
    states a and b, rounded up. Mixtures of the members reach it in the limit. With a δ, the δ stays as it is.

    >>> from quiltwork import ChainSet
    >>> homes = [MarkovChain([[p, 1 - p]] * 2, initial="stationary") for p in (0.45, 0.64)]
    >>> round(unknown_member(ChainSet(homes)).adds, 3)
    0.776
    """
    if not belief.members or belief.mixed:
        return None
    if len(belief.members) == 1 and belief.members[0] is belief:
        classes = belief.to_dict()["kind"] in ("mixing", "interval")
        return UnknownMember(math.inf, A_CLASS) if classes else None
    try:
        laws = [_levels(member) for member in belief.members]
    except _NoLimitError as problem:
        return UnknownMember(math.inf, problem.args[0])
    if len(laws) < 2:
        return None
    most = max(_between(one, other) for one, other in itertools.combinations(laws, 2))
    return UnknownMember(most, IMPOSSIBLE if math.isinf(most) else "")


class _NoLimitError(Exception):
    """Nothing limits what is added."""


@dataclass(frozen=True)
class _Levels:
    """The laws of values: at the first times, and then again and again, but for a factor of e^slack."""

    first: Floats
    repeated: Floats
    slack: float = 0.0

    def at(self, time: int) -> Floats:
        """The law of the value at a time, from 0."""
        begun = time - len(self.first)
        return np.asarray(self.first[time] if begun < 0 else self.repeated[begun % len(self.repeated)])


def _between(one: _Levels, other: _Levels) -> float:
    """The largest cross-ratio of two members, at any time."""
    early = max(len(one.first), len(other.first))
    largest = max((_range(one.at(time), other.at(time)) for time in range(early)), default=0.0)
    if len(one.repeated) == len(other.repeated):  # the same clock
        late = list(
            zip(*(np.roll(each.repeated, len(each.first) - early, axis=0) for each in (one, other)), strict=True)
        )
    else:
        late = list(itertools.product(one.repeated, other.repeated))
    later = max(_range(law, against) for law, against in late) + one.slack + other.slack
    count = early + len(late)
    margin = ROUNDING + 16 * 2.0**-52 * one.repeated.shape[1] * count
    most = max(largest, later)
    return round_up(most + margin) if most > 0 else 0.0


def _range(law: Floats, other: Floats) -> float:
    """How far the logarithm of the ratio of two laws goes from state to state; states that neither has do not count."""
    if np.array_equal(law, other):
        return 0.0
    possible = (law > 0) | (other > 0)
    if np.any((law > 0) != (other > 0)):
        return math.inf
    ratios = np.log(law[possible]) - np.log(other[possible])
    return float(ratios.max() - ratios.min())


def _levels(member: Belief) -> _Levels:
    """The law of the value at each time; of records, of each variable's as if they were times."""
    if isinstance(member, RecordLaw):
        return _of_record(member)
    if isinstance(member, CycleChain) and member.start == "stationary":
        return _Levels(np.zeros((0, len(member.states))), member.law)
    if isinstance(member, HiddenChain):
        shown = member.shown[:, None] == np.arange(len(member.states))
        return _of_chain(member.phases, shown.astype(np.float64))
    if isinstance(member, MarkovChain):
        return _of_chain(member, np.eye(len(member.states)))
    raise _NoLimitError(ANY_START if member.start == "any" else OTHER_KIND)


def _of_chain(chain: MarkovChain, shown: Floats) -> _Levels:
    """A stationary law is that of all times; a given start comes nearer to it, state by state, with every step."""
    if chain.start == "any" or chain.initial is None:
        raise _NoLimitError(ANY_START)
    if chain.start == "stationary":
        return _Levels(np.zeros((0, shown.shape[1])), (chain.stationary @ shown)[None])
    if not chain.irreducible:
        raise _NoLimitError(LEFT_FOR_GOOD)
    law, first = chain.initial, []
    while True:
        first.append(law @ shown)
        ratios = law / chain.stationary  # an average of the ratios before: its range only shrinks
        slack = math.inf if ratios.min() <= 0 else float(np.log(ratios.max() / ratios.min()))
        if slack <= CLOSE or len(first) >= MOST_TIMES:
            return _Levels(np.array(first), (chain.stationary @ shown)[None], slack)
        law = law @ chain.transition


def _of_record(member: RecordLaw) -> _Levels:
    """The law of each variable, in a table as wide as the most states."""
    sizes = [len(states) for states in member.variables.values()]
    if math.prod(sizes) > MOST_OUTCOMES:
        raise _NoLimitError(TOO_LARGE)
    try:
        outcomes = member.all_outcomes
    except QuiltworkError:
        raise _NoLimitError(TOO_LARGE) from None
    laws = np.zeros((len(sizes), max(sizes)))
    for place in range(len(sizes)):
        np.add.at(laws[place], outcomes.codes[:, place], np.exp(outcomes.logs))
    return _Levels(np.zeros((0, max(sizes))), laws)


def _up(number: float) -> str:
    """Three digits, rounded up."""
    if number <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.ceil(number / unit * (1 - 1e-12)) * unit:.3g}"
