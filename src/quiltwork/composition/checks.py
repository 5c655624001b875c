"""Whether a release's noise bears out what it says about itself."""

from quiltwork.audit import audit
from quiltwork.beliefs import Belief, ChainSet, MarkovChain, RecordBelief
from quiltwork.composition.case import Case
from quiltwork.composition.divergence import LONGEST
from quiltwork.errors import NotCoveredError, QuiltworkError
from quiltwork.mechanisms import find_mechanism
from quiltwork.queries import Custom

QUILTS = ("quilt-exact", "quilt-approx")
SLACK = 1e-6  # by which a noise scale may have been rounded down when it was written


def belied(case: Case) -> str | None:
    """Whether the noise of a release, where it is given, contradicts its ε.

    Quilts, group privacy and the curve are computed again. The noise of other mechanisms is checked by the curve, or by
    the exact audit where that is possible; else their ε is taken as it is given.
    """
    for n, release in enumerate(case.releases, 1):
        alone = Case(case.belief, (release,), case.length, release.guarantee)
        if isinstance(case.belief, RecordBelief):
            shown = _on_records(alone, case.belief)
            if shown is not None and shown > (release.epsilon or 0.0) * (1 + SLACK) and _audited(alone) is not True:
                return f"release {n} says epsilon = {release.epsilon:g}, but its noise guarantees {shown:.4g} only"
        elif release.mechanism in QUILTS and release.guarantee == "pufferfish":
            reason = too_little_noise(alone)
            if reason is not None:
                return reason.replace("release 1", f"release {n}", 1)
        elif case.chain_like and release.profile(case.belief) is not None and not _whole(alone):
            shown = alone.by_curve
            if shown > (release.epsilon or 0.0) * (1 + SLACK) and _audited(alone) is not True:
                return f"release {n} says epsilon = {release.epsilon:g}, but its noise guarantees {shown:.4g} only" + (
                    "" if release.query is not None else "; its query may say more"
                )
    return None


def _on_records(alone: Case, belief: RecordBelief) -> float | None:
    """What the noise of one release about records guarantees; None if its facts do not say it."""
    if alone.by_variable is None:
        return None
    found = belief.heaviest_part([float(own.max()) for own in alone.by_variable])[0]
    if alone.network is None:
        return found
    if found > (alone.releases[0].epsilon or 0.0) and alone.network.graph.forest:
        found = min(found, alone.by_curve)
    if found > (alone.releases[0].epsilon or 0.0) and alone.promise == "pufferfish":
        found = min(found, alone.by_quilts)
    return found


def _whole(alone: Case) -> bool:
    """Whether the noise covers all values of the release together."""
    release = alone.releases[0]
    first, last = release.touched(alone.length)
    matrix = release.profile(alone.belief)
    if last is None or matrix is None:
        return False
    return float(matrix.max()) * (last - first + 1) <= (release.epsilon or 0.0) * (1 + SLACK)


def _audited(alone: Case) -> bool | None:
    """Whether the exact loss of the one release is within its ε; None if that cannot be computed."""
    release = alone.releases[0]
    if alone.promise == "bayesian":
        return None
    members = alone.belief.members
    noisy = release.noisy(alone.belief)
    taken = ("wasserstein", "audited", "gk16") if alone.chain_like else ("wasserstein", "audited")
    if noisy is None or alone.length is None or alone.length > LONGEST:
        return True if release.mechanism in taken else None
    try:
        losses = [audit(member, [noisy], length=alone.length).epsilon for member in members]
    except QuiltworkError:
        return True if release.mechanism in taken else None
    return max(losses) <= (release.epsilon or 0.0) * (1 + SLACK)


def too_little_noise(case: Case) -> str | None:
    """Whether a release has less noise than its mechanism needs for its ε."""
    for n, release in enumerate(case.releases, 1):
        if release.mechanism is None:
            continue
        query = Custom(lambda _: 0.0, constant=1.0 if release.lipschitz is None else release.lipschitz)
        first, last = release.touched(case.length)
        belief = _from(case.belief, first)
        try:
            needed = find_mechanism(release.mechanism)(
                query,
                belief=belief,
                epsilon=release.epsilon or 1.0,
                length=None if last is None else last - first + 1,
            ).noise_scale
        except NotCoveredError as refusal:
            return f"release {n}: {str(refusal).rstrip('.')}"
        if release.noise_scale is None or release.lipschitz is None:
            continue  # the mechanism covers the case, and its name stands for its noise
        if release.noise_scale < needed * (1 - SLACK):
            return (
                f"release {n} has noise of scale {release.noise_scale:g}, but {release.mechanism} needs {needed:g} "
                f"for its epsilon"
            )
    return None


def _from(belief: Belief, first: int) -> Belief:
    """The belief about a segment: the start of the series is not the start of a later one."""
    if first == 1:
        return belief
    if isinstance(belief, ChainSet):
        return ChainSet(m.with_start("any") if m.start == "given" else m for m in belief.members)
    if isinstance(belief, MarkovChain) and belief.start == "given":
        return belief.with_start("any")
    return belief
