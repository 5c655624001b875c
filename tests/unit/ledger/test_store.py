"""Ledgers about variables that are not in alphabetical order."""

from pathlib import Path

from examples import TABLE, WARD
from shell import run

from quiltwork import BudgetError, Ledger, Session


def test_four_releases_do_not_fit_where_one_does(tmp_path: Path) -> None:
    """Variables that are not in alphabetical order: profiles are added by name, also in a ledger that was reopened."""
    for belief, queries in (
        (TABLE, ["count:1 over z"] * 4),
        (WARD, ["count:yes over flu", "count:high over fever"] * 2),
    ):
        file = tmp_path / f"{len(belief.variables)}.db"
        Ledger.create(str(file), belief=belief, budget=1.0).close()
        rows = [{name: states[0] for name, states in belief.variables.items()}]
        made = 0
        for query in queries:
            session = Session(rows, belief=belief, ledger=str(file))
            try:
                session.release(query, epsilon=1.0, mechanism="group", anyway=True)
                made += 1
            except BudgetError:
                continue
            finally:
                session.ledger.close()
        assert made == 1
        assert Ledger(str(file)).verify() == []
        assert run("ledger", "verify", file).returncode == 0
