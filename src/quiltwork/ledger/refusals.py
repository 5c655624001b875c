"""Why a request was refused, and which one would still fit."""

import math
from dataclasses import replace

from quiltwork.accounting.accountant import Accountant
from quiltwork.accounting.approximate import at_delta
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.accounting.total import Total
from quiltwork.errors import BudgetError, NotCoveredError
from quiltwork.influence.delta import RESERVE
from quiltwork.ledger.checks import costs_what_it_asks

SCALED = ("curve", "group", "quilt-exact", "quilt-approx")  # their ε falls with the profile in a known way
LOOKS = 12  # for the largest request that would fit
TINY = 1e-3  # of a budget: a request as small as that is noise only


class Refusals:
    """Explains refusals under a budget; the last one is remembered, as it is often asked again."""

    def __init__(self, budget: float, accountant: Accountant):
        self._budget, self._accountant = budget, accountant
        self._last: tuple[object, float | None] | None = None

    def explain(self, total: Total, record: ReleaseRecord, alone: float) -> BudgetError:
        """What was requested, what remains, what is short, what to do; ``alone`` is the total with its own noise."""
        after, budget, before = alone, self._budget, self._told(total)
        remaining = max(0.0, budget - before)
        if record.epsilon is not None and costs_what_it_asks(record, self._accountant.terms.secrets):
            after = max(before + record.epsilon, budget)
        fits: float | None = remaining or None  # noise is added until a request costs no more than its ε
        if self._accountant.envelope is not None:
            after = alone
            asked = total.digest, record.text
            if self._last is None or self._last[0] != asked:
                self._last = asked, self._largest(total, record)
            fits = self._last[1]
        fix = "Nothing is left for this release" if fits is None else f"A request of ε = {down(fits)} or less would fit"
        if fits is not None and record.mechanism not in SCALED:
            fix = "A smaller request, or one by curve, may fit"
        counted = self._accountant.terms.secrets
        if record.secrets != counted:  # its ε is about other secrets than those that are counted here
            fix = (
                f"The ledger counts what it tells about {counted.text}, not about {record.secrets.text}: ask for a "
                "smaller epsilon, or for the ledger's secrets"
            )
        if fits is not None and fits < TINY * budget:
            fix = "Next to nothing is left for this release"
        if self._accountant.envelope is not None and not (record.noise != "gaussian" and math.isfinite(after)):
            return self._without_room(total, record, after, fix)
        own = "" if record.epsilon is None else f" (ε = {record.epsilon:g})"
        return BudgetError(
            "this release would exceed the budget",
            requested=after - before,
            remaining=remaining,
            short_by=max(0.0, after - budget),
            why=f"together with earlier releases this one{own} would bring the total to {after:.6g} of {budget:g}",
            fix=fix,
        )

    def _without_room(self, total: Total, record: ReleaseRecord, after: float, fix: str) -> BudgetError:
        """Where the budget has a δ: what is left of the room for squares, and that sums are too large as well."""
        accountant = self._accountant
        before, used = accountant.used(total), accountant.used(accountant.plus(total, record))
        sums = "no ε holds" if math.isinf(after) else f"ε would be {after:.6g}, of {self._budget:g}"
        if record.noise != "gaussian" and before < 1:
            fix += ". Gaussian noise takes less of the room"
        return BudgetError(
            "this release would exceed the budget's room for squares",
            requested=used - before,
            remaining=max(0.0, 1 - before),
            short_by=max(0.0, used - 1),
            why=f"these numbers are shares of the room. Without a δ {sums}",
            fix=fix,
        )

    def _told(self, total: Total) -> float:
        try:
            return self._accountant.told_by(total, enough=self._budget).epsilon
        except NotCoveredError:
            return math.inf

    def _alone(self, record: ReleaseRecord) -> float:
        """The ε that one would ask for to have this noise."""
        accountant = self._accountant
        total = accountant.plus(accountant.nothing(), record)
        if record.noise != "gaussian":
            return self._told(total)
        found = at_delta(accountant.terms, total, accountant.delta * (1 - RESERVE), "squares").epsilon
        return math.inf if found is None else found

    def _largest(self, total: Total, record: ReleaseRecord) -> float | None:
        """About the largest ε that could still be asked in this way: that of the same query with more noise."""
        if record.noise_scale is None:
            return None

        def part(share: float) -> ReleaseRecord:
            return replace(record, mechanism=None, epsilon=None, noise_scale=(record.noise_scale or 1.0) / share)

        def fits(share: float) -> bool:
            return self._told(self._accountant.plus(total, part(share))) <= self._budget

        low = 0.25
        while not fits(low):
            low /= 16
            if low < 1e-18:
                return None
        high = min(1.0, 16 * low)
        for _ in range(LOOKS):
            share = math.sqrt(low * high)
            low, high = (share, high) if fits(share) else (low, share)
        alone = self._alone(part(low))
        if not 0 < alone < math.inf:
            return None
        step = 10.0 ** (math.floor(math.log10(alone)) - 2)
        return math.floor(alone / step) * step


def down(number: float) -> str:
    """In six digits, rounded down.

    >>> down(0.374399999)
    '0.374399'
    """
    digits = 5 - math.floor(math.log10(number))
    return f"{math.floor(number * 10.0**digits) / 10.0**digits:.6g}"
