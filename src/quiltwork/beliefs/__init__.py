"""Θ: what an adversary may believe; and what of it is secret."""

from quiltwork.beliefs.base import Belief, Believed, Fitted, as_belief
from quiltwork.beliefs.chain import ChainSet, MarkovChain
from quiltwork.beliefs.cycle import CycleChain
from quiltwork.beliefs.dynamic import DynamicNetwork
from quiltwork.beliefs.files import belief_from_dict, load_belief, save_belief
from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.beliefs.hidden import HiddenChain, OrderChain
from quiltwork.beliefs.interval import IntervalChain
from quiltwork.beliefs.joint import JointTable
from quiltwork.beliefs.mixing import MixingClass
from quiltwork.beliefs.mixture import AnyMixture
from quiltwork.beliefs.network import BayesianNetwork, NetworkSet
from quiltwork.beliefs.record import RecordBelief, RecordLaw
from quiltwork.beliefs.secrets import SecretPairs, Secrets

__all__ = [
    "AnyMixture",
    "BayesianNetwork",
    "Belief",
    "Believed",
    "ChainSet",
    "CycleChain",
    "DynamicNetwork",
    "Fitted",
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
    "SecretPairs",
    "Secrets",
    "as_belief",
    "belief_from_dict",
    "load_belief",
    "save_belief",
]
