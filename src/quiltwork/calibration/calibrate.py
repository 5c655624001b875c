"""(query, belief, ε) → how much noise, and why. One function a mechanism, all of one form."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, cast

from quiltwork.beliefs import Belief, Believed, Secrets
from quiltwork.calibration.accuracy import answer_error
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.errors import InternalError, NotCoveredError, ParameterError, did_you_mean
from quiltwork.forks import working
from quiltwork.influence.delta import noise_kappa
from quiltwork.numeric import round_up
from quiltwork.question import Question, Questions
from quiltwork.question.binding import all_unrolled
from quiltwork.types import Guarantee, NoiseChoice

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
_OF_REAL_VALUES = {"curve": ("shifted", "shifted"), "group": ("shifted", "together"), "entry": _WHERE["entry"]}
MECHANISMS = tuple(_WHERE)
BY_PROFILE = ("curve", "quilt-exact", "quilt-approx", "group")  # they bound the curve of a profile (Statement 78)
SINGLE = ("wasserstein", "audited")  # for one release; their tables grow with the length
CONTIGUOUS = (*SINGLE, "gk16")  # their theorems are about values without gaps between them
QUICK_WORK = 5e6
LOOKS = 20  # at all outputs, until the least noise is found
VECTOR_WORK = 60.0
FOR_CHAINS = ("curve", "quilt-approx", "gk16")  # they know more about chains than about networks
FOR_NETWORKS = ("curve", "wasserstein", "audited", "group", "entry")  # records over time are a network to them


class Mechanism(Protocol):
    """Calibrates noise for a request."""

    def __call__(self, request: Request) -> Calibration:
        """How much noise, and why."""


def find_mechanism(name: str, *, real: bool = False) -> Mechanism:
    """The mechanism of that name, for states or for real values."""
    if name not in _WHERE:
        known = f"Known: {', '.join(MECHANISMS)}"
        raise ParameterError("the mechanism is not known", got=repr(name), fix=did_you_mean(name, _WHERE, known))
    where = _OF_REAL_VALUES if real else _WHERE
    if name not in where:
        raise NotCoveredError(
            f"mechanism {name} is about states",
            got="a belief about real values",
            why="its theorem says nothing about numbers",
            fix="Use curve",
        )
    module, function = where[name]
    return cast(Mechanism, getattr(import_module(f"quiltwork.calibration.mechanisms.{module}"), function))


@working()
def calibrate(  # noqa: PLR0913 - the public signature is meant to be read
    query: Questions,
    *,
    belief: Believed,
    epsilon: float,
    length: int | str | None = None,
    mechanism: str | None = None,
    delta: float = 0.0,
    noise: NoiseChoice = "laplace",
    guarantee: Guarantee = "pufferfish",
    secrets: Secrets | str | None = None,
    quilt_size: int | None = None,
) -> Calibration:
    """How much noise a query needs under a belief. Sees no data and spends nothing.

    ``length`` is the number of values of the longest series; None or "any" covers any length. The noise is that of the
    query's numbers before frequencies and means are divided by the number of values.

    Several queries are one release: they share ε, with the split chosen for the least total error. The noise scale is
    that of the first of them, and ``scales`` has all.

    ``delta`` above 0 asks for the weaker (ε, δ) guarantee: with ``noise="gaussian"`` for Gaussian noise, of which many
    releases together need far less, with ``noise="best"`` for the noise that stays nearer to the truth, or by the
    Wasserstein mechanism.
    ``guarantee="bayesian"`` asks for Bayesian differential privacy, against adversaries who know any other values.
    ``secrets`` says what is to be kept apart (see :class:`Secrets`): less is secret, less noise is needed.
    ``quilt_size`` is how many variables a quilt in a network may have (3 if left out): more may save noise, and takes
    longer.

    >>> from quiltwork import Histogram, MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> print(calibrate(Histogram(), belief=chain, epsilon=1.0, length=1000).reason.sentence())
    ... # doctest: +NORMALIZE_WHITESPACE
    1 and 0 are the hardest to keep apart: of ε = 1, the value itself uses 0.3, later values 0.35, earlier values 0.35.
    """
    from quiltwork.calibration.split import split  # it calibrates each question

    request = Request.of(
        query,
        belief=belief,
        epsilon=epsilon,
        length=length,
        mechanism=mechanism,
        delta=delta,
        noise=noise,
        guarantee=guarantee,
        secrets=Secrets.of(secrets),
        quilt_size=quilt_size,
    )
    return calibrated(split(request))


def calibrated(request: Request) -> Calibration:
    """How much noise a request needs."""
    own = request.mechanism == "wasserstein" and request.noise == "best"  # it has a δ of its own
    if request.noise != "laplace" and request.delta and not own:
        return with_noise(request)
    name = request.mechanism or _usual(request)
    unrolled = _unrolled(request, name)
    if unrolled is not None:
        found = calibrated(unrolled)
        facts: dict[str, Any] = {"asked": request.asked, "length": request.length, "lipschitz": request.lipschitz}
        facts["secrets"] = request.secrets
        return replace(found, records=False, steps="unrolled", unrolled_up_to=request.belief.unrolled_up_to, **facts)
    held = _as_chain(request, name)
    if name == "curve":
        held = held.settled()  # a given start that is the stationary one: all values are then alike
    mechanism, asked = find_mechanism(name, real=held.real), replace(request, mechanism=name, belief=held)
    _check_covered(asked, name)
    calibration = mechanism(asked)
    _check_same(request, asked, calibration)
    calibration = replace(calibration, asked=request.asked)
    if request.belief.variables is not None:
        return replace(calibration, records=True)
    if request.belief.step_variables is not None:
        return replace(calibration, steps="chain", unrolled_up_to=request.belief.unrolled_up_to)
    return calibration


def _check_same(request: Request, asked: Request, made: Calibration) -> None:
    """What was calibrated is what was asked: the same question, with the same numbers and sensitivity."""
    wanted, told = request.asked, asked.asked
    if not (
        request.query == asked.query
        and told == made.asked
        and wanted.lipschitz == told.lipschitz == made.lipschitz
        and wanted.totals == told.totals
        and made.noise == asked.laplace
    ):
        raise InternalError(
            "noise must be calibrated for the question that was asked",
            got=f"{made.asked.text} of sensitivity {made.lipschitz:g}, asked {wanted.lipschitz:g}",
            why="the promise would be false",
        )


def remembering(by: Callable[[Request], Calibration], *, most: int) -> Callable[[Request], Calibration]:
    """The same, but what was calibrated before is not calibrated again."""
    kept = lru_cache(maxsize=most)(by)

    def once(request: Request) -> Calibration:
        try:
            hash(request)
        except TypeError:  # a query with a table in it
            return by(request)
        return kept(request)

    return once


def with_noise(request: Request) -> Calibration:
    """Gaussian noise, or the better of Gaussian and Laplace noise."""
    if request.noise == "gaussian":
        return _gaussian(request)
    exact = calibrated(replace(request, noise="laplace", delta=0.0))
    try:
        found = _gaussian(request)
    except NotCoveredError:
        return exact
    return found if _error(found) < _error(exact) else exact


def _error(made: Calibration) -> float:
    """How far the noise of the first question moves a number."""
    drawn = made.asked.sources[0]
    sizes = tuple(map(len, drawn.totals))
    return answer_error(made.noise_scale, 0.95, numbers=len(drawn.labels), totals=sizes, noise=made.noise)


def _gaussian(request: Request) -> Calibration:
    """κ times the noise that a mechanism which goes by profiles needs for changes in L2 norm."""
    name = request.mechanism or _usual(request)
    if name not in BY_PROFILE or request.belief.real:
        raise NotCoveredError(
            f"mechanism {name} has no Gaussian noise",
            got="a belief about real values" if request.belief.real else None,
            why="the theorem is about mechanisms that bound the loss by what each value can change",
            fix="Use curve, quilts or group" if not request.belief.real else "Use Laplace noise",
        )
    in_l2 = replace(request, norm=2, noise="laplace", delta=0.0, mechanism=name)
    found = calibrated(in_l2)
    return replace(
        found,
        asked=request.asked,
        lipschitz=request.lipschitz,
        noise="gaussian",
        noise_scale=round_up(noise_kappa(request.epsilon, request.delta) * found.noise_scale),  # Statement 78
        delta=request.delta,
        guarantee="approximate bayesian" if request.guarantee == "bayesian" else "approximate pufferfish",
        theorem=f"{found.theorem}; Gaussian noise, by squares",
    )


def _usual(request: Request) -> str:
    """The mechanism to use if none is named."""
    usual = request.belief.default_mechanism
    return "audited" if usual == "wasserstein" and request.asked.several else usual


def _unrolled(request: Request, name: str) -> Request | None:
    """The same about the network that records over time are, if they are short enough and the query is about steps."""
    belief, length = request.belief, request.length
    if name not in FOR_NETWORKS or request.guarantee == "bayesian" or length is None:
        return None
    network = belief.as_network(length)
    query = None if network is None else all_unrolled(request.asked, belief.names_at(1, length))
    if network is None or query is None:
        return None
    secrets = request.secrets.unrolled(belief.names_at(1, length))
    return replace(request, mechanism=name, belief=network, query=query, length=None, secrets=secrets)  # Statement 52


def takes_long(name: str, request: Request) -> bool:
    """Whether a mechanism whose tables grow with the length would take more than about a second."""
    if name not in SINGLE or request.length is None:
        return False
    asked = _unrolled(request, name) or request
    if asked.asked.several and name == "wasserstein":
        return False  # it is refused
    each = (_work(name, one.question, asked.belief, asked.length or 1) for one in asked.asked.drawn)
    return math.prod(each) > QUICK_WORK  # tables of all questions together


def _work(name: str, question: Question, belief: Belief, length: int) -> float:
    """About how many steps it takes, at least 1."""
    from quiltwork.laws.exact import expected_work, outputs_of

    work = expected_work(question, belief, length)
    if name == "wasserstein" and len(question.labels) > 2:
        work *= VECTOR_WORK  # a linear programme for every two laws
    if name == "audited":
        work += LOOKS * outputs_of(question, belief, length)
    return max(1.0, work)


def _as_chain(request: Request, name: str) -> Belief:
    """The chain that a network is, where a mechanism knows more about chains and all values are asked alike."""
    belief = request.belief
    named = request.asked.names_variables or request.secrets.names_variables
    return belief if name not in FOR_CHAINS or named else belief.as_chain() or belief


def _check_covered(request: Request, name: str) -> None:
    """Refuse what the mechanism's theorem says nothing about."""
    if name in SINGLE and request.belief.step_variables is not None:
        raise NotCoveredError(
            f"{name} covers records over time of up to {request.belief.unrolled_up_to} steps",
            got="any length" if request.length is None else f"{request.length:,} steps",
            why="exact laws given one variable need the network of all steps",
            fix="Use curve",
        )
    if name == "wasserstein" and request.asked.several:
        raise NotCoveredError(
            "wasserstein covers one question at a time",
            got=request.asked.text,
            why="its theorem is about noise of one scale on every number",
            fix="Use curve or audited, or ask one question",
        )
    if name in SINGLE and request.window is not None:
        raise NotCoveredError(
            f"mechanism {name} does not cover windows",
            why="it only covers one answer about the whole series",
            fix="Leave mechanism= out",
        )
    if request.quilt_size is not None and (name != "quilt-exact" or not request.belief.networks):
        raise ParameterError(
            "quilt_size is for quilt-exact on a network",
            got=f"mechanism {name}",
            why="on a chain two variables are enough, and others have no quilts",
        )
    if request.guarantee == "bayesian":
        _check_bayesian(request, name)


def _check_bayesian(request: Request, name: str) -> None:
    """Only the influence curve with cross-ratios covers it, and group, which hides all values together."""
    if any(not network.graph.forest for network in request.belief.networks[:1]) and name != "group":
        raise NotCoveredError(
            f"mechanism {name} gives no Bayesian guarantee on a network that is not a tree",
            why="parents become dependent on each other once their child is known",
            fix="Use group",
        )
    if name not in ("curve", "group"):  # Statement 20
        raise NotCoveredError(
            f"mechanism {name} gives no Bayesian guarantee",
            why="its theorem is about adversaries who know no values",
            fix="Use curve (for chains and trees) or group",
        )
