"""The belief commands."""

import json
from pathlib import Path

from examples import BELIEF
from shell import answer, run


def test_belief_commands(diary: Path, belief: Path, tmp_path: Path) -> None:
    done = run("belief", "fit", diary, "--column", "doing", "--subject", "who", "--out", tmp_path / "new.json")
    assert done.returncode == 0
    assert "do not fit a belief on the data that you want to protect" in done.stderr
    assert answer("belief", "show", tmp_path / "new.json")["states"] == ["sit", "walk"]
    bounds = answer("belief", "fit", diary, "--column", "doing", "--confidence", 0.9)
    assert bounds["kind"] == "interval"
    shown = run("belief", "show", belief).stdout
    assert "stationary" in shown
    assert "0.5" in shown
    for other in (
        {"kind": "set", "members": [BELIEF, BELIEF]},
        {"kind": "mixing", "states": 3, "pi_min": 0.1, "gap": 0.5},
        {"kind": "chain", "transition": [[1, 0], [0, 1]]},
    ):
        belief.write_text(json.dumps(other))
        assert run("belief", "show", belief).returncode == 0
