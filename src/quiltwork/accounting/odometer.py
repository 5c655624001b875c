"""What was spent of a budget with a δ, whenever one looks (Statement 83).

The ε of the squares so far holds for releases that were chosen in advance. Whoever looks at results, and stops when the
ε is small beside what was seen, may learn more than that. So the room is divided into levels before the first release,
with a part of δ for each. What is shown is the ε of the smallest level that holds all squares so far, or that of the
whole room, which has most of δ.
"""

import math
from dataclasses import dataclass, field, replace

from quiltwork.accounting.approximate import Approximate, at_delta
from quiltwork.accounting.case import Basis
from quiltwork.accounting.envelope import Envelope, Level
from quiltwork.accounting.total import Total


@dataclass(frozen=True)
class Odometer:
    """Reads ε off the room that releases have used."""

    envelope: Envelope
    terms: Basis
    _read: dict[Level, Approximate] = field(default_factory=dict, compare=False, repr=False)

    def used(self, total: Total) -> float:
        """The share of the room that a total has used; above 1 if it does not fit."""
        return self.envelope.used(total, self.terms.belief)

    def spent(self, total: Total) -> Approximate:
        """ε of all releases so far, however they were chosen and whenever one stops."""
        used = self.used(total)
        if used > 1:  # Statement 80
            return Approximate(None, "the squares do not fit into the room that was fixed for them")
        levels = self.at(self.envelope.level(used)), self.at(self.envelope.whole)
        return min(levels, key=lambda found: math.inf if found.epsilon is None else found.epsilon)

    def at(self, level: Level) -> Approximate:
        """ε of all that fits into a level, from series of any length."""
        if level not in self._read:
            belief = self.terms.belief.without_given_start()  # data may begin later than the belief
            terms = self.terms.anew(belief=belief)
            nothing = Total.nothing(belief, length=None if belief.variables is None else 0, squares=True)
            full = nothing.plus(self.envelope.filled(level.share), belief)
            found = at_delta(terms, full, level.delta, "squares", first=self.envelope.epsilon)
            self._read[level] = replace(found, case=None)  # it is about no data in particular
        return self._read[level]
