"""The exact loss of a release: a second, independent way to every privacy number.

Imports nothing from ``mechanisms`` or ``influence``: an error there cannot hide here.
"""

from quiltwork.audit.auditor import Audit, Noisy, audit, audit_mechanism
from quiltwork.audit.calibrate import smallest_scale
from quiltwork.audit.leakage import Leakage, leakage
from quiltwork.audit.loss import exact_loss

__all__ = ["Audit", "Leakage", "Noisy", "audit", "audit_mechanism", "exact_loss", "leakage", "smallest_scale"]
