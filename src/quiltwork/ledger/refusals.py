"""Why a request was refused, and which one would still fit."""

import math
from dataclasses import replace

from quiltwork.composition.kept import Bounds, Kept
from quiltwork.errors import BudgetError
from quiltwork.ledger.terms import Terms
from quiltwork.spend import Spend

SCALED = ("curve", "group", "quilt-exact", "quilt-approx")  # their ε falls with the profile in a known way
LOOKS = 12  # for the largest request that would fit


class Refusals:
    """Explains refusals under a ledger's terms; the last one is remembered, as it is often asked again."""

    def __init__(self, terms: Terms, bounds: Bounds):
        self._terms, self._bounds = terms, bounds
        self._last: tuple[object, float | None] | None = None

    def explain(self, kept: Kept, spend: Spend, after: float) -> BudgetError:
        """What was requested, what remains, what is short, and what to do."""
        budget, before = self._terms.budget, self._bounds.of(kept).epsilon
        asked = kept.digest, spend.packed
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._largest(kept, spend)
        fits = self._last[1]
        fix = "Nothing is left for it" if fits is None else f"A request of ε = {fits:.4g} or less would fit"
        if fits is not None and spend.mechanism not in SCALED:
            fix = "A smaller request, or one by curve, may fit"
        return BudgetError(
            "the budget would be exceeded",
            requested=after - before,
            remaining=max(0.0, budget - before),
            short_by=after - budget,
            why=f"together with earlier releases this one (ε = {spend.epsilon:g}) would tell {after:.6g} of {budget:g}",
            fix=fix,
        )

    def _largest(self, kept: Kept, spend: Spend) -> float | None:
        """About the largest ε that could still be asked in this way: that of the same profile, smaller."""

        def part(share: float) -> Spend:
            return replace(spend, epsilon=math.inf, profile=tuple(own * share for own in spend.profile))

        def fits(share: float) -> bool:
            return self._bounds.of(kept.plus(part(share), self._terms.belief)).epsilon <= self._terms.budget

        low = 0.25
        while not fits(low):
            low /= 16
            if low < 1e-18:
                return None
        high = min(1.0, 16 * low)
        for _ in range(LOOKS):
            share = math.sqrt(low * high)
            low, high = (share, high) if fits(share) else (low, share)
        alone = self._bounds.of(Kept.nothing(self._terms.belief).plus(part(low), self._terms.belief)).epsilon
        step = 10.0 ** (math.floor(math.log10(alone)) - 2)
        return math.floor(alone / step) * step
