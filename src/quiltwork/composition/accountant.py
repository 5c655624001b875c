"""The accountant: holds releases, tries a new one before it counts, and reports the smallest bound it has checked."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from quiltwork.beliefs import Belief, RecordBelief
from quiltwork.calibration import check_length
from quiltwork.composition.case import Case
from quiltwork.composition.records import ReleaseRecord, numbered
from quiltwork.composition.rules import RULES, InfluenceCurveRule
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.influence.curve import Promise
from quiltwork.influence.timeline import Losses
from quiltwork.mechanisms import as_belief


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


@dataclass(frozen=True)
class Composed:
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

    def to_dict(self) -> dict[str, Any]:
        """The result as ``quiltwork compose --json`` prints it."""
        return {"epsilon": self.epsilon, "rule": self.rule, "rules": [finding.to_dict() for finding in self.rules]}


class Accountant:
    """Adds up what releases from one data set tell about the value at any one time.

    Releases may overlap, and later ones may depend on the results of earlier ones. With the promise "bayesian" it is
    about adversaries who know any other values (Bayesian differential privacy).

    >>> from quiltwork import MarkovChain
    >>> accountant = Accountant(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary"), length=1000)
    >>> release = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=3.33641, lipschitz=1.0)
    >>> round(accountant.dry_run(release).epsilon, 4), len(accountant.releases)
    (1.0, 0)
    >>> round(accountant.add(release).epsilon, 4), len(accountant.releases)
    (1.0, 1)
    """

    def __init__(
        self,
        belief: Belief,
        *,
        length: int | str | None = None,
        releases: Iterable[ReleaseRecord] = (),
        promise: Promise = "pufferfish",
    ):
        if promise not in ("pufferfish", "bayesian"):
            raise ParameterError("the promise must be pufferfish or bayesian", got=repr(promise))
        self.promise = promise
        self.belief = as_belief(belief)
        self.length = check_length(length)
        if isinstance(self.belief, RecordBelief):
            self.length = self.belief.size(self.length)
        self._releases: tuple[ReleaseRecord, ...] = ()
        for n, release in enumerate(releases, 1):
            with numbered(n):
                self._releases = (*self._releases, self._checked(release))

    @property
    def releases(self) -> tuple[ReleaseRecord, ...]:
        """All releases so far."""
        return self._releases

    def composed(self) -> Composed:
        """What all releases so far tell together; refused if no rule covers them."""
        if not self._releases:
            return Composed(0.0, "nothing was released", ())
        return _compose(Case(self.belief, self._releases, self.length, self.promise))

    def dry_run(self, release: ReleaseRecord) -> Composed:
        """What they would tell with one more; nothing is added."""
        return _compose(Case(self.belief, (*self._releases, self._checked(release)), self.length, self.promise))

    def add(self, release: ReleaseRecord) -> Composed:
        """Count one more release, if a rule covers it."""
        composed = self.dry_run(release)
        self._releases = (*self._releases, release)
        return composed

    def _checked(self, release: ReleaseRecord) -> ReleaseRecord:
        if not isinstance(release, ReleaseRecord):
            raise ParameterError("a release must be a ReleaseRecord", got=type(release).__name__)
        if release.segment is not None and isinstance(self.belief, RecordBelief):
            raise ParameterError(
                "a release about a record has no segment",
                got=f"{release.segment[0]}:{release.segment[1]}",
                why="its variables have no order in time",
                fix="Name the variables in its query: count:yes over fever,cough",
            )
        if release.segment is not None and self.length is None:
            raise ParameterError(
                "a release on a segment needs the length of the series", got="any", why="the rest counts too"
            )
        if release.segment is not None and self.length is not None and release.segment[1] > self.length:
            raise ParameterError(
                f"a segment must lie within the {self.length:,} values of the series",
                got=f"{release.segment[0]}:{release.segment[1]}",
                why="there is nothing beyond the last value",
            )
        return release


def _compose(case: Case) -> Composed:
    findings = tuple(_findings(case))
    usable = [finding for finding in findings if finding.epsilon is not None]
    if not usable:
        reasons = "; ".join(f"{finding.rule}: {finding.why}" for finding in findings)
        fix = "Say noise_scale and lipschitz of every release, or epsilon of an entry release, for the influence curve"
        if not case.chain_like:
            fix = "Describe the data by a chain or a network, or make one release"
        raise NotCoveredError("no theorem says what these releases tell together", why=reasons, fix=fix)
    best = min(usable, key=lambda finding: finding.epsilon or 0.0)
    drawn = case.losses if any(f.rule == InfluenceCurveRule.name and f.applies for f in findings) else None
    return Composed(best.epsilon or 0.0, best.rule, findings, drawn)


def _findings(case: Case) -> Iterator[Finding]:
    for rule in RULES:
        why = rule.applies(case) if case.promise in rule.promises else "it is about adversaries who know no values"
        epsilon = None if why is not None else rule.bound(case)
        if epsilon is not None and not math.isfinite(epsilon):
            why, epsilon = "its bound is infinite here", None
        yield Finding(rule.name, rule.theorem, epsilon, why)
