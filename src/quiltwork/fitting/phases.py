"""Phases behind values, fitted to public data by the EM algorithm (hmmlearn)."""

import warnings
from typing import Any

import numpy as np

from quiltwork.beliefs.hidden import HiddenChain
from quiltwork.data.series import Countable
from quiltwork.errors import DataError, NotInstalledError, ParameterError
from quiltwork.types import Floats

TRIES, ROUNDS, CLOSE = 3, 300, 1e-3  # random starts; rounds of EM; the gain in log-likelihood that is too small
SHORTER, LONGER = 0.3, 4.0  # times the average stay: where the phases of a state begin
NOTHING = 1e-9  # a probability that EM has all but given up


def fit_hidden(series: Countable, *, phases: int, seed: int = 0) -> HiddenChain:
    """The chain with this number of phases behind each state that makes the data most likely.

    Each phase shows its state for certain; only how phases follow one another is learned, from several beginnings of
    which the best is kept. Stays may then have any mixture of lengths, and slow regimes their own phases.

    >>> from quiltwork import Series
    >>> naps = Series.from_values([*("aab" * 20 + "a" * 30 + "b") * 6], states=["a", "b"])
    >>> fit_hidden(naps, phases=2).shows
    ('a', 'a', 'b', 'b')
    """
    if isinstance(phases, bool) or not isinstance(phases, int) or not 1 <= phases <= 8:
        raise ParameterError(
            "phases must be a whole number from 1 to 8", got=repr(phases), why="each state has that many"
        )
    counts = np.asarray(series.transitions(), dtype=np.float64)
    k = len(counts)
    if not (counts - np.diag(counts.diagonal())).any():
        raise DataError("phases need data with changes of state", got="none", why="nothing says how long stays last")
    values = np.concatenate([np.asarray(stretch) for stretch in series.stretches])
    lengths = [len(stretch) for stretch in series.stretches]
    rng = np.random.default_rng(seed)
    fitted = [_em(values, lengths, _beginning(counts, phases, rng), k, phases) for _ in range(TRIES)]
    _, transition = max(fitted, key=lambda result: result[0])
    transition = np.where(transition < NOTHING, 0.0, transition)
    shows = [state for state in series.states for _ in range(phases)]
    return HiddenChain(
        transition / transition.sum(axis=1, keepdims=True), shows=shows, initial="stationary", states=series.states
    )


def _beginning(counts: Floats, phases: int, rng: np.random.Generator) -> Floats:
    """Phases of a state that differ in how long they last, and lead to all phases of other states."""
    k = len(counts)
    seen = (counts + 0.5 / k) / (counts + 0.5 / k).sum(axis=1, keepdims=True)
    leaving = 1 - seen.diagonal()
    factors = np.geomspace(SHORTER, LONGER, phases) if phases > 1 else np.ones(1)
    rows = np.zeros((k * phases, k * phases))
    for x in range(k):
        for n, factor in enumerate(factors):
            left = min(float(leaving[x] / factor), 0.9) if k > 1 else 0.0
            weights = rng.dirichlet(np.full(phases, 4.0), size=k)  # into which phase of each state
            row = (seen[x] / max(leaving[x], 1e-12) * left)[:, None] * weights
            row[x] = 0.1 * (1 - left) * weights[x]
            row[x, n] += 0.9 * (1 - left)
            rows[x * phases + n] = row.ravel() / row.sum()
    return rows


def _em(values: Any, lengths: list[int], transition: Floats, k: int, phases: int) -> tuple[float, Floats]:
    """The log-likelihood and the transitions that EM comes to."""
    model = _hmmlearn().CategoricalHMM(
        n_components=k * phases, n_iter=ROUNDS, tol=CLOSE, params="st", init_params="", random_state=0
    )
    model.n_features = k
    model.startprob_ = np.full(k * phases, 1 / (k * phases))
    model.transmat_ = transition
    model.emissionprob_ = np.repeat(np.eye(k), phases, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of phases that are never entered
        model.fit(values[:, None], lengths)
        rows = np.array(model.transmat_, dtype=np.float64)
        lost = ~(rows.sum(axis=1) > 0.5)
        rows[lost] = transition[lost]
        model.transmat_ = rows
        likelihood = float(model.score(values[:, None], lengths))
    return likelihood, rows


def _hmmlearn() -> Any:
    try:
        import hmmlearn.hmm
    except ImportError:
        why = "it runs the EM algorithm for hidden Markov models"
        raise NotInstalledError("a fit of phases", "fit", got="no hmmlearn", why=why) from None
    return hmmlearn.hmm
