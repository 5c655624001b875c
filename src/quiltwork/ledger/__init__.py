"""What was spent, durably: one interface; SQLite by default, PostgreSQL for teams."""

from quiltwork.ledger.book import Ledger, Reservation, Statement, Terms, verify_export
from quiltwork.ledger.rows import Outcome, Row, read_export

__all__ = ["Ledger", "Outcome", "Reservation", "Row", "Statement", "Terms", "read_export", "verify_export"]
