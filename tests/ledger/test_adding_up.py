"""A budget adds up as people count: what was asked is what is charged, and all of it can be had."""

import pytest

from quiltwork import BudgetError, MarkovChain, Session
from quiltwork.beliefs import Belief
from quiltwork.beliefs.files import belief_from_dict

STATES = ["sit", "walk"]
ROWS = [[0.9, 0.1], [0.4, 0.6]]
BELIEFS = {
    "stationary": MarkovChain(ROWS, initial="stationary", states=STATES),
    "any": MarkovChain(ROWS, states=STATES),
    "slow": MarkovChain([[0.99, 0.01], [0.02, 0.98]], initial="stationary", states=STATES),
    "interval": belief_from_dict(
        {"kind": "interval", "states": STATES, "lower": [[0.6, 0.2], [0.3, 0.4]], "upper": [[0.8, 0.4], [0.6, 0.7]]}
    ),
}
MIXED = ["histogram", "count:walk", "transitions", "frequencies"]


def opened(belief: Belief, budget: float) -> Session:
    return Session(["sit", "walk"] * 500, belief=belief, budget=budget)


@pytest.mark.parametrize("belief", BELIEFS.values(), ids=BELIEFS)
@pytest.mark.parametrize("queries", [["histogram"] * 4, MIXED], ids=["alike", "mixed"])
def test_four_halves_are_two(belief: Belief, queries: list[str]) -> None:
    session = opened(belief, 2.0)
    for n, query in enumerate(queries, 1):
        result = session.release(query, epsilon=0.5, anyway=True)
        assert session.spent() <= 0.5 * n * (1 + 1e-9)
        assert result.calibration.epsilon == 0.5
        if result.calibration.certificate is not None:  # that of a single release covers more noise
            assert result.calibration.verify(session.belief) <= 0.5 * (1 + 1e-9)
    assert session.spent() > 1.9
    with pytest.raises(BudgetError):
        session.release("histogram", epsilon=0.5, anyway=True)


def test_two_hundred_small_ones_fit() -> None:
    session = opened(BELIEFS["stationary"], 1.0)
    for n in range(200):
        session.release(MIXED[n % 2], epsilon=0.005, anyway=True)
    assert 0.99 < session.spent() <= 1.0


@pytest.mark.parametrize("belief", BELIEFS.values(), ids=BELIEFS)
def test_all_that_remains_can_be_asked_for(belief: Belief) -> None:
    session = opened(belief, 1.7)
    for query in ("histogram", "count:walk"):
        session.release(query, epsilon=0.45, anyway=True)
    session.release("transitions", epsilon=session.remaining(), anyway=True)
    assert session.spent() <= 1.7 * (1 + 1e-9)


def test_what_would_fit_is_what_remains() -> None:
    session = opened(BELIEFS["any"], 2.0)
    session.release("histogram", epsilon=0.494, anyway=True)
    with pytest.raises(BudgetError) as told:
        session.release("histogram", epsilon=1.6, anyway=True)
    fits = float(str(told.value).partition("A request of ε = ")[2].partition(" ")[0])
    assert fits <= told.value.remaining < fits * 1.001
    session.release("histogram", epsilon=fits, anyway=True)


def test_more_noise_is_said_and_only_where_it_is_needed() -> None:
    session = opened(BELIEFS["stationary"], 2.0)
    first, second = (session.count("walk", epsilon=0.5) for _ in range(2))
    assert second.noise_scale > first.noise_scale
    assert not any("more than a single release" in note for note in first.notes)
    assert any("more than a single release" in note for note in second.notes)
    apart = opened(BELIEFS["stationary"], 2.0)
    left, right = (apart.count("walk", epsilon=0.5, segment=part) for part in ((1, 400), (600, 1000)))
    assert left.noise_scale == right.noise_scale  # far from each other they cost no more than one
