"""What several releases tell together: one class for each theorem, and an accountant that picks (theory section 6)."""

from quiltwork.composition.accountant import Accountant, Composed, Finding
from quiltwork.composition.records import ReleaseRecord, load_releases

__all__ = ["Accountant", "Composed", "Finding", "ReleaseRecord", "load_releases"]
