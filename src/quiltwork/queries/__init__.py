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
from quiltwork.queries.kinds import Count, Custom, Declared, Frequencies, Histogram, Mean, Sum, Transitions
from quiltwork.queries.parse import parse_query, query_from_dict
from quiltwork.queries.variables import Over, Tally

__all__ = [
    "ByVariable",
    "Count",
    "Custom",
    "Declared",
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
    "query_from_dict",
    "unit_under",
]
