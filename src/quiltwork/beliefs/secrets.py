"""What is secret: which states of which variables are kept apart, and at which times.

Pufferfish privacy names the secrets S and the pairs Q that must stay indistinguishable. A pair is two states, or two
sets of states, of one value. What is not in Q is context: it is covered by the belief and the noise, but it may be told
apart. Less in Q never needs more noise; a promise about fewer pairs says nothing about others.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeVar

import numpy as np

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.cycle import CycleChain
from quiltwork.errors import InputError, NotCoveredError, ParameterError, did_you_mean
from quiltwork.types import Duration, Flags, Segment

Sides = tuple[tuple[str, ...], tuple[str, ...] | None]
"""Two sets of states; None stands for all states that are not in the first."""
SetPair = tuple[Flags, Flags]
Given = TypeVar("Given")
DAY = 86_400 * 10**6  # microseconds
FURTHEST = 10**15
WORDS = "all, state:A, pairs:A|B,C|D, sets:A,B|* or variables:V,W"
CLOCK = re.compile(r"(\d{1,2}):(\d{2})")


@dataclass(frozen=True)
class Part:
    """Pairs of one kind, of some variables or of all; several parts are secret together."""

    kind: Literal["all", "state", "pairs", "sets"]
    named: tuple[Sides, ...] = ()
    variables: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """As written on the command line."""
        if self.kind == "all":
            return "all" if self.variables is None else f"variables:{','.join(self.variables)}"
        if self.kind == "state":
            what = ",".join(one for (one,), _ in self.named)
        elif self.kind == "pairs":
            what = ",".join("|".join((*one, *(other or ()))) for one, other in self.named)
        else:
            ((one, other),) = self.named
            what = f"{','.join(one)}|{'*' if other is None else ','.join(other)}"
        return f"{self.kind}:{what}" + ("" if self.variables is None else f" over {','.join(self.variables)}")

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        named = [[list(one), None if other is None else list(other)] for one, other in self.named]
        variables = {} if self.variables is None else {"variables": list(self.variables)}
        return {"kind": self.kind} | ({"states": named} if named else {}) | variables


@dataclass(frozen=True)
class Times:
    """When values are secret: at some positions (from 1), or between some times of day (microseconds from midnight)."""

    positions: tuple[Segment, ...] = ()
    clock: tuple[tuple[int, int], ...] = ()

    @property
    def text(self) -> str:
        """As written on the command line."""
        if self.clock:
            return ",".join(f"{_hours(begun)}-{_hours(ended)}" for begun, ended in self.clock)
        return ",".join(f"{first}:{last}" for first, last in self.positions)

    @classmethod
    def of(cls, given: "str | Segment | Sequence[Segment] | Times") -> "Times":
        """From text (``10:20``, ``8h-18h``), or from the first and the last position."""
        if isinstance(given, Times):
            return given
        if isinstance(given, str):
            return cls._parsed(given)
        listed = list(given) if isinstance(given, Sequence) else []
        pairs: list[Any] = [tuple(listed)] if len(listed) == 2 and isinstance(listed[0], int) else listed
        return cls(positions=tuple(_segment(pair) for pair in pairs))._checked(given)

    @classmethod
    def _parsed(cls, text: str) -> "Times":
        positions, clock = [], []
        for part in text.split(","):
            begun, dash, ended = part.strip().partition("-")
            if dash:
                clock.append((_clock(begun), _clock(ended)))
                continue
            try:
                positions.append(_segment([int(n) for n in part.split(":")]))
            except ValueError:
                raise _no_times(text) from None
        return cls(tuple(sorted(positions)), tuple(sorted(clock)))._checked(text)

    def _checked(self, given: object) -> "Times":
        if bool(self.positions) == bool(self.clock):
            raise _no_times(given)
        return self


@dataclass(frozen=True)
class Secrets:
    """What is secret about each value: all of it, or some states against others, of some variables, at some times.

    ``all`` keeps every two states apart. ``state:A`` keeps A apart from every other state, ``pairs:A|B`` these two, and
    ``sets:A,B|*`` hides whether the value is one of A and B, or not. For records ``variables:V,W`` makes only these
    variables secret, and any of the others may be limited with ``over V,W``. Parts are joined with ``and``; ``at``
    limits all of them to positions (``10:20``) or, for a belief about the time of day, to hours (``8h-18h``).

    >>> Secrets.parse("state:hospital").on_states(["home", "hospital", "work"]).pairs[0].astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> Secrets.sets(["hospital", "clinic"]).at("10:20").text
    'sets:hospital,clinic|* at 10:20'
    >>> Secrets.parse("state:yes over flu") == Secrets.state("yes").over("flu")
    True
    """

    parts: tuple[Part, ...] = (Part("all"),)
    times: Times | None = None

    @classmethod
    def all(cls) -> "Secrets":
        """Every two states of every value.

        >>> Secrets.all().text
        'all'
        """
        return cls()

    @classmethod
    def state(cls, *states: str) -> "Secrets":
        """Each of these states against every other state.

        >>> Secrets.state("hospital").text
        'state:hospital'
        """
        return cls((Part("state", tuple(((_name(state),), None) for state in _some(states, "state"))),))

    @classmethod
    def pairs(cls, *pairs: tuple[str, str]) -> "Secrets":
        """These pairs of states.

        >>> Secrets.pairs(("hospital", "home"), ("clinic", "home")).text
        'pairs:hospital|home,clinic|home'
        """
        named = []
        for pair in _some(tuple(p if isinstance(p, str) else tuple(p) for p in pairs), "pair"):
            if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
                raise _wrong(f"a secret pair must be two different states, got {pair!r}")
            named.append(((_name(pair[0]),), (_name(pair[1]),)))
        return cls((Part("pairs", tuple(named)),))

    @classmethod
    def sets(cls, one: Iterable[str], other: Iterable[str] | None = None) -> "Secrets":
        """Whether a value is in the one set of states or in the other (None: in any other state).

        >>> Secrets.sets(["hospital", "clinic"]).text
        'sets:hospital,clinic|*'
        """
        named = _names(one), None if other is None else _names(other)
        if named[1] is not None and set(named[0]) & set(named[1]):
            raise _wrong("secret sets must not share a state", got=repr(sorted(set(named[0]) & set(named[1]))[0]))
        return cls((Part("sets", (named,)),))

    @classmethod
    def variables(cls, *names: str) -> "Secrets":
        """Every two states of these variables of a record; all other variables are context.

        >>> Secrets.variables("flu").text
        'variables:flu'
        """
        return cls().over(*names)

    def over(self, *names: str) -> "Secrets":
        """The same, of these variables only."""
        chosen = _names(names)
        return replace(self, parts=tuple(replace(part, variables=chosen) for part in self.parts))

    def at(self, times: "str | Segment | Sequence[Segment] | Times | None") -> "Secrets":
        """The same, at these times only: (first, last) positions, or text such as ``10:20`` or ``8h-18h``."""
        return self if times is None else replace(self, times=Times.of(times))

    def __or__(self, other: "Secrets | str") -> "Secrets":
        """Both together."""
        other = Secrets.of(other)
        if self.times != other.times:
            raise _wrong(
                "secrets can be joined only at the same times",
                got="different times",
                fix="Join them first, then give the times: (A | B).at(...)",
            )
        return replace(self, parts=tuple(dict.fromkeys(self.parts + other.parts)))

    @property
    def everything(self) -> bool:
        """Whether it is ``all``."""
        return self.times is None and self.parts == (Part("all"),)

    @property
    def names_variables(self) -> bool:
        """Whether it is about some variables only."""
        return any(part.variables is not None for part in self.parts)

    @property
    def text(self) -> str:
        """As written on the command line."""
        when = "" if self.times is None else f" at {self.times.text}"
        return " and ".join(part.text for part in self.parts) + when

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str) -> "Secrets":
        """From text as on the command line.

        >>> Secrets.parse("state:yes over flu and variables:age at 3:5").text
        'state:yes over flu and variables:age at 3:5'
        """
        if not isinstance(text, str):
            raise _wrong(f"secrets must be text or Secrets, got {type(text).__name__}")
        words, at, times = text.strip().rpartition(" at ")
        words, times = (words, times) if at else (text.strip(), "")
        read = [_parsed(part.strip()) for part in words.split(" and ")]
        joined = cls(tuple(dict.fromkeys(part for secrets in read for part in secrets.parts)))
        return joined.at(times or None)

    @classmethod
    def of(cls, given: "Secrets | str | Mapping[str, Any] | None") -> "Secrets":
        """Secrets, their text, or their plain values; None is ``all``."""
        if isinstance(given, Secrets):
            return given
        if given is None:
            return cls()
        return cls._read(given) if isinstance(given, Mapping) else cls.parse(given)

    @property
    def plain(self) -> str | dict[str, Any]:
        """Plain values that say all of it: the text, or where names would be misread in it, a mapping."""
        try:
            if Secrets.parse(self.text) == self:
                return self.text
        except InputError:
            pass
        times = {} if self.times is None else {"times": self.times.text}
        return {"parts": [part.to_dict() for part in self.parts]} | times

    @classmethod
    def _read(cls, contents: Mapping[str, Any]) -> "Secrets":
        try:
            parts = []
            for part in contents["parts"]:
                named = tuple((_names(a), None if b is None else _names(b)) for a, b in part.get("states", ()))
                variables = part.get("variables")
                if not _well_formed(part["kind"], named):
                    raise ValueError
                parts.append(Part(part["kind"], named, None if variables is None else _names(variables)))
            if not parts or set(contents) - {"parts", "times"}:
                raise ValueError
            return cls(tuple(parts)).at(contents.get("times"))
        except (KeyError, TypeError, ValueError) as problem:
            raise _wrong("secrets cannot be read", got="other contents than were written") from problem

    def on(self, belief: Belief) -> "SecretPairs":
        """What is secret about data that a belief is about; refused where it names what the belief does not have.

        >>> from quiltwork import MarkovChain
        >>> Secrets.state("1").on(MarkovChain([[0.9, 0.1], [0.4, 0.6]])).everything
        True
        """
        if belief.real and not self.everything:
            raise NotCoveredError(
                "secrets name states, variables or times",
                got=f"{self.text} with a belief about real values",
                why="there any two values are kept apart that are at most the belief's distance apart",
                fix="Leave the secrets out; choose the distance instead",
            )
        named = belief.variables if belief.variables is not None else belief.step_variables
        if named is None and any(part.variables is not None for part in self.parts):
            raise _wrong(
                "secret variables need a belief about named variables",
                got=repr(belief),
                why="the values of a series have times, not names",
                fix="Leave the variables out",
            )
        if belief.variables is not None and self.times is not None:
            raise NotCoveredError(
                "secret times need series", got="a belief about records", why="their variables have no order in time"
            )
        found = self.on_variables({"": belief.states} if named is None else named)
        if self.times is None:
            return found
        if self.times.positions:
            return replace(found, times=self.times.positions)
        return replace(found, cycle=_cycle(self.times, belief))

    def on_states(self, states: Sequence[str]) -> "SecretPairs":
        """The pairs of one value with these states."""
        return self.on_variables({"": tuple(states)})

    def on_variables(self, variables: Mapping[str, Sequence[str]]) -> "SecretPairs":
        """The pairs of each variable; a release asks for them many times."""
        return _resolved(self, tuple((name, tuple(states)) for name, states in variables.items()))

    def _on_variables(self, variables: Mapping[str, Sequence[str]]) -> "SecretPairs":
        self._check_names(variables)
        pairs, sets = [], []
        for name, states in variables.items():
            table, kept = np.zeros((len(states),) * 2, dtype=bool), []
            for part in self.parts:
                if part.variables is not None and name not in part.variables:
                    continue
                if part.kind == "all":
                    table[:] = True
                for one, other in _pairs_of(part, states):
                    if part.kind == "sets" and one.sum() * other.sum() > 1:
                        kept.append((one, other))
                    else:
                        table[np.ix_(one, other)] = table[np.ix_(other, one)] = True
            np.fill_diagonal(table, False)
            pairs.append(table)
            # a set against a set is covered by the pairs of their states
            sets.append(tuple((a, b) for a, b in kept if not table[np.ix_(a, b)].all()))
        found = SecretPairs(tuple(variables), tuple(pairs), tuple(sets))
        if not any(found.within(n).any() for n in range(len(pairs))):
            several = any(len(states) > 1 for states in variables.values())
            if several or not self.everything:
                raise _wrong(f"{self.text} names no pair of states", why="nothing would be secret")
        return found

    def _check_names(self, variables: Mapping[str, Sequence[str]]) -> None:
        for part in self.parts:
            for name in part.variables or ():
                if name not in variables:
                    raise _wrong(
                        "a secret variable must be one of the belief's",
                        got=repr(name),
                        fix=did_you_mean(name, variables, f"Its variables: {_few(list(variables))}"),
                    )
            about = [variables[name] for name in part.variables or variables]
            known = {state for states in about for state in states}
            for state in (state for one, other in part.named for state in (*one, *(other or ()))):
                if state not in known:
                    raise _wrong(
                        "a secret state must be one of the belief's states",
                        got=repr(state),
                        fix=did_you_mean(state, known, f"Choose from {_few(sorted(known))}"),
                    )

    def unrolled(self, names: Mapping[str, Sequence[str]]) -> "Secrets":
        """The same about a network that has a variable for each variable and step; only the secret steps count."""
        if self.everything:
            return self
        parts = []
        for part in self.parts:
            chosen = [
                at for name in part.variables or names for n, at in enumerate(names[name], 1) if self._holds_at(n)
            ]
            if not chosen:
                raise _outside(self)
            parts.append(replace(part, variables=tuple(chosen)))
        return Secrets(tuple(parts))

    def _holds_at(self, position: int) -> bool:
        return self.times is None or any(first <= position <= last for first, last in self.times.positions)

    def moved(self, by: int, length: int) -> "Secrets | None":
        """The same about a part of a series that begins so many values later; None if nothing in it is secret."""
        if self.times is None:
            return self
        inside = [(max(first - by, 1), min(last - by, length)) for first, last in self.times.positions]
        kept = tuple((first, last) for first, last in inside if first <= last)
        return replace(self, times=Times(kept)) if kept else None

    def check_length(self, length: int | None) -> None:
        """Refuse times of which none is within the series."""
        if length is not None and not self.within(length):
            raise _outside(self, length)

    def within(self, length: int) -> bool:
        """Whether something may be secret in a series of this length."""
        return self.times is None or not self.times.positions or self.moved(0, length) is not None

    @cached_property
    def secret(self) -> str:
        """What is secret, in words."""
        if self.everything:
            return "every value"
        return "; ".join(_secret_words(part) for part in self.parts) + _when(self.times)

    @cached_property
    def not_secret(self) -> str:
        """What is not secret, in words."""
        if self.everything:
            return "that somebody is in the data, how long their series is, and what holds for people in general"
        words = []
        kinds = {part.kind for part in self.parts}
        if "state" in kinds:
            words.append("differences between two other states")
        if "pairs" in kinds:
            words.append("any other pair of states, also one of these states against a third")
        if "sets" in kinds:
            words.append("which state of a set it is, and one of its states against a single other one")
            if any(other is not None for part in self.parts if part.kind == "sets" for _, other in part.named):
                words.append("states that are in neither set")
        if any(part.variables is not None for part in self.parts):
            words.append("other variables")
        if self.times is not None:
            words.append("values at other times")
        return "; ".join(words) + ". These may show, except where that would tell more than ε about a secret"

    def meaning(self, epsilon: float, belief: Belief | None = None, *, delta: float = 0.0) -> str:
        """What ε means for somebody who thought one of the secrets as likely as not.

        >>> print(Secrets.state("hospital").meaning(1.0))  # doctest: +NORMALIZE_WHITESPACE
        Someone who thought it 50 % likely that the value at one moment was hospital will think it at most 73.2 %
        likely after seeing this.
        """
        part = self.parts[0]
        value = f"the value at one moment{_when(self.times)}"
        named = None if belief is None else belief.variables or belief.step_variables
        if part.variables is not None or named:
            value = f"{(part.variables or tuple(named or ()))[0]} in one record"
            value = value if belief is None or belief.step_variables is None else value.replace("record", "step")
        after, but_for = believed_after(epsilon, delta)
        one, other = part.named[0] if part.named else (_first(belief, part), None)
        state = " or ".join(one)
        if other is None:
            return (
                f"Someone who thought it 50 % likely that {value} was {state} will think it at most {after} likely "
                f"after seeing this{but_for}."
            )
        return (
            f"Someone who knew that {value} was {state} or {' or '.join(other)}, and thought {state} 50 % likely, will "
            f"think it at most {after} likely after seeing this{but_for}."
        )


@dataclass(frozen=True)
class SecretPairs:
    """What is secret about each variable, or each value of a series: pairs of states, and pairs of sets of states.

    ``pairs[n]`` marks pairs of states of variable n, ``sets[n]`` has the pairs of sets that are not made up of those.
    ``times`` are the positions where values are secret, ``cycle`` the times of a cycle; None: all of them.

    >>> found = Secrets.sets(["a", "b"]).on_states(["a", "b", "c"])
    >>> found.pairs[0].any(), len(found.sets[0]), found.within(0).astype(int).tolist()
    (np.False_, 1, [[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    """

    names: tuple[str, ...]
    pairs: tuple[Flags, ...]
    sets: tuple[tuple[SetPair, ...], ...]
    times: tuple[Segment, ...] | None = None
    cycle: Flags | None = None

    @cached_property
    def everything(self) -> bool:
        """Whether every two states of every variable are secret, at all times."""
        off = (~np.eye(len(pairs), dtype=bool) for pairs in self.pairs)
        return self.always and all((pairs == every).all() for pairs, every in zip(self.pairs, off, strict=True))

    @cached_property
    def key(self) -> bytes:
        """What tells it from others about the same belief."""
        tables = [*self.pairs, *(side for sets in self.sets for both in sets for side in both)]
        tables += [] if self.cycle is None else [self.cycle]
        places = self.names, [len(sets) for sets in self.sets], self.times, self.cycle is None
        return repr(places).encode() + b"".join(table.tobytes() for table in tables)

    @property
    def always(self) -> bool:
        """Whether values at all times are secret."""
        return self.times is None and self.cycle is None

    def within(self, variable: int) -> Flags:
        """Every two states of a variable that are a pair, or are on the two sides of a pair of sets."""
        table = self.pairs[variable].copy()
        for one, other in self.sets[variable]:
            table[np.ix_(one, other)] = table[np.ix_(other, one)] = True
        return table

    def of_steps(self) -> Flags:
        """Every two states of a whole step of several variables that differ in a secret of one of them."""
        if len(self.pairs) == 1:
            return self.within(0)
        codes = np.array(list(itertools.product(*(range(len(pairs)) for pairs in self.pairs))))
        total = np.zeros((len(codes),) * 2, dtype=bool)
        for n, column in enumerate(codes.T):
            total |= self.within(n)[np.ix_(column, column)]
        return total

    def at_nodes(self, length: int, *, begun: int = 0) -> Flags:
        """At which of so many positions values are secret; a series of a cycle begins at this time of it."""
        if self.cycle is not None:
            return self.cycle[(begun + np.arange(length)) % len(self.cycle)]
        if self.times is None:
            return np.ones(length, dtype=bool)
        nodes = np.zeros(length, dtype=bool)
        for first, last in self.times:
            nodes[first - 1 : last] = True
        return nodes

    def covers(self, other: "SecretPairs") -> bool:
        """Whether a promise about this is one about the other too.

        >>> every, some = Secrets.all().on_states("abc"), Secrets.state("a").on_states("abc")
        >>> every.covers(some), some.covers(every)
        (True, False)
        """
        if self.names != other.names or not self._covers_times(other):
            return False
        for own, sets, pairs, their_sets in zip(self.pairs, self.sets, other.pairs, other.sets, strict=True):
            if own.shape != pairs.shape or (pairs & ~own).any():
                return False
            for one, two in their_sets:
                same = any(
                    np.array_equal(one, a) and np.array_equal(two, b) for c, d in sets for a, b in ((c, d), (d, c))
                )
                if not same and not own[np.ix_(one, two)].all():
                    return False
        return True

    def _covers_times(self, other: "SecretPairs") -> bool:
        if self.always:
            return True
        if self.cycle is not None:
            same = other.cycle is not None and len(other.cycle) == len(self.cycle)
            return same and not bool((other.cycle & ~self.cycle).any())  # type: ignore[operator]
        mine = _joined(self.times or ())
        return other.times is not None and all(
            any(first <= a and b <= last for first, last in mine) for a, b in _joined(other.times)
        )


def posterior(prior: float, epsilon: float) -> float:
    """What a probability becomes at most when its odds grow by a factor of e^ε (Pufferfish's equation 3).

    >>> round(posterior(0.5, 1.0), 3), round(posterior(0.1, 1.0), 3)
    (0.731, 0.232)
    """
    if prior <= 0 or prior >= 1:
        return prior
    return float(1 / (1 + np.exp(-min(epsilon, 700.0)) * (1 - prior) / prior))


def believed_after(epsilon: float, delta: float = 0.0) -> tuple[str, str]:
    """What 50 % may become, and with a δ the probability that it becomes more (from e^(2ε) on).

    If p_a > e^(2ε) p_b on a set S of results, P_a(S) ≤ e^ε P_b(S) + δ ≤ e^-ε P_a(S) + δ, so P_a(S) ≤ δ / (1 - e^-ε).

    >>> believed_after(1.0), believed_after(1.0, 1e-6)
    (('73.2 %', ''), ('88.1 %', ', but for a probability of at most 1.6e-06'))
    """
    if not delta:
        return likely(posterior(0.5, epsilon)), ""
    beyond = delta / -math.expm1(-epsilon)
    if beyond >= 1:
        return "100 %", ""
    power = 10.0 ** (math.floor(math.log10(beyond)) - 1)
    most = math.ceil(beyond / power) * power
    return likely(posterior(0.5, 2 * epsilon)), f", but for a probability of at most {most:.2g}"


def likely(probability: float) -> str:
    """What a probability is at most, as people read it: in per cent with three digits, rounded up as ε is.

    >>> likely(0.73106), likely(0.5), likely(0.0123401), likely(0.9991)
    ('73.2 %', '50 %', '1.24 %', 'nearly 100 %')
    """
    if probability <= 0:
        return "0 %"
    percent = 100 * probability * (1 - 1e-12)  # what was computed exactly stays what it is
    unit = 10.0 ** (math.floor(math.log10(percent)) - 2)
    most = math.ceil(percent / unit) * unit
    return "nearly 100 %" if probability < 1 and most > 99.95 else f"{most:.3g} %"


def _first(belief: Belief | None, part: Part) -> tuple[str, ...]:
    """A state to take as an example."""
    named = None if belief is None else belief.variables or belief.step_variables
    states = () if belief is None else belief.states
    if named:
        states = named[(part.variables or tuple(named))[0]]
    return (states[-1],) if states else ("a certain state",)


def _joined(segments: Iterable[Segment]) -> list[Segment]:
    """Segments without overlap, those that follow each other directly as one."""
    kept: list[Segment] = []
    for first, last in sorted(segments):
        if kept and first <= kept[-1][1] + 1:
            kept[-1] = kept[-1][0], max(kept[-1][1], last)
        else:
            kept.append((first, last))
    return kept


@lru_cache(maxsize=64)
def _resolved(secrets: Secrets, variables: tuple[tuple[str, tuple[str, ...]], ...]) -> SecretPairs:
    return secrets._on_variables(dict(variables))


def _pairs_of(part: Part, states: Sequence[str]) -> Iterator[SetPair]:
    """The pairs that a part names among the states of one variable; of sets, as far as it has their states."""
    names = list(states)
    for one, other in part.named:
        first = np.array([name in one for name in names], dtype=bool)
        second = ~first if other is None else np.array([name in other for name in names], dtype=bool)
        if first.any() and second.any():
            yield first, second


def _cycle(times: Times, belief: Belief) -> Flags:
    """Which times of a cycle lie between some times of day; every step that touches them counts."""
    step = belief.step
    period = belief.period if isinstance(belief, CycleChain) else 0
    if not period or step is None or step.steps or (step.length * period) % DAY:
        raise NotCoveredError(
            "secret hours need a belief that knows the time of day",
            got=repr(belief),
            why="only a cycle of whole days, with its step, says at what time a value is",
            fix="Use positions such as 10:20, or fit a belief with a cycle",
        )
    begun = np.arange(period) * step.length % DAY
    secret = np.zeros(period, dtype=bool)
    for first, last in times.clock:
        # [begun, begun + step) meets [first, last), both going round midnight
        span = (last - first) % DAY or DAY
        secret |= ((begun - first) % DAY < span) | ((first - begun) % DAY < step.length)
    return secret


def _parsed(text: str) -> Secrets:
    words, over, variables = text.partition(" over ")
    kind, _, rest = words.strip().partition(":")
    named = [name.strip() for name in rest.split(",")]
    if kind == "all" and not rest:
        found = Secrets.all()
    elif kind == "state" and rest:
        found = Secrets.state(*named)
    elif kind == "variables" and rest and not over:
        return Secrets.variables(*named)
    elif kind == "pairs" and rest:
        pairs = [tuple(name.strip() for name in pair.split("|")) for pair in named]
        if any(len(pair) != 2 for pair in pairs):
            raise _wrong(
                "secret pairs must be A|B,C|D", got=repr(text), fix="Quote the text, because of |: 'pairs:A|B'"
            )
        found = Secrets.pairs(*((a, b) for a, b in pairs))
    elif kind == "sets" and rest.count("|") == 1:
        one, other = (side.strip() for side in rest.split("|"))
        found = Secrets.sets(_listed(one), None if other == "*" else _listed(other))
    else:
        quoted = "; quote the text, because of | and *" if kind == "sets" else ""
        raise _wrong("secrets are not known", got=repr(text), fix=f"Use {WORDS}{quoted}")
    return found.over(*_listed(variables)) if over else found


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise _wrong("a secret must be named by text", got=repr(name)[:40])
    return name


def _well_formed(kind: object, named: Sequence[tuple[tuple[str, ...], tuple[str, ...] | None]]) -> bool:
    """Whether states that were read are such as the constructors make."""
    if kind == "all":
        return not named
    for one, other in named:
        if not one or len(set(one)) < len(one):
            return False
        if kind == "state" and (len(one) > 1 or other is not None):
            return False
        if kind == "pairs" and (other is None or len(one) > 1 or len(other) > 1):
            return False
        if other is not None and (not other or len(set(other)) < len(other) or set(one) & set(other)):
            return False
    return kind in ("state", "pairs", "sets") and bool(named)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise _wrong("secrets need a list of names", got=repr(names)[:40])
    listed = tuple(dict.fromkeys(_name(name) for name in names))
    if not listed:
        raise _wrong("secrets need a name", got="none", why="nothing would be secret")
    return listed


def _some(given: tuple[Given, ...], what: str) -> tuple[Given, ...]:
    if not given:
        raise _wrong(f"secrets need a {what}", got="none", why="nothing would be secret")
    return tuple(dict.fromkeys(given))


def _segment(pair: object) -> Segment:
    whole = isinstance(pair, list | tuple) and len(pair) == 2 and all(type(n) is int for n in pair)
    first, last = pair if isinstance(pair, list | tuple) and whole else (0, 0)
    if not 1 <= first <= last <= FURTHEST:
        raise _no_times(pair)
    return first, last


def _clock(text: str) -> int:
    """A time of day: 8h, 22h30min, 08:30."""
    clock = CLOCK.fullmatch(text.strip())
    if clock is not None:
        hours, minutes = (int(part) for part in clock.groups())
        moment = (hours * 60 + minutes) * 60 * 10**6 if minutes < 60 else DAY + 1
    elif text.strip() in ("0h", "0"):
        moment = 0
    else:
        duration = Duration.parse(text, name="a secret time")
        moment = DAY + 1 if duration.steps else int(duration.length)
    if moment > DAY:
        raise _no_times(text)
    return moment


def _hours(moment: int) -> str:
    """A time of day as text that is read back as the same."""
    return "0h" if moment == 0 else f"{moment // (3600 * 10**6)}h" if moment % (3600 * 10**6) == 0 else _minutes(moment)


def _minutes(moment: int) -> str:
    hours, rest = divmod(moment, 3600 * 10**6)
    return (f"{hours}h" if hours else "") + str(Duration(rest, steps=False))


def _secret_words(part: Part) -> str:
    of = "" if part.variables is None else f" of {_few(list(part.variables))}"
    if part.kind == "all":
        return f"every value{of}"
    said = []
    for one, other in part.named:
        first, second = " or ".join(one), "any other state" if other is None else " or ".join(other)
        if part.kind == "sets":
            rest = "all other states together" if other is None else second
            said.append(f"whether a value{of} is {first}, or {rest}, in the proportions that the belief gives them")
        elif other is None:
            said.append(f"whether a value{of} is {first}, or any single other state")
        else:
            said.append(f"whether a value{of} is {first} rather than {second}")
    return "; ".join(said)


def _when(times: Times | None) -> str:
    if times is None:
        return ""
    return f" ({'from' if times.clock else 'at positions'} {times.text.replace('-', ' to ').replace(':', ' to ')})"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def _wrong(what: str, *, got: str | None = None, why: str | None = None, fix: str | None = None) -> ParameterError:
    return ParameterError(what, got=got, why=why, fix=fix)


def _no_times(given: object) -> ParameterError:
    return ParameterError(
        "secret times must be positions or times of day",
        got=repr(given)[:40],
        fix="For example 10:20 (positions 10 to 20), or 8h-18h",
    )


def _outside(secrets: Secrets, length: int | None = None) -> ParameterError:
    span = "" if length is None else f" of {length:,} values"
    return ParameterError(
        f"secret times must lie within the series{span}",
        got=secrets.times.text if secrets.times else "none",
        why="nothing would be secret",
    )
