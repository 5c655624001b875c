"""What notebooks show, and what ``.plot()`` draws."""

from collections.abc import Callable

import altair as alt
import pytest
from shell import as_page

from quiltwork import (
    Accountant,
    AnyMixture,
    BayesianNetwork,
    Belief,
    ChainSet,
    Count,
    CycleChain,
    DynamicNetwork,
    GaussianBelief,
    HiddenChain,
    InputError,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    NetworkSet,
    Noisy,
    OrderChain,
    ReleaseRecord,
    Session,
    audit,
    calibrate,
    compare,
    fit_chain,
    plan,
)
from quiltwork.types import Shown

P = [[0.9, 0.1], [0.4, 0.6]]
STATES = ["sit & rest", "<b>walk</b>"]
CHAIN = MarkovChain(P, states=STATES, initial="stationary", step="15min")
FLU = BayesianNetwork(
    {"ann": ["no", "<i>yes"], "bob": ["no", "<i>yes"]}, parents={"bob": ["ann"]}, tables={"ann": P[0], "bob": P}
)
TABLE = JointTable({"x": STATES, "y": "01"}, [((STATES[0], 0), 0.5), ((STATES[1], 1), 0.5)])
TABLE_2 = JointTable({"x": STATES, "y": "01"}, [((STATES[0], 0), 0.4), ((STATES[1], 1), 0.6)])
WALK = DynamicNetwork(
    {"x": "01"}, parents={"x": ["x@before"]}, tables={"x": P}, initial=BayesianNetwork({"x": "01"}, tables={"x": P[0]})
)
BELIEFS: list[Belief] = [
    CHAIN,
    ChainSet([CHAIN, MarkovChain([[0.8, 0.2], [0.4, 0.6]], states=STATES, initial="stationary", step="15min")]),
    IntervalChain([[0.85, 0.05], [0.3, 0.5]], [[0.95, 0.15], [0.5, 0.7]], states=STATES),
    MixingClass(3, pi_min=0.1, gap=0.5),
    CycleChain([P, P], states=STATES, initial="stationary"),
    HiddenChain([[0.5, 0.0, 0.5], [0.0, 0.9, 0.1], [0.4, 0.1, 0.5]], shows=["a", "a", "b"], initial="stationary"),
    OrderChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]], order=2, states=STATES, initial="stationary"),
    GaussianBelief({"ar1": 0.9}, distance=1.0, step="1min"),
    FLU,
    NetworkSet([FLU, FLU]),
    TABLE,
    AnyMixture([TABLE, TABLE_2]),
    AnyMixture([FLU, FLU]),
    WALK,
    DynamicNetwork({"x": "01"}, parents={"x": ["x@before"]}, tables={"x": P}),
]


def _spent() -> Session:
    session = Session([STATES[0], STATES[1]] * 50, belief=CHAIN, budget=1.0, who="ann <script>")
    session.count(STATES[1], epsilon=0.4)
    return session


RECORD = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=3.33641, lipschitz=1.0)
OTHERS: dict[str, Callable[[], Shown]] = {
    "plan": lambda: plan("histogram", belief=CHAIN, epsilon=1.0, length=100),
    "calibration": lambda: calibrate(Count(STATES[1]), belief=CHAIN, epsilon=1.0, length=100),
    "session": _spent,
    "ledger": lambda: _spent().ledger,
    "statement": lambda: _spent().statement(),
    "losses": lambda: _spent().losses(),
    "audit": lambda: audit(CHAIN, [Noisy(Count(STATES[1]), 3.0)], length=4),
    "composed": lambda: Accountant(CHAIN, length=100, releases=[RECORD, RECORD]).composed(),
    "comparison": lambda: compare(Count(STATES[1]), belief=CHAIN, noise_scale=3.3, length=100),
    "fit": lambda: fit_chain([[90, 10], [9, 40]], states=STATES),
}


def _looks_right(shown: Shown) -> str:
    text = as_page(shown)
    assert text.startswith('<div class="quiltwork">')
    assert text.endswith("</div>")
    assert not any(tag in text for tag in ("<b>", "<i>", "<script"))  # names are escaped
    assert len(repr(shown)) < 250
    return text


@pytest.mark.parametrize("belief", BELIEFS, ids=repr)
def test_every_kind_of_belief_is_shown(belief: Belief) -> None:
    assert "<svg" in _looks_right(belief)
    assert isinstance(belief.plot(), alt.TopLevelMixin)


@pytest.mark.parametrize("name", OTHERS)
def test_everything_else_is_shown(name: str) -> None:
    shown = OTHERS[name]()
    text = _looks_right(shown)
    assert "<svg" in text
    assert ("class=bar" in text) == (name in ("session", "ledger", "statement"))
    assert isinstance(shown.plot(), alt.TopLevelMixin)


def test_what_is_spent_is_seen_at_once() -> None:
    session = _spent()
    text = as_page(session)
    assert "Spent 0.4 of 1, 0.6 remain" in text.replace("0.399999", "0.4").replace("0.600001", "0.6")
    assert "ann &lt;script&gt;" in text
    assert repr(session) == "Session(1 series with 100 values, budget ε = 1, MarkovChain(2 states, initial=stationary))"
    assert str(session) == session.explain()
    empty = Session(["sit & rest"], belief=CHAIN, budget=1.0)
    assert "Nothing has been released yet" in as_page(empty)
    assert empty.plot() is not None


def test_what_cannot_be_drawn_says_so() -> None:
    found = audit(TABLE, [Noisy(Count(STATES[1]), 3.0)])
    assert "<svg" not in _looks_right(found)
    with pytest.raises(InputError, match="there is nothing to draw"):
        found.plot()
