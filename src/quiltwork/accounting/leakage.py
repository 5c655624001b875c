"""Bayesian differential privacy leakage of noise on a query: exact where possible, else a bound (chains, trees)."""

import math
from typing import Literal

from quiltwork.auditor import Leakage, Noisy, leakage as exact_leakage
from quiltwork.auditor.adversaries import KNOWN, MOST_SECONDS
from quiltwork.auditor.exact import check_releases
from quiltwork.auditor.gaussian import worst_adversary
from quiltwork.beliefs import Belief, Believed, GaussianBelief, SecretPairs, Secrets, as_belief
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.forks import working
from quiltwork.influence.curve.constant import curve_members
from quiltwork.influence.curve.networks import network_epsilon
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.influence.delta import kappa, smallest_epsilon
from quiltwork.influence.shift import check_bayesian, query_shift, seen_in_all
from quiltwork.numeric import check_delta, check_length, round_up
from quiltwork.question import Asked, Question, Said, bind
from quiltwork.types import Noise, Progress

FEW_REAL_VALUES = 10

Method = Literal["enumeration", "projective"]


@working()
def bayesian_leakage(  # noqa: PLR0913 - the public signature is meant to be read
    belief: Believed,
    query: Said | str,
    *,
    noise_scale: float,
    length: int | str | None = None,
    releases: int = 1,
    method: Method | None = None,
    seconds: float = MOST_SECONDS,
    progress: Progress | None = None,
    secrets: Secrets | str | None = None,
    noise: Noise = "laplace",
    delta: float = 0.0,
) -> Leakage:
    """How much several releases of a query tell somebody who knows any other values, at most.

    By enumeration of all adversaries where that is possible; else, for chains of any length and for trees, by the
    projective curve, which bounds all of them at once. ``secrets`` says what is to be kept apart. With a ``delta``,
    which Gaussian ``noise`` needs, it is a bound on the ε that holds at it.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
    >>> found = bayesian_leakage(chain, "count:1", noise_scale=1.0, length=2, releases=2)
    >>> round(found.epsilon, 6), found.method
    (3.847632, 'enumeration')
    >>> bound = bayesian_leakage(chain, "count:1", noise_scale=1.0, length="any", releases=2)
    >>> bound.method, bound.epsilon > found.epsilon
    ('projective', True)
    """
    belief, length = as_belief(belief), check_length(length)
    asked = bind(query, belief)
    secret = Secrets.of(secrets)
    found = secret.on(belief)
    secret.check_length(length)
    if isinstance(releases, bool) or not isinstance(releases, int) or releases < 1:
        raise ParameterError("releases must be at least 1", got=str(releases))
    if releases > 10**9:
        raise ParameterError("releases must be at most 10^9", got=f"{float(releases):.3g}")
    if delta or noise == "gaussian":
        return _at_delta(belief, Noisy(asked, noise_scale, None, noise), length, releases, found, method, delta)
    if isinstance(belief, GaussianBelief):
        return _of_real_values(belief, asked.only, noise_scale, length, releases, method)
    if method != "projective":
        try:
            check_releases(releases)
            noisy = [Noisy(asked, noise_scale)] * releases
            exact = exact_leakage(belief, noisy, length=length, seconds=seconds, progress=progress, secrets=secret)
        except NotCoveredError:
            if method == "enumeration":
                raise
        else:
            if exact.complete or method == "enumeration" or _no_bound(belief):
                return exact
    _check_bounded(belief)
    bound = _bound(belief, asked, length, found, times=releases / noise_scale)
    return Leakage(bound, None, {}, None, method="projective")


def _at_delta(
    belief: Belief,
    release: Noisy,
    length: int | None,
    releases: int,
    secret: SecretPairs,
    method: Method | None,
    delta: float,
) -> Leakage:
    """The smallest ε at a δ by the projective curve: of Laplace noise by sums or squares, of Gaussian by squares."""
    delta = check_delta(delta)
    _check_bounded(belief)
    if method == "enumeration" or belief.real:
        raise NotCoveredError(
            "leakage with a delta is a bound by the curve, for beliefs about states",
            got="real values" if belief.real else "method enumeration",
            fix="Leave delta out" if belief.real else "Leave the method out",
        )
    asked = bind(release.query, belief)
    asked = asked.in_l2() if release.noise == "gaussian" else asked
    shift = math.sqrt(releases) / release.noise_scale

    def bound_at(epsilon: float) -> float:
        return _bound(belief, asked, length, secret, times=kappa(epsilon, delta) * shift)  # Statement 78

    bounds = [smallest_epsilon(bound_at)]
    if release.noise != "gaussian":
        bounds.append(_bound(belief, asked, length, secret, times=releases / release.noise_scale))
    known = [bound for bound in bounds if bound is not None]
    if not known:
        raise NotCoveredError("no useful bound holds", got="an epsilon above 1,000", fix="Use more noise")
    return Leakage(min(known), None, {}, None, method="projective", delta=delta)


def _of_real_values(
    belief: GaussianBelief,
    question: Question,
    noise_scale: float,
    length: int | None,
    releases: int,
    method: Method | None,
) -> Leakage:
    """Exactly for a few values; for longer series by correlations, which known values make no larger under ar1."""
    if belief.between is not None:
        check_bayesian(belief)
    _check_length(question, length)
    times = question.divisor(length or 1) / releases
    whole = Noisy(Asked.single(question.undivided), noise_scale * times)
    if method == "enumeration" or (method is None and length is not None and length <= FEW_REAL_VALUES):
        found, known = worst_adversary(belief, [whole], length=length or FEW_REAL_VALUES + 1)
        return Leakage(found.epsilon, found.node, dict.fromkeys(known, KNOWN), found.pair)
    if question.over_time is None:
        raise ParameterError("real values need a query about numbers", got=question.text)
    shift = query_shift(belief, question.over_time, length, by_size=False, guarantee="bayesian") * seen_in_all(belief)
    bound = round_up(belief.distance * shift / whole.noise_scale)  # Statement 60
    return Leakage(bound, None, {}, None, method="projective")


def _check_length(question: Question, length: int | None) -> None:
    if length is None and question.divide != "nothing":
        raise ParameterError(f"{question.text} needs a length", got="any", why="its numbers are divided by it")


def _no_bound(belief: Belief) -> bool:
    return any(not network.graph.forest for network in belief.networks[:1])


def _check_bounded(belief: Belief) -> None:
    if _no_bound(belief):
        raise NotCoveredError(
            "leakage needs a network that is a tree, or small enough to enumerate",
            got=repr(belief),
            why="where a variable has several parents no bound holds against all adversaries",
            fix="Ask about a part of the network",
        )


def _bound(belief: Belief, asked: Asked, length: int | None, secret: SecretPairs, *, times: float) -> float:
    """By the projective curve, of a profile that is so many times what a value changes."""
    if belief.networks:
        divisor = 1 if asked.several else asked.only.divisor_of(1)
        factor = times / divisor * (1 + 1e-14)
        changes = [change * factor for change in asked.table()]
        return network_epsilon(belief, changes, guarantee="bayesian", secret=secret)
    divisor = 1
    if not asked.several:
        _check_length(asked.only, length)
        divisor = asked.only.divisor_of(length or 1)
    (sensitivity,) = asked.table()
    profile = sensitivity / divisor * times * (1 + 1e-14)
    curves = curve_members(belief, guarantee="bayesian", secret=secret)
    epsilon = max(curve.at(profile, thorough=True).epsilon for curve in curves)
    if length is not None:
        constant = Profile.constant(profile, length=length)
        along = loss_along_time(belief, constant, guarantee="bayesian", secret=secret)
        epsilon = min(epsilon, along.epsilon)
    if not math.isfinite(epsilon):
        raise NotCoveredError(
            "no bound holds for series of any length",
            why="under this belief some values may stay linked however far apart they are",
            fix="Give the length of the series",
        )
    return epsilon
