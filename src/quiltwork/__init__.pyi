"""The public names and where each is, for type checkers, for editors, and for the package when a name is asked for."""

from quiltwork.accounting.accountant import Accountant as Accountant, Composed as Composed
from quiltwork.accounting.compare import Comparison as Comparison, compare as compare
from quiltwork.accounting.leakage import bayesian_leakage as bayesian_leakage
from quiltwork.accounting.record import ReleaseRecord as ReleaseRecord
from quiltwork.auditor import Audit as Audit, Leakage as Leakage, Noisy as Noisy, audit as audit
from quiltwork.beliefs import (
    AnyMixture as AnyMixture,
    BayesianNetwork as BayesianNetwork,
    Belief as Belief,
    ChainSet as ChainSet,
    CycleChain as CycleChain,
    DynamicNetwork as DynamicNetwork,
    GaussianBelief as GaussianBelief,
    HiddenChain as HiddenChain,
    IntervalChain as IntervalChain,
    JointTable as JointTable,
    MarkovChain as MarkovChain,
    MixingClass as MixingClass,
    NetworkSet as NetworkSet,
    OrderChain as OrderChain,
    Secrets as Secrets,
    load_belief as load_belief,
    save_belief as save_belief,
)
from quiltwork.calibration.calibrate import calibrate as calibrate
from quiltwork.calibration.ordinary_dp import (
    EntryGuarantee as EntryGuarantee,
    entry_epsilon as entry_epsilon,
    entry_guarantee as entry_guarantee,
)
from quiltwork.calibration.plan import Plan as Plan, plan as plan
from quiltwork.calibration.record import Calibration as Calibration
from quiltwork.certificate import Certificate as Certificate
from quiltwork.data import Series as Series
from quiltwork.data.measured import Measurements as Measurements
from quiltwork.data.read import read_measurements as read_measurements, read_series as read_series
from quiltwork.data.records import Records as Records, read_records as read_records
from quiltwork.errors import (
    BudgetError as BudgetError,
    InputError as InputError,
    NotCoveredError as NotCoveredError,
    QuiltworkError as QuiltworkError,
)
from quiltwork.fitting.belief import fit_belief as fit_belief
from quiltwork.fitting.chain import Fit as Fit, fit_chain as fit_chain
from quiltwork.fitting.gaussian import GaussianFit as GaussianFit, fit_gaussian as fit_gaussian
from quiltwork.fitting.gaussian_check import GaussianCheck as GaussianCheck
from quiltwork.fitting.outcome import BeliefCheck as BeliefCheck
from quiltwork.ledger import Ledger as Ledger
from quiltwork.question import (
    Count as Count,
    Custom as Custom,
    Difference as Difference,
    Frequencies as Frequencies,
    Histogram as Histogram,
    Lipschitz as Lipschitz,
    Matching as Matching,
    Mean as Mean,
    Over as Over,
    Quantile as Quantile,
    Query as Query,
    Share as Share,
    ShareAbove as ShareAbove,
    ShareDifference as ShareDifference,
    StayLength as StayLength,
    StayLengths as StayLengths,
    Stays as Stays,
    Sum as Sum,
    Tally as Tally,
    Top as Top,
    Transitions as Transitions,
    Trend as Trend,
    WeightedSum as WeightedSum,
    Workload as Workload,
    parse_query as parse_query,
)
from quiltwork.releases.checking import check_belief as check_belief
from quiltwork.releases.pipeline import release as release
from quiltwork.releases.result import Release as Release
from quiltwork.session import Session as Session

__all__: list[str]
__version__: str
