"""(query, belief, ε) → how much noise, and why. One function a mechanism, all of one form."""

from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from quiltwork.beliefs import BayesianNetwork, Belief, JointTable, MarkovChain, NetworkSet, RecordBelief
from quiltwork.calibration.mechanisms.wasserstein import wasserstein
from quiltwork.calibration.record import Calibration
from quiltwork.errors import BeliefError, NotCoveredError, ParameterError, QueryError
from quiltwork.numeric import check_epsilon, check_length
from quiltwork.queries import Query, lipschitz_under, parse_query
from quiltwork.queries.variables import OfVariables
from quiltwork.types import Guarantee

# loaded when first used: compiled code is slow to import and the baselines do not need it
_WHERE = {
    "curve": ("curve", "curve"),
    "quilt-exact": ("quilt", "quilt_exact"),
    "quilt-approx": ("quilt", "quilt_approx"),
    "wasserstein": ("wasserstein", "wasserstein"),
    "group": ("baselines", "group"),
    "gk16": ("baselines", "gk16"),
    "audited": ("audited", "audited"),
    "entry": ("baselines", "entry"),
}
MECHANISMS = tuple(_WHERE)
FOR_CHAINS = ("curve", "quilt-approx", "gk16")  # they know more about chains than about networks
SMALLEST_SCALE, LARGEST_SCALE = 1e-200, 1e200


class Mechanism(Protocol):
    """Calibrates noise for a query under a belief."""

    def __call__(self, query: Query, *, belief: Belief, epsilon: float, length: int | None) -> Calibration:
        """How much noise, and why."""


def find_mechanism(name: str) -> Mechanism:
    """The mechanism of that name."""
    if name not in _WHERE:
        raise ParameterError("the mechanism is not known", got=repr(name), fix=f"Known: {', '.join(MECHANISMS)}")
    module, function = _WHERE[name]
    return cast(Mechanism, getattr(import_module(f"quiltwork.calibration.mechanisms.{module}"), function))


def default_mechanism(belief: Belief) -> str:
    """The mechanism with the least noise that covers this kind of belief."""
    first = belief.members[0]
    if isinstance(first, BayesianNetwork):
        return "curve" if first.graph.forest else "quilt-exact"
    return "wasserstein" if isinstance(belief, JointTable) else "curve"


def as_query(query: object) -> Query:
    """A query, or the one that a text names."""
    if isinstance(query, str):
        return parse_query(query)
    if isinstance(query, Query):
        return query
    raise QueryError(
        "the query must be a query or its text",
        got=getattr(query, "__name__", type(query).__name__),
        fix='"histogram", say',
    )


def as_belief(belief: object) -> Belief:
    """The belief, or an error that says what was passed instead."""
    if isinstance(belief, Belief):
        return belief
    raise BeliefError("the belief must be a belief", got=type(belief).__name__, fix="load_belief(path) reads one")


def calibrate(
    query: Query | str,
    *,
    belief: Belief,
    epsilon: float,
    length: int | str | None = None,
    mechanism: str | None = None,
    delta: float = 0.0,
    guarantee: Guarantee = "pufferfish",
    quilt_size: int | None = None,
) -> Calibration:
    """How much noise a query needs under a belief. Sees no data and spends nothing.

    ``length`` is the number of values of the longest series; None or "any" covers any length. The noise is that of the
    query's numbers before frequencies and means are divided by the number of values.

    ``delta`` above 0 asks for the weaker (ε, δ) promise, which the Wasserstein mechanism alone can make.
    ``guarantee="bayesian"`` asks for Bayesian differential privacy, against adversaries who know any other values.
    ``quilt_size`` is how many variables a quilt in a network may have (3 if left out): more may save noise, and takes
    longer.

    >>> from quiltwork import Histogram, MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> print(calibrate(Histogram(), belief=chain, epsilon=1.0, length=1000).reason.sentence())
    ... # doctest: +NORMALIZE_WHITESPACE
    1 and 0 are the hardest to keep apart: the value itself shows up to 0.2997, what follows it up to 0.3501, and what
    led to it up to 0.3501.
    """
    query, belief = as_query(query), as_belief(belief)
    name = default_mechanism(belief) if mechanism is None else mechanism
    epsilon, length = check_epsilon(epsilon), check_length(length)
    lipschitz = lipschitz_under(query, belief)
    if lipschitz and not SMALLEST_SCALE <= lipschitz / epsilon <= LARGEST_SCALE:
        raise ParameterError(
            "epsilon does not fit the size of the answer",
            got=f"{epsilon:g} for an answer that one value changes by {lipschitz:g}",
            why=f"noise must have a scale between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g} to be drawn exactly",
            fix="Use another epsilon, or another unit",
        )
    if isinstance(belief, RecordBelief):
        of_records = _calibrated(
            query,
            _settled(_as_chain(belief, query, name), name),
            epsilon,
            belief.size(length),
            name,
            delta,
            guarantee,
            quilt_size,
        )
        return replace(of_records, records=True, certificate=None)  # a path's certificate is about a chain
    return _calibrated(query, _settled(belief, name), epsilon, length, name, delta, guarantee, quilt_size)


def _settled(belief: Belief, name: str) -> Belief:
    """For the curve, a given start that is the stationary one is treated as such: all values are then alike."""
    return belief.settled() if name == "curve" and isinstance(belief, MarkovChain) else belief


def _calibrated(
    query: Query,
    belief: Belief,
    epsilon: float,
    length: int | None,
    name: str,
    delta: float,
    guarantee: str,
    quilt_size: int | None,
) -> Calibration:
    found = find_mechanism(name)
    if quilt_size is not None:
        return _with_quilt_size(query, belief, epsilon, length, name, quilt_size)
    if guarantee != "pufferfish":
        return _bayesian(query, belief, epsilon, length, name, guarantee, delta)
    if delta == 0:
        return found(query, belief=belief, epsilon=epsilon, length=length)
    if name != "wasserstein":
        raise ParameterError(
            "delta is for the wasserstein mechanism only",
            got=f"mechanism {name}",
            why="no theorem gives the others anything for it",
            fix="Choose mechanism wasserstein, or leave delta out",
        )
    return wasserstein(query, belief=belief, epsilon=epsilon, length=length, delta=delta)


def _as_chain(belief: RecordBelief, query: Query, name: str) -> Belief:
    """The chain that a network is, where a mechanism knows more about chains and the query asks all values alike."""
    if name not in FOR_CHAINS or not isinstance(belief, BayesianNetwork) or isinstance(query, OfVariables):
        return belief
    return belief.as_chain() or belief


def _with_quilt_size(
    query: Query, belief: Belief, epsilon: float, length: int | None, name: str, quilt_size: int
) -> Calibration:
    if name != "quilt-exact" or not isinstance(belief, BayesianNetwork | NetworkSet):
        raise ParameterError(
            "quilt_size is for quilt-exact on a network",
            got=f"mechanism {name}",
            why="on a chain two variables are enough, and others have no quilts",
        )
    from quiltwork.calibration.mechanisms.quilt import quilt_exact

    return quilt_exact(query, belief=belief, epsilon=epsilon, length=length, quilt_size=quilt_size)


def _bayesian(
    query: Query, belief: Belief, epsilon: float, length: int | None, name: str, guarantee: str, delta: float
) -> Calibration:
    """By the influence curve with cross-ratios, which no other mechanism can replace."""
    if guarantee != "bayesian":
        raise ParameterError("the guarantee must be pufferfish or bayesian", got=repr(guarantee))
    first = belief.members[0]
    if isinstance(first, BayesianNetwork) and not first.graph.forest and name != "group":
        raise NotCoveredError(
            f"mechanism {name} makes no Bayesian promise on a network that is not a tree",
            why="parents become dependent on each other once their child is known",
            fix="Use group",
        )
    if name == "group" and not delta:  # it hides all values together, whatever is known of them
        return replace(find_mechanism(name)(query, belief=belief, epsilon=epsilon, length=length), guarantee="bayesian")
    if name != "curve" or delta:
        raise NotCoveredError(
            f"mechanism {name} makes no Bayesian promise" if name != "curve" else "delta is not for a Bayesian promise",
            why="its theorem is about adversaries who know no values",
            fix="Use curve (chains, and networks that are trees) or group, without delta",
        )
    from quiltwork.calibration.mechanisms.curve import curve

    return curve(query, belief=belief, epsilon=epsilon, length=length, guarantee="bayesian")
