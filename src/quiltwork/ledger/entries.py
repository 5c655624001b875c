"""What is in the tables of a ledger: rows, outcomes and the state kept of them; and the statements for it."""

import json
from dataclasses import dataclass, replace
from typing import Any

from quiltwork.accounting.total import Total
from quiltwork.errors import LedgerError
from quiltwork.ledger.rows import Outcome, Row, Tally, decoding, sealed
from quiltwork.ledger.seal import Seal
from quiltwork.ledger.store import Transaction

INSERT_ROW = (
    "INSERT INTO quiltwork_rows (number, kind, time, content, previous, hash) "
    "VALUES (:number, :kind, :time, :content, :previous, :hash)"
)
_ROWS = "SELECT number, kind, time, content, previous, hash FROM quiltwork_rows ORDER BY number"
FIRST_ROW = "SELECT number, kind, time, content, previous, hash FROM quiltwork_rows WHERE number = 1"
HEAD = "SELECT number, hash FROM quiltwork_kept WHERE id = 1"
HEAD_AND_TALLY = "SELECT number, hash, outcomes FROM quiltwork_kept WHERE id = 1"
KEPT = (
    "SELECT k.sum, k.ceiling, k.epsilon, k.rule, r.number, r.kind, r.time, r.content, r.previous, r.hash, "
    "(SELECT hash FROM quiltwork_rows WHERE number = :seen) "
    "FROM quiltwork_kept k LEFT JOIN quiltwork_rows r ON r.number = k.number WHERE k.id = 1"
)
INSERT_KEPT = (
    "INSERT INTO quiltwork_kept (id, number, hash, sum, ceiling, epsilon, rule, outcomes) "
    "VALUES (1, :number, :hash, :sum, :ceiling, :epsilon, :rule, :outcomes)"
)
INSERT_OUTCOME = "INSERT INTO quiltwork_outcomes (number, time, hash) VALUES (:number, :time, :hash)"
_OUTCOMES = "SELECT number, time, hash FROM quiltwork_outcomes ORDER BY number"
TALLY = "SELECT outcomes FROM quiltwork_kept WHERE id = 1"
UPDATE_TALLY = "UPDATE quiltwork_kept SET outcomes = :outcomes WHERE id = 1"
UPDATE_KEPT = (
    "UPDATE quiltwork_kept SET number = :number, hash = :hash, sum = :sum, ceiling = :ceiling, epsilon = :epsilon, "
    "rule = :rule WHERE id = 1"
)
READ_BACK = (
    "SELECT r.kind, r.time, r.content, r.previous, r.hash, k.number, k.hash, k.epsilon, k.rule, k.sum, k.ceiling "
    "FROM quiltwork_rows r CROSS JOIN quiltwork_kept k WHERE r.number = :number AND k.id = 1"
)
READ_OUTCOME_BACK = (
    "SELECT o.time, o.hash, k.outcomes FROM quiltwork_outcomes o CROSS JOIN quiltwork_kept k "
    "WHERE o.number = :number AND k.id = 1"
)
STILL_THERE = (
    "SELECT count(*) FROM quiltwork_rows r CROSS JOIN quiltwork_kept k "
    "WHERE r.number = :number AND r.hash = :hash AND k.id = 1 AND k.number >= :number"
)

_ROWS_FROM = (
    "SELECT number, kind, time, content, previous, hash FROM quiltwork_rows WHERE number >= :begun ORDER BY number"
)
ACCEPTED = "broken rows were accepted"
MOST_LOOKED_THROUGH = 5000
"""Of the last rows, so that one more release does not cost more after many; ``verify`` looks at all of them."""


@dataclass(frozen=True)
class State:
    """What is kept of all rows: their total, and ε of a ceiling that it is within."""

    total: Total
    ceiling: Total
    epsilon: float
    rule: str

    def content(self, opened: str) -> dict[str, Any]:
        """As the row says it that wrote it."""
        return {
            "kept": self.total.digest,
            "ceiling": self.ceiling.digest,
            "spent": self.epsilon,
            "rule": self.rule,
            "opened": opened,
        }

    def columns(self, row: Row) -> dict[str, Any]:
        """As it is written beside the last row."""
        return {
            "number": row.number,
            "hash": row.hash,
            "sum": self.total.to_bytes(),
            "ceiling": self.ceiling.to_bytes(),
            "epsilon": self.epsilon,
            "rule": self.rule,
        }


def begin_rows(work: Transaction, row: Row, state: State, tally: Tally, seal: Seal) -> None:
    """Write the first row, and the state that is kept of it."""
    work.change(INSERT_ROW, **row.columns())
    work.change(INSERT_KEPT, **state.columns(row), outcomes=tally.text(seal))
    _check_written(work, row, state)


def append_row(work: Transaction, row: Row, state: State) -> None:
    """Write one more row, and the state that is kept from then on."""
    work.change_both(INSERT_ROW, UPDATE_KEPT, **row.columns() | state.columns(row))
    _check_written(work, row, state)


def append_outcome(work: Transaction, outcome: Outcome, tally: Tally, seal: Seal) -> None:
    """Write that a release was made, and how many were."""
    columns = {"number": outcome.number, "time": outcome.time, "hash": outcome.hash}
    work.change_both(INSERT_OUTCOME, UPDATE_TALLY, **columns, outcomes=tally.text(seal))
    if work.run(READ_OUTCOME_BACK, number=outcome.number) != [(outcome.time, outcome.hash, tally.text(seal))]:
        raise not_kept()


def _check_written(work: Transaction, row: Row, state: State) -> None:
    """Read back what was written: a trigger may have changed it, or taken it away, after the database took it."""
    with decoding("what was written"):
        found = [
            (*texts, stored(total), stored(ceiling))
            for *texts, total, ceiling in work.run(READ_BACK, number=row.number)
        ]
    kept = (*row.head, state.epsilon, state.rule, state.total.to_bytes(), state.ceiling.to_bytes())
    if found != [(row.kind, row.time, row.text, row.previous, row.hash, *kept)]:
        raise not_kept()


def check_still_there(work: Transaction, number: int, digest: str) -> None:
    """A row must be there, and counted, after its transaction ended too: others may have gone on from it."""
    if work.value(STILL_THERE, number=number, hash=digest) != 1:
        raise not_kept()


def not_kept() -> LedgerError:
    """What was written is not there."""
    return LedgerError(
        "the database did not keep what was written",
        why="a trigger or rule took it back, or somebody changed it",
        fix="Nothing was released. Remove the trigger, then check the ledger: `quiltwork ledger verify`",
    )


def stored(column: Any) -> bytes:
    """The bytes of a column, as each driver has them; a number in their place is an error, not so many zeros."""
    return bytes(memoryview(column))


def rows_in(work: Transaction, statement: str = _ROWS) -> list[Row]:
    """The rows that a statement selects; all of them if it is left out."""
    return [row_of(*columns) for columns in work.run(statement)]


def row_of(number: int, kind: Any, time: str, content: str, previous: str, digest: str) -> Row:
    """A row from its columns; one whose text is not as it was written has no true hash."""
    with decoding("a row"):
        row = Row(int(number), str(kind), str(time), _loaded(content), str(previous), str(digest))  # type: ignore[arg-type]
        return row if row.text == content else replace(row, hash="not what was written")


def first_broken(work: Transaction, seal: Seal) -> str | None:
    """The first of the last rows that is not what was written; ACCEPTED if broken ones were accepted."""
    if work.value("SELECT count(*) FROM quiltwork_rows WHERE kind = 'accepted'"):
        return ACCEPTED
    last = int(work.value("SELECT max(number) FROM quiltwork_rows") or 0)
    expected, previous = max(1, last - MOST_LOOKED_THROUGH + 1), None
    for number, kind, time, content, linked, digest in work.run(_ROWS_FROM, begun=expected):
        if number != expected:
            return f"row {expected} is missing"
        if previous not in (None, linked):
            return f"row {number} does not follow row {number - 1} as it is"
        if digest != sealed(number, str(kind), str(time), str(linked), str(content), seal):
            return f"row {number} was changed"
        expected, previous = number + 1, digest
    return None


def outcomes_in(work: Transaction) -> list[Outcome]:
    """All outcomes."""
    with decoding("an outcome"):
        return [Outcome(int(n), str(time), f"{int(digest, 16):064x}") for n, time, digest in work.run(_OUTCOMES)]


def _loaded(content: str) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError as problem:
        raise LedgerError("a row of the ledger cannot be read", why="it was changed") from problem
    return found if isinstance(found, dict) else {}
