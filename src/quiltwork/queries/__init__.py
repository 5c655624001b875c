"""What is asked of the data."""

from quiltwork.queries.base import (
    Asked,
    Numbers,
    Query,
)
from quiltwork.queries.groups import ShareDifference
from quiltwork.queries.kinds import (
    Count,
    Custom,
    Declared,
    Frequencies,
    Histogram,
    Mean,
    Share,
    Sum,
    Transitions,
)
from quiltwork.queries.limits import Limits
from quiltwork.queries.measured import Difference, Lipschitz, Measured, ShareAbove, Trend, WeightedSum
from quiltwork.queries.parse import parse_query, query_from_dict
from quiltwork.queries.ranked import Quantile, Top
from quiltwork.queries.stays import StayLength, StayLengths, Stays
from quiltwork.queries.variables import Matching, Over, Tally
from quiltwork.queries.workload import Workload

__all__ = [
    "Asked",
    "Count",
    "Custom",
    "Declared",
    "Difference",
    "Frequencies",
    "Histogram",
    "Limits",
    "Lipschitz",
    "Matching",
    "Mean",
    "Measured",
    "Numbers",
    "Over",
    "Quantile",
    "Query",
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
    "parse_query",
    "query_from_dict",
]
