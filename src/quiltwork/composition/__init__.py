"""What several releases tell together: one class for each theorem, and an accountant that picks."""

from quiltwork.composition.accountant import Accountant, Composed, Finding
from quiltwork.composition.records import ReleaseRecord, load_releases
from quiltwork.composition.total import Total

__all__ = ["Accountant", "Composed", "Finding", "ReleaseRecord", "Total", "load_releases"]
