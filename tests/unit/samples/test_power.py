"""The shipped measurements."""

import polars as pl

from quiltwork.samples import power_path, simulate_power


def test_the_shipped_measurements_are_the_simulated_ones() -> None:
    shipped, simulated = pl.read_parquet(power_path()), simulate_power()
    assert shipped.drop("kw").equals(simulated.drop("kw"))
    apart = (shipped["kw"] - simulated["kw"]).to_numpy()
    assert abs(apart).max() < 0.011  # mathematical functions differ between machines
