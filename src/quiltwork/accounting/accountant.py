"""The accountant: holds releases, tries a new one before it counts, and reports the smallest bound it has checked."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from quiltwork.accounting.approximate import THEOREMS, Approximate, Way, at_delta
from quiltwork.accounting.case import Basis, Case
from quiltwork.accounting.checks import quilt_epsilon
from quiltwork.accounting.envelope import Envelope
from quiltwork.accounting.odometer import Odometer
from quiltwork.accounting.record import ReleaseRecord, numbered, record_of
from quiltwork.accounting.rules import RULES, InfluenceCurveRule
from quiltwork.accounting.total import Total
from quiltwork.auditor import Recorded
from quiltwork.beliefs import Belief, Believed, Secrets, as_belief
from quiltwork.errors import NotCoveredError, ParameterError, QuiltworkError
from quiltwork.forks import working
from quiltwork.influence.curve.timeline import Losses
from quiltwork.numeric import check_delta, check_length
from quiltwork.types import Guarantee, Shown

MOST_USED = ("influence-curve", "single-release", "group", "separate-segments")
NEXT = (
    "Give the query (or lipschitz) and noise_scale of every release: then the influence curve covers chains and "
    "networks, and group privacy covers all beliefs with a known number of values"
)


@dataclass(frozen=True)
class Finding:
    """What one rule says: its ε, or why it does not apply."""

    rule: str
    theorem: str
    epsilon: float | None
    why: str | None

    @property
    def applies(self) -> bool:
        """Whether the rule's condition holds."""
        return self.why is None

    def to_dict(self) -> dict[str, Any]:
        """The finding as ``quiltwork compose --json`` prints it."""
        return {"rule": self.rule, "applies": self.applies, "epsilon": self.epsilon, "why": self.why or self.theorem}


@dataclass(frozen=True, repr=False)
class Composed(Shown):
    """The guarantee of all releases together: the smallest ε of the rules that apply.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> release = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=3.33641, lipschitz=1.0)
    >>> composed = Accountant(chain, length=1000, releases=[release, release]).composed()
    >>> round(composed.epsilon, 3), composed.rule
    (2.086, 'influence-curve')
    """

    epsilon: float
    rule: str
    rules: tuple[Finding, ...]
    losses: Losses | None = None
    delta: float = 0.0
    """The δ at which ε holds."""
    pure: float | None = None
    """The ε that holds without a δ, where a δ is allowed for; None if there is none."""

    def __repr__(self) -> str:
        at = f" at δ = {self.delta:g}" if self.delta else ""
        return f"Composed(ε = {self.epsilon:.6g}{at} by {self.rule})"

    def to_dict(self) -> dict[str, Any]:
        """The result as ``quiltwork compose --json`` prints it."""
        found = {"epsilon": self.epsilon, "rule": self.rule, "rules": [finding.to_dict() for finding in self.rules]}
        return found | ({"delta": self.delta, "pure_epsilon": self.pure} if self.delta else {})


class Accountant:
    """Adds up what releases from one data set tell about the value at any one time.

    Releases may overlap, and later ones may depend on the results of earlier ones. With the promise "bayesian" it is
    about adversaries who know any other values (Bayesian differential privacy). ``secrets`` say what is kept apart:
    every release counts for what it tells about them, whatever its own promise is about. ``compose``, sessions and
    ledgers all ask an accountant; a ledger keeps the ``total`` itself, and has it bounded by ``told_by``.

    With a ``delta`` it is the smallest ε with which all releases are (ε, δ)-private: where there are many, squares add
    up to far less than sums. That holds for releases that were chosen before the first result was seen; with an
    ``envelope`` that was fixed before, releases may be chosen by earlier results as long as their squares stay within
    it. The ε is then one that holds whenever one stops, by the level of the envelope that they have reached.

    >>> from quiltwork import MarkovChain
    >>> accountant = Accountant(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary"), length=1000)
    >>> release = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=3.33641, lipschitz=1.0)
    >>> round(accountant.dry_run(release).epsilon, 4), len(accountant.releases)
    (1.0, 0)
    >>> round(accountant.add(release).add(release).epsilon, 4)
    2.0858
    >>> accountant
    Accountant(2 releases, ε = 2.0858 by influence-curve, MarkovChain(2 states, initial=stationary))
    """

    def __init__(
        self,
        belief: Believed,
        *,
        length: int | str | None = None,
        releases: Iterable[Recorded] = (),
        guarantee: Guarantee = "pufferfish",
        secrets: Secrets | str | None = None,
        delta: float = 0.0,
        envelope: Envelope | None = None,
    ):
        if guarantee not in ("pufferfish", "bayesian"):
            raise ParameterError("guarantee must be pufferfish or bayesian", got=repr(guarantee))
        self.terms = Basis(as_belief(belief), guarantee, Secrets.of(secrets))
        _ = self.terms.secret  # refused here, where it names what the belief does not have
        self.length = self.terms.belief.size(check_length(length))
        if envelope is not None and delta not in (0.0, envelope.delta):
            raise ParameterError("delta must be that of the envelope", got=f"{delta:g}, not {envelope.delta:g}")
        delta = delta if envelope is None else envelope.delta
        self.delta, self.envelope = check_delta(delta) if delta else 0.0, envelope
        self.odometer = None if envelope is None else Odometer(envelope, self.terms)
        self.total = self.nothing(self.length)
        self._releases: tuple[ReleaseRecord, ...] = ()
        self._composed: Composed | None = None
        for n, release in enumerate(releases, 1):
            with numbered(n):
                self._count(record_of(release), self._with(record_of(release)))

    def __repr__(self) -> str:
        count = len(self._releases)
        try:
            told = f"ε = {self.epsilon:.6g} by {self.composed().rule}" if count else "ε = 0"
        except QuiltworkError:
            told = "no theorem bounds them together"
        return f"Accountant({count:,} release{'s' * (count != 1)}, {told}, {self.terms.belief!r})"

    def nothing(self, length: int | None = 0) -> Total:
        """The total before the first release."""
        return Total.nothing(self.terms.belief, length=length, squares=self.delta > 0)

    def used(self, total: Total) -> float:
        """The share of the envelope that a total has used; above 1 if it does not fit."""
        return 0.0 if self.odometer is None else self.odometer.used(total)

    @property
    def releases(self) -> tuple[ReleaseRecord, ...]:
        """All releases so far."""
        return self._releases

    @working()
    def composed(self) -> Composed:
        """What all releases so far tell together; refused if no rule covers them."""
        if self._composed is None:
            self._composed = self.told_by(self.total)
        return self._composed

    @property
    def epsilon(self) -> float:
        """The ε of all releases so far together."""
        return self.composed().epsilon

    @working()
    def dry_run(self, release: Recorded) -> Composed:
        """What they would tell with one more; nothing is added."""
        return self.told_by(self._with(record_of(release)))

    @working()
    def add(self, release: Recorded) -> Self:
        """Count one more release (a :class:`Release` or its record), if a rule covers it."""
        record = record_of(release)
        total = self._with(record)
        composed = self.told_by(total)
        self._count(record, total)
        self._composed = composed
        return self

    def plus(self, total: Total, release: ReleaseRecord) -> Total:
        """A total with one more release, whose claims are checked."""
        release = record_of(release)
        check_record(release, self.terms.belief)
        if self.terms.belief.step_variables is not None and total.grows and release.segment is not None:
            raise NotCoveredError(
                "a release from some steps of records over time cannot be added up without their length",
                got=f"steps {release.segment[0]:,} to {release.segment[1]:,}",
                why="it tells about variables at all other steps too",
                fix="Release from all steps, or use compose with the length",
            )
        quilts: float | str = "comes after others that do not add up"
        if total.apart is None:
            may_go_on = total.grows and not self.terms.secret.everything
            unknown = total.endless or may_go_on
            length = None if unknown else max(total.length, release.touched(None)[1] or 0) or None
            quilts = quilt_epsilon(release, self.terms, length)
        return total.plus(release, self.terms.belief, quilts=quilts)

    @working()
    def told_by(self, total: Total, *, enough: float = 0.0) -> Composed:
        """What the releases of a total tell together; refused if no rule covers them.

        Rules that take long are left out where others come to no more than ``enough``.
        """
        case = Case(self.terms, total)
        if not total.count:
            return Composed(0.0, "nothing was released", ())
        findings = tuple(_findings(case, enough))
        pure = min((finding.epsilon for finding in findings if finding.epsilon is not None), default=None)
        ways = {way: self._by(way, total) for way in THEOREMS} if self.delta else {}
        findings += tuple(Finding(way, THEOREMS[way], found.epsilon, found.why) for way, found in ways.items())
        usable = [finding for finding in findings if finding.epsilon is not None]
        if not usable and self.envelope is not None and total.unsquared is None:
            return Composed(math.inf, "beyond the room of the budget", findings, None, self.delta)
        if not usable:
            told = {finding.why: finding.rule for finding in reversed(findings) if finding.rule in MOST_USED}
            reasons = "; ".join(f"{rule}: {why}" for why, rule in reversed(told.items()))
            fix = f"Gaussian noise needs a δ: --delta 1e-6, or delta=. {NEXT}" if self._without_delta(total) else NEXT
            raise NotCoveredError("no theorem bounds the privacy loss of these releases together", why=reasons, fix=fix)
        best = min(usable, key=lambda finding: finding.epsilon or 0.0)
        chosen = next((found.case for way, found in ways.items() if way == best.rule), None)
        if chosen is not None:
            return Composed(best.epsilon or 0.0, best.rule, findings, chosen.losses, self.delta, pure)
        drawn = case.losses if any(f.rule == InfluenceCurveRule.name and f.applies for f in findings) else None
        if drawn is not None and case.by_curve < drawn.epsilon:  # the network of all steps knows better
            drawn = replace(drawn, epsilon_at=np.minimum(drawn.epsilon_at, case.by_curve))
        return Composed(best.epsilon or 0.0, best.rule, findings, drawn, self.delta, pure)

    def _without_delta(self, total: Total) -> bool:
        """Whether all that is missing may be a δ."""
        return not self.delta and any(record.noise == "gaussian" for record in total.records or ())

    def _by(self, way: Way, total: Total) -> Approximate:
        """ε at δ; where releases are chosen one after the other only by squares, within the envelope."""
        if self.odometer is None:
            return at_delta(self.terms, total, self.delta, way)
        if way == "mixture":
            return Approximate(None, "no theorem covers it for releases that are chosen one after the other")
        return self.odometer.spent(total)

    def losses_of(self, total: Total) -> Losses:
        """What the releases of a total tell about each time, at most; no more than about all times together."""
        if self.terms.belief.variables is not None:
            raise ParameterError("records have no times", got="a belief about named variables")
        told = self.told_by(total)
        if told.losses is None:
            return Losses(np.array([1]), np.array([told.epsilon]), max(1, total.length), (0, 0), ())
        return replace(told.losses, epsilon_at=np.minimum(told.losses.epsilon_at, told.epsilon))

    def _with(self, release: ReleaseRecord) -> Total:
        same = not self.total.count or release.reading == self.total.reading
        if same and release.placed and self.terms.belief.variables is None:
            if release.segment is not None and self.length is None:
                raise ParameterError(
                    "a release on a segment needs the length of the series",
                    got="any",
                    why="values outside the segment count too",
                )
            reach = max(release.length or 0, release.segment[1] if release.segment else 0)
            if self.length is not None and reach > self.length:
                raise ParameterError(
                    f"a release must lie within the {self.length:,} values of the series",
                    got=f"one that reaches to {reach:,}",
                    why="there is nothing beyond the last value",
                )
        return self.plus(self.total, release)

    def _count(self, release: ReleaseRecord, total: Total) -> None:
        self._releases, self.total = (*self._releases, release), total


def check_record(release: ReleaseRecord, belief: Belief) -> None:
    """Refuse a release that cannot be about this belief."""
    if belief.variables is not None:
        if release.segment is not None:
            raise ParameterError(
                "a release about a record has no segment",
                got=f"{release.segment[0]}:{release.segment[1]}",
                why="its variables have no order in time",
                fix="Name the variables in its query: count:yes over fever,cough",
            )
        belief.size(release.length)
    by_name = release.query is not None and release.by_name  # in whatever order a belief has the variables of a step
    if release.labels not in (None, belief.labels) and not by_name:
        raise ParameterError(
            "a release must be about the belief's states, in the same order",
            got="others",
            why="its question is about states by name and by place",
            fix="Use a belief about the same states and variables, in the same order",
        )
    release.secrets.on(belief)
    release.profile(belief)


def _findings(case: Case, enough: float) -> Iterator[Finding]:
    best = math.inf
    for rule in RULES:
        if rule.costly and best <= max(enough, rule.floor(case)):
            yield Finding(
                rule.name, rule.theorem, None, "not computed: another rule already gives a bound at least as small"
            )
            continue
        promised = case.terms.guarantee in rule.guarantees
        seen = case if rule.by_pair else case.about_all
        why = rule.applies(seen) if promised else "it is about adversaries who know no values"
        epsilon = None if why is not None else rule.bound(seen)
        if epsilon is not None and not math.isfinite(epsilon):
            why, epsilon = "its bound is infinite here", None
        best = min(best, math.inf if epsilon is None else epsilon)
        yield Finding(rule.name, rule.theorem, epsilon, why)
