"""Ledgers that an earlier version wrote, and variables that are not in alphabetical order."""

import sqlite3
from pathlib import Path

import pytest
from examples import LAZY, TABLE, WARD
from shell import answer, run

from quiltwork import BudgetError, Ledger, MarkovChain, ReleaseRecord, Session
from quiltwork.errors import LedgerError
from quiltwork.ledger import Row
from quiltwork.ledger.book import _SEEN_BY_THIS_PROCESS


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
                session.release(query, epsilon=1.0, mechanism="group")
                made += 1
            except BudgetError:
                continue
            finally:
                session.ledger.close()
        assert made == 1
        assert Ledger(str(file)).verify() == []
        assert run("ledger", "verify", file).returncode == 0


def as_version_1(path: Path) -> None:
    """Rewrite a ledger as the first version had it: profiles in rows, no records, the first table of migrations."""
    import base64
    import zlib

    ledger = Ledger(str(path))
    rows, _ = ledger.rows()
    belief = ledger.terms.belief
    ledger.close()
    old: list[Row] = []
    for row in rows:
        content = {key: value for key, value in row.content.items() if key != "outcomes"}
        if row.kind == "opened" and content["belief"]["kind"] in ("joint", "network"):
            states = {entry["name"]: entry["states"] for entry in content["belief"]["variables"]}
            content["belief"] = content["belief"] | {"variables": states}
        if row.kind == "reserved":
            record = ReleaseRecord.from_dict(content.pop("record"))
            matrices = record.profile(belief)
            assert matrices is not None
            assert record.asked is not None
            packed = [
                {
                    "states": len(matrix),
                    "largest": float(matrix.max()),
                    "entries": base64.b64encode(zlib.compress(matrix.astype("<f8").tobytes())).decode(),
                }
                for matrix in matrices
            ]
            content |= {
                "query": record.asked.text,
                "noise_scale": record.noise_scale,
                "theorem": record.theorem,
                "guarantee": record.guarantee,
                "mechanism": record.mechanism,
                "epsilon": record.epsilon,
                "profile": packed,
                "length": record.length if record.placed else None,
                "segment": None if record.segment is None or not record.placed else list(record.segment),
                "started": record.placed,
                "opened": old[0].hash,
            }
        old.append(Row.after(old[-1] if old else None, row.kind, row.time, content))
    connection = sqlite3.connect(path)
    _SEEN_BY_THIS_PROCESS.clear()  # what follows never happened in one process
    connection.execute("DELETE FROM quiltwork_migrations WHERE version > 1")
    connection.execute("ALTER TABLE quiltwork_kept DROP COLUMN outcomes")
    connection.execute("DELETE FROM quiltwork_rows")
    connection.execute("DELETE FROM quiltwork_outcomes")
    for row in old:
        connection.execute(
            "INSERT INTO quiltwork_rows (number, kind, time, content, previous, hash) VALUES (?, ?, ?, ?, ?, ?)",
            (row.number, row.kind, row.time, row.text, row.previous, row.hash),
        )
    connection.execute("UPDATE quiltwork_kept SET number = ?, hash = ?, sum = x'00'", old[-1].head)
    connection.commit()
    connection.close()


def test_a_ledger_of_the_first_version_is_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(["0", "1"] * 20, belief=LAZY, budget=3.0, ledger=path)
    session.count("1", epsilon=0.5, segment=(1, 10))
    session.histogram(epsilon=0.3, segment=(15, 40))
    session.count("0", epsilon=0.2, mechanism="quilt-exact")
    spent = session.spent()
    session.ledger.close()
    as_version_1(path)
    ledger = Ledger(str(path))
    assert ledger.verify() == []
    assert ledger.spent() > spent  # segments of different readings may be about the same moments
    now = ledger.statement()
    assert [one["query"] for one in now.releases()] == ["count:1", "histogram", "count:0"]
    assert now.rows[-1].kind == "migrated"
    assert now.reading is None
    ledger.close()
    file = tmp_path / "ledger.jsonl"
    answer("ledger", "export", path, "--out", file)
    assert answer("ledger", "verify", file)["rows"] == 5
    again = Session(["0", "1"] * 20, belief=LAZY, ledger=path)
    again.count("1", epsilon=0.1, segment=(12, 13))
    assert again.spent() > spent  # how the earlier ones were read is not known: they may be about the same moments
    assert again.ledger.verify() == []


def test_segments_of_unknown_readings_are_not_disjoint(tmp_path: Path) -> None:
    """Values 6 to 10 of all, and 3 to 5 of every second one: the first version called that 1.0, the truth is 2.0."""
    path = tmp_path / "ledger.db"
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    session = Session(["0", "1"] * 5, belief=coin, budget=5.0, ledger=path)
    for segment in ((6, 10), (3, 5)):
        session.count("1", epsilon=1.0, segment=segment)
    session.ledger.close()
    as_version_1(path)
    again = Session(["0", "1"] * 5, belief=coin, ledger=path)
    assert again.spent() == pytest.approx(2.0)
    again.count("1", epsilon=1.0)
    assert again.spent() == pytest.approx(3.0)
    assert again.ledger.verify() == []


def test_one_segment_of_an_unknown_reading_stays_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(["0", "1"] * 20, belief=LAZY, budget=3.0, ledger=path)
    for _ in range(2):
        session.count("1", epsilon=0.5, segment=(1, 10))
    spent = session.spent()
    session.ledger.close()
    as_version_1(path)
    assert Ledger(str(path)).spent() == pytest.approx(spent, rel=1e-6)


def test_a_ledger_about_records_of_the_first_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session([{"flu": "no", "fever": "none"}], belief=WARD, budget=3.0, ledger=path)
    session.release("count:yes over flu", epsilon=0.5)
    session.ledger.close()
    as_version_1(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="did not write down the order of variables"):
        Ledger(str(path))
    assert "order of variables" in run("ledger", "show", path, code=2).stderr
    assert path.read_bytes() == before


def test_a_broken_ledger_is_not_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(["0", "1"] * 20, belief=LAZY, budget=3.0, ledger=path)
    session.count("1", epsilon=0.5)
    session.count("1", epsilon=0.5)
    session.ledger.close()
    as_version_1(path)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM quiltwork_rows WHERE number = 3")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="broken"):
        Ledger(str(path))
