"""Intervals around a chain."""

import pytest

from quiltwork import InputError, IntervalChain


def test_interval_from_counts_covers_the_truth_and_the_unseen() -> None:
    bounds = IntervalChain.from_counts([[50, 0], [0, 0]], confidence=0.9)
    assert bounds.lower.tolist()[1] == [0, 0]
    assert bounds.upper.tolist()[1] == [1, 1]
    assert 0.85 < bounds.lower[0, 0] < 1
    assert bounds.upper[0, 0] == 1
    with pytest.raises(InputError, match="confidence"):
        IntervalChain.from_counts([[1]], confidence=1.0)
