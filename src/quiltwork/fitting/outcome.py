"""What a check of a belief finds, as one record that every shell shows: terminal, report, page, notebook, JSON."""

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from quiltwork.beliefs import Belief, Believed, as_belief
from quiltwork.beliefs.checked import Checked, Outcome
from quiltwork.fitting.evidence import Hour, Order, Stay
from quiltwork.types import Duration, Shown

TIMES = tuple(map(Duration.parse, ("1h", "6h", "1d")))
NUMBERS = (10, 100, 1000)
"""Lags at which it is said what would have been seen, beside one step."""


@dataclass(frozen=True)
class Remembered:
    """Memory in a state, or from one to another, at some lags: in the data, and under the belief.

    ``memory_data`` and ``memory_belief`` are means over the lags from ``first`` to ``last``: how much more likely it is
    to be in ``state`` that much later if it was in it (or in ``after``) than otherwise. Each end of ``band`` holds for
    all comparisons of its kind at once; it is None where there are too few cases. ``data`` and ``belief`` are how
    likely the state is to be the same again after exactly ``lag`` steps, which mixes memory with levels.
    """

    lag: int
    state: str
    data: float
    belief: float
    memory_data: float
    memory_belief: float
    band: tuple[float, float] | None
    exceeds: bool = False
    """Whether the data remember more than the belief says, by more than chance, and by enough to matter."""
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class Followed:
    """Where the memory from one state to another is most above the belief's."""

    lag: int
    state: str
    after: str
    memory_data: float
    memory_belief: float
    band: tuple[float, float]
    exceeds: bool
    first: int
    last: int


@dataclass(frozen=True)
class Together:
    """Memory over all states together: how much more likely values are the same again than by chance."""

    lag: int
    memory_data: float
    memory_belief: float
    band: tuple[float, float]
    exceeds: bool
    first: int
    last: int
    would_show: float
    """How much more memory would have been found four times of five."""


@dataclass(frozen=True)
class Level:
    """How much of the time is spent in a state: in the data, and under the belief."""

    state: str
    data: float
    belief: float
    band: tuple[float, float]
    differs: bool
    """Whether it differs by more than chance and by at least 2 percentage points, in all series or in some."""
    series: int
    """In how many series it does."""
    least: float
    most: float
    """The smallest and the largest part in one series."""


@dataclass(frozen=True, repr=False)
class BeliefCheck(Shown):
    """Whether a belief fits public data, in words and in numbers.

    ``forgets_too_fast`` says that somewhere the data remember more than the belief allows: by more than chance (a true
    belief is called so in at most 1 of 20 data sets), and by at least 0.02 or 5 % of all of its memory. The noise would
    then be too small. ``levels_differ`` says that people spend other parts of their time in some state than the belief
    says, which is no fault of its memory. ``outcome`` is one word for it: ``refuted``, ``holds``, or ``not refuted``
    where the data would not have shown 0.15 more memory at all times that are looked at.

    >>> from quiltwork import MarkovChain, check_belief
    >>> restless = MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["sit", "walk"], step=1)
    >>> found = check_belief(restless, (["sit"] * 9 + ["walk"] * 6) * 40)
    >>> found.forgets_too_fast, found.outcome
    (True, 'refuted')
    """

    verdict: str
    forgets_too_fast: bool
    remedy: str
    lags: tuple[Remembered, ...]
    values: int
    subjects: int
    step: Duration | None = None
    notes: tuple[str, ...] = ()
    """What could not be checked."""
    outcome: Outcome = "not refuted"
    levels_differ: bool = False
    levels: tuple[Level, ...] = ()
    together: tuple[Together, ...] = ()
    pairs: tuple[Followed, ...] = ()
    stays: tuple[Stay, ...] = ()
    hours: tuple[Hour, ...] = ()
    order: Order | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.verdict})"

    @property
    def worst(self) -> Remembered | Followed | Together | None:
        """Where the belief falls most short of the data, if it does: in a state, or else over all of them."""
        rows: list[Remembered | Followed | Together] = [*self.lags, *self.pairs]
        rows = [one for one in rows if one.exceeds] or [one for one in self.together if one.exceeds]
        return max(rows, key=lambda one: one.memory_data - one.memory_belief, default=None)

    @property
    def would_show(self) -> tuple[tuple[int, float], ...]:
        """Lags, and how much more memory over all states this data would have shown there, four times of five."""
        by_lag = {}
        for lag in looked_at(self.step):
            near = [one for one in self.together if one.first <= lag <= one.last]
            if near:
                by_lag[lag] = min(near, key=lambda one: one.last - one.first).would_show
        return tuple(by_lag.items())

    def checked(self, belief: Believed, *, on: date | None = None) -> Checked:
        """The check in brief, as it stands beside ε: for :func:`release`, belief files and ledgers."""
        when = date.today() if on is None else on
        outcome: Outcome = "levels differ" if self.levels_differ and self.outcome != "refuted" else self.outcome
        return Checked(
            outcome, self.verdict, self.values, self.subjects, when.isoformat(), as_belief(belief).fingerprint
        )

    def summary(self) -> dict[str, Any]:
        """The check in brief, as plain values that fit into a belief file or a ledger.

        >>> from quiltwork import MarkovChain, check_belief
        >>> found = check_belief(MarkovChain([[0.5, 0.5], [0.5, 0.5]], step=1), ["0", "1"] * 5)
        >>> sorted(found.summary())
        ['levels_differ', 'outcome', 'step', 'subjects', 'values', 'verdict', 'would_show']
        """
        return {
            "outcome": self.outcome,
            "verdict": self.verdict,
            "levels_differ": self.levels_differ,
            "values": self.values,
            "subjects": self.subjects,
            "step": None if self.step is None else self.step.plain,
            "would_show": [{"lag": lag, "memory": round(memory, 4)} for lag, memory in self.would_show],
        }

    def to_dict(self) -> dict[str, Any]:
        """The check as plain values, as ``quiltwork belief check --json`` prints it."""
        return self.summary() | {
            "forgets_too_fast": self.forgets_too_fast,
            "remedy": self.remedy,
            "lags": [asdict(one) for one in self.lags],
            "together": [asdict(one) for one in self.together],
            "pairs": [asdict(one) for one in self.pairs],
            "levels": [asdict(one) for one in self.levels],
            "stays": [asdict(one) for one in self.stays],
            "hours": [asdict(one) for one in self.hours],
            "order": None if self.order is None else asdict(self.order) | {"significant": self.order.significant},
            "notes": list(self.notes),
        }


def as_checked(check: "Checked | BeliefCheck | None", belief: Belief) -> Checked | None:
    """The check of a belief in brief."""
    return check.checked(belief) if isinstance(check, BeliefCheck) else check


def looked_at(step: Duration | None) -> tuple[int, ...]:
    """Lags at which it is said what would have been seen."""
    if step is None or step.steps:
        return (1, *NUMBERS)
    return (1, *(lag for time in TIMES if (lag := time.multiple(of=step)) is not None and lag > 1))
