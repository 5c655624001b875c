"""Any table or file → counts per subject, on the engine that holds the data."""

from quiltwork.data.read import read_series
from quiltwork.data.series import Countable, HeldSeries, Part, Series, Shape
from quiltwork.data.stored import StoredSeries
from quiltwork.data.times import Window
from quiltwork.data.values import Codes, codes_of, names_in

__all__ = [
    "Codes",
    "Countable",
    "HeldSeries",
    "Part",
    "Series",
    "Shape",
    "StoredSeries",
    "Window",
    "codes_of",
    "names_in",
    "read_series",
]
