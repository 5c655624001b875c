"""The command that compiles ahead of time: small problems of every kind, each in a process of its own."""

import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from quiltwork.errors import ParameterError

if TYPE_CHECKING:
    from quiltwork import MarkovChain

PARTS = ("noise", "losses")


def compile_all() -> None:
    """Compile the numerical code ahead of time."""
    from quiltwork.view.terminal import err, out

    err.print("Compiling all numerical code for this machine: about half a minute, the first time ...")
    begun = [
        subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-c", f"from quiltwork.cli.compile import run; run({part!r})"]
        )
        for part in PARTS
    ]
    codes = [process.wait() for process in begun]
    if any(codes):
        raise ParameterError("the numerical code could not be compiled", got="an error, above", fix="Reinstall numba")
    out.print("Done: it is kept beside the package.")


def run(part: str) -> None:
    """Small problems that need everything there is to compile."""
    import numpy as np

    from quiltwork import Count, CycleChain, MarkovChain, Noisy, audit, calibrate, compiled
    from quiltwork.fitting.check import check_memory
    from quiltwork.fitting.made_up import made_up
    from quiltwork.influence.curve.transport import Ways

    compiled.FEW = -1  # else small problems are interpreted
    chain = MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
    lazy = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    even = MarkovChain([[0.75, 0.25], [0.25, 0.75]])
    if part == "noise":
        for belief in (chain, chain.with_start("stationary"), chain.with_start([1, 0, 0]), lazy):
            for length in (None, 30, 3000):
                calibrate("histogram", belief=belief, epsilon=1.0, length=length)
        _compose(chain)
        Ways.of(np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]])).steps()  # with a detour
        return
    for belief in (lazy, lazy.with_start("stationary")):
        for mechanism in ("audited", "wasserstein", "quilt-exact"):
            calibrate("count:1", belief=belief, epsilon=1.0, length=5, mechanism=mechanism)
    audit(chain.with_start("stationary"), [Noisy(Count("1"), 5.0)] * 2, length=4)
    check_memory(lazy, made_up(even, length=400))
    hours = CycleChain([lazy.transition, lazy.transition[::-1]])
    calibrate("histogram", belief=hours, epsilon=1.0, length=30)
    if find_spec("pyagrum") is not None:
        _network()


def _compose(chain: "MarkovChain") -> None:
    """Releases from parts of a long series that overlap."""
    from quiltwork import Accountant, ReleaseRecord

    accountant = Accountant(chain, length=3000)
    for segment in ((1, 1500), (1000, 3000)):
        accountant.add(
            ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=160.0, query="histogram", segment=segment)
        )


def _network() -> None:
    """People in one household."""
    from quiltwork import calibrate
    from quiltwork.samples import household_network

    household = household_network({("ann", "bob", "cem"): (0.5, 0.2, 0.2, 0.1)})
    for mechanism in ("curve", "quilt-exact"):
        calibrate("count:yes", belief=household, epsilon=1.0, mechanism=mechanism)
