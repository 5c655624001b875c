"""The exact audit of sets of networks, and of releases as they were made."""

import pytest
from examples import LAZY

from quiltwork import (
    BayesianNetwork,
    Count,
    InputError,
    MarkovChain,
    NetworkSet,
    Noisy,
    NotCoveredError,
    ReleaseRecord,
    Series,
    audit,
    release,
)
from quiltwork.question import bind


def test_what_one_member_of_a_set_rules_out_others_may_know() -> None:
    sure, unsure = (
        BayesianNetwork(
            {"x": "01", "y": "01"}, parents={"y": "x"}, tables={"x": [0.5, 0.5], "y": [[p, 1 - p], [0.4, 0.6]]}
        )
        for p in (1.0, 0.8)
    )
    never = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"}, tables={"x": [0.5, 0.5], "y": [[1, 0], [1, 0]]})
    noisy, known = [Noisy(Count("1"), 1.0)], {"y": "1"}
    both = audit(NetworkSet([unsure, never]), noisy, know=known)
    assert both.epsilon == audit(unsure, noisy, know=known).epsilon
    with pytest.raises(InputError, match="possible under the belief"):
        audit(NetworkSet([never, never]), noisy, know=known)
    assert audit(NetworkSet([sure, unsure]), noisy, know=known).epsilon > 0


CHAIN = MarkovChain([[0.95, 0.05], [0.3, 0.7]], initial=[0.5, 0.5])
STATES = {"belief": CHAIN, "epsilon": 1.0, "anyway": True}


def test_a_release_is_audited_as_it_was_made() -> None:
    made = release(["0", "1"] * 10, "count:1", **STATES)  # type: ignore[arg-type]
    plain = audit(CHAIN, [Noisy(Count("1"), made.noise_scale)], length=20)
    for given in (made, made.record(), [made], [made.record()]):
        assert audit(CHAIN, given).epsilon == pytest.approx(plain.epsilon)
    assert plain.epsilon <= made.epsilon
    both = audit(CHAIN, [made, Noisy(Count("1"), made.noise_scale)])
    twice = audit(CHAIN, [Noisy(Count("1"), made.noise_scale)] * 2, length=20)
    assert both.epsilon == pytest.approx(twice.epsilon)
    assert audit(CHAIN, made, length=30).epsilon == pytest.approx(
        audit(CHAIN, [Noisy(Count("1"), made.noise_scale, (1, 20))], length=30).epsilon
    )


def test_series_of_several_lengths_are_all_audited() -> None:
    series = Series.from_values("0110100101", states=["0", "1"], subject="aaaaaaaabb")
    made = release(series, "histogram", mechanism="wasserstein", **STATES)  # type: ignore[arg-type]
    noisy = Noisy(made.calibration.query, made.noise_scale, noise=made.calibration.noise)
    each = [audit(CHAIN, [noisy], length=length).epsilon for length in (2, 8)]
    assert audit(CHAIN, made).epsilon == pytest.approx(max(each))
    assert audit(CHAIN, made, length=2).epsilon == pytest.approx(each[0])
    cut = release(series, "count:1", segment=(3, 8), mechanism="curve", **STATES)  # type: ignore[arg-type]
    assert cut.record().segment == (3, 8)
    assert audit(CHAIN, cut).epsilon <= 1.0


def test_gaussian_noise_is_audited_with_a_delta() -> None:
    made = release(["0", "1"] * 5, "count:1", delta=1e-3, noise="gaussian", **STATES)  # type: ignore[arg-type]
    assert audit(CHAIN, made, delta=1e-3).epsilon <= 1.0
    with pytest.raises(NotCoveredError, match="Give audit a delta"):
        audit(CHAIN, made)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (ReleaseRecord(mechanism="other", epsilon=1.0, noise_scale=1.0, query="count:1"), "mechanism that is not ours"),
        (ReleaseRecord(query="count:1"), "does not say"),
        (ReleaseRecord(query="count:1", noise_scale=1.0, window=5), "answers by window"),
        (ReleaseRecord(query="count:1", noise_scale=1.0, length=9, gaps="dependent"), "gaps"),
        (ReleaseRecord(query="count:1", noise_scale=1.0, length=9, lengths="many"), "many lengths"),
    ],
)
def test_what_a_record_does_not_say_cannot_be_audited(given: ReleaseRecord, why: str) -> None:
    with pytest.raises(NotCoveredError, match=why):
        audit(LAZY, given)


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(InputError, match="Release, its record or a Noisy, got str"):
        audit(CHAIN, ["histogram"], length=3)  # type: ignore[list-item]


def test_what_was_bound_to_other_states_is_refused() -> None:
    rows = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    belief, other = (MarkovChain(rows, initial="stationary", states=states) for states in ("abc", "bac"))
    known = Noisy(bind("count:a", belief), 1.0)
    secret = {"length": 3, "secrets": "pairs:a|c"}
    assert audit(belief, known, **secret) == audit(belief, Noisy("count:a", 1.0), **secret)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be bound to this belief"):
        audit(other, known, **secret)  # type: ignore[arg-type]
    named = BayesianNetwork({"x": "01", "y": "01"}, tables={"x": [0.5, 0.5], "y": [0.5, 0.5]})
    turned = BayesianNetwork({"y": "01", "x": "01"}, tables={"x": [0.5, 0.5], "y": [0.5, 0.5]})
    with pytest.raises(InputError, match="must be bound to this belief"):
        audit(turned, Noisy(bind("tally:x=1", named), 1.0))
