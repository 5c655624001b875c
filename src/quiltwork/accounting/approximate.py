"""Releases that add up by their squares: ε at a given δ (Statement 78).

A profile of sums is one of many that stand for all releases together. With κ = κ(ε, δ) so are

    κ √(Σ μ²)  of all releases  (squares),  and  Σ λ of those with Laplace noise + κ √(Σ μ²) of the others  (mixture).

If the curve of such a profile is at most ε, all releases together are (ε, δ)-private. κ grows with ε, and slowly: from
an ε that is enough, the curve leads down to the smallest one.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quiltwork.accounting.case import Basis, Case
from quiltwork.accounting.rules import HiddenTogether, InfluenceCurveRule
from quiltwork.accounting.total import Total
from quiltwork.errors import NotCoveredError
from quiltwork.influence.delta import kappa, smallest_epsilon
from quiltwork.types import Floats

Way = Literal["squares", "mixture"]
THEOREMS: dict[Way, str] = {
    "squares": "squares of all profiles add up, times κ(ε, δ)",
    "mixture": "profiles of Laplace noise add up, beside squares of Gaussian noise times κ(ε, δ)",
}
RULES = (InfluenceCurveRule(), HiddenTogether())
ROUNDING = 2.0**-48  # of a root and its product with κ


@dataclass(frozen=True)
class Approximate:
    """ε at a δ, and the profile that proves it; or why there is none."""

    epsilon: float | None
    why: str | None
    case: Case | None = None


def at_delta(terms: Basis, total: Total, delta: float, way: Way, *, first: float = 1.0) -> Approximate:
    """About the smallest ε for which all releases of a total are (ε, δ)-private; ``first`` is tried first."""
    reason = _not_covered(terms, total, way)
    if reason is not None:
        return Approximate(None, reason)
    seen: dict[float, tuple[Case, str | None]] = {}

    def bound_at(epsilon: float) -> float:
        case = Case(terms, total.as_profile(_profile(total, way, kappa(epsilon, delta))))
        bound, why = _bound(case)
        seen[epsilon] = case, why
        return bound

    found = smallest_epsilon(bound_at, first=first)
    if found is None:
        why = next((why for _, why in reversed(seen.values()) if why is not None), "no epsilon up to 1,000 is enough")
        return Approximate(None, why)
    return Approximate(found, None, seen[found][0])


def _not_covered(terms: Basis, total: Total, way: Way) -> str | None:
    if total.squares is None:
        return "no delta is allowed for"
    if terms.belief.real:
        return "it is about values that are states"
    if total.unsquared is not None:
        return total.unsquared
    if way == "mixture":
        laplace, gaussian = (any(both[n].any() for both in total.squares) for n in (0, 1))
        if not (laplace and gaussian):
            return "all releases have the same kind of noise"
    return None


def _profile(total: Total, way: Way, factor: float) -> tuple[Floats, ...]:
    """The profile that stands for all releases, rounded up."""
    found = []
    for own, (laplace, gaussian) in zip(total.sums, total.squares or (), strict=True):
        squares, beside = (gaussian, own) if way == "mixture" else (laplace + gaussian, 0.0)
        found.append(np.asarray(beside + factor * np.sqrt(squares)) * (1 + ROUNDING))
    return tuple(found)


def _bound(case: Case) -> tuple[float, str | None]:
    """The smaller of what the curve and group privacy say of a profile; or why neither does."""
    bounds, reasons = [], []
    for rule in RULES:
        if case.terms.guarantee not in rule.guarantees:
            continue
        try:
            why = rule.applies(case)
            bound = math.inf if why is not None else rule.bound(case)
        except NotCoveredError as refusal:
            why, bound = str(refusal).rstrip("."), math.inf
        bounds.append(bound)
        reasons.append(why or "its bound is infinite here")
    least = min(bounds)
    return least, None if math.isfinite(least) else reasons[0]
