"""Any table or file → counts per subject, on the engine that holds the data."""

from quiltwork.later import loaded_later

__getattr__, __dir__, __all__ = loaded_later(__name__, __file__)
