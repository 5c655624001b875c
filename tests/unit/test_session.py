"""A session whose series grows."""

from pathlib import Path

import polars as pl
import pytest
from accounts import told
from examples import COIN

from quiltwork import InputError, Ledger, Session


def test_a_release_that_grew_is_about_what_was_there() -> None:
    session = Session(["0", "1"] * 5, belief=COIN, budget=3.0)
    first = session.count("1", epsilon=1.0).record()
    new = session.append(["1", "0"] * 5)
    second = session.count("1", epsilon=1.0, segment=new).record()
    assert session.spent() == pytest.approx(1.0)
    assert told(COIN, first, second, length=20) == pytest.approx(1.0)
    with pytest.raises(InputError, match="within the 10 values"):
        told(COIN, first, second, length=10)


def test_a_session_ends_and_its_ledger_is_let_go(tmp_path: Path) -> None:
    table = pl.DataFrame({"n": range(60), "state": ["0", "1", "1"] * 20})
    address = f"sqlite:///{tmp_path / 'budget.db'}"
    with Session(table, belief=COIN, budget=3.0, ledger=address, column="state", time="n") as session:
        assert session.count("1", epsilon=1.0).values == 60
    ledger = Ledger(address)
    with Session(table, belief=COIN, ledger=ledger, column="state", time="n") as again:
        assert again.spent() == session.spent() == pytest.approx(1.0)
        again.release("histogram", epsilon=1.0)
    assert ledger.spent() == pytest.approx(2.0, rel=1e-3)
