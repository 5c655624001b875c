"""Every way to account says the same of the same releases: one contract, inherited by each of them."""

import contextlib
import io
import json
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oracle
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings, strategies as st
from shell import run
from strategies import chains, networks

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Belief,
    Count,
    Ledger,
    MarkovChain,
    NotCoveredError,
    Over,
    Records,
    ReleaseRecord,
    Series,
    Session,
    save_belief,
)

LENGTH = 12


@dataclass(frozen=True)
class Request:
    """One release to be made."""

    query: Any
    epsilon: float
    mechanism: str | None = None
    segment: tuple[int, int] | None = None


@dataclass(frozen=True)
class Plan:
    """A belief, data, and what is asked of them."""

    belief: Belief
    data: Series | Records
    requests: tuple[Request, ...]

    def records(self) -> list[ReleaseRecord]:
        return [self._record(request) for request in self.requests]

    def _record(self, request: Request) -> ReleaseRecord:
        part = self.data
        if request.segment is not None and isinstance(part, Series):
            part = part.between(*request.segment)
        options: dict[str, Any] = {"epsilon": request.epsilon, "mechanism": request.mechanism}
        return oracle.prepared(part, request.query, belief=self.belief, **options).record

    @property
    def length(self) -> int | None:
        return LENGTH if isinstance(self.data, Series) else None


@st.composite
def series_plans(draw: st.DrawFn) -> Plan:
    chain: MarkovChain = draw(chains(max_states=3, zeros=False))
    gaps = draw(st.integers(0, 3)) == 0
    values = [None if gaps and n in (0, 5) else chain.states[n % len(chain.states)] for n in range(LENGTH)]
    data = Series.from_values(values, states=chain.states, missing="split")
    requests = []
    for _ in range(draw(st.sampled_from([1, 2, 2, 3, 10]))):
        first = draw(st.integers(1, LENGTH))
        segment = None if gaps or draw(st.booleans()) else (first, draw(st.integers(first, LENGTH)))
        query = Count(draw(st.sampled_from(chain.states))) if draw(st.booleans()) else "histogram"
        mechanism = draw(st.sampled_from([None, "quilt-exact", "quilt-exact", "group"]))
        requests.append(Request(query, draw(st.sampled_from([0.2, 1.0])), mechanism, segment))
    return Plan(chain, data, tuple(requests))


@st.composite
def record_plans(draw: st.DrawFn) -> Plan:
    network: BayesianNetwork = draw(networks(min_variables=2, max_variables=4, max_states=2, zeros=False))
    rows = [{name: states[0] for name, states in network.variables.items()}]
    requests = []
    for _ in range(draw(st.integers(1, 4))):
        names = draw(st.lists(st.sampled_from(list(network.variables)), min_size=1, unique=True))
        mechanism = draw(st.sampled_from(["group", "wasserstein", "quilt-exact"]))
        requests.append(Request(Over(Count("s0"), names), draw(st.sampled_from([0.2, 1.0])), mechanism))
    return Plan(network, Records.from_rows(rows, variables=network.variables), tuple(requests))


class AccountingContract(ABC):
    """What every way to account must do."""

    @abstractmethod
    def told(self, plan: Plan) -> float:
        """ε of all releases of a plan together."""

    # inherited on purpose: every subclass runs the same cases
    @settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.differing_executors])
    @given(st.one_of(series_plans(), series_plans(), record_plans()))
    def test_it_says_what_an_accountant_says(self, plan: Plan) -> None:
        try:
            expected = Accountant(plan.belief, length=plan.length, releases=plan.records()).composed().epsilon
        except NotCoveredError:
            with pytest.raises(NotCoveredError):
                self.told(plan)
            return
        self.agrees(self.told(plan), expected)

    def agrees(self, told: float, expected: float) -> None:
        assert told == pytest.approx(expected, rel=1e-9)


class TestStepByStep(AccountingContract):
    """An accountant that is asked after each release."""

    def told(self, plan: Plan) -> float:
        accountant, epsilon = Accountant(plan.belief, length=plan.length), 0.0
        for record in plan.records():
            tried = accountant.dry_run(record).epsilon
            epsilon = accountant.add(record).epsilon
            assert tried == epsilon == accountant.composed().epsilon
        return epsilon


class TestCompose(AccountingContract):
    """The command, on what ``release --json`` prints."""

    def told(self, plan: Plan) -> float:
        with tempfile.TemporaryDirectory() as folder:
            belief, releases = Path(folder, "belief.json"), Path(folder, "releases.json")
            save_belief(plan.belief, belief)
            releases.write_text(json.dumps([record.to_dict() for record in plan.records()]))
            length = [] if plan.length is None else ["--length", plan.length]
            with contextlib.redirect_stderr(io.StringIO()):
                done = run("compose", belief, releases, *length, "--json")
        if done.returncode == 4:
            raise NotCoveredError(done.stderr)
        assert done.returncode == 0, done.stderr
        return float(json.loads(done.stdout)["epsilon"])


class TestLedger(AccountingContract):
    """A ledger in a file, opened anew for every release."""

    def told(self, plan: Plan) -> float:
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/ledger.db"
            Ledger.create(file, belief=plan.belief, budget=1e9).close()
            for record in plan.records():
                ledger = Ledger(file)
                ledger.reserve(record, {"who": "test"})
                ledger.close()
            ledger = Ledger(file)
            assert ledger.verify() == []
            return ledger.spent()


class TestSession(AccountingContract):
    """A session, which makes the releases itself."""

    def told(self, plan: Plan) -> float:
        session = Session(plan.data, belief=plan.belief, budget=1e9)
        records = []
        for request in plan.requests:
            made = session.release(
                request.query,
                epsilon=request.epsilon,
                mechanism=request.mechanism,
                segment=request.segment,
                anyway=True,
            )
            records.append(made.record())
            assert ReleaseRecord.from_dict(made.to_dict()["record"]) == made.record()
        drawn = Accountant(plan.belief, length=plan.length, releases=records).composed().epsilon
        assert session.spent() == pytest.approx(drawn, rel=1e-9)
        return session.spent()

    def agrees(self, told: float, expected: float) -> None:
        assert told <= expected * (1 + 1e-9)  # later releases get more noise where they would add up to more
