"""Chains that forget more slowly than a given one: longer stays, and the slowest chains that data still allow."""

from collections.abc import Iterator
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.unknown_member import unknown_member
from quiltwork.errors import BeliefError, ParameterError
from quiltwork.types import Floats

ROUNDS = 12
MOST_MEMBERS = 8
ALIKE = 1.01  # a chain is only added for a pair that it tells apart longer than this, compared with the others
FORGOTTEN = 0.05
NEVER_FORGETS = "the fitted chain never forgets: from some states it cannot reach others"


def lasting_longer(chain: MarkovChain, factor: float) -> MarkovChain:
    """The same chain with every stay ``factor`` times as long on average; what follows a stay is unchanged.

    The probability of each change is divided by the factor. Below 1, stays become shorter; a factor that would make
    some change more than certain is refused.

    >>> lasting_longer(MarkovChain([[0.9, 0.1], [0.4, 0.6]]), 2).transition.tolist()
    [[0.95, 0.05], [0.2, 0.8]]
    """
    shortest = float(1 - chain.transition.diagonal().min())
    if not (np.isfinite(factor) and factor > 0 and shortest <= factor):
        raise ParameterError(
            f"stays must last at least {max(shortest, 1e-300):.4g} times as long",
            got=f"{factor:g}",
            why="a stay lasts one step at least",
            fix="For example 2: up to twice as long",
        )
    slower = chain.transition / factor
    np.fill_diagonal(slower, 0.0)
    np.fill_diagonal(slower, 1 - slower.sum(axis=1))
    return like(chain, slower)


def like(chain: MarkovChain, transition: Floats) -> MarkovChain:
    """A chain with the states and the start of another; one that starts stationary does so in its own law."""
    if chain.start == "given" and chain.initial is not None:
        return MarkovChain(transition, initial=chain.initial, states=chain.states)
    return MarkovChain(transition, initial="stationary" if chain.start == "stationary" else "any", states=chain.states)


def memory(transition: Floats) -> Floats:
    """How far the expected counts of all later values differ after state a and after state b, for each pair.

    This is the L1 distance of rows of the fundamental matrix (I - P + 1π)⁻¹. For small ε the noise of a histogram is
    proportional to it, so a chain with more of it forgets more slowly.
    """
    Z = _fundamental(transition)
    return np.asarray(np.abs(Z[:, None, :] - Z[None, :, :]).sum(axis=2))


def forgotten_after(chain: MarkovChain, share: float = FORGOTTEN) -> int | None:
    """The number of steps after which the state says little about the present one; None if that never happens.

    "Little": whatever two states it was, the laws of the present state differ by at most this share (in total
    variation).

    >>> forgotten_after(MarkovChain([[0.9, 0.1], [0.4, 0.6]]))
    5
    """
    powers = [chain.transition]
    while _difference(powers[-1]) > share:
        if len(powers) > 60 or (len(powers) > 8 and _difference(powers[-1]) > 1 - 1e-12):
            return None
        powers.append(powers[-1] @ powers[-1])
    after, reached = 0, np.eye(len(chain.states))
    for n in range(len(powers) - 1, -1, -1):
        further = reached @ powers[n]
        if _difference(further) > share:
            after, reached = after + 2**n, further
    return after + 1


def _difference(laws: Floats) -> float:
    return float(np.abs(laws[:, None, :] - laws[None, :, :]).sum(axis=2).max() / 2)


def slowest_within(counts: Floats, *, confidence: float) -> list[Floats]:
    """The slowest chains that the counts do not rule out with this confidence, by two measures.

    - The chain in which every stay is as long as its own bound allows (Clopper and Pearson).
    - For each pair of states, the chain that tells them apart longest among those whose likelihood falls short of the
      best one by at most z²/2, where z is the one-sided normal quantile. The slowest few of these are kept, and only
      those that tell some pair apart longer than the others do, by more than 1 %.

    The error is shared among all states, and among all pairs (Bonferroni). So with this confidence no stay of the true
    chain is longer than in the first chain; and with about this confidence the true chain tells no pair apart longer
    than the pair's chain. "About", because the likelihood ratio relies on large samples. With many states, pairs that
    are soon forgotten have no chain of their own: the noise depends on the slowest ones. Transitions that were not
    seen stay impossible.
    """
    if not 0 < confidence < 1:
        raise ParameterError("confidence must be above 0 and below 1", got=str(confidence), why="it is a probability")
    pairs = list(combinations(range(len(counts)), 2))
    z = NormalDist().inv_cdf(1 - (1 - confidence) / max(1, len(pairs)))
    visits = counts.sum(axis=1)
    best = counts / visits[:, None]
    slow = [_slowest_for(best, visits, pair, max(z, 0.0) ** 2 / 2) for pair in pairs]
    slow.sort(key=lambda chain: -float(memory(chain).max()))
    kept = [_longest_stays(counts, (1 - confidence) / len(counts))]
    reached = memory(kept[0])
    for chain in slow:
        if len(kept) <= MOST_MEMBERS and np.any(memory(chain) > reached * ALIKE):
            kept.append(chain)
            reached = np.maximum(reached, memory(chain))
    return kept


def _longest_stays(counts: Floats, miss: float) -> Floats:
    """Every row leaves its state as rarely as an exact bound with this error allows."""
    from scipy.special import betaincinv

    stays = counts.diagonal()
    changes = counts.sum(axis=1) - stays
    least = np.where(changes > 0, betaincinv(np.maximum(changes, 1e-300), stays + 1, miss), 0.0)
    towards = counts / np.maximum(changes, 1e-300)[:, None]
    np.fill_diagonal(towards, 0.0)
    slower = least[:, None] * towards
    np.fill_diagonal(slower, 1 - slower.sum(axis=1))
    return np.asarray(slower)


def _slowest_for(best: Floats, visits: Floats, pair: tuple[int, int], shortfall: float) -> Floats:
    """Climbs along the gradient of one pair's memory, as far from the best chain as the shortfall allows."""
    a, b = pair
    slowest, most = best, -1.0
    present = best
    for _ in range(ROUNDS):
        Z = _fundamental(present)
        apart = Z[a] - Z[b]
        reached = float(np.abs(apart).sum())
        if reached <= most * (1 + 1e-9):
            break
        slowest, most = present, reached
        gradient = np.outer(apart, Z @ np.sign(apart))  # of Σ |apart| by the entries of P: dZ = Z dP Z
        present = _tilted(best, visits, gradient, shortfall)
    return slowest


def _tilted(best: Floats, visits: Floats, gradient: Floats, shortfall: float) -> Floats:
    """best · exp(t gradient / visits), with t such that the log-likelihood falls short by as much as is allowed."""
    direction = gradient / visits[:, None]
    direction -= (best * direction).sum(axis=1, keepdims=True)
    size = float(np.sqrt((visits[:, None] * best * direction**2).sum()))
    if size == 0:
        return best
    low, high = 0.0, 2 * np.sqrt(2 * shortfall) / size
    for t in _doubled(high):
        high = t
        if _shortfall(best, visits, t * direction) >= shortfall:
            break
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _shortfall(best, visits, middle * direction) < shortfall else (low, middle)
    return _tilt(best, low * direction)


def _doubled(first: float) -> Iterator[float]:
    return (first * 2.0**n for n in range(20))


def _tilt(best: Floats, exponent: Floats) -> Floats:
    possible = np.where(best > 0, exponent, -np.inf)
    raised = best * np.exp(possible - possible.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _shortfall(best: Floats, visits: Floats, exponent: Floats) -> float:
    """Σ visits · KL(best row, tilted row), which is log-likelihood of the best chain less that of the tilted one."""
    possible = np.where(best > 0, exponent, -np.inf)
    top = possible.max(axis=1)
    normal = top + np.log((best * np.exp(possible - top[:, None])).sum(axis=1))
    return float(visits @ (normal - (best * np.where(best > 0, exponent, 0.0)).sum(axis=1)))


def _fundamental(transition: Floats) -> Floats:
    chain = MarkovChain(transition)
    try:
        law = chain.stationary
    except BeliefError:
        raise BeliefError(
            NEVER_FORGETS,
            why="the data show no way back, so no confidence can be given to how fast it forgets",
            fix="Fit it on longer data, or without confidence",
        ) from None
    return np.asarray(np.linalg.inv(np.eye(len(transition)) - transition + law[None, :]))


def described(belief: Belief) -> dict[str, Any]:
    """What a belief says, as ``belief show --json`` prints it: with its step, and how quickly values are forgotten.

    >>> described(MarkovChain([[0.9, 0.1], [0.4, 0.6]]))["forgets_after"]
    5
    """
    known = belief.summary()
    fingerprint = known.pop("fingerprint")
    step = {} if belief.step is None else {"step": str(belief.step)}
    after = [forgotten_after(chain) for chain in belief.chains or ()]
    forgets = {"forgets_after": None if None in after else max(n for n in after if n is not None)} if after else {}
    unknown = unknown_member(belief)
    told = {} if unknown is None else {"unknown_member_adds": unknown.finite, "promise": unknown.sentence()}
    return known | step | forgets | told | {"fingerprint": fingerprint}
