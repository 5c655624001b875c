"""What tests of the service share."""

from typing import Any

TOKEN = "t" * 43
ADDRESS = "http://127.0.0.1:8765"
BELIEF: dict[str, Any] = {
    "kind": "chain",
    "states": ["sit", "walk"],
    "transition": [[0.7, 0.3], [0.6, 0.4]],
    "initial": "stationary",
}
PLAN: dict[str, Any] = {"belief": BELIEF, "query": "histogram", "length": 400, "epsilon": 1.0, "mechanisms": ["curve"]}
RELEASE: dict[str, Any] = {
    "belief": BELIEF,
    "data": {"path": "diary.csv"},
    "column": "doing",
    "read": {"time": "time"},
    "query": "count:walk",
    "epsilon": 0.25,
}
