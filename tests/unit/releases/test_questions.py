"""Several questions in one release."""

import json
from pathlib import Path
from typing import Any

import pytest
from shell import as_page

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Count,
    Custom,
    DynamicNetwork,
    GaussianBelief,
    Histogram,
    MarkovChain,
    NotCoveredError,
    QuiltworkError,
    Session,
    Sum,
    Transitions,
    Workload,
    calibrate,
    plan,
    release,
)
from quiltwork.calibration.request import Request
from quiltwork.question import Stays, bind, said_in
from quiltwork.question.workload import load_workload
from quiltwork.releases.pipeline import prepare
from quiltwork.view.files import as_markdown

CHAIN = MarkovChain(
    [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], initial="stationary", states=["0", "1", "2"], step=1
)
PAIR = MarkovChain([[0.8, 0.2], [0.2, 0.8]], initial="stationary", states=["sit", "walk"], step=1)
VALUES = ["0", "1", "2", "1"] * 500


def test_each_question_has_its_own_noise() -> None:
    result = release(VALUES, ["histogram", "mean"], belief=CHAIN, epsilon=1.0)
    histogram, mean = result.questions
    assert result.value == {"histogram": histogram.value, "mean": mean.value}
    scales = [scale for _, scale in result.calibration.scales]
    assert [histogram.noise_scale, mean.noise_scale * 2000] == pytest.approx(scales)
    contents = result.to_dict()
    assert [question["query"] for question in contents["questions"]] == ["histogram", "mean"]
    assert contents["questions"][1]["error_95"] == mean.error() < histogram.error() == result.error()
    assert contents["value"] == result.value
    assert contents["query"] == "histogram + mean"
    assert [label for label in result.labels if label.startswith("mean")] == ["mean: mean"]
    assert "mean: Each number is within" in result.explain()


def test_questions_that_follow_are_not_asked_again() -> None:
    result = release(VALUES, ["count:1", "frequencies", "histogram", "transitions"], belief=CHAIN, epsilon=1.0)
    value = result.value
    assert value["frequencies"]["1"] * 2000 == pytest.approx(value["histogram"]["1"]) == pytest.approx(value["count:1"])
    again = calibrate(["histogram", "transitions", "frequencies"], belief=CHAIN, epsilon=1.0, length=2000)
    without = calibrate(["histogram", "transitions"], belief=CHAIN, epsilon=1.0, length=2000)
    assert [scale for _, scale in without.scales] == [scale for _, scale in again.scales[:2]]
    followed = {question["query"]: question.get("follows_from") for question in result.to_dict()["questions"]}
    assert followed["count:1"] == followed["histogram"] == "frequencies"
    assert followed["frequencies"] is followed["transitions"] is None
    both = release(["sit", "walk"] * 50, ["count:walk", "histogram"], belief=PAIR, epsilon=1.0)
    assert both.value["count:walk"] == both.value["histogram"]["walk"]
    assert sum(both.value["histogram"].values()) == 100


def test_a_state_with_spaces_around_it_follows_too() -> None:
    both = release(["sit", "walk"] * 50, ["histogram", "count: walk"], belief=PAIR, epsilon=1.0)
    assert both.value["count:walk"] == both.value["histogram"]["walk"]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_what_follows_is_expected_to_be_as_precise_as_it_will_be(noise: Any) -> None:
    asked = Request.of(
        ["histogram", "count:walk"], belief=PAIR, epsilon=1.0, noise=noise, delta=1e-3 if noise == "gaussian" else 0.0
    )
    ready = prepare(["sit", "walk"] * 50, asked)
    expected = [question["error_95"] for question in ready.expected(ready.answers())]
    assert expected == pytest.approx([question.error() for question in ready.draw().questions], abs=1.0)


def test_a_count_that_needs_little_noise_is_asked_beside_a_histogram() -> None:
    slow = MarkovChain([[0.99, 0.01, 0], [0.01, 0.98, 0.01], [0.5, 0.5, 0]], initial="stationary")
    alone = calibrate("count:2", belief=slow, epsilon=1.0).noise_scale
    (_, histogram), (_, count) = calibrate(["histogram", "count:2"], belief=slow, epsilon=1.0).scales
    assert count < 3 * alone < histogram


def test_one_release_is_one_row_of_a_ledger() -> None:
    session = Session(VALUES, belief=CHAIN, budget=1.0)
    result = session.release(["histogram", "transitions"], epsilon=0.6)
    assert [row["query"] for row in session.releases()] == ["histogram + transitions"]
    assert 0.55 < session.spent() <= 0.6
    assert session.ledger.verify() == []
    read = said_in(json.loads(json.dumps(result.record().to_dict()["query"])))
    assert isinstance(read, Workload)
    assert bind(read, CHAIN) == result.calibration.asked
    assert Accountant(CHAIN, length=2000).dry_run(result.record()).epsilon <= 0.6
    assert session.plan(["histogram", "transitions"], epsilon=0.1).best is not None


def test_windows_and_subjects_answer_every_question() -> None:
    result = release(VALUES, ["frequencies", "count:2", "mean"], belief=CHAIN, epsilon=1.0, window=500)
    assert [len(question.parts) for question in result.questions] == [4, 4, 4]
    shares, counts, _ = (question.table() for question in result.questions)
    assert [row["2"] * 500 for row in shares] == pytest.approx([row["count:2"] for row in counts])
    assert len(result.to_dict()["questions"][2]["parts"]) == 4


def test_windows_count_for_each_question() -> None:
    asked = Workload([Stays("1"), Histogram()], ratios=[1, 2])
    whole, windows = (bind(asked, CHAIN, windows=flag).table()[0] for flag in (False, True))
    assert windows.max() == whole.max() + 1
    record = release(VALUES, asked, belief=CHAIN, epsilon=1.0, window=500).record()
    assert isinstance(record.query, Workload)
    bound = record.asked(CHAIN)
    assert bound is not None
    assert bound.windows


def test_a_set_of_states_is_not_read_off_a_histogram() -> None:
    found = release(VALUES, ["histogram", "share:1|2", "count:1|2"], belief=CHAIN, epsilon=1.0)
    assert found.value["share:1|2"] * 2000 == pytest.approx(found.value["count:1|2"])
    assert [row.get("follows_from") for row in found.to_dict()["questions"]] == [None, None, "share:1|2"]


def test_more_of_the_noise_goes_where_errors_count_more() -> None:
    def scales(weight: float) -> list[float]:
        query = Workload([Histogram(), Sum()], weights=[weight, 1])
        return [scale for _, scale in calibrate(query, belief=CHAIN, epsilon=1.0).scales]

    assert scales(1)[0] > scales(4)[0]
    assert scales(1)[1] < scales(4)[1]


def test_plan_shows_each_question() -> None:
    made = plan(["frequencies", "count:1", Sum()], belief=CHAIN, epsilon=1.0, length=100)
    offer = next(offer for offer in made.to_dict()["mechanisms"] if offer["mechanism"] == "curve")
    assert [question["query"] for question in offer["questions"]] == ["frequencies", "count:1", "sum"]
    assert offer["questions"][0]["noise_scale"] * 100 == pytest.approx(offer["questions"][1]["noise_scale"])
    refused = next(offer for offer in made.offers if offer.mechanism == "wasserstein").refused
    assert "one question at a time" in (refused or "")
    with pytest.raises(QuiltworkError, match="needs a length"):
        plan(["frequencies", "transitions"], belief=CHAIN, epsilon=1.0, length="any")


def test_tables_and_pages_show_each_question() -> None:
    result = release(VALUES, ["histogram", "transitions", "mean"], belief=CHAIN, epsilon=1.0)
    frame = result.to_polars()
    assert frame["query"].to_list() == ["histogram"] * 3 + ["transitions"] * 9 + ["mean"]
    assert frame["error_95"][12] == result.questions[2].error()
    lines = as_markdown(result).splitlines()
    assert {line.count("|") for line in lines} == {lines[0].count("|")}
    assert as_page(result).count("<h5>") == 3
    windows = release(VALUES, ["histogram", "mean"], belief=CHAIN, epsilon=1.0, window=1000)
    assert windows.to_polars()["part"].n_unique() == 2


def test_a_target_is_for_all_questions() -> None:
    def needed(*asked: str) -> float:
        made = plan(asked, belief=CHAIN, epsilon=1.0, length=1000, target_error="20%", mechanisms=["quilt-exact"])
        assert made.remedy is not None
        assert made.remedy.epsilon is not None
        return made.remedy.epsilon

    assert needed("mean", "transitions") == needed("transitions", "mean") > needed("transitions")


def test_records_and_floats() -> None:
    network = BayesianNetwork(
        {"flu": ["no", "yes"], "fever": ["no", "yes"]},
        parents={"fever": ["flu"]},
        tables={"flu": [0.9, 0.1], "fever": [[0.95, 0.05], [0.3, 0.7]]},
    )
    rows = [{"flu": "no", "fever": "yes"}] * 30
    result = release(rows, ["count:yes over fever", "tally:flu=yes", "frequencies"], belief=network, epsilon=1.0)
    assert set(result.value["frequencies"]) == {"no", "yes"}
    half = Custom(lambda runs: sum(map(len, runs)) / 2, constant=1.0)
    floats, whole = release(VALUES, [half, "count:1"], belief=CHAIN, epsilon=1.0).questions
    assert isinstance(floats.value, float)
    assert isinstance(whole.value, int)


def test_records_over_time() -> None:
    belief = DynamicNetwork(
        {"ann": ["well", "ill"], "bob": ["well", "ill"]},
        parents={"ann": ["ann@before"], "bob": ["bob@before", "ann@before"]},
        tables={
            "ann": [[0.9, 0.1], [0.3, 0.7]],
            "bob": [[[0.9, 0.1], [0.8, 0.2]], [[0.3, 0.7], [0.2, 0.8]]],
        },
    )
    found = calibrate(["count:ill", "histogram", "count:ill over ann"], belief=belief, epsilon=1.0, length="any")
    counted, histogram, ann = (scale for _, scale in found.scales)
    assert counted == histogram > ann > 0


@pytest.mark.parametrize(
    ("questions", "what"),
    [
        ([], "query must be"),
        ([Workload([Histogram(), Transitions()]), Count("1")], "must be queries"),
        ([Histogram(), 3], "query must be"),
    ],
)
def test_what_is_no_workload(questions: list[object], what: str) -> None:
    with pytest.raises(QuiltworkError, match=what):
        release(VALUES, questions, belief=CHAIN, epsilon=1.0)  # type: ignore[arg-type]


def test_ratios_and_weights_are_checked() -> None:
    for ratios in ([1], [1, 0], [1, "x"], [None, None], [1, -1]):
        with pytest.raises(QuiltworkError, match="ratio"):
            Workload([Histogram(), Transitions()], ratios=ratios)  # type: ignore[arg-type]
    for weights in ([1], [1, 0], [1, True], [1, float("nan")]):
        with pytest.raises(QuiltworkError, match="weight"):
            Workload([Histogram(), Transitions()], weights=weights)
    with pytest.raises(QuiltworkError, match="must follow"):
        bind(Workload([Histogram(), Transitions()], ratios=[1, None]), CHAIN)
    with pytest.raises(QuiltworkError, match="50 questions"):
        Workload([Histogram()] * 51)


def test_real_values_are_asked_one_by_one() -> None:
    with pytest.raises(NotCoveredError, match="real values"):
        plan(["mean", "trend"], belief=GaussianBelief({"ar1": 0.9}, distance=1.0), epsilon=1.0, length=10)


def test_workload_files(tmp_path: Path) -> None:
    toml = tmp_path / "workload.toml"
    toml.write_text('[[questions]]\nquery = "histogram"\nweight = 2\n[[questions]]\nquery = "transitions"\n')
    read = load_workload(toml)
    assert isinstance(read, Workload)
    assert (read.text, read.weights) == ("histogram + transitions", (2.0, 1.0))
    file = tmp_path / "workload.json"
    for text in ("{", "[]", '{"asked": []}', '[{"weight": 1}]', '[{"query": "sum", "size": 1}]', '["histogram", "x"]'):
        file.write_text(text)
        with pytest.raises(QuiltworkError):
            load_workload(file)
    file.write_text('["sum"]')
    assert load_workload(file) == Sum()
