"""Θ: what an adversary may believe."""

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.chain import ChainSet, MarkovChain
from quiltwork.beliefs.files import belief_from_dict, load_belief, save_belief
from quiltwork.beliefs.interval import IntervalChain
from quiltwork.beliefs.joint import JointTable
from quiltwork.beliefs.mixing import MixingClass

__all__ = [
    "Belief",
    "ChainSet",
    "IntervalChain",
    "JointTable",
    "MarkovChain",
    "MixingClass",
    "belief_from_dict",
    "load_belief",
    "save_belief",
]
