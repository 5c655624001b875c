"""What a plan shows first: how precise answers would be, whether that is good, and what would make it so."""

import re
from pathlib import Path

import pytest
from shell import run

from quiltwork import BayesianNetwork, GaussianBelief, MarkovChain, MixingClass, plan, save_belief
from quiltwork.view.of_plan import compare_view, questions_view
from quiltwork.view.terminal import show
from quiltwork.view.view import Sentences, Table

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"], step="15min")


def first_table(made: object) -> list[dict[str, object]]:
    return [dict(row) for block in made.blocks if isinstance(block, Table) for row in block.rows]  # type: ignore[attr-defined]


def test_verdicts_follow_from_the_share_of_what_is_typical() -> None:
    found = {
        epsilon: plan("count:walk", belief=CHAIN, epsilon=epsilon, length=1000).precision[0]
        for epsilon in (0.01, 0.1, 2.0)
    }
    assert [one.verdict for one in found.values()] == ["noise only", "rough", "good"]
    for one in found.values():
        assert one.typical == pytest.approx(200)  # a fifth of 1,000 values
        assert one.relative == pytest.approx(one.error_95 / 200)
        assert (one.better is None) == (one.verdict == "good")
        assert set(one.to_dict()) == {"ask", "noise_scale", "error_95", "relative_error", "verdict"}


def test_a_ratio_is_compared_with_its_smaller_part() -> None:
    made = plan("stay-length:walk", belief=CHAIN, epsilon=1.0, length=1000).precision[0]
    assert made.typical == pytest.approx(80)  # stays, of 2.5 values on average


def test_what_would_make_it_good_does() -> None:
    made = plan("share:walk", belief=CHAIN, epsilon=0.1, length=500, values=1000)
    better = made.precision[0].better
    assert made.precision[0].verdict == "rough"
    assert better is not None
    assert better.people is not None
    enough = plan("share:walk", belief=CHAIN, epsilon=0.1, length=500, values=500 * better.people)
    assert enough.precision[0].verdict == "good"
    assert better.epsilon is not None
    assert better.words().startswith("For ±0.02 (10 % of what is typical) it takes about ε = ")
    near = plan("share:walk", belief=CHAIN, epsilon=1.2 * better.epsilon, length=500, values=1000)
    assert near.precision[0].verdict == "good"


def test_what_is_not_known_is_not_judged() -> None:
    rain = BayesianNetwork.from_chain(MarkovChain([[0.8, 0.2], [0.3, 0.7]], initial="stationary"), 3)
    for made in (
        plan("count:walk", belief=CHAIN, epsilon=1.0, length="any"),
        plan("mean", belief=GaussianBelief({"ar1": 0.5}, distance=1.0), epsilon=1.0, length=100),
        plan("count:1", belief=rain, epsilon=1.0),
        plan("count:1", belief=MixingClass(2, pi_min=0.2, gap=0.5), epsilon=1.0, length=5000),
    ):
        (row,) = first_table(questions_view([made]))
        assert (row["± of typical"], row["verdict"]) == ("", "-")


def test_several_questions_and_several_plans_have_a_row_each() -> None:
    shared = plan(["histogram", "transitions"], belief=CHAIN, epsilon=1.0, length=1000)
    assert [row["question"] for row in first_table(questions_view([shared]))] == ["histogram", "transitions"]
    plans = [plan("count:walk", belief=CHAIN, epsilon=epsilon, length=1000) for epsilon in (0.5, 1.0)]
    rows = first_table(questions_view(plans))
    assert [(row["question"], row["ε"]) for row in rows] == [("count:walk", "0.5"), ("count:walk", "1")]


def test_mechanisms_stand_side_by_side_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_belief(CHAIN, tmp_path / "belief.json")
    asked = ("plan", tmp_path / "belief.json", "--query", "count:walk", "--length", 3000, "--epsilon", 1)
    first, compared = run(*asked, code=0).stdout, run(*asked, "--compare", code=0).stdout
    assert "quilt-exact" not in first
    assert "verdict" in first
    assert "quilt-exact" in compared
    assert len(re.findall("Not computed: ", compared)) == 1
    assert "skipped (slow); add --mechanism wasserstein" in compared
    show(compare_view(plan("count:walk", belief=CHAIN, epsilon=1.0, length=100)))
    assert "× least" in capsys.readouterr().out


def test_the_reason_adds_up_to_epsilon() -> None:
    made = plan("count:walk", belief=CHAIN, epsilon=1.0, length=1000)
    said = [text for block in questions_view([made]).blocks if isinstance(block, Sentences) for text in block.texts]
    (why,) = [text for text in said if "hardest to keep apart" in text]
    whole, *parts = (float(number) for number in re.findall(r"\d+\.?\d*(?=,|\.$| )", why.partition("of ε = ")[2]))
    assert whole == 1
    assert sum(parts) == pytest.approx(1, abs=0.02)
