"""The smallest Laplace scale whose exact loss is within ε: the yardstick for every mechanism."""

import numpy as np

from quiltwork.auditor.exact import scales_in_units, secret_laws, totals_of
from quiltwork.auditor.loss import Lattice, losses, rounding_error
from quiltwork.auditor.noisy import Noisy, each_question
from quiltwork.beliefs import Belief, SecretPairs, Secrets
from quiltwork.forks import working
from quiltwork.laws.exact import Statistic
from quiltwork.numeric import smallest_within
from quiltwork.question import Asked, Said
from quiltwork.types import Progress

TOLERANCE = 1e-9


@working()
def smallest_scale(
    query: Said | Asked | str,
    *,
    belief: Belief,
    epsilon: float,
    length: int | None,
    progress: Progress | None = None,
    secrets: Secrets | None = None,
) -> float:
    """The smallest scale of Laplace noise on each number of the answer whose exact loss is at most ε, rounded up.

    The noise of a workload's questions keeps the ratios that it says.

    Laplace noise of a larger scale is Laplace noise of a smaller one plus independent noise, so the loss falls with the
    scale and bisection finds the smallest; the safe end is returned. Noise that keeps the total of three numbers or
    more loses no more than independent noise of its scale, which is what is looked at there.

    >>> from quiltwork import Count, MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(smallest_scale(Count("1"), belief=chain, epsilon=1.0, length=100), 4)
    3.3364
    """
    secret = (secrets or Secrets.all()).on(belief)
    return max(_smallest(query, m, epsilon, length, progress, secret) for m in belief.members)


def _smallest(
    query: Said | Asked | str,
    belief: Belief,
    epsilon: float,
    length: int | None,
    progress: Progress | None,
    secret: SecretPairs,
) -> float:
    asked = each_question([Noisy(query, 1.0, noise="laplace-total")], belief)
    laws = secret_laws(belief, [Statistic(one.question) for one in asked], length, progress=progress).about(secret)
    lattice = Lattice(laws, [group for group in totals_of(asked) if len(group) == 2])
    units = scales_in_units(belief, asked, length)

    def loss(scale: float) -> float:
        scales = units * scale
        return max(n.loss for n in losses(laws, lattice, scales)) + rounding_error(laws, lattice, scales)

    reach = float(((np.array(lattice.shape) - 1) / lattice.scales(units)).sum())
    if reach == 0 or not laws.comparable:
        return 0.0
    # Statement 7: the loss falls with the scale
    return smallest_within(loss, epsilon, reach / epsilon, precision=TOLERANCE)
