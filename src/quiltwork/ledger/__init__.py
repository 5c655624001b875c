"""What was spent, durably: one interface; SQLite by default, PostgreSQL for teams."""

from quiltwork.ledger.book import Ledger
from quiltwork.ledger.checks import seal_of, verify_export
from quiltwork.ledger.rows import Outcome, Row, read_export
from quiltwork.ledger.seal import new_key, read_key
from quiltwork.ledger.terms import Reservation, Statement, Terms

__all__ = [
    "Ledger",
    "Outcome",
    "Reservation",
    "Row",
    "Statement",
    "Terms",
    "new_key",
    "read_export",
    "read_key",
    "seal_of",
    "verify_export",
]
