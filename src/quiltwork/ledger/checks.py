"""Whether rows are what was written, and add up to what they say."""

import base64
from collections.abc import Sequence

from quiltwork.accounting.accountant import Accountant
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.accounting.total import Total
from quiltwork.beliefs import Secrets
from quiltwork.errors import InputError, LedgerError, NotCoveredError
from quiltwork.ledger.rows import WITHOUT_KEY, Outcome, Row, record_of
from quiltwork.ledger.seal import Seal, key_of_environment
from quiltwork.ledger.terms import Terms

SLACK = 1e-9  # bounds are rounded up by about that much: ten times a tenth fits
BY_PROFILE = ("curve", "group")  # mechanisms whose promise holds for any share of their profile


def verify_rows(rows: Sequence[Row], seal: Seal = WITHOUT_KEY) -> list[str]:
    """What is wrong with rows that should follow one another; stops at the first broken one.

    Rows before one that accepts what is broken were looked at by somebody: they are not checked again.
    """
    last: Row | None = None
    begin = accepted(rows)
    if begin and rows[begin].content.get("before") != as_they_are(rows[:begin], seal):
        return ["a row before those that were accepted was changed since"]
    for n, row in enumerate(rows[begin:], begin):
        if n == begin > 0:
            last = rows[n - 1]
        problem = row.broken(last, seal)
        if problem is None and (row.kind == "opened") != (row.number == 1):
            problem = f"row {row.number} is of another kind than it may be"
        if problem is not None:
            return [problem]
        last = row
    return [] if rows else ["there are no rows"]


def seal_of(rows: Sequence[Row], key: bytes | None) -> Seal:
    """What exported rows are tied by: their first row says whether there is a key."""
    wanted = rows[0].content.get("key") if rows else None
    if wanted is None and (key or key_of_environment()) is not None:
        raise LedgerError(
            "the exported ledger was made without a key",
            got="one",
            fix="Leave the key out, if this is the right export",
        )
    if wanted is None:
        return WITHOUT_KEY
    seal = Seal(key or key_of_environment())
    if seal.key is None:
        raise LedgerError(
            "the exported ledger is sealed with a key",
            got="none",
            why="without it rows cannot be checked",
            fix="Pass the key file, or set QUILTWORK_LEDGER_KEY",
        )
    if seal.name != wanted:
        raise LedgerError("the exported ledger is sealed with another key", got=f"key {seal.name}, not {wanted}")
    return seal


def as_they_are(rows: Sequence[Row], seal: Seal) -> str:
    """The seal over rows as they are, whole or broken: what was accepted must not change any further."""
    return seal.of(
        "\n".join(f"{row.number} {row.kind} {row.time} {row.text} {row.previous} {row.hash}" for row in rows)
    )


def accepted(rows: Sequence[Row]) -> int:
    """Where the last row is that accepts what is broken before it; 0 if there is none."""
    return next((n for n in range(len(rows) - 1, 0, -1) if rows[n].kind == "accepted"), 0)


def verify_export(rows: Sequence[Row], outcomes: Sequence[Outcome], seal: Seal = WITHOUT_KEY) -> list[str]:
    """What is wrong with an exported ledger: hashes, sums, and what was said to be spent."""
    problems = verify_rows(rows, seal)
    if problems:
        return problems
    looked_at = rows[accepted(rows)].number if accepted(rows) else 0
    hashes = {row.number: row.hash for row in rows if row.kind == "reserved"}
    for outcome in outcomes:
        known = hashes.get(outcome.number)
        true = known is not None and outcome == Outcome.of(outcome.number, known, outcome.time, seal=seal)
        if not true and outcome.number > looked_at:
            return [f"the outcome of row {outcome.number} was changed, or is that of another row"]
    try:
        terms = Terms.from_dict(rows[0].content)
        accountant = terms.accountant()
        total, problem = added_up(rows, accountant)
        if problem is None and accountant.told_by(total, enough=terms.budget).epsilon > terms.budget * (1 + SLACK):
            problem = "more was released than the budget allows"
    except (InputError, NotCoveredError) as refusal:
        problem = str(refusal)
    return [] if problem is None else [problem]


def added_up(rows: Sequence[Row], accountant: Accountant) -> tuple[Total, str | None]:
    """The total of all rows, and which of them says another than it is.

    Where broken rows were accepted, it begins with the total that was kept then.
    """
    begin = accepted(rows)
    if begin:
        total = Total.from_bytes(base64.b64decode(str(rows[begin].content.get("total"))))
        rows = rows[begin:]
    else:
        total = accountant.nothing()
    for row in rows:
        if row.kind == "reserved":
            total = accountant.plus(total, record_of(row.content))
        if row.kind != "opened" and total.digest != row.content.get("kept"):
            return total, f"row {row.number} does not add up"
    return total, None


def costs_what_it_asks(record: ReleaseRecord, counted: Secrets) -> bool:
    """Whether more noise makes a release cost no more than its ε (Statement 85): it must be about these secrets."""
    return record.mechanism in BY_PROFILE and record.secrets == counted
