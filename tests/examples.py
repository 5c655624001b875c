"""Beliefs that several tests share."""

import itertools
from typing import Any

from quiltwork import BayesianNetwork, JointTable, MarkovChain

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
# variables that are not in alphabetical order
WARD = BayesianNetwork(
    {"flu": ["no", "yes"], "fever": ["none", "some", "high"]},
    parents={"fever": ["flu"]},
    tables={"flu": [0.9, 0.1], "fever": [[0.9, 0.08, 0.02], [0.1, 0.4, 0.5]]},
)

TABLE = JointTable(
    {"z": "01", "a": "01", "m": "01"},
    [(outcome, 1 / 8) for outcome in itertools.product("01", repeat=3)],
)
# a network as a file
SPRINKLER = """
network garden { property "made for a test"; }
// the last of several parents changes fastest
variable rain { type discrete [ 2 ] { no, yes }; property position = (1, 2); }
variable sprinkler { type discrete[2]{ off, on }; }
variable "wet grass" { type discrete [ 3 ] { dry, damp, wet }; }
probability ( rain ) { table 0.8, 0.2; }
probability ( sprinkler | rain ) { table 0.6 0.99 0.4 .01; } /* P(off|no), P(off|yes), P(on|no), P(on|yes) */
probability ( "wet grass" | rain, sprinkler ) {
  default 0.1, 0.2, 0.7;
  (no, off) 0.9, 0.1, 0;
  (yes, on) 0.0, 1e-3, 0.999;
}
"""
# a chain with numbers for states, and 1,200 values
CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["0", "10"])
DATA = ["0"] * 900 + ["10"] * 300
# a belief as a file
BELIEF: dict[str, Any] = {
    "kind": "chain",
    "states": ["sit", "walk"],
    "transition": [[0.9, 0.1], [0.4, 0.6]],
    "initial": "stationary",
}

YES = ("yes", "no")

# public tables of two small networks that are often used as examples
ASIA = BayesianNetwork(
    dict.fromkeys(("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"), YES),
    parents={
        "tub": ["asia"],
        "lung": ["smoke"],
        "bronc": ["smoke"],
        "either": ["lung", "tub"],
        "xray": ["either"],
        "dysp": ["bronc", "either"],
    },
    tables={
        "asia": [0.01, 0.99],
        "tub": [[0.05, 0.95], [0.01, 0.99]],
        "smoke": [0.5, 0.5],
        "lung": [[0.1, 0.9], [0.01, 0.99]],
        "bronc": [[0.6, 0.4], [0.3, 0.7]],
        "either": [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]],
        "xray": [[0.98, 0.02], [0.05, 0.95]],
        "dysp": [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]],
    },
)
CANCER = BayesianNetwork(
    {
        "Pollution": ("low", "high"),
        "Smoker": ("True", "False"),
        "Cancer": ("True", "False"),
        "Xray": ("positive", "negative"),
        "Dyspnoea": ("True", "False"),
    },
    parents={"Cancer": ["Pollution", "Smoker"], "Xray": ["Cancer"], "Dyspnoea": ["Cancer"]},
    tables={
        "Pollution": [0.9, 0.1],
        "Smoker": [0.3, 0.7],
        "Cancer": [[[0.03, 0.97], [0.001, 0.999]], [[0.05, 0.95], [0.02, 0.98]]],
        "Xray": [[0.9, 0.1], [0.2, 0.8]],
        "Dyspnoea": [[0.65, 0.35], [0.3, 0.7]],
    },
)
