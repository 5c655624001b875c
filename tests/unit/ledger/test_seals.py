"""Rows, outcomes and sums that are not what was written: each check by itself, in memory."""

from dataclasses import replace

import pytest

from quiltwork import Ledger, MarkovChain, Session
from quiltwork.errors import LedgerError
from quiltwork.ledger import Outcome, Row
from quiltwork.ledger.rows import Tally
from quiltwork.ledger.seal import Seal
from quiltwork.ledger.terms import Reservation

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
KEY = b"a key that nobody knows"
TIME = "2024-03-04T00:00:00+00:00"


@pytest.mark.parametrize("seal", [Seal(), Seal(KEY)], ids=["hashes", "a key"])
def test_a_row_is_what_was_written_after_the_one_before(seal: Seal) -> None:
    first = Row.after(None, "opened", TIME, {"budget": 1.0}, seal=seal)
    other = Row.after(None, "opened", TIME, {"budget": 2.0}, seal=seal)
    second = Row.after(first, "reserved", TIME, {"epsilon": 0.5}, seal=seal)
    assert first.broken(None, seal) is second.broken(first, seal) is None
    assert second.broken(other, seal) == "row 2 does not follow row 1 as it is"
    for changed in ({"kind": "accepted"}, {"time": "2025"}, {"content": {"epsilon": 0.25}}, {"hash": first.hash}):
        assert replace(second, **changed).broken(first, seal) == "row 2 was changed"
    assert replace(second, number=3).broken(first, seal) == "row 2 is missing, row 3 follows row 1"


def test_without_the_key_nothing_can_be_sealed() -> None:
    forged = Row.after(None, "opened", TIME, {"budget": 9.0})
    assert forged.broken(None) is None
    for seal in (Seal(KEY), Seal(b"another key altogether")):
        assert forged.broken(None, seal) == "row 1 was changed"
    assert Seal(KEY).of("row") != Seal(b"another key altogether").of("row")


@pytest.mark.parametrize("seal", [Seal(), Seal(KEY)], ids=["hashes", "a key"])
def test_a_tally_is_sealed(seal: Seal) -> None:
    one = Tally().plus(Outcome.of(2, "0" * 64, TIME, seal=seal))
    assert Tally.from_text(one.text(seal), seal) == one
    none_left = one.text(seal).replace("1 ", "0 ", 1)
    assert Tally.from_text(none_left, seal) is None
    assert Tally.from_text(one.text(Seal(b"another key altogether")), seal) is None


def test_a_reservation_must_still_be_there_and_count() -> None:
    """Before a value is shown: its own row, and a sum that is not older than it."""
    ledger = Ledger.in_memory(belief=COIN, budget=1.0)
    session = Session(["0", "1"], belief=COIN, ledger=ledger)
    made = session.count("1", epsilon=0.1, anyway=True).ledger
    assert made is not None
    reservation = Reservation(made["row"], made["hash"], 0.1, "", 1.0)
    ledger.confirm(reservation)
    session.count("1", epsilon=0.1, anyway=True)
    ledger.confirm(reservation)  # others have gone on from it
    with pytest.raises(LedgerError, match="did not keep"):
        ledger.confirm(replace(reservation, hash="0" * 64))
    ledger._store.transaction(lambda work: work.run("UPDATE quiltwork_kept SET number = 1"))
    with pytest.raises(LedgerError, match="did not keep"):
        ledger.confirm(reservation)


def test_no_value_is_shown_without_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise LedgerError("the row is gone")

    session = Session(["0", "1"], belief=COIN, budget=1.0)
    monkeypatch.setattr(Ledger, "confirm", gone)
    with pytest.raises(LedgerError, match="the row is gone"):
        session.count("1", epsilon=0.1, anyway=True)
