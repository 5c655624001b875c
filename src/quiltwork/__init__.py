"""quiltwork: private releases from correlated data.

What may an adversary believe?   MarkovChain, ChainSet, IntervalChain, MixingClass, HiddenChain, OrderChain,
                                 CycleChain, DynamicNetwork, GaussianBelief, Belief
                                 BayesianNetwork, NetworkSet, JointTable, AnyMixture, load_belief, save_belief
What is secret?                  Secrets
What does public data say?       fit_chain, Fit, fit_gaussian, GaussianFit
What if the belief is wrong?     compare, Comparison
What is asked?                   Count, Share, Histogram, Frequencies, Sum, Mean, Transitions, Stays, StayLength,
                                 StayLengths, Quantile, Top, ShareDifference, Custom, Query, parse_query
                                 for records also Over, Tally, Matching; several questions in one release: Workload
                                 for real values also Trend, ShareAbove, Difference, WeightedSum, Lipschitz
Does a belief fit the data?      check_belief, BeliefCheck, GaussianCheck
What is the data?                Series, read_series, Records, read_records, Measurements, read_measurements
How much noise, and why?         calibrate, plan, Calibration, Plan, Certificate
What about ordinary DP?          entry_guarantee, entry_epsilon, EntryGuarantee
What is the total privacy loss?  Accountant, Composed, ReleaseRecord
Is it true?                      audit, Audit, Noisy
What if somebody knows values?   bayesian_leakage, Leakage
What may be published?           release, Release
What keeps a budget?             Session, Ledger
What went wrong?                 QuiltworkError, InputError, BudgetError, NotCoveredError
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.auditor import Audit, Leakage, Noisy, audit
from quiltwork.beliefs import (
    AnyMixture,
    BayesianNetwork,
    Belief,
    ChainSet,
    CycleChain,
    DynamicNetwork,
    GaussianBelief,
    HiddenChain,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    NetworkSet,
    OrderChain,
    Secrets,
    load_belief,
    save_belief,
)
from quiltwork.calibration.calibrate import calibrate
from quiltwork.calibration.forks import working
from quiltwork.calibration.plan import Plan, plan
from quiltwork.calibration.record import Calibration
from quiltwork.certificate import Certificate
from quiltwork.data import Series
from quiltwork.data.records import Records, read_records
from quiltwork.errors import BudgetError, InputError, NotCoveredError, QuiltworkError
from quiltwork.queries import (
    Count,
    Custom,
    Difference,
    Frequencies,
    Histogram,
    Lipschitz,
    Matching,
    Mean,
    Over,
    Quantile,
    Query,
    Share,
    ShareAbove,
    ShareDifference,
    StayLength,
    StayLengths,
    Stays,
    Sum,
    Tally,
    Top,
    Transitions,
    Trend,
    WeightedSum,
    Workload,
    parse_query,
)
from quiltwork.releases.pipeline import release
from quiltwork.releases.result import Release

if TYPE_CHECKING:
    from quiltwork.accounting.accountant import Accountant, Composed
    from quiltwork.accounting.compare import Comparison, compare
    from quiltwork.accounting.leakage import bayesian_leakage
    from quiltwork.accounting.record import ReleaseRecord
    from quiltwork.calibration.ordinary_dp import EntryGuarantee, entry_epsilon, entry_guarantee
    from quiltwork.data import Measurements, read_measurements, read_series
    from quiltwork.fitting import Fit, fit_chain
    from quiltwork.fitting.gaussian import GaussianFit, fit_gaussian
    from quiltwork.fitting.gaussian_check import GaussianCheck
    from quiltwork.fitting.outcome import BeliefCheck
    from quiltwork.ledger import Ledger
    from quiltwork.releases.checking import check_belief
    from quiltwork.session import Session

__version__ = "0.1.0"

# these need compiled code or tables, which are slow to import: loaded when first asked for
_LATER = {
    "Accountant": "quiltwork.accounting.accountant",
    "BeliefCheck": "quiltwork.fitting.outcome",
    "Comparison": "quiltwork.accounting.compare",
    "Composed": "quiltwork.accounting.accountant",
    "ReleaseRecord": "quiltwork.accounting.record",
    "EntryGuarantee": "quiltwork.calibration.ordinary_dp",
    "Fit": "quiltwork.fitting.chain",
    "GaussianCheck": "quiltwork.fitting.gaussian_check",
    "GaussianFit": "quiltwork.fitting.gaussian",
    "Ledger": "quiltwork.ledger",
    "Session": "quiltwork.session",
    "bayesian_leakage": "quiltwork.accounting.leakage",
    "check_belief": "quiltwork.releases.checking",
    "compare": "quiltwork.accounting.compare",
    "entry_epsilon": "quiltwork.calibration.ordinary_dp",
    "entry_guarantee": "quiltwork.calibration.ordinary_dp",
    "fit_chain": "quiltwork.fitting.chain",
    "fit_gaussian": "quiltwork.fitting.gaussian",
    "Measurements": "quiltwork.data.measured",
    "read_measurements": "quiltwork.data.read",
    "read_series": "quiltwork.data.read",
}

__all__ = [
    "Accountant",
    "AnyMixture",
    "Audit",
    "BayesianNetwork",
    "Belief",
    "BeliefCheck",
    "BudgetError",
    "Calibration",
    "Certificate",
    "ChainSet",
    "Comparison",
    "Composed",
    "Count",
    "Custom",
    "CycleChain",
    "Difference",
    "DynamicNetwork",
    "EntryGuarantee",
    "Fit",
    "Frequencies",
    "GaussianBelief",
    "GaussianCheck",
    "GaussianFit",
    "HiddenChain",
    "Histogram",
    "InputError",
    "IntervalChain",
    "JointTable",
    "Leakage",
    "Ledger",
    "Lipschitz",
    "MarkovChain",
    "Matching",
    "Mean",
    "Measurements",
    "MixingClass",
    "NetworkSet",
    "Noisy",
    "NotCoveredError",
    "OrderChain",
    "Over",
    "Plan",
    "Quantile",
    "Query",
    "QuiltworkError",
    "Records",
    "Release",
    "ReleaseRecord",
    "Secrets",
    "Series",
    "Session",
    "Share",
    "ShareAbove",
    "ShareDifference",
    "StayLength",
    "StayLengths",
    "Stays",
    "Sum",
    "Tally",
    "Top",
    "Transitions",
    "Trend",
    "WeightedSum",
    "Workload",
    "__version__",
    "audit",
    "bayesian_leakage",
    "calibrate",
    "check_belief",
    "compare",
    "entry_epsilon",
    "entry_guarantee",
    "fit_chain",
    "fit_gaussian",
    "load_belief",
    "parse_query",
    "plan",
    "read_measurements",
    "read_records",
    "read_series",
    "release",
    "save_belief",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'quiltwork' has no attribute {name!r}")
    with working():
        found = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
