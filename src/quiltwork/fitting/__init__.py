"""Beliefs from public data and from words: one chain, and classes of chains around it."""

from quiltwork.fitting.chain import Fit, fit_chain, longer_stays
from quiltwork.fitting.slower import described, forgotten_after, lasting_longer, slowest_within
from quiltwork.fitting.words import chain_of_stays, in_time, with_step

__all__ = [
    "Fit",
    "chain_of_stays",
    "described",
    "fit_chain",
    "forgotten_after",
    "in_time",
    "lasting_longer",
    "longer_stays",
    "slowest_within",
    "with_step",
]
