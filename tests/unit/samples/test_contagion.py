"""The shipped households."""

import polars as pl

from quiltwork.samples import households_path, simulate_households


def test_the_shipped_households_are_the_simulated_ones() -> None:
    assert pl.read_csv(households_path()).equals(simulate_households())
