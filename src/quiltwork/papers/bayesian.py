"""Two theorems on Bayesian differential privacy that are false as printed (docs/theory/errata.md)."""

import itertools
import math
from typing import Any

import numpy as np

from quiltwork.auditor import Noisy, audit_mechanism, leakage
from quiltwork.beliefs import JointTable, MarkovChain
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.papers.base import Effort, Found
from quiltwork.question import Count
from quiltwork.view.charts.losses import promises_chart

APART = 1 - np.eye(2)


def bayesian_counterexamples(effort: Effort) -> Found:  # noqa: ARG001 - it takes no time
    """What the printed theorems promise, what truly leaks, and what the projective curve says."""
    rows = [_sequential(), _parallel()]
    remarks = [
        "Adding needs results that are independent given what is known; here both see the same unknown value.",
        "Separate parts cost no more than the dearest only if they are independent; here one value tells the other.",
        "quiltwork adds profiles instead, and bounds what they leak to every adversary by the projective curve.",
    ]
    title = "Bayesian differential privacy: the printed composition theorems and the truth"
    return Found(title, rows, remarks, promises_chart(rows))


def _sequential() -> dict[str, Any]:
    """Two counts of X_1 + X_2 with Laplace noise of scale 1 (C Theorem 3.4)."""
    chain = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
    noisy = Noisy(Count("1"), 1.0)
    alone, both = (leakage(chain, [noisy] * n, length=2).epsilon for n in (1, 2))
    bound = loss_along_time(chain, Profile.constant(2 * APART, length=2), guarantee="bayesian").epsilon
    return _row("Theorem 1: two releases add up", alone, 2 * alone, both, bound)


def _parallel() -> dict[str, Any]:
    """Two values, equal with probability .99, each released by randomised response with ε = 1."""
    same = JointTable({"x": "01", "y": "01"}, [((a, b), 0.495 if a == b else 0.005) for a in "01" for b in "01"])
    keep = math.e / (1 + math.e)
    response = {"0": [keep, 1 - keep], "1": [1 - keep, keep]}
    both = {(a, b): [p * q for p in response[a] for q in response[b]] for a, b in itertools.product("01", repeat=2)}
    truth = audit_mechanism(same, both).epsilon
    chain = MarkovChain([[0.99, 0.01], [0.01, 0.99]], initial=[0.5, 0.5])
    bound = loss_along_time(chain, Profile.constant(APART, length=2), guarantee="bayesian").epsilon
    return _row("Theorem 2: separate parts cost no more than one", 1.0, 1.0, truth, bound)


def _row(example: str, alone: float, printed: float, truth: float, bound: float) -> dict[str, Any]:
    return {
        "example": example,
        "one release": round(alone, 6),
        "printed promise": round(printed, 6),
        "true leakage": round(truth, 6),
        "quiltwork": math.ceil(bound * 1e6) / 1e6,
    }
