"""What is asked of the data."""

from quiltwork.queries.base import (
    ByVariable,
    Numbers,
    Query,
    divisor_under,
    labels_under,
    lipschitz_under,
    numbers_under,
    unit_under,
)
from quiltwork.queries.kinds import Count, Custom, Frequencies, Histogram, Mean, Sum, Transitions
from quiltwork.queries.parse import parse_query
from quiltwork.queries.variables import Over, Tally

__all__ = [
    "ByVariable",
    "Count",
    "Custom",
    "Frequencies",
    "Histogram",
    "Mean",
    "Numbers",
    "Over",
    "Query",
    "Sum",
    "Tally",
    "Transitions",
    "divisor_under",
    "labels_under",
    "lipschitz_under",
    "numbers_under",
    "parse_query",
    "unit_under",
]
