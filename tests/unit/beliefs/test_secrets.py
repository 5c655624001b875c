"""What is secret: words, what they mean under a belief, and which promise covers which."""

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from quiltwork import (
    BayesianNetwork,
    CycleChain,
    DynamicNetwork,
    InputError,
    MarkovChain,
    NotCoveredError,
    Secrets,
    calibrate,
)
from quiltwork.beliefs.secrets import believed_after, likely, posterior

STATES = ["home", "work", "hospital", "clinic"]
CHAIN = MarkovChain(0.8 * np.eye(4) + 0.05, states=STATES, initial="stationary")
FLU = BayesianNetwork(
    {"ann": ["no", "yes"], "bob": ["no", "yes"], "job": ["none", "part", "full"]},
    parents={"bob": ["ann"], "job": ["ann"]},
    tables={"ann": [0.9, 0.1], "bob": [[0.9, 0.1], [0.4, 0.6]], "job": [[0.2, 0.3, 0.5], [0.4, 0.3, 0.3]]},
)


@pytest.mark.parametrize(
    "text",
    [
        "all",
        "state:hospital",
        "state:hospital,clinic",
        "pairs:hospital|home,clinic|home",
        "sets:hospital,clinic|*",
        "sets:hospital,clinic|home,work",
        "state:hospital and pairs:home|work",
        "state:hospital at 10:20",
        "all at 1:2,5:9",
        "state:hospital at 8h-18h",
        "state:hospital at 22h30min-6h",
        "all at 0h-8h",
    ],
)
def test_words_are_read_back_as_the_same(text: str) -> None:
    secrets = Secrets.parse(text)
    assert secrets.text == text
    assert Secrets.of(secrets.plain) == secrets
    assert secrets.secret
    assert secrets.not_secret
    assert "50 % likely" in secrets.meaning(1.0, CHAIN)


def test_clock_times_may_have_colons() -> None:
    assert Secrets.all().at("08:30-18:00").text == "all at 8h30min-18h"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing", "not known"),
        ("state:", "not known"),
        ("state:school", "one of the belief's states"),
        ("pairs:home", "must be A|B"),
        ("pairs:home|home", "two different states"),
        ("sets:home,work|home", "must not share"),
        ("sets:home,work,hospital,clinic|*", "names no pair"),
        ("variables:ann", "named variables"),
        ("state:home at 9", "positions or times of day"),
        ("state:home at 9:3", "positions or times of day"),
        ("state:home at 9h-25h", "positions or times of day"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why.replace("|", r"\|")):
        Secrets.parse(text).on(CHAIN)


def test_names_that_text_would_misread_are_kept() -> None:
    for secrets in (Secrets.state("a,b"), Secrets.pairs(("x|y", "z")), Secrets.state("look at home")):
        assert isinstance(secrets.plain, dict)
        assert Secrets.of(secrets.plain) == secrets


def test_pairs_and_sets_of_a_chain() -> None:
    pairs = Secrets.parse("state:hospital").on(CHAIN)
    assert pairs.pairs[0].sum() == 6
    assert pairs.pairs[0][2].tolist() == [True, True, False, True]
    sets = Secrets.parse("sets:hospital,clinic|*").on(CHAIN)
    assert not sets.pairs[0].any()
    assert sets.within(0)[:2, 2:].all()
    assert not sets.within(0)[:2, :2].any()
    # a set that is made up of secret pairs is no more than those
    assert not Secrets.parse("state:hospital and sets:hospital|home,work").on(CHAIN).sets[0]
    assert Secrets.all().on(MarkovChain([[1.0]])).pairs[0].tolist() == [[False]]  # no secret, but no error


def test_variables() -> None:
    some = Secrets.parse("state:yes over ann and sets:part,full|* over job").on(FLU)
    assert [pairs.any() for pairs in some.pairs] == [True, False, False]
    assert [len(sets) for sets in some.sets] == [0, 0, 1]
    everywhere = Secrets.parse("state:yes").on(FLU)
    assert [pairs.any() for pairs in everywhere.pairs] == [True, True, False]
    with pytest.raises(InputError, match="Its variables: ann, bob, job"):
        Secrets.variables("eve").on(FLU)
    with pytest.raises(NotCoveredError, match="no order in time"):
        Secrets.all().at("1:2").on(FLU)


def test_hours_need_a_belief_about_the_day() -> None:
    with pytest.raises(NotCoveredError, match="time of day"):
        Secrets.all().at("8h-18h").on(CHAIN)
    quarter = CycleChain([np.full((2, 2), 0.5)] * 4, initial="stationary", step="6h")
    assert Secrets.all().at("7h-8h").on(quarter).cycle.tolist() == [False, True, False, False]  # type: ignore[union-attr]
    assert Secrets.all().at("22h-1h").on(quarter).cycle.tolist() == [True, False, False, True]  # type: ignore[union-attr]
    with pytest.raises(NotCoveredError, match="time of day"):
        Secrets.all().at("7h-8h").on(CycleChain([np.full((2, 2), 0.5)] * 4, initial="stationary", step="1h"))


def test_a_promise_covers_fewer_secrets_never_more() -> None:
    order = [
        "all",
        "state:hospital,clinic",
        "state:hospital",
        "pairs:hospital|home",
        "pairs:hospital|home at 1:9",
        "pairs:hospital|home at 2:5,6:9",
    ]
    found = [Secrets.parse(text).on(CHAIN) for text in order]
    for n, more in enumerate(found):
        for m, less in enumerate(found):
            assert more.covers(less) == (n <= m)
    mixed = Secrets.parse("sets:hospital,clinic|*").on(CHAIN)
    assert found[0].covers(mixed)
    assert found[1].covers(mixed)  # every pair of the two sets is kept apart
    assert not found[2].covers(mixed)
    assert not mixed.covers(found[3])  # a mixture says nothing about its parts
    assert mixed.covers(Secrets.parse("sets:home,work|*").on(CHAIN))  # the same two sets
    assert not mixed.covers(Secrets.parse("sets:hospital|home,work").on(CHAIN))


def test_steps_become_variables_of_a_network() -> None:
    pair = DynamicNetwork(
        {"ann": ["well", "ill"], "bob": ["well", "ill"]}, tables={"ann": [0.5, 0.5], "bob": [0.5, 0.5]}
    )
    secrets = Secrets.parse("state:ill over bob at 2:3")
    assert secrets.unrolled(pair.names_at(1, 4)).text == "state:ill over bob@2,bob@3"
    assert secrets.on(pair).of_steps().astype(int).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    with pytest.raises(InputError, match="within the series"):
        secrets.unrolled(pair.names_at(1, 1))


def test_times_outside_the_series_are_refused() -> None:
    with pytest.raises(InputError, match="within the series of 5 values"):
        calibrate("count:home", belief=CHAIN, epsilon=1.0, length=5, secrets="all at 6:9")
    assert calibrate("count:home", belief=CHAIN, epsilon=1.0, length=5, secrets="all at 5:9").noise_scale > 1


def test_odds_change_by_e_to_the_epsilon() -> None:
    assert posterior(0.5, 1.0) == pytest.approx(np.e / (1 + np.e))
    assert posterior(0.2, 0.0) == pytest.approx(0.2)
    assert (posterior(0.0, 5.0), posterior(1.0, 5.0)) == (0.0, 1.0)
    assert posterior(0.5, 1e9) <= 1.0


@given(st.floats(0.0, 1.0, allow_subnormal=False))
@example(0.731058)
@example(0.9996)
@example(0.099996)
def test_probabilities_are_rounded_up(probability: float) -> None:
    text = likely(probability)
    if text != "nearly 100 %":
        percent = float(text.removesuffix(" %"))
        assert 100 * probability * (1 - 1e-11) <= percent <= 101 * probability
    assert believed_after(1.0) == ("73.2 %", "")


def test_states_that_cannot_occur_are_no_secret() -> None:
    """A secret of probability zero is exempt; noise is still that of an independent value (decision 3)."""
    leaving = MarkovChain([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.5, 0.5, 0.0]], initial="stationary")
    for mechanism in ("curve", "quilt-exact"):
        made = calibrate("count:0", belief=leaving, epsilon=1.0, length=9, mechanism=mechanism, secrets="pairs:0|2")
        assert made.noise_scale >= 1.0 - 1e-6
    single = calibrate("count:0", belief=leaving, epsilon=1.0, length=1, secrets="pairs:0|2")
    assert single.noise_scale >= 1.0 - 1e-6


def test_periodic_chains_never_forget_a_secret() -> None:
    flip = MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]], initial="stationary")
    made = calibrate("count:0", belief=flip, epsilon=1.0, length=6, secrets="state:1")
    assert made.noise_scale >= 1.0  # counts of six values differ by up to 0: every third is state 0
    with pytest.raises(NotCoveredError):
        calibrate("count:0", belief=flip, epsilon=1.0, secrets="state:1")


def test_what_tells_nothing_about_the_secrets_still_gets_noise() -> None:
    """Independent values, a count of 0, and 1 against 2 as the secret: that of one value is added."""
    coin = MarkovChain(np.full((3, 3), 1 / 3), initial="stationary")
    for length in (1, 2, None):
        made = calibrate("count:0", belief=coin, epsilon=0.1, length=length, secrets="pairs:1|2")
        assert 10.0 * (1 - 1e-9) <= made.noise_scale <= 10.1
    apart = BayesianNetwork({"x": "01", "y": "01"}, tables={"x": [0.5, 0.5], "y": [0.5, 0.5]})
    made = calibrate("count:1 over y", belief=apart, epsilon=0.1, secrets="variables:x")
    assert made.noise_scale == pytest.approx(10.0)
