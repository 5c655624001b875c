"""Databases that do not keep what is written: triggers, rules, views and policies, seen before a value is shown."""

from pathlib import Path

import pytest
from shell import run
from system import behind_its_back

from quiltwork import BudgetError, Ledger, MarkovChain, Session
from quiltwork.errors import LedgerError

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
KEY = b"a key that nobody knows"
COLUMNS = "number, hash, sum, ceiling, epsilon, rule, outcomes"
BACK = f"UPDATE quiltwork_kept SET ({COLUMNS}) = (SELECT {COLUMNS} FROM before)"  # noqa: S608
UNDO = f"DELETE FROM quiltwork_rows WHERE number > 1; DELETE FROM quiltwork_outcomes; {BACK};"  # noqa: S608
"""Everything as it was when the ledger was new."""


def undone(url: str, table: str, event: str, *, at_commit: bool = False) -> None:
    """A trigger that takes back all releases when a table is written to."""
    behind_its_back(url, f"CREATE TABLE before AS SELECT {COLUMNS} FROM quiltwork_kept")  # noqa: S608
    if url.startswith("sqlite"):
        behind_its_back(url, f"CREATE TRIGGER gone AFTER {event} ON {table} BEGIN {UNDO} END")
        return
    behind_its_back(
        url, f"CREATE FUNCTION undo() RETURNS trigger AS $$ BEGIN {UNDO} RETURN NULL; END $$ LANGUAGE plpgsql"
    )
    kind, when = ("CONSTRAINT TRIGGER", "DEFERRABLE INITIALLY DEFERRED") if at_commit else ("TRIGGER", "")
    nested = "WHEN (pg_trigger_depth() = 0)"
    behind_its_back(
        url, f"CREATE {kind} gone AFTER {event} ON {table} {when} FOR EACH ROW {nested} EXECUTE FUNCTION undo()"
    )


def kept(url: str, key: bytes | None) -> Session:
    Ledger.create(url, belief=COIN, budget=1.0, key=key).close()
    return Session(["0", "1"], belief=COIN, ledger=Ledger(url, key=key))


@pytest.mark.parametrize("key", [None, KEY], ids=["hashes", "a key"])
@pytest.mark.parametrize(
    ("table", "event"),
    [
        ("quiltwork_rows", "INSERT"),
        ("quiltwork_kept", "UPDATE OF number"),
        ("quiltwork_kept", "UPDATE OF outcomes"),
        ("quiltwork_outcomes", "INSERT"),
    ],
)
def test_a_trigger_cannot_take_a_release_back(table: str, event: str, key: bytes | None, url: str) -> None:
    """An open session shows no value whose row went away again; a new one does not open such a ledger.

    Where only the note that a release was made sets the trigger off, that note is taken back with all that it did.
    """
    own = kept(url, key)
    undone(url, table, event)
    shown = 0
    for _ in range(3):
        try:
            own.count("1", epsilon=0.9, anyway=True)
        except (LedgerError, BudgetError):
            continue
        shown += 1
    assert shown == len(own.ledger.rows()[0]) - 1 == (event == "UPDATE OF outcomes" or table == "quiltwork_outcomes")
    assert any("trigger" in problem for problem in own.ledger.verify())
    own.ledger.close()
    with pytest.raises(LedgerError, match=r"trigger.*gone"):
        Ledger(url, key=key)


@pytest.mark.parametrize("table", ["quiltwork_rows", "quiltwork_outcomes"])
def test_a_trigger_that_waits_for_the_commit_cannot_either(table: str, postgresql_url: str) -> None:
    own = kept(postgresql_url, None)
    undone(postgresql_url, table, "INSERT", at_commit=True)
    with pytest.raises(LedgerError, match="did not keep"):
        own.count("1", epsilon=0.9, anyway=True)
    own.ledger.close()


def test_a_row_that_a_trigger_changes_is_not_the_one_written(url: str) -> None:
    own = kept(url, None)
    change = "UPDATE quiltwork_rows SET time = 'x' WHERE number > 1;"
    if url.startswith("sqlite"):
        behind_its_back(url, f"CREATE TRIGGER changed AFTER INSERT ON quiltwork_rows BEGIN {change} END")
    else:
        behind_its_back(
            url,
            f"CREATE FUNCTION change() RETURNS trigger AS $$ BEGIN {change} RETURN NULL; END $$ LANGUAGE plpgsql; "
            "CREATE TRIGGER changed AFTER INSERT ON quiltwork_rows FOR EACH ROW EXECUTE FUNCTION change()",
        )
    with pytest.raises(LedgerError, match="did not keep"):
        own.count("1", epsilon=0.9, anyway=True)
    assert [row.number for row in own.ledger.rows()[0]] == [1]  # nothing was recorded, and nothing is spent
    own.ledger.close()


VIEW = "ALTER TABLE quiltwork_rows RENAME TO hidden; CREATE VIEW quiltwork_rows AS SELECT * FROM hidden"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (VIEW, "view"),
        ("CREATE UNIQUE INDEX odd ON quiltwork_kept (epsilon)", "index"),
        ("DROP TABLE quiltwork_outcomes", "lacks the table quiltwork_outcomes"),
        (
            "DROP TABLE quiltwork_outcomes; "
            "CREATE TABLE quiltwork_outcomes (number INTEGER PRIMARY KEY ON CONFLICT IGNORE, time, hash)",
            "another definition",
        ),
    ],
)
def test_what_stands_in_the_way_in_sqlite_is_refused(script: str, said: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    kept(url, None).ledger.close()
    behind_its_back(url, script)
    with pytest.raises(LedgerError, match=said):
        Ledger(url)
    assert said in run("ledger", "verify", url, code=2).stderr
    with pytest.raises(LedgerError, match=said):
        Ledger.create(url, belief=COIN, budget=1.0, exist_ok=True)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (VIEW, "view"),
        ("CREATE RULE gone AS ON INSERT TO quiltwork_outcomes DO ALSO DELETE FROM quiltwork_rows", "rule"),
        ("CREATE TABLE more () INHERITS (quiltwork_rows)", "inherit"),
        ("ALTER TABLE quiltwork_kept SET UNLOGGED", "unlogged"),
        ("DROP TABLE quiltwork_outcomes", "lacks the table quiltwork_outcomes"),
        (
            "CREATE TABLE other (number INTEGER PRIMARY KEY); INSERT INTO other SELECT number FROM quiltwork_rows; "
            "ALTER TABLE quiltwork_rows ADD FOREIGN KEY (number) REFERENCES other ON DELETE CASCADE",
            "trigger",
        ),
    ],
)
def test_what_stands_in_the_way_in_postgresql_is_refused(script: str, said: str, postgresql_url: str) -> None:
    kept(postgresql_url, None).ledger.close()
    behind_its_back(postgresql_url, script)
    with pytest.raises(LedgerError, match=said):
        Ledger(postgresql_url)


def test_policies_that_could_hide_rows_are_refused(postgresql_url: str) -> None:
    """For those whom they concern: the owner of the tables sees all rows."""
    kept(postgresql_url, None).ledger.close()
    behind_its_back(
        postgresql_url,
        "CREATE ROLE analyst LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO analyst",
    )
    analyst = postgresql_url.replace("postgres@", "analyst@")
    own = Session(["0", "1"], belief=COIN, ledger=analyst)
    own.count("1", epsilon=0.1, anyway=True)
    behind_its_back(
        postgresql_url,
        "ALTER TABLE quiltwork_rows ENABLE ROW LEVEL SECURITY; "
        "CREATE POLICY few ON quiltwork_rows TO analyst USING (number < 2) WITH CHECK (true)",
    )
    with pytest.raises(LedgerError, match="policy"):
        own.count("1", epsilon=0.1, anyway=True)
    with pytest.raises(LedgerError, match="policies"):
        Ledger(analyst)
    assert len(Ledger(postgresql_url).statement().releases()) == 1
    own.ledger.close()
    behind_its_back(postgresql_url, "DROP OWNED BY analyst; DROP ROLE analyst")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("DELETE FROM quiltwork_kept", "the kept sum is missing"),
        ("UPDATE quiltwork_kept SET id = 2", "the kept sum is missing"),
        ("DELETE FROM quiltwork_rows WHERE number = 1", "row 1 is missing"),
        ("DELETE FROM quiltwork_rows", "row 1 is missing"),
        ("DELETE FROM quiltwork_version", "lacks its version"),
    ],
)
def test_what_was_deleted_is_damage(script: str, said: str, url: str) -> None:
    own = kept(url, None)
    own.count("1", epsilon=0.1, anyway=True)
    own.ledger.close()
    behind_its_back(url, script)
    assert said in run("ledger", "verify", url, code=2).stderr
    for use in (
        lambda: Session(["0", "1"], belief=COIN, ledger=url).count("1", epsilon=0.1, anyway=True),
        lambda: Ledger(url).accept("no", {"who": "eve"}),
        lambda: Ledger(url).statement(),
        lambda: Ledger.create(url, belief=COIN, budget=1.0, exist_ok=True).spent(),
    ):
        with pytest.raises(LedgerError):
            use()
