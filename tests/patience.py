"""How long tests wait for what is to happen: long, for it only matters where something hangs."""

import time
from collections.abc import Callable

PATIENCE = 180.0  # seconds


def until(holds: Callable[[], object], *, pause: Callable[[float], object] = time.sleep) -> None:
    """Wait until something holds, and no longer.

    >>> until(lambda: True)
    """
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        pause(0.005)
