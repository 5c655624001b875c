"""Records with conditions on several variables at once."""

import itertools
import json
import math

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st

from quiltwork import (
    Accountant,
    BayesianNetwork,
    InputError,
    JointTable,
    MarkovChain,
    Matching,
    Noisy,
    NotCoveredError,
    Records,
    audit,
    calibrate,
    parse_query,
    plan,
    release,
)
from quiltwork.question import bind, query_from_dict

FLU = BayesianNetwork(
    {"fever": ("no", "high"), "cough": ("no", "dry", "wet"), "age": ("young", "old")},
    parents={"cough": ["fever"]},
    tables={"fever": [0.8, 0.2], "cough": [[0.7, 0.2, 0.1], [0.2, 0.4, 0.4]], "age": [0.5, 0.5]},
)
TEXT = "records:fever=high&cough=dry|wet"


def test_text_and_plain_values() -> None:
    query = parse_query(TEXT)
    assert query == Matching({"fever": ["high"], "cough": ["dry", "wet"]})
    assert query.text == TEXT
    assert query_from_dict(json.loads(json.dumps(query.to_dict()))) == query
    for wrong in ("records:fever", "records:fever=high&fever=no", "records:=x"):
        with pytest.raises(InputError):
            parse_query(wrong)
    with pytest.raises(InputError, match="Choose from no, dry, wet"):
        calibrate("records:cough=barking", belief=FLU, epsilon=1.0)
    with pytest.raises(InputError, match="names"):
        calibrate(TEXT, belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), epsilon=1.0)


def test_sensitivity_is_that_of_the_worst_record() -> None:
    query, sizes = parse_query(TEXT), [2, 3, 2]
    records = np.array(list(itertools.product(*map(range, sizes))))
    asked = bind(query, FLU)
    answers = asked.only.matching(records)[0]
    for j, size in enumerate(sizes):
        seen = np.zeros((size, size))
        for (n, one), (m, other) in itertools.product(enumerate(records), repeat=2):
            if (one != other).sum() == (one[j] != other[j]):
                seen[one[j], other[j]] = max(seen[one[j], other[j]], abs(answers[n] - answers[m]))
        assert np.array_equal(seen, asked.table()[j])
    assert np.ptp(answers) == asked.whole == 1.0
    assert asked.lipschitz_by_part == (1.0, 1.0, 0.0)


def test_every_mechanism_and_the_audit_as_judge() -> None:
    for name in ("curve", "quilt-exact", "group", "wasserstein", "audited"):
        made = calibrate(TEXT, belief=FLU, epsilon=0.5, mechanism=name)
        assert audit(FLU, [Noisy(parse_query(TEXT), made.noise_scale)]).epsilon <= 0.5
        assert made.noise_scale <= 2.0 * (1 + 1e-8)
    assert made.noise_scale < 1.7  # audited: not every record with a fever has a cough
    bayesian = calibrate(TEXT, belief=FLU, epsilon=0.5, guarantee="bayesian", mechanism="group")
    assert bayesian.noise_scale == pytest.approx(2.0)


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 3.0))
def test_any_dependence_within_a_record_is_covered(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    names = {"x": "01", "y": "012", "z": "01"}
    masses = rng.dirichlet(np.full(12, 0.3))
    table = JointTable(names, list(zip(itertools.product(*names.values()), masses.tolist(), strict=True)))
    query = parse_query("records:x=1&y=1|2&z=0")
    for name in ("group", "wasserstein"):
        scale = calibrate(query, belief=table, epsilon=epsilon, mechanism=name).noise_scale
        worst = 0.0
        codes = np.array(list(itertools.product(range(2), range(3), range(2))))
        answers = bind(query, table).only.matching(codes)[0]
        for j, (a, b) in itertools.product(range(3), itertools.permutations(range(3), 2)):
            laws = [np.where(codes[:, j] == s, masses, 0.0) for s in (a, b)]
            if min(law.sum() for law in laws) > 0:
                p, q = (law[answers == 1].sum() / law.sum() for law in laws)
                e = math.exp(-1 / scale)
                worst = max(worst, math.log((p + (1 - p) * e) / (q + (1 - q) * e)))
                worst = max(worst, math.log((p * e + 1 - p) / (q * e + 1 - q)))
        assert worst <= epsilon * (1 + 1e-9)


def test_releases() -> None:
    rows = [{"fever": "high", "cough": "wet", "age": "old"}] * 30 + [{"fever": "no", "cough": "dry", "age": "old"}] * 9
    records = Records.from_rows(rows, variables=FLU.variables)
    assert release(records, TEXT, belief=FLU, epsilon=200.0).value == 30
    found = release(records, TEXT, belief=FLU, epsilon=0.5, mechanism="curve")
    assert 0 <= found.consistent <= 39
    account = Accountant(FLU)
    for _ in range(3):
        account.add(found.record())
    assert account.composed().epsilon == pytest.approx(1.5, rel=1e-6)  # not 3: a record counts or does not


def test_plans_under_a_joint_table() -> None:
    table = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    for text in ("records:x=1&y=1", "tally:x=1,y=1"):
        offers = {offer.mechanism: offer for offer in plan(text, belief=table, epsilon=1.0).offers}
        assert offers["curve"].refused is not None
        assert offers["group"].noise_scale == pytest.approx(1.0 if "records" in text else 2.0)


def test_large_networks_have_no_exact_law_of_it() -> None:
    names = {f"x{n}": "01" for n in range(30)}
    tables = {"x0": [0.5, 0.5]} | {f"x{n}": [[0.6, 0.4], [0.4, 0.6]] for n in range(1, 30)}
    network = BayesianNetwork(names, parents={f"x{n}": [f"x{n - 1}"] for n in range(1, 30)}, tables=tables)
    for name in ("wasserstein", "audited"):
        with pytest.raises(NotCoveredError, match="whole records"):
            calibrate("records:x3=1&x9=0", belief=network, epsilon=1.0, mechanism=name)
    assert calibrate("records:x3=1&x9=0", belief=network, epsilon=1.0).noise_scale == pytest.approx(1.0)
