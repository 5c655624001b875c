"""The names of the package, and where each is."""

from quiltwork.data.measured import Measurements as Measurements
from quiltwork.data.read import read_measurements as read_measurements, read_series as read_series
from quiltwork.data.reading import Reading as Reading
from quiltwork.data.series import (
    Countable as Countable,
    HeldSeries as HeldSeries,
    Part as Part,
    Series as Series,
    Shape as Shape,
)
from quiltwork.data.stored import StoredSeries as StoredSeries
from quiltwork.data.times import Window as Window
from quiltwork.data.values import codes_of as codes_of, names_in as names_in
from quiltwork.types import Codes as Codes, Segment as Segment
