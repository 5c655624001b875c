"""Curves that are prepared once: calibration and account share them, and nothing that is found depends on that."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from quiltwork import (
    Accountant,
    Belief,
    ChainSet,
    CycleChain,
    IntervalChain,
    Ledger,
    MarkovChain,
    MixingClass,
    ReleaseRecord,
    Secrets,
    calibrate,
)
from quiltwork.calibration.request import Request
from quiltwork.influence.curve import any_start, constant
from quiltwork.influence.curve.constant import InfluenceCurve, curve_members, forget_prepared
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import Losses, follow
from quiltwork.releases.pipeline import prepare

ROWS = [[0.9, 0.06, 0.04], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]]
ANY, STEADY = MarkovChain(ROWS, initial="any"), MarkovChain(ROWS, initial="stationary")
NIGHT = np.array([[0.95, 0.03, 0.02], [0.5, 0.3, 0.2], [0.4, 0.2, 0.4]])
BELIEFS: dict[str, Belief] = {
    "any start": ANY,
    "stationary": STEADY,
    "given start": MarkovChain(ROWS, initial=[0.2, 0.5, 0.3]),
    "set": ChainSet([ANY, MarkovChain(NIGHT, initial="any")]),
    "cycle": CycleChain([ROWS, NIGHT.tolist(), ROWS], initial="stationary"),
    "interval": IntervalChain(np.array(ROWS) - 0.03, np.array(ROWS) + 0.03),
    "mixing": MixingClass(3, pi_min=0.2, gap=0.5, reversible=True),
}


@pytest.fixture(autouse=True)
def nothing_prepared() -> Iterator[None]:
    forget_prepared()
    yield
    forget_prepared()


def account(belief: Belief, epsilon: float, **promised: Any) -> tuple[float, float]:
    """The noise of a release, and what the account says of it."""
    made = calibrate("histogram", belief=belief, epsilon=epsilon, length=60, **promised)
    record = ReleaseRecord(
        mechanism="curve", epsilon=epsilon, noise_scale=made.noise_scale, query="histogram", length=60, noise=made.noise
    )
    return made.noise_scale, Accountant(belief, length=60, **promised).dry_run(record).epsilon


@pytest.mark.parametrize("promised", [{}, {"guarantee": "bayesian"}, {"secrets": Secrets.state("0")}])
@pytest.mark.parametrize("name", BELIEFS)
def test_what_was_asked_before_changes_nothing(name: str, promised: dict[str, Any]) -> None:
    belief = BELIEFS[name]
    first = account(belief, 1.0, **promised)
    for epsilon in (0.3, 2.0):
        account(belief, epsilon, **promised)
    assert account(belief, 1.0, **promised) == pytest.approx(first, rel=1e-12)  # compiled code rounds in its own way
    forget_prepared()
    assert account(belief, 1.0, **promised) == pytest.approx(first, rel=1e-12)


def test_beliefs_promises_and_secrets_have_curves_of_their_own() -> None:
    made = [
        curve_members(ANY)[0],
        curve_members(STEADY)[0],
        curve_members(ANY, guarantee="bayesian")[0],
        curve_members(ANY, secret=Secrets.state("0").on(ANY))[0],
        curve_members(ANY, secret=Secrets.state("1").on(ANY))[0],
    ]
    profile = (1 - np.eye(3)) / 20
    found = [curve.at(profile, thorough=True).epsilon for curve in made]
    assert len({round(epsilon, 9) for epsilon in found}) > 3
    again = curve_members(ANY, secret=Secrets.state("1").on(ANY))[0]
    assert again.at(profile, thorough=True).epsilon == found[-1]
    assert len(constant._prepared.curves) <= constant.MOST_PREPARED


def test_secret_pairs_that_differ_have_keys_that_differ() -> None:
    many = [
        Secrets.all(),
        Secrets.state("0"),
        Secrets.pairs(("0", "1")),
        Secrets.sets(["0", "1"]),
        Secrets.sets(["0"], ["1", "2"]),
        Secrets.all().at((3, 4)),
        Secrets.all().at((3, 5)),
    ]
    assert len({secrets.on(ANY).key for secrets in many}) == len(many)


def test_prepared_curves_are_of_one_thread() -> None:
    here = curve_members(ANY)[0]
    there: list[InfluenceCurve] = []
    other = threading.Thread(target=lambda: there.extend(curve_members(ANY)))
    other.start()
    other.join()
    assert curve_members(ANY)[0].past._powers is here.past._powers  # type: ignore[attr-defined]
    assert there[0].past._powers is not here.past._powers  # type: ignore[attr-defined]


def test_a_release_with_a_ledger_walks_its_bridges_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked, plain = [], any_start.AnyStart._walk

    def counted(self: any_start.AnyStart, *arguments: Any) -> Any:
        walked.append(arguments)
        return plain(self, *arguments)

    monkeypatch.setattr(any_start.AnyStart, "_walk", counted)
    request = Request.of("histogram", belief=ANY, epsilon=1.0, anyway=True)
    prepared = prepare(list("012") * 40, request)
    calibrated = len(walked)
    prepared.draw_within(Ledger.in_memory(belief=ANY, budget=2.0), {})
    assert calibrated > 0
    assert len(walked) == calibrated


def test_an_account_follows_a_total_once(monkeypatch: pytest.MonkeyPatch) -> None:
    followed = []

    def counted(curve: InfluenceCurve, profile: Profile) -> Losses:
        followed.append(profile)
        return follow(curve, profile)

    monkeypatch.setattr("quiltwork.accounting.case.follow", counted)
    request = Request.of("histogram", belief=STEADY, epsilon=1.0, anyway=True)
    prepare(list("012") * 40, request).draw_within(Ledger.in_memory(belief=STEADY, budget=2.0), {})
    assert len(followed) == 1
