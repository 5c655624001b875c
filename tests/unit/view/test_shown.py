"""What pages show of releases and ledgers: text that errs on the side of care, tables, and charts of Vega-Lite."""

import json
from typing import Any

import numpy as np
import pytest

from quiltwork import Ledger, MarkovChain, ReleaseRecord, calibrate
from quiltwork.calibration.request import Request
from quiltwork.calibration.wanted import questions
from quiltwork.data.series import Series
from quiltwork.influence.curve.timeline import Losses
from quiltwork.releases.pipeline import prepare
from quiltwork.releases.prepared import Prepared
from quiltwork.view import of_account, of_release as releases
from quiltwork.view.files import _escaped, as_markdown
from quiltwork.view.of_account import of_statement
from quiltwork.view.of_belief import facts_of
from quiltwork.view.of_release import cards, of_preview, of_release
from quiltwork.view.words import above, amount, below

EVIL = "<script>alert(1)</script>"
CHAIN = MarkovChain([[0.6, 0.4], [0.3, 0.7]], states=["sit", EVIL], initial="stationary", step="15min")
DATA = Series.from_values(["sit", EVIL, EVIL] * 30, states=CHAIN.states)
WHO = {"who": "ann", "program": "test"}


def prepared(*texts: str, epsilon: float = 0.5, **more: Any) -> Prepared:
    asked = questions(list(texts), None, CHAIN)
    return prepare(DATA, Request(query=asked, belief=CHAIN, epsilon=epsilon, alone=False, **more, anyway=True))


def numbers_of(text: str) -> list[float]:
    return [float(word.strip(",.")) for word in text.split() if word[0].isdigit()]


def test_a_preview_shows_cost_precision_and_what_remains() -> None:
    ready = prepared("histogram", f"count:{EVIL}")
    expected = ready.expected(ready.answers())
    ledger = {"budget": 3.0, "spent": 1.23456, "remaining": 1.76544, "spent_after": 1.7300001,
              "remaining_after": 1.2699999, "rule": "influence-curve", "address": "sqlite:///x.db"}  # fmt: skip
    shown = of_preview(ready, expected, ledger).to_dict()
    assert [card[0] for card in shown["cards"]][:2] == ["ε = 0.5", "50 → 62.3 %"]
    assert shown["cards"][4] == ["1.269", "left of the budget of 3"]  # rounded down
    assert dict(shown["budget"]["facts"])["This release"] == "0.4955"  # rounded up
    spent, _, cost, left = numbers_of(shown["budget"]["bar"]["text"])
    assert spent >= 1.23456
    assert cost >= 1.7300001 - 1.23456
    assert left <= 1.2699999
    assert sum(shown["budget"]["bar"]["shares"]) == pytest.approx(1.7300001 / 3)
    assert shown["action"] == ["Release, and spend ε = 0.4955"]
    rows = shown["questions"]["rows"]
    assert [row[0] for row in rows] == ["histogram", f"count:{EVIL}"]
    assert float(rows[0][2]) >= expected[0]["noise_scale"]
    without = of_preview(ready, expected, None).to_dict()
    assert "budget" not in without
    assert without["action"] == ["Release without a budget"]
    assert len(without["cards"]) == 4


def test_a_release_shows_each_answer_with_its_picture_and_table(monkeypatch: pytest.MonkeyPatch) -> None:
    book = Ledger.in_memory(belief=CHAIN, budget=3.0)
    shown = of_release(prepared("histogram", f"count:{EVIL}").draw_within(book, WHO)).to_dict()
    assert [answer["title"] for answer in shown["answers"]] == ["Histogram", f"Count of {EVIL}"]
    histogram = shown["answers"][0]
    assert histogram["table"]["columns"][:2] == ["histogram", "released"]
    assert [row[0] for row in histogram["table"]["rows"]] == ["sit", EVIL]
    spec = histogram["chart"]["spec"]
    assert spec["background"] == "transparent"
    assert EVIL in json.dumps(spec)
    assert shown["recorded"]["said"][0].startswith("Recorded as row 2")
    monkeypatch.setattr(releases, "MOST_ROWS", 2)
    windows = of_release(prepared("count:sit", window=10).draw()).to_dict()
    assert "recorded" not in windows
    assert windows["answers"][0]["title"] == ""
    assert windows["answers"][0]["layout"] == "below"
    assert windows["answers"][0]["table"]["more"] == "… and 7 more rows in the files."


def test_no_guarantee_is_no_epsilon() -> None:
    made = calibrate("count:sit", belief=CHAIN, epsilon=0.5, mechanism="entry")
    assert cards(made, "6", several=False, checked=None)[0][0] == "none"


def test_a_ledger_shows_what_is_left_and_who_spent_it(monkeypatch: pytest.MonkeyPatch) -> None:
    book = Ledger.in_memory(belief=CHAIN, budget=1.5)
    empty = of_statement(book.statement(), book.losses()).to_dict()
    assert [chart["name"] for chart in empty["charts"]] == ["spending"]
    assert empty["releases"]["rows"] == []
    for who, segment in (("ann", (1, 40)), (EVIL, None), ("ann", (20, 60))):
        record = ReleaseRecord(
            noise_scale=9.0, lipschitz=1.0, epsilon=0.3, length=90, segment=segment, query="count:sit"
        )
        book.complete(book.reserve(record, WHO | {"who": who}))
    book.reserve(ReleaseRecord(noise_scale=9.0, lipschitz=1.0, epsilon=0.3, length=90, query="count:sit"), WHO)
    now = book.statement()
    shown = of_statement(now, book.losses()).to_dict()
    assert float(shown["cards"][0][0]) <= now.remaining
    assert float(shown["cards"][1][0]) >= now.spent
    people = shown["people"]["rows"]
    assert [row[0] for row in people] == ["ann", EVIL]
    assert people[0][1] == "3"
    assert shown["releases"]["rows"][0][-1] == "unknown (counts)"  # the latest first
    assert "values 20 to 60" in shown["releases"]["rows"][1][3]
    bars = json.dumps(shown["charts"][1]["spec"])
    assert all(f'"row {number}"' in bars for number in (2, 3, 4, 5))
    monkeypatch.setattr(of_account, "MOST_RELEASES", 2)
    few = of_statement(now).to_dict()
    assert few["more"] == ["The latest 2 of 4 releases."]
    assert len(few["releases"]["rows"]) == 2
    assert len(few["charts"]) == 1
    assert dict(facts_of(now.terms.belief).known)["Step"] == "15min"


def test_amounts_are_never_shown_smaller() -> None:
    for number in (0.0012349, 1.0, 9.996, 12_345.6, 3e8):
        assert float(amount(number).replace(",", "")) >= number


def test_the_loss_along_time_reaches_as_far_as_the_releases() -> None:
    book = Ledger.in_memory(belief=CHAIN, budget=1.5)
    book.complete(
        book.reserve(ReleaseRecord(noise_scale=9.0, lipschitz=1.0, epsilon=0.3, length=288, query="count:sit"), WHO)
    )
    flat = Losses(np.array([1]), np.array([0.3]), 1, (0, 1), (0.3, 0.0, 0.0))  # as for data with a gap
    spec = of_statement(book.statement(), flat).to_dict()["charts"][1]["spec"]
    text = json.dumps(spec)
    assert text.count('"domain": [1, 288]') == text.count('"domain"') > 1
    assert '{"time": 1, "loss": 0.3}, {"time": 288, "loss": 0.3}' in text


def test_one_release_has_one_plus_minus_and_it_is_not_too_small() -> None:
    ready = prepared("histogram", epsilon=2.0)
    before = of_preview(ready, ready.expected(ready.answers()), None).to_dict()
    drawn = ready.draw()
    after = of_release(drawn).to_dict()
    shown = before["cards"][3][0]
    assert shown == after["cards"][3][0]
    assert before["cards"][2][0] == after["cards"][2][0] == "not checked"
    error = shown.removeprefix("± ")
    assert f"within ±{error} of" in after["answers"][0]["said"][0]
    assert float(error.replace(",", "")) >= drawn.error()
    table = after["answers"][0]["table"]
    assert "estimate" not in table["columns"]
    for row in table["rows"]:
        assert row[1].endswith(f"± {error}")


def test_names_stay_text_in_markdown() -> None:
    written = as_markdown(prepared("histogram").draw())
    assert EVIL not in written
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in written
    assert _escaped("a|b [x](y) *z* own_state `_q_") == r"a\|b \[x\](y) \*z\* own_state \`\_q\_"


def test_no_dust_on_what_is_spent() -> None:
    assert [above(0.05), above(1.63), above(0.1 + 0.2), below(0.3)] == ["0.05", "1.63", "0.300001", "0.3"]
