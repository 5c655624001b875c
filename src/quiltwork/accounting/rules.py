"""The composition theorems, one class each (docs/theory/composition.md).

``applies`` checks a theorem's condition and returns why it does not hold, or None if it does; ``bound`` is then its ε.
A promise here is about the value at every time, also at times that no release was about. The only ε that a rule takes
over from a release is one that ``own_epsilon`` has checked.
"""

import math
from abc import ABC, abstractmethod

from quiltwork.accounting.case import Case
from quiltwork.accounting.checks import own_epsilon, quilt_epsilon
from quiltwork.accounting.divergence import largest_divergence
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.calibration.mechanisms.quilt import approx_quilt
from quiltwork.errors import NotCoveredError, QuiltworkError
from quiltwork.influence.curve.sides import skips
from quiltwork.influence.quilts.ends import Ends
from quiltwork.numeric import round_up, sum_of
from quiltwork.types import Guarantee


class Rule(ABC):
    """A composition theorem."""

    name: str
    theorem: str
    guarantees: tuple[Guarantee, ...] = ("pufferfish",)
    """The promises that the theorem can make."""
    costly = False
    """Whether it takes long, so that it is left out where another rule says enough."""
    by_pair = False
    """Whether it holds for some secret pairs by themselves; else it is asked about all pairs, which covers some."""

    @abstractmethod
    def applies(self, case: Case) -> str | None:
        """Why the theorem does not cover the case; None if it does."""

    @abstractmethod
    def bound(self, case: Case) -> float:
        """ε of all releases together, where the theorem applies."""

    def floor(self, case: Case) -> float:  # noqa: ARG002 - most rules do not know
        """What the bound will not be below, if that is quickly seen."""
        return 0.0


class InfluenceCurveRule(Rule):
    """Profiles add, and the influence curve turns their sum into a guarantee."""

    name = "influence-curve"
    guarantees = ("pufferfish", "bayesian")
    theorem = "the influence curve of the sum of all profiles"
    by_pair = True  # Statement 61

    def applies(self, case: Case) -> str | None:
        """Chains or networks, and a profile of every release; against known values only trees."""
        network = case.terms.network
        if not case.terms.chain_like and network is None:
            return "it is about chains and networks"
        if network is not None and case.terms.guarantee == "bayesian" and not network.graph.forest:
            return "against adversaries who know other values it is about chains and trees"
        if case.total.unknown is not None:
            return case.total.unknown
        try:
            if math.isinf(self.bound(case)):
                return (
                    "under this belief values may stay linked however far apart they are; give the length of the series"
                )
        except QuiltworkError as refusal:
            return str(refusal).rstrip(".")
        return None

    def bound(self, case: Case) -> float:
        """The curve of the sum of profiles."""
        return case.by_curve  # Statements 8 and 9


class HiddenTogether(Rule):
    """All values that may depend on each other are hidden at once: λ summed up over all of them."""

    name = "group"
    guarantees = ("pufferfish", "bayesian")
    theorem = "group privacy: the profiles of all values that may depend on each other, added up"
    by_pair = True

    def applies(self, case: Case) -> str | None:
        """A profile of every release, and a known number of values."""
        if case.total.unknown is not None:
            return case.total.unknown
        return "the number of values is not known" if math.isinf(case.together) else None

    def bound(self, case: Case) -> float:
        """Σ λ."""
        return case.together  # Statement 18


class SequentialQuilts(Rule):
    """Releases of one series by the Markov Quilt Mechanism under the same belief add up, whatever their quilts."""

    name = "sequential-quilt"
    theorem = "Theorem 3.7 of Song and Chaudhuri 2017"
    by_pair = True  # Statement 63

    def applies(self, case: Case) -> str | None:
        """Every release is by quilts, about the same values, with the noise that quilts need."""
        if not case.terms.chain_like or not case.terms.belief.knows_influence:
            return "it is about chains for which max-influence is known"
        return case.total.apart

    def bound(self, case: Case) -> float:
        """Σ ε."""
        return case.total.quilts  # Statement 25 (C Theorem 3.7)


class SameQuilts(Rule):
    """Releases by quilts that use the same active quilt at every node.

    On a network one quilt at each variable is chosen for all releases together: the theorem needs no more than that,
    and e(X_Q | X_i) then counts once.
    """

    name = "same-quilts"
    theorem = "Theorem 2.6 of Song and Chaudhuri 2017 (with the sum of ε, which holds too)"
    by_pair = True  # Statement 63

    def applies(self, case: Case) -> str | None:
        """The same mechanism and the same ε: then the search for quilts is the same. On a network, profiles."""
        if case.terms.network is not None:
            return case.total.unknown
        reason = SequentialQuilts().applies(case) or case.not_few()
        if reason is not None:
            return reason
        if len({(record.mechanism, record.epsilon) for _, record in case.telling or ()}) > 1:
            return "releases with another mechanism or epsilon have other active quilts"
        return None

    def bound(self, case: Case) -> float:
        """K ε; on a network the largest of e + Σ λ(near) with the best quilt of each variable."""
        # Statements 24 and 17 (C Theorem 2.6)
        return case.total.quilts if case.terms.network is None else case.by_quilts  # Statement 17


class SingleRelease(Rule):
    """One release keeps its own promise."""

    name = "single-release"
    theorem = "the release's own guarantee"
    by_pair = True
    guarantees = ("pufferfish", "bayesian")

    def applies(self, case: Case) -> str | None:
        """There is one, and it has a guarantee that its noise bears out."""
        if case.telling is None or len(case.telling) > 1:
            return f"there are {case.total.count} releases"
        return _doubt(case)

    def bound(self, case: Case) -> float:
        """Its ε."""
        return max(_claims(case), default=0.0)


class SeparateSegments(Rule):
    """Any mechanisms on two separate segments, each private on its own (Theorem 3.1 with the influences put right).

    A value in the first segment A is seen through A (ε_A) and, through A's last value, in B: so its loss is at most
    ε_A + min(ε_B, e(X_T3|X_T2)), and the other way round for B. A value between them is seen through both ends. The
    printed theorem swaps the two influences, and is false.
    """

    name = "separate-segments"
    theorem = "Theorem 3.1 of Song and Chaudhuri 2017, corrected"
    costly = True

    def applies(self, case: Case) -> str | None:
        """Two segments, one after the other, each with one release and its own ε."""
        if not case.terms.chain_like or not case.terms.belief.separating:
            return "it is about chains, in which a value separates what came before from what follows"
        return _part_of_a_state(case) or _not_two(case) or _doubt(case)

    def bound(self, case: Case) -> float:
        """The largest loss of a value in A, in B and between them."""
        (_, T2, (a,)), (T3, _, (b,)) = case.clusters
        ends = Ends.of(case.belief)
        eps_a, eps_b = _claim(a, case), _claim(b, case)
        bounds = [
            eps_a + min(eps_b, ends.onward(T2, T3)),  # Statement 26 (C Theorem 3.1): e(X_T3 | X_T2)
            eps_b + min(eps_a, ends.backward(T2, T3)),  # Statement 26: e(X_T2 | X_T3)
        ]
        for first, last in _between(T2, T3):
            # Statements 26 and 23
            bounds.append(min(eps_a, ends.backward(T2, first)) + min(eps_b, ends.onward(last, T3)))
        return round_up(max(bounds))


class FarSegments(Rule):
    """Two approximate quilt releases on segments that are far from each other cost no more than the dearer one."""

    name = "far-segments"
    theorem = "Theorem 3.3 of Song and Chaudhuri 2017"
    costly = True

    def applies(self, case: Case) -> str | None:
        """quilt-approx in each, with a two-sided active quilt for every belief, and a gap as long as the segments."""
        belief = case.terms.belief
        if not case.terms.chain_like or not belief.knows_influence:
            return "it is about chains whose spectral gap is known"
        if any(record.mechanism != "quilt-approx" for _, record in case.telling or ()):
            return "it is about releases by quilt-approx"
        reason = _not_two(case)
        if reason is not None:
            return reason
        for (n, _), claim in zip(case.telling or (), _quilt_claims(case), strict=True):
            if isinstance(claim, str):
                return f"release {n} {claim}"
        (T1, T2, _), (T3, T4, _) = case.clusters
        gap, longer = T3 - T2, max(T2 - T1, T4 - T3)
        if gap < longer:  # Statement 27's condition
            return f"the gap of {gap:,} must be at least {longer:,}, the length of the longer segment"
        for first, last, (record,) in case.clusters:
            for known in belief.mixing_classes():  # that the lemma covers each of them was seen with the noise
                quilt = approx_quilt(known, record.epsilon or 1.0, last - first + 1)
                if quilt.left is None or quilt.right is None:
                    return f"the segment {first:,} to {last:,} has no two-sided active quilt at its epsilon"
        return None

    def bound(self, case: Case) -> float:
        """The larger ε."""
        return max(claim for claim in _quilt_claims(case) if isinstance(claim, float))  # Statement 27 (C Theorem 3.3)


class Divergence(Rule):
    """Any mechanisms, with a correction for how far their results are from being independent given a secret."""

    name = "divergence"
    theorem = "Theorem 3.6 of Song and Chaudhuri 2017"
    costly = True

    def applies(self, case: Case) -> str | None:
        """E is computed exactly, for short series."""
        reason = _part_of_a_state(case) or case.not_few() or case.not_placed() or _not_whole(case) or _doubt(case)
        if reason is not None:
            return reason
        try:
            self._divergence(case)
        except NotCoveredError as refusal:
            return f"the divergence of the results cannot be computed: {str(refusal).rstrip('.')}"
        return None

    def bound(self, case: Case) -> float:
        """Σ ε + 2E."""
        return round_up(_sum_of(_claims(case)) + 2 * self._divergence(case))  # Statement 29 (C Theorem 3.6)

    def floor(self, case: Case) -> float:
        """Σ ε."""
        return sum_of(record.epsilon or 0.0 for _, record in case.telling or ())

    def _divergence(self, case: Case) -> float:
        return largest_divergence(case.belief, [record for _, record in case.telling or ()], case.length)


class BayesianSum(Rule):
    """Bayesian differential privacy adds up where results are independent given (x_i, x_K), for every adversary.

    The printed theorem leaves the condition out, and is false without it. It holds for one value, and for releases
    about separate values that are independent of each other.
    """

    name = "bayesian"
    guarantees = ("pufferfish", "bayesian")
    theorem = "Theorem 1 on the composability of Bayesian differential privacy, with its condition"
    costly = True

    def applies(self, case: Case) -> str | None:
        """Bayesian promises, and results that share no unknown."""
        reason = _part_of_a_state(case) or _not_bayesian(case) or _doubt(case)
        if reason is not None or case.length == 1:
            return reason
        return _shared_unknown(case)  # Statement 30's condition

    def bound(self, case: Case) -> float:
        """Σ ε."""
        return _sum_of(_claims(case))  # Statement 30 (B Theorem 1)


class BayesianParallel(Rule):
    """Bayesian releases about separate parts cost no more than the dearest, if the parts are independent.

    The printed theorem leaves the condition out: two values that are equal with probability .99, each released by
    randomised response with ε = 1, leak 1.977 together.
    """

    name = "bayesian-parallel"
    theorem = "Theorem 2 on the composability of Bayesian differential privacy, with its condition"
    guarantees = ("pufferfish", "bayesian")
    costly = True

    def applies(self, case: Case) -> str | None:
        """Bayesian promises about separate values that are independent of each other."""
        # Statement 31's condition
        return _part_of_a_state(case) or _not_bayesian(case) or _shared_unknown(case) or _doubt(case)

    def bound(self, case: Case) -> float:
        """The largest ε."""
        return max(_claims(case), default=0.0)


RULES: tuple[Rule, ...] = (
    InfluenceCurveRule(),
    SequentialQuilts(),
    SameQuilts(),
    SingleRelease(),
    HiddenTogether(),
    SeparateSegments(),
    FarSegments(),
    Divergence(),
    BayesianSum(),
    BayesianParallel(),
)


def _part_of_a_state(case: Case) -> str | None:
    """Why a theorem that joins the ε of releases at whole states cannot be used."""
    if case.terms.belief.real:
        return "it is about values that are states"
    if case.terms.belief.step_variables is None:
        return None
    return "each release hides one variable of a step, and the theorem needs each to hide whole steps"


def _doubt(case: Case) -> str | None:
    """Why the ε that a release claims for itself cannot be used."""
    for n, record in case.telling or ():
        claim = own_epsilon(record, case.terms, case.length)
        if isinstance(claim, str):
            return f"release {n} {claim}"
    return None


def _claim(record: ReleaseRecord, case: Case) -> float:
    claim = own_epsilon(record, case.terms, case.length)
    return math.inf if isinstance(claim, str) else claim


def _claims(case: Case) -> list[float]:
    """The ε that releases claim for themselves, as they were checked."""
    return [_claim(record, case) for _, record in case.telling or ()]


def _quilt_claims(case: Case) -> list[float | str]:
    return [quilt_epsilon(record, case.terms, case.length) for _, record in case.telling or ()]


def _sum_of(epsilons: list[float]) -> float:
    return round_up(sum_of(epsilons), roundings=1)


def _not_bayesian(case: Case) -> str | None:
    for n, record in case.telling or ():
        if record.guarantee != "bayesian":
            return f"release {n} does not guarantee Bayesian differential privacy"
    return case.not_few() or case.not_placed()


def _shared_unknown(case: Case) -> str | None:
    """What an adversary may not know and several results depend on; None if there is nothing of the kind."""
    if len(case.clusters) < len(case.telling or ()):
        first, last, _ = next(cluster for cluster in case.clusters if len(cluster.releases) > 1)
        return (
            f"several results depend on the values at times {first:,} to {last:,}, which an adversary may not know: "
            "given what is known they are not independent"
        )
    if not case.terms.belief.independent_values:
        (_, before, _), (after, _, _) = case.clusters[:2] if len(case.clusters) > 1 else (case.clusters[0],) * 2
        return (
            f"the values of separate segments depend on each other: what an adversary does not know at time {before:,} "
            f"shows in the result about time {after:,} too"
        )
    return None


def _not_whole(case: Case) -> str | None:
    """Whether the exact law of a release is more than that of one answer about one series."""
    for n, record in case.telling or ():
        if record.window is not None:
            return f"release {n} has an answer for each window"
        if record.lengths:
            return f"release {n} is about series of different lengths"
    return None


def _not_two(case: Case) -> str | None:
    """Whether the releases are not two on separate segments."""
    reason = case.not_few() or case.not_placed()
    if reason is not None:
        return reason
    records = [record for _, record in case.telling or ()]
    if any(record.segment is None for record in records):
        return "it is about separate segments, and a release is about the whole series"
    if len(records) != 2:
        return f"it is about two releases, and there are {len(records)}"
    return "the segments overlap" if len(case.clusters) != 2 else None


def _between(T2: int, T3: int) -> list[tuple[int, int]]:
    """Blocks of the times between two segments, finer towards their ends."""
    gap = T3 - T2
    if gap < 2:
        return []
    near = [m for m in skips() if m < gap]
    starts = sorted({T2 + m for m in near} | {max(T2 + 1, T3 - m) for m in near})
    return [(first, following - 1) for first, following in zip(starts, [*starts[1:], T3], strict=True)]
