"""What is asked of the data: queries as they are said, and questions as they are computed."""

from quiltwork.question.binding import bind
from quiltwork.question.groups import ShareDifference
from quiltwork.question.limits import Limits
from quiltwork.question.numbers import Custom, Difference, Lipschitz, ShareAbove, Trend, WeightedSum
from quiltwork.question.query import Over, Query, parse_query, query_from_dict
from quiltwork.question.question import Numbers, Question
from quiltwork.question.table import (
    Count,
    Frequencies,
    Histogram,
    Matching,
    Mean,
    Quantile,
    Share,
    StayLength,
    StayLengths,
    Stays,
    Sum,
    Tally,
    Top,
    Transitions,
)
from quiltwork.question.workload import Asked, Questions, Said, Workload, as_said, said_in

__all__ = [
    "Asked",
    "Count",
    "Custom",
    "Difference",
    "Frequencies",
    "Histogram",
    "Limits",
    "Lipschitz",
    "Matching",
    "Mean",
    "Numbers",
    "Over",
    "Quantile",
    "Query",
    "Question",
    "Questions",
    "Said",
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
    "as_said",
    "bind",
    "parse_query",
    "query_from_dict",
    "said_in",
]
