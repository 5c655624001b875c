"""Several questions that share one ε (Statements 72 and 73), against enumeration and the exact audit."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from effort import examples
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from strategies import Array, chains, epsilons

from quiltwork import (
    Accountant,
    MarkovChain,
    Noisy,
    NotCoveredError,
    Query,
    ReleaseRecord,
    Series,
    Workload,
    audit,
    calibrate,
    parse_query,
)
from quiltwork.calibration.calibrate import calibrated
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.calibration.split import split
from quiltwork.question import Question, bind
from quiltwork.question.workload import same

THREE = MarkovChain(np.full((3, 3), 1 / 3))
KINDS = ["count:0", "count:1", "histogram", "frequencies", "sum", "mean", "transitions"]


def kept_share(question: Question) -> float:
    """How large noise of one scale is, as a share of independent noise."""
    largest = max(map(len, question.totals), default=0)
    return (largest - 1) / largest if largest else 1.0


def answers(chain: MarkovChain, query: Query, paths: NDArray[np.int64]) -> Array:
    """The numbers of every path that noise is added to."""
    question = bind(query, chain).only
    unit = float(question.unit)
    return np.array([question.evaluate(Series.from_codes([path], states=chain.states)) * unit for path in paths])


def loss(chain: MarkovChain, found: Calibration, length: int, rng: np.random.Generator) -> float:
    """The largest log-ratio at true answers, mixed ones and some others, with the noise of each question."""
    k = len(chain.states)
    paths = np.array(list(itertools.product(range(k), repeat=length)))
    parts = [(one.question.query, float(one.ratio) * found.noise_scale) for one in found.asked.drawn]
    noise: Array = np.zeros((200, len(paths)))
    for query, scale in parts:
        told = answers(chain, query, paths).astype(float)
        seen = told[rng.integers(len(told), size=200)] * np.where(rng.random((200, 1)) < 0.2, 100.0, 1.0)
        noise += -np.abs(seen[:, None, :] - told[None, :, :]).sum(axis=2) / scale
    density = np.exp(noise - noise.max(axis=1, keepdims=True))
    starts = [chain.initial] if chain.initial is not None else [*np.eye(k), *rng.dirichlet(np.ones(k), size=3)]
    worst = 0.0
    for start in starts:
        weight = np.asarray(start)[paths[:, 0]] * np.prod(chain.transition[paths[:, :-1], paths[:, 1:]], axis=1)
        for t, (a, b) in itertools.product(range(length), itertools.permutations(range(k), 2)):
            laws = [weight * (paths[:, t] == s) for s in (a, b)]
            if min(law.sum() for law in laws) > 0:
                above, below = (density @ law / law.sum() for law in laws)
                worst = max(worst, float(np.log(above / below).max()))
    return worst


@st.composite
def workloads(draw: st.DrawFn, *, kinds: list[str] = KINDS, most: int = 3) -> Workload:
    """Some questions, with noise in any proportions where it is drawn."""
    asked = draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=most, unique=True))
    plain = Workload([parse_query(text) for text in asked])
    places = {one.place for one in bind(plain, THREE).drawn}  # what follows there follows for fewer states
    some = draw(st.lists(st.sampled_from(["1", "1/3", "7/64", "5"]), min_size=most, max_size=most))
    return replace(plain, ratios=[some[n] if n in places else None for n in range(len(asked))])


@settings(max_examples=examples(8), deadline=None)
@given(chains(max_states=3), epsilons, workloads(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_noise_of_all_questions_together_hides_every_moment(
    chain: MarkovChain, epsilon: float, workload: Workload, length: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    for mechanism in ("curve", "quilt-exact", "group"):
        try:
            found = calibrate(workload, belief=chain, epsilon=epsilon, length=length, mechanism=mechanism)
        except NotCoveredError:
            continue
        assert loss(chain, found, length, rng) <= epsilon * (1 + 1e-9)


@settings(max_examples=examples(6), deadline=None)
@given(chains(max_states=2), epsilons, workloads(kinds=KINDS[:-1], most=2))
def test_the_exact_loss_is_within_epsilon(chain: MarkovChain, epsilon: float, workload: Workload) -> None:
    length = 4
    found = calibrate(workload, belief=chain, epsilon=epsilon, length=length)
    least = calibrate(workload, belief=chain, epsilon=epsilon, length=length, mechanism="audited")
    assert least.noise_scale <= found.noise_scale * (1 + 1e-6)
    for calibration in (found, least):
        noisy = Noisy(calibration.query, calibration.noise_scale)
        assert audit(chain, [noisy], length=length).epsilon <= epsilon * (1 + 1e-9)


@settings(max_examples=examples(6), deadline=None)
@given(chains(max_states=3, zeros=False), workloads(), st.lists(st.floats(0.1, 10), min_size=3, max_size=3))
def test_no_split_is_worse_than_an_even_one(chain: MarkovChain, workload: Workload, weights: list[float]) -> None:
    query = replace(workload, ratios=None, weights=weights[: len(workload.questions)])
    request = Request.of(query, belief=chain.with_start("stationary"), epsilon=1.0)
    chosen, plain = split(request).query, request.asked
    if not isinstance(chosen, Workload):
        raise AssertionError
    alone = {n: calibrated(replace(request, query=one)).noise_scale for n, one in enumerate(query.queries)}
    even: list[Fraction | int | str | None] = [None] * len(alone)
    for one in plain.drawn:
        even[one.place] = Fraction(alone[one.place] / alone[plain.drawn[0].place])

    def total(ratios: Workload) -> float:
        """Of each question that is not about the same numbers as another one; noise that keeps a total is smaller."""
        found = calibrated(replace(request, query=ratios))
        kept = [
            kept_share(source) / kept_share(own)
            for source, own in zip(found.asked.sources, plain.questions, strict=True)
        ]
        every = list(enumerate(plain.questions))
        counted = {one.place: [n for n, other in every if same(other, one.question)] for one in plain.drawn}
        return math.fsum(
            max(query.weights[n] for n in alike) * found.scales[place][1] / alone[place] * kept[place]  # type: ignore[index]
            for place, alike in counted.items()
        )

    assert total(chosen) <= total(replace(query, ratios=even)) * 1.02  # ratios have seven binary digits


@settings(max_examples=examples(6), deadline=None)
@given(chains(max_states=3), epsilons, workloads())
def test_an_account_takes_a_workload_as_one_release(chain: MarkovChain, epsilon: float, workload: Workload) -> None:
    found = calibrate(workload, belief=chain, epsilon=epsilon, length=30)
    record = ReleaseRecord(
        mechanism=found.mechanism, epsilon=epsilon, noise_scale=found.noise_scale, query=found.query, length=30
    )
    read = ReleaseRecord.from_dict(record.to_dict())
    profiles = [one.profile(chain) for one in (record, read)]
    assert profiles[0] is not None
    assert profiles[1] is not None
    assert np.array_equal(profiles[0][0], profiles[1][0])
    assert Accountant(chain, length=30).dry_run(read).epsilon <= epsilon * (1 + 1e-6)
