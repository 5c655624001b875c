"""What a release adds to what was told before: its profile, and where it holds."""

import base64
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Segment = tuple[int, int]


@dataclass(frozen=True)
class Spend:
    """One release as it is added: λ by pair of states (of a record: for each variable), and where it holds.

    ``length`` is the number of values of the longest series; None where gaps make times uncertain, so that the profile
    is taken to hold at every time of a series of any length. ``started`` says whether times count from the belief's
    own start.
    """

    mechanism: str
    epsilon: float
    profile: tuple[Floats, ...]
    length: int | None = None
    segment: Segment | None = None
    started: bool = True

    @cached_property
    def packed(self) -> list[dict[str, Any]]:
        """The profile as text: the size of each matrix, its largest entry to read, and all entries, compressed."""
        return [
            {
                "states": len(own),
                "largest": float(own.max(initial=0.0)),
                "entries": base64.b64encode(zlib.compress(own.astype("<f8").tobytes())).decode(),
            }
            for own in self.profile
        ]
