"""Simulated data, shipped with the package: an activity diary and flu in households. Nobody's, so it may be shown."""

from quiltwork.samples.contagion import (
    contact_network,
    contagion_belief,
    household_network,
    household_range,
    households_path,
    simulate_households,
)
from quiltwork.samples.diary import diary_belief, diary_path, simulate_diary

__all__ = [
    "contact_network",
    "contagion_belief",
    "diary_belief",
    "diary_path",
    "household_network",
    "household_range",
    "households_path",
    "simulate_diary",
    "simulate_households",
]
