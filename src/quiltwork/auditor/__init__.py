"""The exact loss of a release: a second way to every privacy number, independent of quilts and the curve.

Imports nothing from ``mechanisms`` or ``influence``: an error there cannot hide here.
"""

from quiltwork.auditor.adversaries import Leakage, leakage
from quiltwork.auditor.exact import audit, audit_mechanism, exact_delta
from quiltwork.auditor.loss import exact_loss
from quiltwork.auditor.noisy import Audit, DeltaAt, Noisy, Recorded
from quiltwork.auditor.smallest import smallest_scale

__all__ = [
    "Audit",
    "DeltaAt",
    "Leakage",
    "Noisy",
    "Recorded",
    "audit",
    "audit_mechanism",
    "exact_delta",
    "exact_loss",
    "leakage",
    "smallest_scale",
]
