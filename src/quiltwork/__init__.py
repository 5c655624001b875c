"""quiltwork: private releases from correlated data.

What may an adversary believe?   MarkovChain, ChainSet, IntervalChain, MixingClass, Belief
                                 BayesianNetwork, NetworkSet, JointTable, load_belief, save_belief
What is asked?                   Count, Histogram, Frequencies, Sum, Mean, Transitions, Custom, Query, parse_query
                                 of records also Over, Tally
What is the data?                Series, read_series, Records, read_records
How much noise, and why?         calibrate, plan, Calibration, Plan, Certificate
What about ordinary DP?          guarantee, entry_epsilon, EntryGuarantee
What do releases tell together?  Accountant, Composed, ReleaseRecord
Is it true?                      audit, Audit, Noisy
What if somebody knows values?   bayesian_leakage, Leakage
What may be published?           release, Release
What keeps a budget?             Session, Ledger
What went wrong?                 QuiltworkError, InputError, BudgetError, NotCoveredError
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork._version import __version__
from quiltwork.audit import Audit, Leakage, Noisy, audit
from quiltwork.beliefs import (
    BayesianNetwork,
    Belief,
    ChainSet,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    NetworkSet,
    load_belief,
    save_belief,
)
from quiltwork.calibration import Calibration
from quiltwork.certificate import Certificate
from quiltwork.data import Series
from quiltwork.errors import BudgetError, InputError, NotCoveredError, QuiltworkError
from quiltwork.mechanisms import calibrate
from quiltwork.plan import Plan, plan
from quiltwork.prepare import release
from quiltwork.queries import (
    Count,
    Custom,
    Frequencies,
    Histogram,
    Mean,
    Over,
    Query,
    Sum,
    Tally,
    Transitions,
    parse_query,
)
from quiltwork.records import Records, read_records
from quiltwork.release import Release

if TYPE_CHECKING:
    from quiltwork.composition import Accountant, Composed, ReleaseRecord
    from quiltwork.data import read_series
    from quiltwork.entry_level import EntryGuarantee, entry_epsilon, guarantee
    from quiltwork.leakage import bayesian_leakage
    from quiltwork.ledger import Ledger
    from quiltwork.session import Session

# these need compiled code or tables, which are slow to import: loaded when first asked for
_LATER = {
    "Accountant": "quiltwork.composition",
    "Composed": "quiltwork.composition",
    "ReleaseRecord": "quiltwork.composition",
    "EntryGuarantee": "quiltwork.entry_level",
    "Ledger": "quiltwork.ledger",
    "Session": "quiltwork.session",
    "bayesian_leakage": "quiltwork.leakage",
    "entry_epsilon": "quiltwork.entry_level",
    "guarantee": "quiltwork.entry_level",
    "read_series": "quiltwork.data.read",
}

__all__ = [
    "Accountant",
    "Audit",
    "BayesianNetwork",
    "Belief",
    "BudgetError",
    "Calibration",
    "Certificate",
    "ChainSet",
    "Composed",
    "Count",
    "Custom",
    "EntryGuarantee",
    "Frequencies",
    "Histogram",
    "InputError",
    "IntervalChain",
    "JointTable",
    "Leakage",
    "Ledger",
    "MarkovChain",
    "Mean",
    "MixingClass",
    "NetworkSet",
    "Noisy",
    "NotCoveredError",
    "Over",
    "Plan",
    "Query",
    "QuiltworkError",
    "Records",
    "Release",
    "ReleaseRecord",
    "Series",
    "Session",
    "Sum",
    "Tally",
    "Transitions",
    "__version__",
    "audit",
    "bayesian_leakage",
    "calibrate",
    "entry_epsilon",
    "guarantee",
    "load_belief",
    "parse_query",
    "plan",
    "read_records",
    "read_series",
    "release",
    "save_belief",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'quiltwork' has no attribute {name!r}")
    found = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found
