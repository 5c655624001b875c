"""What all beliefs share: named states, a dictionary form, a fingerprint."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from quiltwork.errors import BeliefError
from quiltwork.types import Start


class Belief(ABC):
    """Θ: what an adversary may believe about how the values depend on each other.

    A belief is immutable, knows its states, and can be written to a belief file and read back.

    >>> from quiltwork import MixingClass
    >>> MixingClass(3, pi_min=0.1, gap=0.5).states
    ('0', '1', '2')
    """

    states: tuple[str, ...]
    start: Start = "any"
    """Which law the first value of a series has."""

    @property
    def members(self) -> "tuple[Belief, ...]":
        """The beliefs that a set consists of; a single belief is a set of one."""
        return (self,)

    @property
    def numbered_members(self) -> "list[tuple[int | None, Belief]]":
        """The members of a set with their numbers from 1 on; a single belief has no number."""
        single = len(self.members) == 1 and self.members[0] is self
        return [(None if single else n, member) for n, member in enumerate(self.members, 1)]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file (see ``docs/belief-files.md``)."""

    def without_given_start(self) -> "Belief":
        """The belief about values that need not begin where the series does: a given start becomes any start.

        >>> from quiltwork import MarkovChain
        >>> MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[1.0, 0.0]).without_given_start().start
        'any'
        """
        return self

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the belief's contents; equal beliefs have equal fingerprints.

        >>> from quiltwork import MarkovChain
        >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
        >>> chain.fingerprint == MarkovChain([[0.9, 0.1], [0.4, 0.6]]).fingerprint
        True
        """
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Belief) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def name_states(states: Sequence[object] | None, count: int) -> tuple[str, ...]:
    """Validated state names: the given ones, or "0", "1", ... if there are none."""
    if states is None:
        return tuple(str(n) for n in range(count))
    names = tuple(str(s) for s in states)
    if len(names) != count:
        raise BeliefError(
            f"states must name each of the {count} states",
            got=f"{len(names)} names",
            why="every row of the transition matrix is one state",
            fix="Give one name a row, or leave states out",
        )
    repeated = sorted({n for n in names if names.count(n) > 1})
    if repeated:
        raise BeliefError(
            "state names must differ",
            got=f"{repeated[0]!r} more than once",
            why="data values are matched to states by name",
            fix="Rename one of them",
        )
    return names
