"""Output densities under Laplace noise, compiled; everything in logarithms."""

import numpy as np

from quiltwork.compiled import njit
from quiltwork.laws.tables import add_logs
from quiltwork.types import Flags, Floats


@njit(cache=True)
def smooth(log_mass: Floats, decay: float) -> None:
    """log of the sum over s of mass(s) exp(-decay |w - s|) along the middle axis, in place."""
    outer, extent, inner = log_mass.shape
    behind, ahead = np.empty(extent), np.empty(extent)
    for i in range(outer):
        for j in range(inner):
            behind[0] = log_mass[i, 0, j]
            ahead[extent - 1] = -np.inf  # strictly ahead, so that nothing is counted twice
            for w in range(1, extent):
                behind[w] = add_logs(log_mass[i, w, j], behind[w - 1] - decay)
            for w in range(extent - 2, -1, -1):
                ahead[w] = add_logs(log_mass[i, w + 1, j], ahead[w + 1]) - decay
            for w in range(extent):
                log_mass[i, w, j] = add_logs(behind[w], ahead[w])


@njit(cache=True)
def worst_pair(density: Floats, apart: Flags) -> Floats:
    """(loss, more likely state, less likely state, output) of one node, over states to be kept apart."""
    loss, more, less, output = 0.0, -1, -1, 0
    for x in range(len(density)):
        for y in range(len(density)):
            if x != y and apart[x, y] and density[x, 0] > -np.inf and density[y, 0] > -np.inf:
                for w in range(density.shape[1]):
                    ratio = density[x, w] - density[y, w]  # Statement 7
                    if ratio > loss or more < 0:
                        loss, more, less, output = ratio, x, y, w
    return np.array([loss, float(more), float(less), float(output)])


@njit(cache=True, nogil=True)
def line_losses(logs: Floats, decay: float, apart: Flags, out: Floats) -> None:
    """The worst pair of every node for a single number."""
    for i in range(len(logs)):
        density = logs[i].copy().reshape(logs.shape[1], logs.shape[2], 1)
        smooth(density, decay)
        out[i] = worst_pair(density.reshape(logs.shape[1], logs.shape[2]), apart[i])
