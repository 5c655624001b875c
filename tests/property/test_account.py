"""What compose, session and ledger say is never below the exact joint loss, which is enumerated here from scratch.

The data are drawn from the belief: every path of every chain, every record. A release is the vector of its true
answers, with Laplace noise; the loss is the largest log-ratio of output densities over all secrets and outputs. Nothing
here is shared with the auditor.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import oracle
import polars as pl
import pytest
from effort import examples
from hypothesis import HealthCheck, assume, event, given, settings, strategies as st
from numpy.typing import NDArray
from strategies import chains, networks

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Belief,
    Count,
    Histogram,
    JointTable,
    Ledger,
    MarkovChain,
    NotCoveredError,
    Query,
    Records,
    ReleaseRecord,
    Session,
    Sum,
    Tally,
    read_series,
)
from quiltwork.data import HeldSeries, Reading
from quiltwork.types import Duration

Array = NDArray[np.float64]
ROWS = 6  # of two people together
ONCE_IN_EIGHT = st.integers(0, 7).map(lambda n: n == 7)
OFTEN = settings(max_examples=examples(26), deadline=None, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Release:
    """A release: its record, and its true answers on every path."""

    record: ReleaseRecord
    answers: NDArray[np.int64]  # paths x numbers

    @property
    def noise(self) -> float:
        assert self.record.noise_scale is not None
        return self.record.noise_scale


def exact_loss(law: Array, secrets: NDArray[np.int64], releases: list[Release]) -> float:
    """The largest log-ratio of the outputs' densities given two values of one secret.

    ``law`` is the probability of each path, ``secrets`` the value of each secret on each path. Between lattice points
    the log-ratio is monotone in each number, so the lattice is enough.
    """
    numbers = [(column, r.noise) for r in releases for column in r.answers.T]
    grids = [np.arange(column.min(), column.max() + 1) for column, _ in numbers]
    shape = [len(grid) for grid in grids]
    logs = np.zeros((len(law), *shape))
    for axis, ((column, scale), grid) in enumerate(zip(numbers, grids, strict=True)):
        density = -np.abs(grid[None, :] - column[:, None]) / scale
        logs += density.reshape(len(law), *[-1 if n == axis else 1 for n in range(len(shape))])
    density = np.exp(logs).reshape(len(law), -1)
    worst = 0.0
    for column in secrets.T:
        given = [law * (column == value) for value in np.unique(column)]
        laws = [(own / own.sum()) @ density for own in given if own.sum() > 0]
        for p, q in itertools.permutations(laws, 2):
            worst = max(worst, float(np.log(p / q).max()))
    return worst


def paths_of(k: int, length: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product(range(k), repeat=length)), dtype=np.int64).reshape(-1, length)


def chain_laws(chain: MarkovChain, paths: NDArray[np.int64]) -> list[Array]:
    """The law of all paths; for any start those from some starts, which bounds the truth from below."""
    k = len(chain.states)
    starts = [chain.initial] if chain.initial is not None else [*np.eye(k), *_pairs(k), np.full(k, 1 / k)]
    step = np.ones(len(paths))
    for a, b in itertools.pairwise(paths.T):
        step *= chain.transition[a, b]
    return [start[paths[:, 0]] * step for start in starts]


def _pairs(k: int) -> list[Array]:
    """Starts on two states: the worst start needs no more."""
    found = []
    for a, b in itertools.combinations(range(k), 2):
        for weight in (0.01, 0.3, 0.7, 0.99):
            start = np.zeros(k)
            start[a], start[b] = weight, 1 - weight
            found.append(start)
    return found


@st.composite
def questions(draw: st.DrawFn, chain: MarkovChain) -> tuple[Query, NDArray[np.int64]]:
    """A query, and what each state adds to each of its numbers."""
    k = len(chain.states)
    kind = draw(st.sampled_from(["count", "count", "sum", "histogram"]))
    if kind == "histogram" and k == 2:  # one count, and the rest
        return Histogram(), np.eye(k, dtype=np.int64)[:, [0]]
    if kind == "sum":
        values = draw(st.lists(st.integers(-2, 3), min_size=k, max_size=k))
        assume(len(set(values)) > 1)
        query = Sum({state: float(value) for state, value in zip(chain.states, values, strict=True)})
        assume(oracle.bound(query, chain.states).unit == 1)
        return query, np.array(values)[:, None]
    state = draw(st.integers(0, k - 1))
    return Count(chain.states[state]), np.eye(k, dtype=np.int64)[:, [state]]


def recorded(
    draw: st.DrawFn, series: HeldSeries, query: Query, chain: MarkovChain, **options: Any
) -> ReleaseRecord | None:
    """The record of a release, with its own noise or with any noise and no claim."""
    mechanism = draw(st.sampled_from(["group"] * 6 + ["quilt-exact"] * 2 + ["wasserstein"] * 2 + ["curve"]))
    epsilon = draw(st.sampled_from([0.3, 1.0, 3.0]))
    try:
        options |= {"mechanism": mechanism, "anyway": True}
        record = oracle.prepared(series, query, belief=chain, epsilon=epsilon, **options).record
    except NotCoveredError:
        return None
    if mechanism == "group" and draw(st.booleans()):
        scale = draw(st.sampled_from([0.3, 1.0, 4.0]))
        record = replace(record, mechanism=None, epsilon=None, noise_scale=scale)
    return ReleaseRecord.from_dict(record.to_dict())


def assert_covered(
    belief: Belief, records: list[ReleaseRecord], truth: float, length: int | None, *, ledgers: bool
) -> None:
    """All ways to account say at least the truth, or refuse; the ledger is asked where it is said, as it is slower."""
    told: dict[str, float | str] = {}
    try:
        told["compose"] = Accountant(belief, length=length, releases=records).composed().epsilon
    except NotCoveredError:
        told["compose"] = "refused"
    if ledgers:
        told["ledger"] = by_ledger(belief, records)
    for way, epsilon in told.items():
        event(f"{way}: {'refused' if isinstance(epsilon, str) else 'told'}")
        if isinstance(epsilon, float):
            assert truth <= epsilon * (1 + 1e-9) + 1e-9, f"{way} says {epsilon}, truth {truth}"


def by_ledger(belief: Belief, records: list[ReleaseRecord]) -> float | str:
    ledger = Ledger.in_memory(belief=belief, budget=1e9)
    try:
        for record in records:
            ledger.reserve(record, {})
        return ledger.spent()
    except NotCoveredError:
        return "refused"
    finally:
        ledger.close()


@st.composite
def series_cases(draw: st.DrawFn, *, kinds: tuple[str, ...]) -> tuple[MarkovChain, list[Release], int, float]:
    """Releases from one series: a chain, releases with their answers, the last position, and the exact loss."""
    chain = draw(chains(max_states=3))
    k = len(chain.states)
    length = draw(st.integers(1, {2: 6, 3: 4}[k]))
    missing = "missing" in kinds and draw(st.booleans())
    seen = np.array(draw(st.lists(st.booleans(), min_size=length, max_size=length)) if missing else [True] * length)
    assume(seen.any())
    paths = paths_of(k, length)
    releases: list[Release] = []
    numbers = 0
    for _ in range(draw(st.integers(1, 3))):
        query, steps = draw(questions(chain))
        kind = draw(st.sampled_from(kinds))
        # the first release reads every value: the ledger's steps are the belief's
        step = draw(st.integers(2, 3)) if kind == "every" and releases else 1
        kept = np.arange(length)[::step]
        reading = Reading(column="x", time="t", missing="split", every=Duration(step, steps=True) if step > 1 else None)
        codes = np.where(seen[kept], 0, -1)
        segment = None
        if kind in ("segment", "every") and draw(st.booleans()):
            first = draw(st.integers(1, len(kept)))
            segment = (first, draw(st.integers(first, len(kept))))
        asked = kept if segment is None else kept[segment[0] - 1 : segment[1]]
        if not seen[asked].any():
            continue
        series = HeldSeries.of({"1": codes}, states=chain.states, reading=replace(reading, segment=segment))
        options: dict[str, Any] = {}
        if missing and draw(st.booleans()):
            options["gaps"] = "dependent"
        groups = [asked]
        if kind == "window":
            width = draw(st.integers(1, length))
            options["window"] = width
            places = np.arange(len(kept)) if segment is None else np.arange(segment[0] - 1, segment[1])
            groups = [asked[places // width == n] for n in np.unique(places // width)]
        groups = [group[seen[group]] for group in groups]
        groups = [group for group in groups if len(group)]
        if numbers + steps.shape[1] * len(groups) > 4:
            continue
        record = recorded(draw, series, query, chain, **options)
        if record is None or record.noise_scale is None:
            continue
        numbers += steps.shape[1] * len(groups)
        answers = np.concatenate([steps[paths[:, group]].sum(axis=1) for group in groups], axis=1)
        releases.append(Release(record, answers))
    assume(releases)
    truth = max(exact_loss(law, paths, releases) for law in chain_laws(chain, paths) if law.sum() > 0)
    return chain, releases, length, truth


@pytest.mark.parametrize(
    "kinds",
    [
        ("whole", "segment"),
        ("whole", "segment", "missing"),
        ("whole", "window", "missing"),
        ("whole", "segment", "every", "missing"),
        ("segment", "every", "window"),
    ],
    ids="-".join,
)
@OFTEN
@given(st.data())
def test_releases_from_one_series_are_covered(kinds: tuple[str, ...], data: st.DataObject) -> None:
    chain, releases, length, truth = data.draw(series_cases(kinds=kinds))
    assert_covered(chain, [release.record for release in releases], truth, length, ledgers=data.draw(ONCE_IN_EIGHT))


@st.composite
def people_cases(draw: st.DrawFn) -> tuple[MarkovChain, list[Release], float]:
    """Releases from two people's rows, told apart or not, in any order and any segments."""
    chain = draw(chains(max_states=2, zeros=True))
    apart_first = draw(st.booleans())
    lengths = draw(st.lists(st.integers(1, 3), min_size=2, max_size=2))
    rows = sum(lengths)
    paths = paths_of(2, rows)
    if apart_first:  # two chains, each from its own start
        laws = []
        for one, other in zip(
            chain_laws(chain, paths[:, : lengths[0]]), chain_laws(chain, paths[:, lengths[0] :]), strict=True
        ):
            laws.append(one * other)
    else:
        laws = chain_laws(chain, paths)
    people = {"ann": np.arange(lengths[0]), "bob": np.arange(lengths[0], rows)}
    releases: list[Release] = []
    for _ in range(draw(st.integers(1, 3))):
        apart = draw(st.booleans()) if releases else apart_first
        groups = people if apart else {"all": np.arange(rows)}
        longest = max(map(len, groups.values()))
        segment = None
        if draw(st.booleans()):
            first = draw(st.integers(1, longest))
            segment = (first, draw(st.integers(first, longest)))
        asked = [own if segment is None else own[segment[0] - 1 : segment[1]] for own in groups.values()]
        if not any(map(len, asked)):
            continue
        reading = Reading(column="x", subject="who" if apart else None, segment=segment)
        codes = {name: np.zeros(len(own), dtype=np.int64) for name, own in groups.items()}
        query, steps = draw(questions(chain))
        record = recorded(draw, HeldSeries.of(codes, states=chain.states, reading=reading), query, chain)
        if record is None or record.noise_scale is None or steps.shape[1] > 1:
            continue
        times = np.concatenate(asked)
        releases.append(Release(record, steps[paths[:, times]].sum(axis=1)))
    assume(releases)
    return chain, releases, max(exact_loss(law, paths, releases) for law in laws if law.sum() > 0)


@OFTEN
@given(people_cases(), ONCE_IN_EIGHT)
def test_rows_told_apart_or_not_are_covered(case: tuple[MarkovChain, list[Release], float], ledgers: bool) -> None:
    chain, releases, truth = case
    assert_covered(chain, [release.record for release in releases], truth, ROWS, ledgers=ledgers)


@st.composite
def shuffled_records(draw: st.DrawFn) -> tuple[BayesianNetwork | JointTable, list[Release], float]:
    """A network or a joint table whose variables are in any order, and releases that ask some of them."""
    network = draw(networks(max_variables=4, max_states=2, most_parents=2))
    order = draw(st.permutations(list(network.variables)))
    names = dict(zip(network.variables, draw(st.permutations("dbca"))[: len(order)], strict=True))
    belief: BayesianNetwork | JointTable = BayesianNetwork(
        {names[name]: network.variables[name] for name in order},
        parents={names[name]: [names[p] for p in own] for name, own in network.parents.items()},
        tables={names[name]: table for name, table in network.tables.items()},
    )
    outcomes = belief.all_outcomes
    law = np.exp(outcomes.logs)
    if draw(st.booleans()):
        rows = [[states[c] for states, c in zip(belief.variables.values(), row, strict=True)] for row in outcomes.codes]
        belief = JointTable(belief.variables, [(row, p) for row, p in zip(rows, law / law.sum(), strict=True)])
    releases = []
    for _ in range(draw(st.integers(1, 3))):
        chosen = draw(st.lists(st.sampled_from(list(belief.variables)), min_size=1, unique=True))
        query = Tally({name: belief.variables[name][-1] for name in chosen})
        scale = draw(st.sampled_from([0.3, 1.0, 4.0]))
        record = ReleaseRecord(
            query=query, noise_scale=scale, reading=Records(belief.variables, outcomes.codes).reading
        )
        if draw(st.booleans()):
            data = [{name: states[0] for name, states in belief.variables.items()}]
            mechanism = draw(st.sampled_from(["group", "wasserstein"]))
            options: dict[str, Any] = {"mechanism": mechanism, "anyway": True}
            record = oracle.prepared(data, query, belief=belief, epsilon=1.0, **options).record
        if record.noise_scale is None:
            continue
        hits = [
            np.array([s == states[-1] for s in states]) * (name in chosen) for name, states in belief.variables.items()
        ]
        answers = sum(hit[outcomes.codes[:, n]] for n, hit in enumerate(hits))
        releases.append(
            Release(ReleaseRecord.from_dict(record.to_dict()), np.asarray(answers, dtype=np.int64)[:, None])
        )
    assume(releases)
    return belief, releases, exact_loss(law, outcomes.codes, releases)


@OFTEN
@given(shuffled_records(), ONCE_IN_EIGHT)
def test_shuffled_variables_are_covered(
    case: tuple[BayesianNetwork | JointTable, list[Release], float], ledgers: bool
) -> None:
    belief, releases, truth = case
    assert_covered(belief, [release.record for release in releases], truth, None, ledgers=ledgers)


def test_the_enumeration_has_teeth() -> None:
    """Known values: two releases of the example of C Theorem 3.4 tell 3.8476, and half the noise is noticed."""
    chain = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
    paths = paths_of(2, 2)
    record = ReleaseRecord(query="count:1", noise_scale=1.0)
    release = Release(record, paths.sum(axis=1)[:, None])
    (law,) = chain_laws(chain, paths)
    assert exact_loss(law, paths, [release]) == pytest.approx(1.9176648, abs=1e-6)
    assert exact_loss(law, paths, [release, release]) == pytest.approx(3.8476323, abs=1e-6)
    assert math.isclose(
        exact_loss(law, paths, [Release(replace(record, noise_scale=0.5), release.answers)]), 3.86, abs_tol=0.1
    )


@settings(OFTEN, max_examples=examples(14))
@given(st.data())
def test_sessions_over_tables_are_covered(data: st.DataObject) -> None:
    """From a table through ``read_series`` and a session: missing values, segments and windows, as a user asks them."""
    chain = data.draw(chains(max_states=2, zeros=True))
    k, length = len(chain.states), data.draw(st.integers(1, 5))
    seen = np.array(data.draw(st.lists(st.sampled_from([True, True, False]), min_size=length, max_size=length)))
    assume(seen.any())
    values = [chain.states[0] if there else None for there in seen]
    table = pl.DataFrame({"t": range(1, length + 1), "x": values}, schema={"t": pl.Int64, "x": pl.String})
    series = read_series(table, column="x", states=chain.states, time="t", missing="split")
    session = Session(series, belief=chain, budget=1e9)
    paths, numbers = paths_of(k, length), 0
    releases: list[Release] = []
    for _ in range(data.draw(st.integers(1, 3))):
        query, steps = data.draw(questions(chain))
        asked = np.arange(length)
        options: dict[str, Any] = {}
        if data.draw(st.booleans()) and seen.all():
            first = data.draw(st.integers(1, length))
            options["segment"] = (first, data.draw(st.integers(first, length)))
            asked = asked[options["segment"][0] - 1 : options["segment"][1]]
        groups = [asked[seen[asked]]]
        if seen.all() and "segment" not in options and data.draw(st.booleans()):
            options["window"] = data.draw(st.integers(1, length))
            groups = [asked[asked // options["window"] == n] for n in np.unique(asked // options["window"])]
        if numbers + steps.shape[1] * len(groups) > 4:
            continue
        mechanism = data.draw(st.sampled_from(["group"] * 5 + ["curve"]))
        try:
            record = session.release(query, epsilon=1.0, mechanism=mechanism, **options, anyway=True).record()
        except NotCoveredError:
            continue
        if record.noise_scale is None:
            continue
        numbers += steps.shape[1] * len(groups)
        answers = np.concatenate([steps[paths[:, group]].sum(axis=1) for group in groups], axis=1)
        releases.append(Release(record, answers))
    assume(releases)
    truth = max(exact_loss(law, paths, releases) for law in chain_laws(chain, paths) if law.sum() > 0)
    assert truth <= session.spent() * (1 + 1e-9) + 1e-9
    assert session.ledger.verify() == []
