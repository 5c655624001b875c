"""A release with a ledger: one curve for calibration and account, against one for each question that is asked.

python bench/releasing.py
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from quiltwork import Ledger, MarkovChain, Series
from quiltwork.accounting.case import Basis
from quiltwork.calibration.request import Request
from quiltwork.influence.curve.constant import curve_members, forget_prepared
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import Losses, follow, largest_losses
from quiltwork.releases.pipeline import prepare
from quiltwork.samples import diary_belief

ROUNDS, LENGTH = 5, 2688


def release_with_a_ledger() -> dict[str, Any]:
    """The first and the second release from a ledger, within one process; the smallest of all rounds."""
    row: dict[str, Any] = {}
    for name, belief in (("diary", diary_belief()), ("any_12", _chain(12, "any")), ("stationary_30", _chain(30))):
        for shared in (False, True):
            _twice(belief, shared)  # what is compiled is compiled
        seconds = {shared: [_twice(belief, shared) for _ in range(ROUNDS)] for shared in (False, True)}
        for n, place in enumerate(("first", "second")):
            before, now = (min(rounds[n] for rounds in seconds[shared]) for shared in (False, True))
            row[f"{name}_{place}_seconds"], row[f"{name}_{place}_ratio"] = now, now / before
    return row | {"target": "ratios below 1"}


def _chain(states: int, initial: str = "stationary") -> MarkovChain:
    rows = np.random.default_rng(0).dirichlet(np.ones(states), size=states)
    return MarkovChain(0.2 * rows + 0.8 * np.eye(states), initial=initial)


def _twice(belief: MarkovChain, shared: bool) -> tuple[float, float]:
    """Seconds of two releases; without sharing each look of calibration or the account prepares and follows anew."""
    rng = np.random.default_rng(1)
    series = Series.from_values(rng.choice(belief.states, size=LENGTH).tolist(), states=belief.states)
    forget_prepared()
    ledger = Ledger.in_memory(belief=belief, budget=10.0)
    seconds = []
    for epsilon in (1.0, 0.5):
        request = Request.of("histogram", belief=belief, epsilon=epsilon, anyway=True)
        begun = time.perf_counter()
        if shared:
            prepare(series, request).draw_within(ledger, {})
        else:
            with _apart():
                prepare(series, request).draw_within(ledger, {})
        seconds.append(time.perf_counter() - begun)
    return seconds[0], seconds[1]


@contextmanager
def _apart() -> Iterator[None]:
    """As it was: calibration and the account have curves of their own, and nothing that was found is remembered."""
    forget_prepared()
    curves, losses = Basis.curves, Basis.losses

    def own_curves(self: Basis, *, started: bool) -> Any:
        if (0, started) not in self._curves:
            forget_prepared()
            held = self.held(started=started)
            self._curves[0, started] = curve_members(held, guarantee=self.guarantee, secret=self.secret)
        return self._curves[0, started]

    def followed_anew(self: Basis, profile: Profile, *, started: bool) -> Losses:
        return largest_losses([follow(curve, profile) for curve in self.curves(started=started)])

    Basis.curves, Basis.losses = own_curves, followed_anew  # type: ignore[method-assign]
    try:
        yield
    finally:
        Basis.curves, Basis.losses = curves, losses  # type: ignore[method-assign]


if __name__ == "__main__":
    print(json.dumps(release_with_a_ledger(), indent=2))
