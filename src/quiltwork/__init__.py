"""quiltwork: private releases from correlated data.

What may an adversary believe?   MarkovChain, ChainSet, IntervalChain, MixingClass, JointTable, Belief
                                 load_belief, save_belief
What is asked?                   Count, Histogram, Frequencies, Sum, Mean, Transitions, Custom, Query, parse_query
What is the data?                Series, read_series
How much noise, and why?         calibrate, plan, Calibration, Plan
Is it true?                      audit, Audit, Noisy
What may be published?           release, Release
What went wrong?                 QuiltworkError, InputError, NotCoveredError
"""

from quiltwork._version import __version__
from quiltwork.audit import Audit, Noisy, audit
from quiltwork.beliefs import (
    Belief,
    ChainSet,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    load_belief,
    save_belief,
)
from quiltwork.calibration import Calibration
from quiltwork.data import Series, read_series
from quiltwork.errors import InputError, NotCoveredError, QuiltworkError
from quiltwork.mechanisms import calibrate
from quiltwork.plan import Plan, plan
from quiltwork.queries import (
    Count,
    Custom,
    Frequencies,
    Histogram,
    Mean,
    Query,
    Sum,
    Transitions,
    parse_query,
)
from quiltwork.release import Release, release

__all__ = [
    "Audit",
    "Belief",
    "Calibration",
    "ChainSet",
    "Count",
    "Custom",
    "Frequencies",
    "Histogram",
    "InputError",
    "IntervalChain",
    "JointTable",
    "MarkovChain",
    "Mean",
    "MixingClass",
    "Noisy",
    "NotCoveredError",
    "Plan",
    "Query",
    "QuiltworkError",
    "Release",
    "Series",
    "Sum",
    "Transitions",
    "__version__",
    "audit",
    "calibrate",
    "load_belief",
    "parse_query",
    "plan",
    "read_series",
    "release",
    "save_belief",
]
