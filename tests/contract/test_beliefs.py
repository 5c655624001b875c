"""What every kind of belief must do: one suite that each of them inherits."""

import math
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
import pytest

from quiltwork import (
    AnyMixture,
    BayesianNetwork,
    Belief,
    ChainSet,
    CycleChain,
    DynamicNetwork,
    GaussianBelief,
    HiddenChain,
    Histogram,
    InputError,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    NetworkSet,
    NotCoveredError,
    OrderChain,
    calibrate,
    load_belief,
    plan,
    save_belief,
)
from quiltwork.accounting.total import Total
from quiltwork.beliefs import belief_from_dict
from quiltwork.beliefs.checked import Checked
from quiltwork.question import bind

P = [[0.9, 0.1], [0.4, 0.6]]
FLU = BayesianNetwork(
    {"flu": ["no", "yes"], "cough": ["no", "yes"]},
    parents={"cough": ["flu"]},
    tables={"flu": [0.9, 0.1], "cough": [[0.8, 0.2], [0.3, 0.7]]},
)


class BeliefContract(ABC):
    """A new kind of belief is tested by a class with ``belief`` that inherits this."""

    @pytest.fixture
    @abstractmethod
    def belief(self) -> Belief: ...

    def question(self, belief: Belief) -> str:
        """Something to ask."""
        return f"count:{belief.states[-1]}"

    def test_it_is_written_and_read_back(self, belief: Belief, tmp_path: Path) -> None:
        assert belief_from_dict(belief.to_dict()) == belief
        save_belief(belief, tmp_path / "belief.json")
        again = load_belief(tmp_path / "belief.json")
        assert again == belief
        assert again.fingerprint == belief.fingerprint
        again.checked = Checked("holds", "fits", values=9, series=1, date="2026-03-04", belief=belief.fingerprint)
        save_belief(again, tmp_path / "belief.json")
        kept = load_belief(tmp_path / "belief.json")
        assert kept.checked == again.checked
        assert kept.fingerprint == belief.fingerprint
        assert hash(again) == hash(belief)

    def test_states_and_variables_belong_together(self, belief: Belief) -> None:
        assert set(belief.states) == {state for states in belief.state_sets for state in states}
        if belief.variables is None:
            assert belief.noun == "series"
            assert belief.state_sets == (belief.states,)
            assert belief.size(7) == 7
            assert belief.size() is None
        else:
            assert belief.noun == "records"
            assert belief.size() == len(belief.variables) == len(belief.state_sets)
        assert set(belief.possible_states().tolist()) <= set(range(len(belief.states)))

    def test_members_are_of_its_kind(self, belief: Belief) -> None:
        assert len(belief.numbered_members) == len(belief.members) >= 1
        for parts in (belief.chains, belief.networks, belief.laws):
            assert len(parts) in (0, len(belief.members))
        for _, member in belief.numbered_members:
            assert member.members == (member,)
            assert member.state_sets == belief.state_sets

    def test_a_start_that_is_forgotten_stays_so(self, belief: Belief) -> None:
        forgotten = belief.without_given_start()
        assert forgotten.without_given_start() == forgotten
        assert forgotten.start != "given"
        assert belief.settled().settled() == belief.settled()

    def test_what_it_says_of_itself_keeps_the_step(self, belief: Belief) -> None:
        assert ("step" in belief.to_dict()) == (belief.step is not None)
        if belief.variables is not None:
            assert belief.step is None
            return
        stepped = belief_from_dict(belief.to_dict() | {"step": "900s"})
        assert str(stepped.step) == "15min"
        assert stepped.fingerprint != belief.fingerprint
        assert stepped == belief_from_dict(belief.to_dict() | {"step": "15min"}) == belief_from_dict(stepped.to_dict())
        assert stepped.summary()["step"] == "15min"
        for same in (stepped.without_given_start(), stepped.settled(), *stepped.members):
            assert same.step == stepped.step
        try:
            hourly = stepped.every(4)
        except NotCoveredError:
            return
        assert str(hourly.step) == "1h"
        assert hourly.start == belief.start
        assert belief.every(2).step == (None if belief.step is None else belief.step.times(2))

    def test_it_says_how_soon_values_are_forgotten_or_refuses(self, belief: Belief) -> None:
        lags = [4, 1, 0, 200]
        try:
            again, stays = belief.again(lags), belief.stay_survival(lags)
        except NotCoveredError:
            assert belief.variables is not None or belief.real
            return
        assert again.shape == stays.shape == (4, len(belief.states))
        assert np.all((again >= 0) & (again <= 1 + 1e-12))
        assert np.all(again[2] == 1)
        assert np.all(stays[2] == 1)
        assert np.all(np.diff(stays[[2, 1, 0, 3]], axis=0) <= 0)
        if belief.separating:  # else a stay that has just begun is not like others
            assert np.all(stays <= again + 1e-12)
            assert again[1] == pytest.approx(stays[1])  # the next value is the same if the stay lasts

    def test_it_says_what_it_is(self, belief: Belief) -> None:
        summary = belief.summary()
        assert summary["kind"] == belief.to_dict()["kind"]
        assert summary["states"] == list(belief.states)
        assert summary["fingerprint"] == belief.fingerprint
        assert type(belief).__name__ in repr(belief)

    def test_queries_know_what_they_ask_of_it(self, belief: Belief) -> None:
        if belief.real:
            with pytest.raises(InputError, match="histogram is about states, got a belief about real values"):
                bind(Histogram(), belief)
            return
        asked = bind(Histogram(), belief)
        assert len(asked.table()) == len(belief.state_sets)
        assert asked.lipschitz == 2.0 * len(belief.step_variables or ("one value",))
        assert len(asked.only.labels) == len(asked.only.steps[0])
        if belief.step_variables is None:
            assert len(asked.only.labels) == len(belief.states)
        zero = Total.nothing(belief)
        assert [matrix.shape for matrix in zero.sums] == [matrix.shape for matrix in asked.table()]

    def test_its_default_mechanism_covers_it(self, belief: Belief) -> None:
        calibration = calibrate(
            self.question(belief), belief=belief, epsilon=1.0, length=20 if belief.variables is None else None
        )
        assert calibration.guarantee == "pufferfish"
        assert calibration.mechanism == belief.default_mechanism
        group = calibrate(
            self.question(belief),
            belief=belief,
            epsilon=1.0,
            length=20 if belief.variables is None else None,
            mechanism="group",
        )
        assert 0 < calibration.noise_scale <= group.noise_scale * (1 + 1e-8)  # wasserstein leaves room for rounding

    def test_every_mechanism_covers_it_or_says_why_not(self, belief: Belief) -> None:
        length = 20 if belief.variables is None else None
        for offer in plan(self.question(belief), belief=belief, epsilon=1.0, length=length).offers:
            assert (offer.noise_scale is not None and math.isfinite(offer.noise_scale)) or offer.refused

    def test_how_well_it_mixes_is_known_or_refused(self, belief: Belief) -> None:
        try:
            classes = belief.mixing_classes()
        except NotCoveredError:
            return
        assert belief.knows_influence
        assert len(classes) == len(belief.members)
        assert all(0 < known.gap <= 1 for known in classes)


class TestChain(BeliefContract):
    @pytest.fixture(params=["any", "stationary", "given"])
    def belief(self, request: pytest.FixtureRequest) -> Belief:
        starts = {"given": [0.3, 0.7]}
        return MarkovChain(P, initial=starts.get(request.param, request.param), states=["sit", "walk"])


class TestReducibleChain(BeliefContract):
    @pytest.fixture
    def belief(self) -> Belief:
        return MarkovChain([[1.0, 0.0], [0.5, 0.5]], initial=[0.5, 0.5])


class TestChainSet(BeliefContract):
    @pytest.fixture
    def belief(self) -> Belief:
        return ChainSet([MarkovChain(P, initial="stationary"), MarkovChain([[0.8, 0.2], [0.3, 0.7]])])


class TestInterval(BeliefContract):
    @pytest.fixture
    def belief(self) -> Belief:
        return IntervalChain(np.array(P) - 0.05, np.array(P) + 0.05)


class TestMixing(BeliefContract):
    @pytest.fixture(params=[2, 4])
    def belief(self, request: pytest.FixtureRequest) -> Belief:
        return MixingClass(request.param, pi_min=0.2, gap=0.5, reversible=True)


class TestHidden(BeliefContract):
    @pytest.fixture(params=["any", "stationary", "given"])
    def belief(self, request: pytest.FixtureRequest) -> Belief:
        starts = {"given": [0.3, 0.3, 0.4]}
        return HiddenChain(
            [[0.8, 0.1, 0.1], [0.05, 0.9, 0.05], [0.2, 0.1, 0.7]],
            shows=["sit", "sit", "walk"],
            initial=starts.get(request.param, request.param),
        )


class TestOrder(BeliefContract):
    @pytest.fixture(params=["any", "stationary"])
    def belief(self, request: pytest.FixtureRequest) -> Belief:
        rows = [[0.9, 0.1], [0.5, 0.5], [0.6, 0.4], [0.2, 0.8]]
        return OrderChain(rows, order=2, initial=request.param, states=["sit", "walk"])


class TestCycle(BeliefContract):
    @pytest.fixture(params=["any", "stationary"])
    def belief(self, request: pytest.FixtureRequest) -> Belief:
        return CycleChain([P, [[0.6, 0.4], [0.2, 0.8]], P], initial=request.param, states=["sit", "walk"])


class TestGaussian(BeliefContract):
    @pytest.fixture(params=["ar1", "listed", "at_most", "decay", "both"])
    def belief(self, request: pytest.FixtureRequest) -> Belief:
        correlations: dict[str, object] = {
            "ar1": {"ar1": -0.4},
            "listed": [1, 0.5, 0.2],
            "at_most": {"at_most": [1, 0.9, 0.3]},
            "decay": {"decay": 7},
            "both": {"at_most": [1, 0.9, 0.3], "decay": 2.5},
        }
        return GaussianBelief(correlations[request.param], distance=2.5, unit="kW")

    def question(self, belief: Belief) -> str:  # noqa: ARG002 - the same for all
        return "sum"


class TestRelatedSubjects(TestGaussian):
    @pytest.fixture(params=["named", "counted"])
    def belief(self, request: pytest.FixtureRequest) -> Belief:
        if request.param == "counted":
            return GaussianBelief({"ar1": 0.5}, distance=1, subjects=3, between=0.25)
        table = [[1, 0.5], [0.5, 1]]
        return GaussianBelief({"decay": 3}, distance=1, subjects=["ann", "bob"], between=table, deviation=[1, 2])

    def test_its_default_mechanism_covers_it(self, belief: Belief) -> None:
        alone = calibrate("sum", belief=GaussianBelief({"decay": 3}, distance=1), epsilon=1.0, length=20)
        with pytest.raises(NotCoveredError, match="independent subjects"):
            calibrate("sum", belief=belief, epsilon=1.0, length=20, mechanism="group")
        made = calibrate("sum", belief=belief, epsilon=1.0, length=20)
        if belief.to_dict()["subjects"] == ["ann", "bob"]:
            assert made.noise_scale == pytest.approx(alone.noise_scale * 2)  # ann's own, and half of bob's two


class TestNetwork(BeliefContract):
    @pytest.fixture
    def belief(self) -> Belief:
        return FLU


class TestNetworkSet(BeliefContract):
    @pytest.fixture
    def belief(self) -> Belief:
        other = BayesianNetwork(FLU.variables, parents=FLU.parents, tables=FLU.tables | {"flu": np.array([0.8, 0.2])})
        return NetworkSet([FLU, other])


class TestJointTable(BeliefContract):
    @pytest.fixture
    def belief(self) -> Belief:
        rows = [(("0", "0"), 0.4), (("1", "1"), 0.4), (("0", "1"), 0.2)]
        return JointTable({"z": "01", "a": "01"}, rows)


class TestAnyMixture(BeliefContract):
    @pytest.fixture
    def belief(self) -> Belief:
        other = BayesianNetwork(FLU.variables, parents=FLU.parents, tables=FLU.tables | {"flu": np.array([0.8, 0.2])})
        return AnyMixture([FLU, other])


class TestDynamicNetwork(BeliefContract):
    @pytest.fixture(params=["given", "stationary", "any"])
    def belief(self, request: pytest.FixtureRequest) -> Belief:
        follows = [[[0.9, 0.1], [0.6, 0.4]], [[0.4, 0.6], [0.3, 0.7]]]
        return DynamicNetwork(
            FLU.variables,
            parents={"flu": ["flu@before", "cough@before"], "cough": ["flu", "cough@before"]},
            tables={"flu": follows, "cough": follows},
            initial=FLU if request.param == "given" else request.param,
            step="1d",
        )

    def question(self, belief: Belief) -> str:  # noqa: ARG002 - states are those of whole steps
        return "count:yes"
