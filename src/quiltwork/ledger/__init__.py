"""What was spent, durably: one interface; SQLite by default, PostgreSQL for teams."""

from quiltwork.ledger.book import Ledger, Reservation, Statement, Terms, verify_export
from quiltwork.ledger.rows import Row, read_export

__all__ = ["Ledger", "Reservation", "Row", "Statement", "Terms", "read_export", "verify_export"]
