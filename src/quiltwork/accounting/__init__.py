"""What several releases tell together: one class for each theorem, and an accountant that picks."""

from quiltwork.accounting.accountant import Accountant, Composed, Finding
from quiltwork.accounting.record import ReleaseRecord, load_releases
from quiltwork.accounting.total import Total

__all__ = ["Accountant", "Composed", "Finding", "ReleaseRecord", "Total", "load_releases"]
