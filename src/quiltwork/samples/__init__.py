"""Simulated data, shipped with the package: an activity diary, flu in households, power of homes. Nobody's data."""

from quiltwork.samples.contagion import (
    contact_network,
    contagion_belief,
    household_network,
    household_range,
    households_path,
    simulate_households,
)
from quiltwork.samples.over_time import (
    diary_belief,
    diary_path,
    power_belief,
    power_path,
    simulate_diary,
    simulate_power,
)

__all__ = [
    "contact_network",
    "contagion_belief",
    "diary_belief",
    "diary_path",
    "household_network",
    "household_range",
    "households_path",
    "power_belief",
    "power_path",
    "simulate_diary",
    "simulate_households",
    "simulate_power",
]
