"""How large squares may grow where releases are chosen one after the other: fixed before the first (Statement 80)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.accounting.total import Total, apart_from_neighbours
from quiltwork.beliefs import Belief, Secrets
from quiltwork.calibration.calibrate import calibrate
from quiltwork.calibration.target import short
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.influence.delta import RESERVE
from quiltwork.numeric import SMALLEST_DELTA
from quiltwork.question import Said, as_said, bind, said_in
from quiltwork.types import Floats, Guarantee

ROUNDING = 1e-9  # of squares that are added up: as much more than the room still fits, and is counted
EXAMPLES = (1, 10, 100, 1000)
SHARES = tuple(0.75**n for n in range(1, 25))  # of the room, that are told apart while it is used


class Level(NamedTuple):
    """A part of the room, and the δ at which the ε of what fits into it is computed."""

    share: float
    delta: float


@dataclass(frozen=True)
class Envelope:
    """Room for one release of a query with Gaussian noise of this scale, or for K of them with √K times as much.

    Releases of any other kind fit while no pair of states, at no time, has more squares than the query would have.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> envelope = Envelope.of("histogram", belief=chain, epsilon=1.0, delta=1e-6)
    >>> print(envelope.words())
    Room for 1 release of histogram with Gaussian noise 21.6, or for 10 with 68.2, 100 with 216, 1,000 with 682 each.
    """

    query: Said
    noise_scale: float
    epsilon: float
    """The ε that it was made for."""
    delta: float
    """The δ that it was made for."""
    reserve: float = 0.0
    """How much of δ is for levels below the whole room."""
    shares: tuple[float, ...] = ()
    """What these levels are, the largest first."""

    @classmethod
    def of(
        cls,
        query: Said | str,
        *,
        belief: Belief,
        epsilon: float,
        delta: float,
        guarantee: Guarantee = "pufferfish",
        secrets: Secrets | None = None,
    ) -> "Envelope":
        """The largest one in the shape of a query that ε and δ allow for, in series of any length."""
        found = calibrate(
            query,
            belief=belief,
            epsilon=epsilon,
            delta=delta,
            noise="gaussian",
            mechanism="curve" if belief.variables is None or belief.networks else "group",
            guarantee=guarantee,
            secrets=secrets,
        )
        if not found.noise_scale > 0 or found.asked.divided:
            raise ParameterError(
                "the room of a budget must be in the shape of a count, a sum or a histogram that tells something",
                got=found.query.text,
                why="shares and means are divided counts and sums, and take the room of those",
                fix="Choose histogram, or a count",
            )
        shares = SHARES if RESERVE * delta / len(SHARES) >= SMALLEST_DELTA else ()
        return cls(found.query, found.noise_scale, epsilon, delta, RESERVE * delta if shares else 0.0, shares)

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", as_said(self.query))
        descending = all(a > b for a, b in zip((1.0, *self.shares), (*self.shares, 0.0), strict=True))
        if not (descending and 0 <= self.reserve < self.delta < 1 and bool(self.shares) == (self.reserve > 0)):
            raise ParameterError("the levels of a budget's room must be parts of it, the largest first")

    @property
    def whole(self) -> Level:
        """All of the room, at the δ that is not reserved."""
        return Level(1.0, self.delta - self.reserve)

    def level(self, used: float) -> Level:
        """The smallest level that a used share fits into."""
        smallest = min((share for share in self.shares if share >= used), default=None)
        return self.whole if smallest is None else Level(smallest, self.reserve / len(self.shares))

    def filled(self, share: float) -> ReleaseRecord:
        """A release with all the squares that a share of the room takes, at every time and for every pair."""
        scale = self.noise_scale / (share * (1 + ROUNDING)) ** 0.5
        return ReleaseRecord(query=self.query, noise="gaussian", noise_scale=scale)

    def squares(self, belief: Belief) -> tuple[Floats, ...]:
        """μ*², at every time or of each variable."""
        return tuple((changes / self.noise_scale) ** 2 for changes in bind(self.query, belief).table(2))

    def used(self, total: Total, belief: Belief) -> float:
        """The largest share of it that releases have used, at any time and for any pair; above 1 if they do not fit."""
        if total.squares is None or total.unsquared is not None:
            return float("inf")
        room = self.squares(belief)
        rooms = room if belief.variables is not None else room * len(total.squares)
        shares = [_share(np.sum(both, axis=0), own) for both, own in zip(total.squares, rooms, strict=True)]
        return max(shares, default=0.0) / (1 + ROUNDING)

    def words(self, left: float = 1.0) -> str:
        """What there is room for, as examples."""
        if left <= 0:
            return "No room is left for releases by squares."
        scale, text = self.noise_scale / left**0.5, self.query.text
        first, *more = [f"{count:,} with {short(scale * count**0.5)}" for count in EXAMPLES]
        one = first.replace(" with ", f" release of {text} with Gaussian noise ")
        return f"Room for {one}, or for {', '.join(more)} each."

    def to_dict(self) -> dict[str, Any]:
        """As a ledger keeps it."""
        levels = {"reserve": self.reserve, "shares": list(self.shares)} if self.shares else {}
        return {"query": self.query.to_dict(), "noise_scale": self.noise_scale} | levels

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, epsilon: float, delta: float) -> "Envelope":
        """As a ledger for this budget has it."""
        levels = float(content.get("reserve", 0.0)), tuple(map(float, content.get("shares", ())))
        return cls(said_in(content["query"]), float(content["noise_scale"]), epsilon, delta, *levels)


def _share(told: Floats, room: Floats) -> float:
    if told.diagonal().any() and not room.diagonal().any():
        told = apart_from_neighbours(told)  # the room is not for what neighbours share
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(told > 0, told / room, 0.0)
    return float(shares.max(initial=0.0))


def check_chosen_as_you_go(belief: Belief) -> None:
    """Refuse what no theorem covers where releases are chosen one after the other."""
    if belief.real:
        raise NotCoveredError(
            "a budget with a delta is for beliefs about states", got="one about real values", fix="Leave delta out"
        )
