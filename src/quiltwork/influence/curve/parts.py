"""The influence curve about one variable of a step, where the state of a chain is a whole step (Statement 53).

D = λ + R + L bounds what everything released tells between two states of a step. Given X_v = a the step has the law
P(x | x_v = a), so between a and b

    ε = transport(P(x | x_v = a), P(x | x_v = b); D) ,

which is at most the largest D. The law of a step must be known: here it is the stationary one, the same at every time.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.influence.curve.cliques import _transports, between_sets
from quiltwork.influence.curve.constant import InfluenceCurve
from quiltwork.influence.curve.profile import links
from quiltwork.influence.quilts.tables import UNIT_ROUNDOFF
from quiltwork.types import Floats


@dataclass(frozen=True)
class PartLoss:
    """The largest loss about one variable: which one, and between which of its states."""

    epsilon: float
    variable: int
    pair: tuple[int, int]


def knows_parts(belief: Belief) -> bool:
    """Whether states are whole steps, with one known law at every time."""
    return belief.step_variables is not None and belief.start == "stationary"


def part_loss(curve: InfluenceCurve, profile: Floats, *, thorough: bool = False) -> PartLoss | None:
    """ε about one variable of a step, for series of every length; None where only whole steps are known.

    >>> from quiltwork import DynamicNetwork
    >>> coins = DynamicNetwork({"a": "01", "b": "01"}, tables={"a": [0.5, 0.5], "b": [0.5, 0.5]}, initial="stationary")
    >>> changes = np.array([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]) / 4
    >>> round(part_loss(InfluenceCurve(coins), changes).epsilon, 6)
    0.25
    """
    belief = curve.belief
    if not knows_parts(belief) or links(profile):
        return None
    point = curve.at(profile, thorough=thorough)
    itself = curve.own(profile) * (1 + 1e-8)  # ``at`` rounds it up to nine digits
    if point.future.values.shape != itself.shape or point.past.values.shape != itself.shape:
        return None
    difference = itself + point.future.values + point.past.values  # Statement 9
    np.fill_diagonal(difference, 0.0)
    law = belief.chains[0].stationary[curve.alive]
    sizes = [range(len(states)) for states in (belief.step_variables or {}).values()]
    codes = np.array(list(itertools.product(*sizes)))[curve.alive]
    error = 32 * (len(law) ** 3 + 1) * UNIT_ROUNDOFF  # of the stationary law, in both rows
    worst = PartLoss(0.0, 0, (0, 0))
    for variable in range(len(sizes)):
        states, labels = np.unique(codes[:, variable], return_inverse=True)
        if curve.secret is not None:
            for one, other in curve.secret.sets[variable]:
                loss = between_sets(law, one[codes[:, variable]], other[codes[:, variable]], difference)
                if loss > worst.epsilon:
                    pair = int(np.argmax(one)), int(np.argmax(other))
                    worst = PartLoss(min(loss + error, point.epsilon), variable, pair)
        bounds = _transports(law, labels.ravel(), difference)  # Statement 53
        if curve.secret is not None:
            bounds = np.where(curve.secret.pairs[variable][np.ix_(states, states)], bounds, 0.0)  # Statement 61
        a, b = (int(n) for n in np.unravel_index(int(np.argmax(bounds)), bounds.shape))
        if bounds[a, b] > worst.epsilon:
            pair = int(states[a]), int(states[b])
            worst = PartLoss(min(float(bounds[a, b]) + error, point.epsilon), variable, pair)
    return worst
