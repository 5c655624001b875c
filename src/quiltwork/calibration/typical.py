"""What an answer is likely to be under a belief, from public sizes alone: what its ± is compared with."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.calibration.target import MOST_EPSILON, USEFUL, Remedy
from quiltwork.data import Countable
from quiltwork.errors import InputError, NotCoveredError, QueryError
from quiltwork.fitting.made_up import made_up_records
from quiltwork.question import Question
from quiltwork.types import Codes, Floats

RECORDS = 10_000  # that a belief makes up
MANY = 10**9  # values of the series that stands for all series: shares are rounded to one in so many
Verdict = Literal["good", "rough", "noise only"]


@dataclass(frozen=True)
class Precision:
    """How precise the answer to one question would be, in words and beside what it is likely to be."""

    query: str
    noise_scale: float
    error_95: float
    typical: float | None = None
    """The mean of the numbers of the answer that the belief expects; None if that is not known."""
    verdict: Verdict | None = None
    """``good`` up to 10 % of that, ``noise only`` where the ± is as large as every number, or as what is possible."""
    better: Remedy | None = None
    """What would make it good."""

    @property
    def relative(self) -> float | None:
        """The ± as a share of what is typical."""
        return self.error_95 / self.typical if self.typical else None

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "ask": self.query,
            "noise_scale": self.noise_scale,
            "error_95": self.error_95,
            "relative_error": self.relative,
            "verdict": self.verdict,
        }


def verdict_of(
    error: float, expected: Floats | None, *, pure_noise: bool, share: float | None = None
) -> Verdict | None:
    """In a word; None if nothing is known that the ± could be compared with.

    Where the belief expects nothing, it is compared with what is possible, if its ``share`` of that is known.

    >>> [verdict_of(error, np.array([50.0, 150.0]), pure_noise=False) for error in (9.0, 90.0, 200.0)]
    ['good', 'rough', 'noise only']
    """
    if pure_noise:
        return "noise only"
    if expected is None or not expected.mean() > 0:
        return None if not share else "good" if share <= USEFUL else "rough"
    if error >= expected.max():
        return "noise only"
    return "good" if error <= USEFUL * expected.mean() else "rough"


def about(epsilon: float, error: float, wanted: float) -> float | None:
    """About which ε has the wanted error, since noise falls nearly as ε rises; None if that would be too large.

    >>> about(1.0, 30.0, 10.0)
    3.0
    """
    found = epsilon * error / wanted
    return float(f"{found:.2g}") if found <= MOST_EPSILON else None


def expected_answer(question: Question, belief: Belief, values: int) -> Floats | None:
    """The numbers that an answer about this many values has in the long run; None where the belief does not say.

    Those about records are taken from some that the belief makes up.

    >>> from quiltwork import MarkovChain
    >>> from quiltwork.question import bind
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    >>> asked = (bind(text, chain).only for text in ("histogram", "share:1", "stays"))
    >>> [expected_answer(question, chain, 1000).round(3).tolist() for question in asked]
    [[800.0, 200.0], [0.2], [80.0, 80.0]]
    """
    if belief.real:
        return None
    if belief.variables is not None:
        return _expected_of_records(question, belief, values)
    average = belief.average()
    chains = belief.chains or (() if average is None else (average,))
    try:
        laws = [(chain.stationary, chain.transition) for chain in chains]
        if not laws:
            return None
        share = np.mean([law for law, _ in laws], axis=0)
        flow = np.mean([law[:, None] * table for law, table in laws], axis=0)
        numbers = np.asarray(question.evaluate(_Expected(belief.states, share, flow)), dtype=np.float64)
        unit, divisor = float(question.unit), question.divisor(values)
    except InputError:
        return None
    if question.query.kind == "stay-length":
        numbers = numbers.min(keepdims=True)  # a ratio is no more precise than its smaller part
    return np.abs(numbers) * unit * (values / MANY) / divisor


def _expected_of_records(question: Question, belief: Belief, values: int) -> Floats | None:
    try:
        records = made_up_records(belief, people=RECORDS)
    except NotCoveredError:  # it has no law
        return None
    counted = (
        question.matching(records.codes).sum(axis=1) if question.join == "all" else question.answer(records.counts())
    )
    return np.abs(counted) * float(question.unit) * (values / question.values_in(RECORDS)) / question.divisor(values)


@dataclass(frozen=True)
class _Expected(Countable):
    """A long series whose states and transitions occur exactly as often as they are likely to."""

    states: tuple[str, ...]
    share: Floats
    flow: Floats

    def counts(self) -> Codes:
        """How often each state occurs."""
        return np.rint(MANY * self.share).astype(np.int64)

    def transitions(self) -> Codes:
        """How often each state is followed by each."""
        return np.rint(MANY * self.flow).astype(np.int64)

    @property
    def stretches(self) -> tuple[Codes, ...]:
        """There are none."""
        raise QueryError("it is not known what a question is likely to give", got="one about the order of values")
