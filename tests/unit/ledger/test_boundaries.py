"""A budget ends where it ends: a billionth more is rounding, two billionths are refused, wherever it is compared."""

import pytest

from quiltwork import BudgetError, Ledger, MarkovChain, ReleaseRecord
from quiltwork.ledger import Row, verify_export

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
FITS, TOO_MUCH = 1 + 5e-10, 1 + 2e-9


def asked(epsilon: float) -> ReleaseRecord:
    return ReleaseRecord(mechanism="other", epsilon=epsilon)


def test_a_reservation_ends_at_the_budget() -> None:
    ledger = Ledger.in_memory(belief=COIN, budget=1.0)
    with pytest.raises(BudgetError):
        ledger.reserve(asked(TOO_MUCH), {})
    assert ledger.spent() == 0.0
    ledger.reserve(asked(FITS), {})


def test_the_last_of_several_ends_there_too() -> None:
    ledger = Ledger.in_memory(belief=COIN, budget=1.0)
    for noise_scale in (2.0, 2.0, 1 / 5e-10):
        ledger.reserve(ReleaseRecord(noise_scale=noise_scale, query="count:1", length=5), {})
    with pytest.raises(BudgetError):
        ledger.reserve(ReleaseRecord(noise_scale=1 / 2e-9, query="count:1", length=5), {})


def test_a_preview_ends_where_the_reservation_does() -> None:
    ledger = Ledger.in_memory(belief=COIN, budget=1.0)
    assert ledger.preview(asked(FITS))[0] == pytest.approx(FITS, rel=1e-12)
    with pytest.raises(BudgetError):
        ledger.preview(asked(TOO_MUCH))


def test_a_budget_with_a_delta_ends_there_too() -> None:
    ledger = Ledger.in_memory(belief=COIN, budget=1.0, delta=1e-6)
    with pytest.raises(BudgetError):
        ledger.reserve(asked(TOO_MUCH), {})
    ledger.reserve(asked(FITS), {})


@pytest.mark.parametrize(("epsilon", "said"), [(FITS, []), (TOO_MUCH, ["more was released than the budget allows"])])
def test_an_export_ends_there_too(epsilon: float, said: list[str]) -> None:
    """Written anew with a smaller budget, hashes included."""
    ledger = Ledger.in_memory(belief=COIN, budget=2.0)
    ledger.reserve(asked(epsilon), {})
    (opened, reserved), _ = ledger.rows()
    first = Row.after(None, "opened", opened.time, {**opened.content, "budget": 1.0})
    second = Row.after(first, "reserved", reserved.time, {**reserved.content, "opened": first.hash})
    assert verify_export([first, second], []) == said
