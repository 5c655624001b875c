"""How far the results of several releases are from being independent given a secret: E of Theorem 3.6, exactly.

Laplace noise on lattice-valued answers: between lattice points the log-ratio of the joint density and the product of
the single ones is monotone in each coordinate, and beyond the last ones constant, so the lattice is enough.
"""

from collections.abc import Sequence

import numpy as np

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.auditor import Noisy
from quiltwork.auditor.loss import Lattice, node_densities
from quiltwork.auditor.noisy import each_question
from quiltwork.beliefs import Belief, MarkovChain
from quiltwork.errors import NotCoveredError
from quiltwork.laws.exact import SecretLaws, Statistic, chain_laws, unit_of
from quiltwork.question import bind
from quiltwork.types import Floats

LONGEST = 200
MOST_OUTPUTS = 2**18  # of all releases together; more would take minutes


def largest_divergence(belief: Belief, releases: Sequence[ReleaseRecord], length: int | None) -> float:
    """E over all secrets and chains; an error where it cannot be computed."""
    if length is None or length > LONGEST:
        raise NotCoveredError(f"the series must have at most {LONGEST} values", got=str(length or "any"))
    noisy: list[Noisy] = []
    for n, release in enumerate(releases, 1):
        noisy_release = release.noisy(belief)
        if noisy_release is None:
            raise NotCoveredError(
                f"release {n} needs a query and a noise_scale (for frequencies and means, also lipschitz)"
            )
        noisy.append(noisy_release)
    largest = 0.0
    for chain in belief.chains or (None,):
        if chain is None or chain.initial is None:
            raise NotCoveredError("the law of the first value must be known")
        largest = max(largest, _of_chain(chain, noisy, length))
    return largest


def _of_chain(chain: MarkovChain, noisy: Sequence[Noisy], length: int) -> float:
    for release in noisy:
        bound = bind(release.query, chain)
        if bound.several or not bound.only.additive:
            raise NotCoveredError("the divergence of releases needs single answers that add up", got=bound.text)
    asked = [Statistic(bind(release.query, chain).only, release.segment) for release in noisy]
    numbers = [len(one.question.labels) for one in asked]
    check_outputs(chain, noisy, length)
    laws = chain_laws(chain, asked, length)
    lattice = Lattice(laws)  # independent noise: where totals are kept, no other outputs than these can occur
    scales = np.concatenate(
        [
            np.full(count, release.noise_scale / float(unit_of(ask, length)))
            for release, ask, count in zip(noisy, asked, numbers, strict=True)
        ]
    )
    largest = 0.0
    for law in laws.logs:
        joint = node_densities(law, lattice, scales).reshape(len(law), *lattice.shape)
        product = np.zeros_like(joint)
        begun = 0
        for count in numbers:
            columns = tuple(range(begun, begun + count))
            product = product + _single(law, laws, columns, scales, joint.ndim - 1)
            begun += count
        with np.errstate(invalid="ignore"):
            apart = np.abs(joint - product)  # Statement 29
        largest = max(largest, float(np.where(np.isnan(apart), 0.0, apart).max(initial=0.0)))
    return largest * (1 + 1e-9) + 1e-9


def _single(law: Floats, laws: SecretLaws, columns: tuple[int, ...], scales: Floats, axes: int) -> Floats:
    """The density of one release, in the axes of the joint one."""
    points, which = np.unique(laws.points[:, columns], axis=0, return_inverse=True)
    logs = np.full((len(law), len(points)), -np.inf)
    for place, column in zip(which.ravel(), law.T, strict=True):
        logs[:, place] = np.logaddexp(logs[:, place], column)
    lattice = Lattice(SecretLaws(laws.nodes[:1], laws.states[:1], points, logs[None]))
    density = node_densities(logs, lattice, scales[list(columns)])
    shape = [len(law)] + [1] * axes
    for axis, extent in zip(columns, lattice.shape, strict=True):
        shape[1 + axis] = extent
    return np.asarray(density.reshape(shape))


def check_outputs(chain: Belief, noisy: Sequence[Noisy], length: int) -> None:
    """Refuse what an exact computation would take minutes for: it is tried unasked."""
    outputs = 1
    for release in each_question(noisy, chain):
        first, last = release.segment or (1, length)
        if not release.question.additive:
            raise NotCoveredError("exact laws need an answer that is a sum over values", got=release.question.text)
        for row in release.question.steps[0]:
            outputs *= (last - first + 1) * int(row.max() - row.min()) + 1
    if outputs > MOST_OUTPUTS:
        raise NotCoveredError(f"there must be at most {MOST_OUTPUTS:,} outputs", got=f"{float(outputs):.2g}")
