"""How many random cases a property is tried on: few in every run, many in a thorough one (`make thorough`)."""

import os

EFFORT = float(os.environ.get("QUILTWORK_EFFORT", "1"))


def examples(count: int) -> int:
    """That many cases in every run, and more where there is time for them.

    >>> examples(20) >= 1
    True
    """
    return max(1, round(count * EFFORT))
