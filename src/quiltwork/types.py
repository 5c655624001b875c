"""Names of types that many modules share, each once."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]
"""States by number, -1 where a value is missing."""

Segment = tuple[int, int]
"""The first and the last position, from 1, both included."""

Progress = Callable[[float], None]
"""Called with the part of the work that is done, from 0 to 1."""

Guarantee = Literal["pufferfish", "bayesian"]
"""Against adversaries who know no values, or who know any other values."""

Start = Literal["stationary", "any", "given"]
"""Which law the first value of a series has."""

Gaps = Literal["dependent", "independent"]
"""Whether values before and after a gap may depend on each other."""
