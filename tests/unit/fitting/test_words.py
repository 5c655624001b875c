"""Chains from words."""

import pytest

from quiltwork import ChainSet, MarkovChain, QuiltworkError
from quiltwork.fitting import chain_of_stays, in_time, with_step
from quiltwork.types import Duration


def test_stays_and_what_follows() -> None:
    chain = chain_of_stays(
        {"sleep": "7h", "walk": "30min", "sit": 4}, step="15min", follows={"walk": {"sit": 3, "sleep": 1}}
    )
    assert chain.states == ("sleep", "walk", "sit")
    assert (1 / (1 - chain.transition.diagonal())).tolist() == pytest.approx([28, 2, 4])
    assert chain.transition[1].tolist() == pytest.approx([0.125, 0.5, 0.375])
    assert chain.transition[0, 1] == chain.transition[0, 2]
    assert chain_of_stays({"on": 1, "off": 2}).transition.tolist() == [[0, 1], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("stays", "step", "follows", "said"),
    [
        ({"sleep": "7h"}, "15min", None, "at least two states"),
        ({"sleep": "7h", "walk": "5min"}, "15min", None, "one step at least"),
        ({"sleep": "7h", "walk": "20min"}, None, None, "needs a step"),
        ({"sleep": "7h", "walk": "soon"}, "15min", None, "duration"),
        ({"sleep": 7, "walk": 2}, None, {"sleep": ["fly"]}, "another state"),
        ({"sleep": 7, "walk": 2}, None, {"sleep": ["sleep"]}, "another state"),
        ({"sleep": 7, "walk": 2}, None, {"sleep": {"walk": 0.0}}, "positive"),
        ({"sleep": 7, "walk": 2}, None, {"sleep": []}, "something must follow"),
        ({"sleep": 7, "walk": 2}, None, {"fly": ["walk"]}, "said of a state"),
    ],
)
def test_words_that_make_no_chain_are_refused(stays: dict, step: str | None, follows: dict | None, said: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(QuiltworkError, match=said):
        chain_of_stays(stays, step=step, follows=follows)


def test_steps_are_said_in_time() -> None:
    quarter = Duration.parse("15min")
    assert [in_time(n, quarter) for n in (1, 4, 28, 96, 960)] == ["15 min", "1 h", "7 h", "24 h", "10 days"]
    assert in_time(2.5, Duration.parse("1s")) == "2.5 s"
    assert in_time(3, Duration.parse(2)) == "3 steps of 2"


def test_a_step_is_kept() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    assert with_step(chain, None) is chain
    kept = with_step(chain, "15min")
    assert kept.states == chain.states
    assert str(kept.step) == "15min"
    both = with_step(ChainSet([chain, chain]), "15min")
    assert len(both.members) == 2
    assert str(both.step) == "15min"
