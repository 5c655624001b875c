"""Errors are what the law of the noise says."""

import math

import pytest
from hypothesis import given, strategies as st
from reference import tail

from quiltwork import InputError
from quiltwork.calibration.accuracy import noise_error


@given(st.floats(0.05, 1e6), st.floats(0.5, 0.999))
def test_discrete_error_is_the_smallest_that_holds(scale: float, confidence: float) -> None:
    m = int(noise_error(scale, confidence))
    assert tail(scale, m) <= (1 - confidence) * (1 + 1e-6)
    assert m == 0 or tail(scale, m - 1) > (1 - confidence) * (1 - 1e-6)


@given(st.floats(0.05, 1e6), st.integers(1, 60))
def test_simultaneous_error_holds_for_all_numbers(scale: float, numbers: int) -> None:
    m = int(noise_error(scale, 0.95, numbers=numbers))
    assert (1 - tail(scale, m)) ** numbers >= 0.95 * (1 - 1e-9)
    continuous = noise_error(scale, 0.95, numbers=numbers, integer=False)
    assert (1 - math.exp(-continuous / scale)) ** numbers == pytest.approx(0.95)


def test_error_in_units() -> None:
    assert noise_error(5.0, 0.95, unit=0.5) == 0.5 * noise_error(10.0, 0.95)
    assert noise_error(0.0, 0.95) == 0
    with pytest.raises(InputError, match="confidence"):
        noise_error(1.0, 1.0)
