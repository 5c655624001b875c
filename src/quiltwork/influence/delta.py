"""From ε to (ε, δ): how many times a profile counts where squares add up (Statement 78).

Noise that tells x from x' by a shift of m standard deviations has the profile κ·m in place of m: if the curve of κ·μ is
at most ε, the release is (ε, δ)-Pufferfish private. κ depends on ε and δ only. It is the smallest number for which

    e^ε · sup over m > 0 of  e^(-κm) H(κm, m)  ≤ δ ,

where H(d, m) bounds sup_S P(S) - e^d Q(S) for two laws m apart: exactly for Gaussian noise, or for everything that is
m²/2-zero-concentrated (Laplace noise, and discrete Gaussian noise, which is what releases draw).
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from quiltwork.errors import ParameterError
from quiltwork.numeric import SMALLEST_DELTA, check_delta, check_epsilon, round_up
from quiltwork.types import Floats

PIECES, PARTS, ROUNDS = 256, 8, 8
MARGIN = 10  # times the number of people: 1 / δ is at least as much
USUAL_DELTA, WARN_ABOVE = 1e-6, 1e-4
RESERVE = 0.01  # of δ, kept for what a ledger shows between releases (Statement 83)
TRIES, FURTHER, CLOSE = 40, 1.2, 1e-4  # of a search for the smallest ε
SMALLEST, LARGEST = 1e-90, 1e3
PRECISION = 1e-6  # of κ, relatively: it is larger by as much
ROUNDING = 1e-10  # more than the rounding of a logarithm of H, relative to what it bounds


def large_delta(delta: float) -> tuple[str, ...]:
    """A warning where δ is larger than is usual.

    >>> large_delta(0.01)[0].partition(":")[2]
    ' it would allow for publishing everything about one person in 100, chosen at random. 1e-6 is usual.'
    """
    if not delta > WARN_ABOVE:
        return ()
    many = f"{math.floor(1 / delta):,}"
    return (
        f"δ is above {WARN_ABOVE:g}: it would allow for publishing everything about one person in {many}, chosen at "
        f"random. {USUAL_DELTA:.0e} is usual.".replace("1e-06", "1e-6"),
    )


def check_delta_for(delta: float, people: int) -> None:
    """Refuse a δ that is too large for as many people, or records, as there are."""
    if not delta or delta * MARGIN * people <= 1:
        return
    power = 10.0 ** math.floor(math.log10(1 / (MARGIN * people)))
    fits = math.floor(1 / (MARGIN * people) / power) * power
    raise ParameterError(
        f"delta must be at most 1 / ({MARGIN} · number of people)",
        got=f"{delta:g} for {people:,} people",
        why="a release may publish all that is known about each of them with probability delta, and keep its promise",
        fix=f"Use {fits:.1g} or less",
    )


def smallest_epsilon(bound_at: Callable[[float], float], *, first: float = 1.0) -> float | None:
    """About the smallest ε with bound_at(ε) ≤ ε, for a bound that grows with ε, and slowly. None if it is above 1,000.

    From an ε that is enough the bound leads down: at the bound itself it is not larger. The ``first`` one that is tried
    is returned if it is enough and no other is far below it.
    """
    found, epsilon = None, first
    for _ in range(TRIES):
        bound = bound_at(epsilon)
        if not bound <= LARGEST:
            return found
        if bound <= epsilon:
            settled = bound > epsilon * (1 - CLOSE)
            found, epsilon = epsilon, max(bound, epsilon * 1e-3)
            if settled or epsilon < SMALLEST:
                return found
        elif found is not None:
            return found  # rounding: there was no need to go as far down
        else:
            epsilon = bound * FURTHER
    return found


def kappa(epsilon: float, delta: float) -> float:
    """κ for noise that is zero-concentrated: discrete Gaussian noise of scale c/m, or Laplace noise of that scale.

    >>> round(kappa(1.0, 1e-6), 3)
    4.566
    """
    return _smallest(_Concentrated, check_epsilon(epsilon), check_delta(delta))


def noise_kappa(epsilon: float, delta: float) -> float:
    """κ by which noise is chosen: at the δ that is left without a ledger's reserve, and a little larger.

    So a release that asks for all of a budget fits into it, whatever is rounded on the way.

    >>> round(noise_kappa(1.0, 1e-6) / kappa(1.0, 1e-6), 4)
    1.0004
    """
    return kappa(epsilon, max(check_delta(delta) * (1 - RESERVE), SMALLEST_DELTA)) * (1 + 2.0**-23)


def gaussian_kappa(epsilon: float, delta: float) -> float:
    """κ for Gaussian noise on real numbers. What releases draw is discrete, and takes ``kappa``.

    >>> round(gaussian_kappa(1.0, 1e-6), 3)
    4.261
    """
    return _smallest(_Gaussian, check_epsilon(epsilon), check_delta(delta))


class _Concentrated:
    """log e^(-κm) H(κm, m) for m²/2-zero-concentrated noise. Every order α > 1 gives a bound (Statement 76).

    At α = c/m + 1/2 it is -κ²/2 + (c-κ)²/2 - κm/2 - m²/8 + (α-1) log (1 - 1/α) - log α: first terms that fall with m,
    then two that rise. From m = 2c on, where α would be 1, H is at most 1 and e^(-κm) at most e^(-2κc).
    """

    def __init__(self, kappa: float):
        self.kappa = kappa
        self.middle = kappa + kappa / (1 + kappa**2)  # about the best c
        self.end, self.beyond = 2 * self.middle, -2 * kappa * self.middle

    def between(self, left: Floats, right: Floats) -> Floats:
        """A bound for all m from left to right."""
        order = np.maximum(self.middle / right + 0.5, 1.0 + 1e-15)
        falling = ((self.middle - self.kappa) ** 2 - self.kappa**2 - self.kappa * left - left**2 / 4) / 2
        return np.asarray(falling + (order - 1) * np.log1p(-1 / order) - np.log(order))


class _Gaussian:
    """log of e^(-κm) Φ(m/2 - κ) - Φ(-m/2 - κ), which is exact for Gaussian noise."""

    def __init__(self, kappa: float):
        self.kappa = kappa
        self.end = 4 * kappa + 40
        self.beyond = -kappa * self.end

    def between(self, left: Floats, right: Floats) -> Floats:
        """A bound for all m from left to right: each factor where it is larger."""
        from scipy.special import ndtr

        found = np.exp(-self.kappa * left) * ndtr(right / 2 - self.kappa) - ndtr(-right / 2 - self.kappa)
        return np.asarray(np.log(np.maximum(found, 1e-300)))


@lru_cache(maxsize=4096)
def _smallest(noise: Callable[[float], _Concentrated | _Gaussian], epsilon: float, delta: float) -> float:
    """The safe end of a narrow bracket around the κ at which δ is reached; the supremum over m falls with κ."""
    aim = (math.log(delta) - epsilon) * (1 + ROUNDING)
    safe, unsafe = math.sqrt(-2 * aim), 0.0  # safe, since e^(-(κ + m/2)²/2) ≤ e^(-κ²/2)
    while safe - unsafe > PRECISION * safe:
        middle = (safe + unsafe) / 2
        if _within(noise(middle), aim):
            safe = middle
        else:
            unsafe = middle
    return round_up(safe)


def _within(bound: _Concentrated | _Gaussian, aim: float) -> bool:
    """Whether the supremum over m is proved to be at most the aim, from pieces that are divided where they are not."""
    if bound.beyond > aim:
        return False
    edges, shares = bound.end * np.linspace(0.0, 1.0, PIECES + 1) ** 2, np.linspace(0.0, 1.0, PARTS + 1)
    left, right = edges[:-1], edges[1:]
    for _ in range(ROUNDS):
        open_ = bound.between(left, right) > aim
        if not open_.any():
            return True
        left, right = left[open_], right[open_]
        if (bound.between(right, right) > aim).any():
            return False
        edges = left[:, None] + (right - left)[:, None] * shares
        left, right = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    return False
