"""Knowing the length of a series never takes more noise than not knowing it."""

import numpy as np
from effort import examples
from hypothesis import given, settings, strategies as st
from paths import cycles, hidden, intervals
from strategies import chains

from quiltwork import Belief, ChainSet, DynamicNetwork, MarkovChain, NotCoveredError, calibrate


@st.composite
def band_chains(draw: st.DrawFn) -> MarkovChain:
    """More states than small tests have, each linked with its neighbours or with all others."""
    k = draw(st.sampled_from([4, 8, 34]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    near = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) <= draw(st.sampled_from([1, 3, k]))
    rows = near * (0.05 + rng.random((k, k))) + draw(st.sampled_from([0.0, 3.0])) * np.eye(k)
    start = (
        draw(st.sampled_from(["stationary", "any"])) if k < 10 else "stationary"
    )  # many states and any start take long
    return MarkovChain(rows / rows.sum(axis=1, keepdims=True), initial=start)


@st.composite
def households(draw: st.DrawFn) -> DynamicNetwork:
    one, both = (np.array(draw(st.lists(st.floats(0.05, 0.95), min_size=n, max_size=n))) for n in (2, 4))
    return DynamicNetwork(
        {"ann": ["0", "1"], "bob": ["0", "1"]},
        parents={"ann": ["ann@before"], "bob": ["ann@before", "bob@before"]},
        tables={
            "ann": np.stack([one, 1 - one], axis=-1).tolist(),
            "bob": np.stack([both, 1 - both], axis=-1).reshape(2, 2, 2).tolist(),
        },
        initial="stationary",
    )


def needed(belief: Belief, query: str, epsilon: float, length: int | None, guarantee: str, mechanism: str) -> float:
    return calibrate(
        query,
        belief=belief,
        epsilon=epsilon,
        length=length,
        guarantee=guarantee,  # type: ignore[arg-type]
        mechanism=mechanism,
    ).noise_scale


@settings(max_examples=examples(48))
@given(
    belief=st.one_of(
        chains(max_states=5),
        band_chains(),
        intervals(),
        households(),
        cycles(),
        hidden(),
        st.lists(chains(max_states=3, min_states=3), min_size=2, max_size=2).map(ChainSet),
    ),
    query=st.sampled_from(["count", "histogram"]),
    epsilon=st.sampled_from([0.1, 1.0, 3.0]),
    length=st.sampled_from([1, 2, 5, 20, 100, 1000, 10**6]),
    how=st.sampled_from(
        [("pufferfish", "curve")] * 4 + [("bayesian", "curve"), ("pufferfish", "quilt-exact"), ("pufferfish", "group")]
    ),
)
def test_a_known_length_never_takes_more_noise(
    belief: Belief, query: str, epsilon: float, length: int, how: tuple[str, str]
) -> None:
    if isinstance(belief, DynamicNetwork):
        state, length = "0", max(length, belief.unrolled_up_to + 1)  # shorter ones are networks, by another theorem
    else:
        state = belief.states[0]
    asked = query if query == "histogram" else f"count:{state}"
    try:
        any_length = needed(belief, asked, epsilon, None, *how)
        known = needed(belief, asked, epsilon, length, *how)
    except NotCoveredError:
        return
    assert known <= any_length
