"""Whether rows are what was written, and add up to what they say."""

from collections.abc import Sequence

from quiltwork.composition.kept import Bounds, Kept
from quiltwork.errors import InputError
from quiltwork.ledger.rows import Outcome, Row, spend_of
from quiltwork.ledger.terms import Terms


def verify_rows(rows: Sequence[Row]) -> list[str]:
    """What is wrong with rows that should follow one another; stops at the first broken one."""
    last: Row | None = None
    for row in rows:
        problem = row.broken(last)
        if problem is None and (row.kind == "opened") != (row.number == 1):
            problem = f"row {row.number} is of another kind than it may be"
        if problem is not None:
            return [problem]
        last = row
    return [] if rows else ["there are no rows"]


def verify_export(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> list[str]:
    """What is wrong with an exported ledger: hashes, sums, and what was said to be spent."""
    problems = verify_rows(rows)
    if problems:
        return problems
    hashes = {row.number: row.hash for row in rows if row.kind == "reserved"}
    for one in outcomes:
        if one.number not in hashes or one.hash != Outcome.of(one.number, hashes[one.number], one.time).hash:
            return [f"the outcome of row {one.number} was changed, or is that of another row"]
    try:
        terms = Terms.from_dict(rows[0].content)
        kept = Kept.nothing(terms.belief)
        for row in rows:
            if row.kind == "reserved":
                kept = kept.plus(spend_of(row.content), terms.belief)
                if kept.digest != row.content.get("kept"):
                    return [f"row {row.number} does not add up"]
        if Bounds(terms.belief, terms.promise).of(kept).epsilon > terms.budget * (1 + 1e-9):
            return ["more was released than the budget allows"]
    except InputError as problem:
        return [str(problem)]
    return []
