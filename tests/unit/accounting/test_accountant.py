"""The accountant: covers the exact loss, stays within a budget, and changes nothing in a dry run."""

import pytest
from accounts import counts, quilts, told
from effort import examples
from examples import LAZY
from hypothesis import given, settings, strategies as st
from strategies import chains, with_some_start

from quiltwork import (
    Accountant,
    BayesianNetwork,
    ChainSet,
    Count,
    InputError,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    Noisy,
    NotCoveredError,
    ReleaseRecord,
    audit,
    bayesian_leakage,
    calibrate,
    release,
)
from quiltwork.auditor import leakage
from quiltwork.errors import ParameterError
from quiltwork.samples import contagion_belief


@settings(max_examples=examples(10))
@given(chains(max_states=3), st.integers(1, 4), st.data())
def test_a_bayesian_accountant_covers_every_adversary(chain: MarkovChain, length: int, data: st.DataObject) -> None:
    """Profiles add, in sequence and over segments; the exact leakage of both releases together stays below."""
    known = with_some_start(chain)
    noisy = [data.draw(counts(length)) for _ in range(2)]
    records = [ReleaseRecord(noise_scale=n.noise_scale, query=n.text, segment=n.segment) for n in noisy]
    composed = Accountant(chain, length=length, releases=records, guarantee="bayesian").composed()
    assert leakage(known, noisy, length=length).epsilon <= composed.epsilon * (1 + 1e-8) + 1e-9
    assert composed.epsilon >= Accountant(chain, length=length, releases=records).composed().epsilon - 1e-9


def test_a_bayesian_accountant_uses_no_pufferfish_theorem() -> None:
    composed = Accountant(LAZY, length=1000, releases=[quilts(0.5)], guarantee="bayesian").composed()
    assert composed.rule == "influence-curve"
    assert {f.rule for f in composed.rules if f.applies} == {"influence-curve", "group"}
    with pytest.raises(ParameterError, match="pufferfish or bayesian"):
        Accountant(LAZY, guarantee="other")  # type: ignore[arg-type]


@settings(max_examples=examples(14))
@given(chains(max_states=3), st.integers(2, 12), st.data())
def test_the_accountant_covers_the_audited_loss(chain: MarkovChain, length: int, data: st.DataObject) -> None:
    known = with_some_start(chain)
    noisy = [data.draw(counts(length)) for _ in range(2)]
    records = [ReleaseRecord(noise_scale=n.noise_scale, lipschitz=1.0, segment=n.segment) for n in noisy]
    composed = Accountant(chain, length=length, releases=records).composed()
    assert audit(known, noisy, length=length).epsilon <= composed.epsilon * (1 + 1e-8) + 1e-9


def test_ten_releases_within_one_budget() -> None:
    """ε = 1 in all: each within 1 % of ten times the noise of one; quilts by C Theorem 3.7 beside it."""
    one = calibrate("count:1", belief=LAZY, epsilon=1.0).noise_scale
    assert one == pytest.approx(3.33641, abs=1e-4)
    ten = [ReleaseRecord(mechanism="curve", epsilon=None, noise_scale=10 * one, lipschitz=1.0)] * 10
    composed = Accountant(LAZY, length=1000, releases=ten).composed()
    assert composed.epsilon <= 1.0 + 1e-6
    assert composed.epsilon >= 0.99
    by_quilts = calibrate("count:1", belief=LAZY, epsilon=0.1, mechanism="quilt-exact").noise_scale
    assert by_quilts > 6 * 10 * one


def test_a_dry_run_changes_nothing() -> None:
    accountant = Accountant(LAZY, length=100)
    assert accountant.composed().epsilon == 0.0
    release = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=3.4, lipschitz=1.0, segment=(1, 50))
    tried = accountant.dry_run(release)
    assert not accountant.releases
    assert accountant.add(release).epsilon == tried.epsilon
    assert list(accountant.releases) == [release]
    with pytest.raises(NotCoveredError, match="no theorem"):
        accountant.add(ReleaseRecord(mechanism="wasserstein", epsilon=1.0))
    assert list(accountant.releases) == [release]


@pytest.mark.parametrize("length", [5, 300, 5_000, None])
@pytest.mark.parametrize("query", ["histogram", "count:0"])
@pytest.mark.parametrize("start", ["stationary", "any", [0.2, 0.3, 0.5]])
def test_what_is_planned_stays_within_its_budget(length: int | None, query: str, start: object) -> None:
    """Ten times the noise, ten releases: the accountant computes anew and must not come to more."""
    P = [[0.7, 0.2, 0.1], [0.15, 0.6, 0.25], [0.05, 0.3, 0.65]]
    chain = MarkovChain(P, initial=start)  # type: ignore[arg-type]
    scale = calibrate(query, belief=chain, epsilon=1.0, length=length).noise_scale
    ten = [ReleaseRecord(mechanism="curve", epsilon=None, noise_scale=10 * scale, query=query)] * 10
    assert Accountant(chain, length=length, releases=ten).composed().epsilon <= 1.0 + 1e-9
    if length == 5:  # the same on a segment of a longer series
        segment = [ReleaseRecord(mechanism="curve", epsilon=None, noise_scale=scale, query=query, segment=(41, 45))]
        assert Accountant(chain.with_start("any"), length=1000, releases=segment).composed().epsilon <= 1.3


def test_one_release_keeps_its_promise() -> None:
    vouched = ReleaseRecord(mechanism="other", epsilon=1.0)
    assert Accountant(LAZY, length=10, releases=[vouched]).composed().epsilon >= 1.0
    with pytest.raises(NotCoveredError, match="does not say the query and the noise_scale by which wasserstein"):
        Accountant(LAZY, length=10, releases=[ReleaseRecord(mechanism="wasserstein", epsilon=1.0)]).composed()
    flu = JointTable({"x": "01", "y": "01"}, [((a, b), 0.45 if a == b else 0.05) for a in "01" for b in "01"])
    record = ReleaseRecord(mechanism="wasserstein", epsilon=1.0, noise_scale=2.0, query="count:1")
    assert Accountant(flu, length=2, releases=[record]).composed().rule == "single-release"
    both = Accountant(flu, length=2, releases=[record, record]).composed()
    assert both.rule == "group"
    assert both.epsilon == pytest.approx(2.0)


@pytest.mark.parametrize(
    "belief",
    [
        MarkovChain([[0.9, 0.1], [0.4, 0.6]]),
        ChainSet([LAZY, MarkovChain([[0.8, 0.2], [0.3, 0.7]])]),
        IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]]),
        MixingClass(2, pi_min=0.2, gap=0.5),
    ],
)
def test_every_chain_belief_composes(belief: object) -> None:
    records = [
        ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=30.0, lipschitz=1.0, segment=s)
        for s in ((1, 300), (200, 700), None)
    ]
    composed = Accountant(belief, length=1000, releases=records).composed()  # type: ignore[arg-type]
    assert 0.1 < composed.epsilon < 20
    assert composed.losses is not None
    first, last = composed.losses.worst
    assert 1 <= first <= last <= 1000


def test_pairs_are_not_lost() -> None:
    """A count of one of three states tells nothing about the other two: the record knows, and compose uses it."""
    chain = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], initial="stationary")
    made = release(["0", "1", "2"] * 30, "count:1", belief=chain, epsilon=1.0, anyway=True)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    alike = ReleaseRecord(noise_scale=made.noise_scale, lipschitz=1.0)
    assert told(chain, record, record, length=90) < told(chain, alike, alike, length=90) * 0.98


def test_two_releases_from_a_joint_table_are_covered() -> None:
    flu = JointTable({"x": "01", "y": "01"}, [((a, b), 0.45 if a == b else 0.05) for a in "01" for b in "01"])
    record = ReleaseRecord(query="count:1", noise_scale=2.0)
    exact = audit(flu, [Noisy(Count("1"), 2.0)] * 2).epsilon
    assert exact <= told(flu, record, record) == pytest.approx(2.0)


def test_composition_on_a_network_adds_e_once() -> None:
    """K equal releases cost less than K times one: through a quilt its max-influence is told once, not K times."""
    household = contagion_belief()
    one = calibrate(Count("yes"), belief=household, epsilon=1.0, mechanism="quilt-exact")
    record = ReleaseRecord(mechanism="quilt-exact", epsilon=1.0, noise_scale=one.noise_scale, query="count:yes")
    composed = Accountant(household, releases=[record] * 3).composed()
    by_quilts = next(finding for finding in composed.rules if finding.rule == "same-quilts").epsilon
    assert by_quilts is not None
    assert 1.0 < composed.epsilon <= by_quilts <= 3 - 2 * one.detail()["max_influence"] + 1e-9
    assert audit(household, [Noisy(Count("yes"), one.noise_scale)] * 3).epsilon <= composed.epsilon
    lie = ReleaseRecord(mechanism="quilt-exact", epsilon=0.01, noise_scale=one.noise_scale, query="count:yes")
    honest = Accountant(household, releases=[lie]).composed()
    assert audit(household, [Noisy(Count("yes"), one.noise_scale)]).epsilon <= honest.epsilon <= 1.0 + 1e-6
    with pytest.raises(InputError, match="has no segment"):
        Accountant(household, releases=[ReleaseRecord(noise_scale=1.0, lipschitz=1.0, segment=(1, 2))])


def test_trees_compose_by_profiles_and_hold_against_all_adversaries() -> None:
    star = BayesianNetwork(
        dict.fromkeys(("hub", "a", "b", "c"), "01"),
        parents={"a": ["hub"], "b": ["hub"], "c": ["hub"]},
        tables={"hub": [0.5, 0.5], **{name: [[0.7, 0.3], [0.3, 0.7]] for name in "abc"}},
    )
    bayesian = calibrate(Count("1"), belief=star, epsilon=1.0, guarantee="bayesian")
    assert bayesian.guarantee == "bayesian"
    exact = bayesian_leakage(star, "count:1", noise_scale=bayesian.noise_scale)
    bound = bayesian_leakage(star, "count:1", noise_scale=bayesian.noise_scale, method="projective")
    assert exact.epsilon <= bound.epsilon == pytest.approx(1.0, rel=1e-5)
    plain = calibrate(Count("1"), belief=star, epsilon=1.0)
    assert plain.noise_scale < bayesian.noise_scale
    record = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=plain.noise_scale, query="count:1")
    composed = Accountant(star, releases=[record, record]).composed()
    assert composed.rule == "influence-curve"
    assert audit(star, [Noisy(Count("1"), plain.noise_scale)] * 2).epsilon <= composed.epsilon
    with pytest.raises(NotCoveredError, match="no Bayesian guarantee"):
        calibrate(Count("yes"), belief=contagion_belief(), epsilon=1.0, guarantee="bayesian")
    with pytest.raises(NotCoveredError, match="tree, or small enough"):
        bayesian_leakage(contagion_belief(), "count:yes", noise_scale=1.0, method="projective")


def test_joint_tables_compose_what_they_release() -> None:
    table = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    made = release([{"x": "0", "y": "0"}], "count:1 over x", belief=table, epsilon=1.0, anyway=True)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    assert Accountant(table, releases=[record]).composed().epsilon == pytest.approx(1.0)


def test_noise_too_small_to_say_anything_is_refused() -> None:
    record = ReleaseRecord(noise_scale=1e-310, lipschitz=1.0)
    with pytest.raises(NotCoveredError, match="too little noise"):
        Accountant(contagion_belief(), releases=[record, record]).composed()
    claim = ReleaseRecord(mechanism="gk16", epsilon=0.01, noise_scale=0.5, lipschitz=1.0)
    assert Accountant(contagion_belief(), releases=[claim]).composed().epsilon > 1.0
    nearly_sure = MarkovChain([[2e-24, 1.0], [1.0, 7e-30]], initial=[0.5, 0.5])
    with pytest.raises(NotCoveredError, match="gk16 does not apply"):
        calibrate(Count("0"), belief=nearly_sure, epsilon=1.0, length=3, mechanism="gk16")


def test_releases_are_added_as_they_are() -> None:
    made = release(["0", "1", "0"] * 30, "count:1", belief=LAZY, epsilon=0.5, anyway=True, mechanism="curve")
    accountant = Accountant(LAZY, length=90).add(made)
    assert accountant.releases == (made.record(),)
    assert accountant.epsilon == accountant.composed().epsilon == pytest.approx(0.5, rel=1e-4)
    assert (
        repr(accountant)
        == f"Accountant(1 release, ε = {accountant.epsilon:.6g} by {accountant.composed().rule}, {LAZY!r})"
    )
    both = Accountant(LAZY, length=90, releases=[made, made.record()])
    assert both.epsilon > accountant.epsilon == Accountant(LAZY, length=90).dry_run(made).epsilon
    assert repr(Accountant(LAZY)) == f"Accountant(0 releases, ε = 0, {LAZY!r})"
    unknown = Accountant(LAZY, releases=[ReleaseRecord(mechanism="wasserstein", epsilon=1.0)] * 2)
    assert "no theorem" in repr(unknown)
