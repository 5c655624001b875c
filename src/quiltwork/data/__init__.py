"""Any table or file → counts per subject, on the engine that holds the data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.data.reading import Reading
from quiltwork.data.series import Countable, HeldSeries, Part, Series, Shape
from quiltwork.data.times import Window
from quiltwork.data.values import codes_of, names_in
from quiltwork.types import Codes, Segment

if TYPE_CHECKING:
    from quiltwork.data.measured import Measurements
    from quiltwork.data.read import read_measurements, read_series
    from quiltwork.data.stored import StoredSeries

# needed only where tables are read: loaded when first asked for
_LATER = {
    "Measurements": "quiltwork.data.measured",
    "read_measurements": "quiltwork.data.read",
    "read_series": "quiltwork.data.read",
    "StoredSeries": "quiltwork.data.stored",
}

__all__ = [
    "Codes",
    "Countable",
    "HeldSeries",
    "Measurements",
    "Part",
    "Reading",
    "Segment",
    "Series",
    "Shape",
    "StoredSeries",
    "Window",
    "codes_of",
    "names_in",
    "read_measurements",
    "read_series",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'quiltwork.data' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
