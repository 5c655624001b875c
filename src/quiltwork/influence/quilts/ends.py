"""Max-influence between two single times: what the ends of two segments tell about each other."""

from dataclasses import dataclass

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.beliefs.structure import following
from quiltwork.influence.curve.constant import InfluenceCurve, curve_members
from quiltwork.influence.curve.ratios import AnyPast
from quiltwork.influence.quilts.kernels import TINY
from quiltwork.types import Floats

MARGIN = 1e-9  # more than the error of a matrix power at any distance that matters


@dataclass(frozen=True)
class Ends:
    """e(X_t | X_s) for pairs of times, the largest over a belief's chains; rounded up.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.999, 0.001], [0.99, 0.01]], initial=[0.5, 0.5])
    >>> ends = Ends.of(chain)
    >>> round(ends.onward(1, 2), 3), round(ends.backward(1, 2), 3)
    (2.303, 1.709)
    """

    curves: tuple[InfluenceCurve, ...]

    @classmethod
    def of(cls, belief: Belief) -> "Ends":
        """For every chain of a belief."""
        return cls(tuple(curve_members(belief)))

    def onward(self, early: int, late: int) -> float:
        """e(X_late | X_early): how much the earlier value tells about the later one."""
        return max(self._onward(curve, early, late) for curve in self.curves)

    def backward(self, early: int, late: int) -> float:
        """e(X_early | X_late): how much the later value tells about the earlier one."""
        return max(self._backward(curve, early, late) for curve in self.curves)

    def _onward(self, curve: InfluenceCurve, early: int, late: int) -> float:
        step = curve.future.step(late - early, np.inf)  # Statement 12: F of Statement 3
        law = _law(curve.belief, early)
        if law is not None:
            step = step[np.ix_(law > 0, law > 0)]
        return float(step.max(initial=0.0)) * (1 + MARGIN)

    def _backward(self, curve: InfluenceCurve, early: int, late: int) -> float:
        law = _law(curve.belief, early)
        if law is None:
            return float(curve.past.step(late - early, np.inf).max(initial=0.0)) * (1 + MARGIN)
        (chain,) = curve.belief.chains  # only a chain has a given start
        joint = law[:, None] * np.linalg.matrix_power(chain.transition, late - early)
        if np.any((joint > 0) & (joint < TINY)):
            every = AnyPast(chain.transition).step(late - early, np.inf)
            return float(every.max(initial=0.0)) * (1 + MARGIN)
        possible = joint.sum(axis=0) > 0
        posterior = (joint[:, possible] / joint[:, possible].sum(axis=0)).T  # Statement 3
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(posterior[:, None, :]) - np.log(posterior[None, :, :])
        return float(np.where(np.isnan(logs), -np.inf, logs).max(initial=0.0)) * (1 + MARGIN)


def _law(belief: Belief, time: int) -> Floats | None:
    """The law at a time, if the start is given and no possible value is too unlikely for a float."""
    if belief.start != "given" or (initial := belief.chains[0].initial) is None:
        return None
    (chain,) = belief.chains
    law = initial @ np.linalg.matrix_power(chain.transition, time - 1)
    reach, support, steps = initial > 0, chain.support, time - 1
    while steps:  # the same with flags instead of probabilities
        if steps & 1:
            reach = following(reach, support)
        support, steps = (support.astype(np.float64) @ support) > 0, steps >> 1
    return None if np.any(law[reach] < TINY) else np.where(reach, law, 0.0)
