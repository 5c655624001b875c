"""Θ: what an adversary may believe."""

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.chain import ChainSet, MarkovChain
from quiltwork.beliefs.cycle import CycleChain
from quiltwork.beliefs.dynamic import DynamicNetwork
from quiltwork.beliefs.files import belief_from_dict, load_belief, save_belief
from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.beliefs.hidden import HiddenChain, OrderChain
from quiltwork.beliefs.interval import IntervalChain
from quiltwork.beliefs.joint import JointTable
from quiltwork.beliefs.mixing import MixingClass
from quiltwork.beliefs.network import BayesianNetwork, NetworkSet
from quiltwork.beliefs.record import RecordBelief, RecordLaw

__all__ = [
    "BayesianNetwork",
    "Belief",
    "ChainSet",
    "CycleChain",
    "DynamicNetwork",
    "GaussianBelief",
    "HiddenChain",
    "IntervalChain",
    "JointTable",
    "MarkovChain",
    "MixingClass",
    "NetworkSet",
    "OrderChain",
    "RecordBelief",
    "RecordLaw",
    "belief_from_dict",
    "load_belief",
    "save_belief",
]
