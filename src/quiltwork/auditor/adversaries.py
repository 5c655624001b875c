"""Bayesian differential privacy leakage, exactly (Statement 20).

    BDPL = sup over i, K, x_K, two values of X_i and all outputs w of  log p(w | x_i, x_K) / p(w | x_i', x_K)

*Chains.* Given what is known, the values between the nearest known ones on both sides of X_i are independent of all
others. What those others add to the answer is noise for whoever does not know them, so knowing them only helps: the
worst adversary knows everything outside some interval around X_i and nothing else inside. So it is enough to look at
intervals, not at 2^n sets. *Records.* All sets K, fewest known values first.

Both searches stop where nothing better can follow: with m values unknown, X_i among them, the leakage is at most m
times that of one.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from quiltwork.auditor.exact import audit, of_steps, over_time
from quiltwork.auditor.noisy import Audit, Noisy, NoisyQuestion, check_pure, each_question
from quiltwork.beliefs import Belief, MarkovChain, RecordLaw, Secrets
from quiltwork.beliefs.structure import following
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.laws.exact import expected_work
from quiltwork.numeric import check_length
from quiltwork.types import Flags, Progress

MOST_SECONDS = 60.0
MOST_WORK = 1e11
LONGEST = 400
KNOWN = "known"  # of a real value: which one it is makes no difference


@dataclass(frozen=True)
class Leakage:
    """How much releases tell the worst adversary: which value is attacked, and what the adversary knows.

    ``complete`` says whether every adversary was looked at; else ``looked`` of ``adversaries`` were, and ``epsilon`` is
    only what was found so far.

    >>> from quiltwork import Count, MarkovChain
    >>> chain = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
    >>> found = leakage(chain, [Noisy(Count("1"), 1.0)], length=2)
    >>> round(found.epsilon, 6), found.node, found.knows
    (1.917665, 1, {})
    """

    epsilon: float
    node: int | str | None
    knows: Mapping[int | str, str]
    pair: tuple[str, str] | None
    method: Literal["enumeration", "projective"] = "enumeration"
    complete: bool = True
    looked: int = 0
    adversaries: int = 0
    member: int | None = None
    delta: float = 0.0
    """The δ at which a bound holds."""

    def lines(self) -> list[str]:
        """The leakage in words."""
        if self.method == "projective":
            return [
                f"Leakage: at most {self.epsilon:.7g}{f' at δ = {self.delta:g}' if self.delta else ''}, against every "
                "adversary who knows any of the other values.",
                "This is an upper bound (projective). Exact leakage needs a short series with a known start, and a "
                f"query that adds up over values{', and no δ' if self.delta else ''}.",
            ]
        sign = "=" if self.complete else "≥"
        lines = [f"Leakage {sign} {self.epsilon:.7g}, exactly."]
        if self.pair is not None:
            where = f"time {self.node}" if isinstance(self.node, int) else f"variable {self.node}"
            what = ", ".join(f"{place} = {state}" for place, state in self.knows.items()) or "no other value"
            if set(self.knows.values()) == {KNOWN}:
                what = f"the values at times {', '.join(map(str, self.knows))}"
            lines.append(f"The worst adversary attacks {where} ({self.pair[0]} or {self.pair[1]}) and knows {what}.")
        if not self.complete:
            lines.append(f"Stopped early: {self.looked:,} of {self.adversaries:,} adversaries were checked.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The leakage as ``quiltwork leakage --json`` prints it."""
        contents = {
            "epsilon": self.epsilon,
            "node": self.node,
            "knows": {str(place): state for place, state in self.knows.items()},
            "pair": None if self.pair is None else list(self.pair),
            "method": self.method,
            "complete": self.complete,
            "looked": self.looked,
            "adversaries": self.adversaries,
        }
        return contents if self.member is None else contents | {"member": self.member}


def leakage(
    belief: Belief,
    releases: Sequence[Noisy],
    *,
    length: int | None = None,
    seconds: float = MOST_SECONDS,
    progress: Progress | None = None,
    secrets: Secrets | str | None = None,
) -> Leakage:
    """The exact leakage of several releases together, with the worst adversary; at most this many seconds.

    ``secrets`` says what is to be kept apart; every two states of every value if left out.

    >>> from quiltwork import JointTable
    >>> pair = JointTable({"x": "01", "y": "01"}, [((a, b), 0.495 if a == b else 0.005) for a in "01" for b in "01"])
    >>> from quiltwork import Count
    >>> found = leakage(pair, [Noisy(Count("1"), 1.0)])
    >>> round(found.epsilon, 4), dict(found.knows)
    (1.9766, {})
    """
    if not releases:
        raise ParameterError("leakage needs a release", got="none")
    check_pure(releases)
    secret = of_steps(Secrets.of(secrets), belief, length)
    secret.check_length(length)
    belief, asked, length = over_time(belief, each_question(releases, belief), check_length(length))
    secret.on(belief)
    if not seconds > 0:
        raise ParameterError("seconds must be positive", got=f"{seconds:g}", why="the search needs some time")
    if belief.members[0] is not belief:
        whole = [one.again for one in asked]
        members = [
            replace(leakage(m, whole, length=length, seconds=seconds, progress=progress, secrets=secret), member=n)
            for n, m in belief.numbered_members
        ]
        worst = max(members, key=lambda member: member.epsilon)
        return replace(worst, complete=all(member.complete for member in members))
    until = time.monotonic() + seconds
    for law in belief.laws:
        span = law.size(length)
        return _search(_sets(law, asked, secret), _most(asked, span), span, until, progress)
    if not belief.chains or belief.chains[0].initial is None:
        raise NotCoveredError(
            "exact leakage needs chains with a start, a network or a joint table",
            got=repr(belief),
            why="a supremum over infinitely many beliefs is not a finite computation",
            fix="Use the projective bound, which covers them all",
        )
    if length is None or length > LONGEST:
        raise NotCoveredError(
            f"exact leakage needs a length of at most {LONGEST}",
            got=str(length or "any"),
            why="every interval of the series is checked",
            fix="Use the projective bound",
        )
    counted = [_undivided(release, length) for release in asked]
    work = sum(expected_work(r.question, belief, length) * len(r.question.labels) ** 3 for r in counted)
    if work * length**2 / 2 > MOST_WORK:
        raise NotCoveredError(
            "exact leakage would take too long",
            got=f"{work * length**2 / 2:.1e} steps, with {MOST_WORK:.0e} at most",
            why="every interval of the series is looked at",
            fix="Use the projective bound, or a shorter series",
        )
    intervals = _intervals(belief.chains[0], counted, length, secret)
    return _search(intervals, _most(counted, length), length, until, progress)


@dataclass(frozen=True)
class _Attack:
    """What an adversary can tell, which place of the series or record a node stands for, and what is known."""

    audit: Audit
    place: Callable[[int | str], int | str]
    knows: Mapping[int | str, str]


class Adversary(NamedTuple):
    """Who does not know this many values: how many adversaries this stands for, and how to look at what they learn."""

    unknown: int
    number: int
    look: Callable[[], _Attack]


def _search(
    adversaries: Iterator[Adversary], most: float, size: int, until: float, progress: Progress | None
) -> Leakage:
    """The worst of all adversaries (unknown values, their number, how to look at one), most unknown values first."""
    best = Leakage(0.0, None, {}, None)
    looked = total = 0
    stopped = False
    for unknown, count, look in adversaries:
        total += count
        if stopped or best.epsilon >= unknown * most:  # Statement 33
            looked += 0 if stopped else count  # they cannot learn more
            continue
        if time.monotonic() > until:
            stopped = True
            continue
        attack = look()
        audited = attack.audit
        looked += count
        if progress is not None:
            progress(1 - unknown / size)
        if audited.pair is not None and audited.node is not None and audited.epsilon > best.epsilon:
            best = Leakage(audited.epsilon, attack.place(audited.node), attack.knows, audited.pair)
    return replace(best, complete=not stopped, looked=looked, adversaries=total)


def _intervals(
    chain: MarkovChain, releases: Sequence[NoisyQuestion], length: int, secrets: Secrets
) -> Iterator[Adversary]:
    """Adversaries who know everything outside an interval, longest intervals first."""
    reach = [np.asarray(chain.initial) > 0]  # which values are possible; probabilities might underflow
    for _ in range(length - 1):
        reach.append(following(reach[-1], chain.support))
    everywhere = all(release.segment is None for release in releases) and secrets.times is None
    for count in range(length, 0, -1):
        inner_done = False
        for first in range(1, length - count + 2):
            last = first + count - 1
            if everywhere and first > 1 and last < length:
                if inner_done:
                    continue  # the same as further left, if the same values are possible there
                inner_done = bool(reach[first - 2].all())
            befores = [None] if first == 1 else np.flatnonzero(reach[first - 2]).tolist()
            afters: list[int | None] = [None] if last == length else list(range(len(chain.states)))
            for before, after in itertools.product(befores, afters):
                start = reach[0] if before is None else chain.support[before]
                if after is not None and not _possible(chain, start, count, after):
                    continue
                yield Adversary(
                    count, 1, _look(chain, releases, (first, last), before, after, length, secrets)
                )  # Statement 33


def _possible(chain: MarkovChain, start: Flags, count: int, after: int) -> bool:
    """Whether the state can follow that many values."""
    here = start
    for _ in range(count):
        here = following(here, chain.support)
    return bool(here[after])


def _look(
    chain: MarkovChain,
    releases: Sequence[NoisyQuestion],
    interval: tuple[int, int],
    before: int | None,
    after: int | None,
    length: int,
    secrets: Secrets,
) -> Callable[[], _Attack]:
    first, last = interval
    count = last - first + 1

    def look() -> _Attack:
        inside = [_moved(release, interval, length) for release in releases]
        part = chain if before is None else chain.with_start(chain.transition[before])
        knows: dict[int | str, str] = {}
        if first > 1 and before is not None:
            knows |= _path(chain, first - 1, before)
        if after is not None:
            knows[last + 1] = chain.states[after]
            knows |= {t: chain.states[s] for t, s in _onward(chain, last + 1, after, length).items()}
        kept = [release.again for release in inside if release is not None]
        secret = secrets.moved(first - 1, count)
        if not kept or secret is None:
            return _Attack(Audit(0.0, None, None, None, (), 0), lambda node: node, knows)
        if after is None:
            audited = audit(part, kept, length=count, secrets=secret)
        else:
            known = {count + 1: chain.states[after]}
            audited = audit(part, kept, length=count + 1, know=known, secrets=secret)
        return _Attack(audited, lambda node: int(node) + first - 1, knows)

    return look


def _path(chain: MarkovChain, time_known: int, state: int) -> dict[int | str, str]:
    """Values up to a time that end in a state and can occur: the worst adversary knows all of them."""
    reach = [np.asarray(chain.initial) > 0]
    for _ in range(time_known - 1):
        reach.append(following(reach[-1], chain.support))
    path = [state]
    for t in range(time_known - 1, 0, -1):
        path.append(int(np.argmax(reach[t - 1] * chain.transition[:, path[-1]])))
    return {t: chain.states[s] for t, s in enumerate(reversed(path), 1)}


def _onward(chain: MarkovChain, begun: int, state: int, length: int) -> dict[int, int]:
    """Values after a time that can follow a state."""
    path = {}
    for t in range(begun + 1, length + 1):
        state = int(np.argmax(chain.transition[state]))
        path[t] = state
    return path


def _moved(release: NoisyQuestion, interval: tuple[int, int], length: int) -> NoisyQuestion | None:
    """The part of a release inside an interval, counted from its beginning; None if there is none."""
    first, last = release.segment or (1, length)
    begun, ended = interval
    first, last = max(first, begun) - begun + 1, min(last, ended) - begun + 1
    return None if first > last else NoisyQuestion(release.question, release.noise_scale, (first, last))


def _undivided(release: NoisyQuestion, length: int) -> NoisyQuestion:
    """Shares and means as the counts and sums that they are made of: parts of them are divided by the same number."""
    first, last = release.segment or (1, length)
    divisor = release.question.divisor_of(last - first + 1)
    return NoisyQuestion(release.question.undivided, release.noise_scale * divisor, release.segment)


def _most(releases: Sequence[NoisyQuestion], length: int | None) -> float:
    """What one value by itself can tell at most: its profile, rounded up."""
    total = 0.0
    for release in releases:
        first, last = release.segment or (1, length or 1)
        total += release.question.lipschitz / release.question.divisor_of(last - first + 1) / release.noise_scale
    return total * (1 + 1e-9)


def _sets(law: RecordLaw, releases: Sequence[NoisyQuestion], secrets: Secrets) -> Iterator[Adversary]:
    """All sets of known variables with all their possible values, fewest known first."""
    names, codes = list(law.variables), law.all_outcomes.codes
    for count in range(len(names)):
        for chosen in itertools.combinations(range(len(names)), count):  # Statement 20: all sets K
            for values in np.unique(codes[:, list(chosen)], axis=0).tolist():
                knows = {names[n]: law.variables[names[n]][v] for n, v in zip(chosen, values, strict=True)}
                yield Adversary(len(names) - count, 1, _look_at_record(law, releases, knows, secrets))


def _look_at_record(
    law: RecordLaw, releases: Sequence[NoisyQuestion], knows: dict[str, str], secrets: Secrets
) -> Callable[[], _Attack]:
    again = [one.again for one in releases]

    def look() -> _Attack:
        named: dict[int | str, str] = dict(knows.items())
        return _Attack(audit(law, again, know=knows, secrets=secrets), lambda node: node, named)

    return look
