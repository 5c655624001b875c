"""Whether a release's noise bears out the ε that it claims. Checks fail closed: what cannot be checked is not believed.

A claim is believed if one of these proves it: all its values hidden together, the influence curve, one quilt at each
variable of a network, its own mechanism run again, or the exact audit. The word of its owner is enough for a mechanism
that is not ours, unless the audit contradicts it.
"""

from contextlib import suppress
from dataclasses import replace

from quiltwork.accounting.case import Basis, Case
from quiltwork.accounting.divergence import check_outputs
from quiltwork.accounting.record import OTHER, ReleaseRecord
from quiltwork.accounting.total import Total
from quiltwork.auditor import Noisy, audit
from quiltwork.beliefs import Belief
from quiltwork.calibration.calibrate import CONTIGUOUS, calibrate
from quiltwork.errors import QuiltworkError
from quiltwork.influence.shift import GRID
from quiltwork.question.numbers import declared
from quiltwork.question.sensitivity import largest_change

QUILTS = ("quilt-exact", "quilt-approx")
BY_QUERY = ("wasserstein",)  # its noise depends on the query itself, not on its Lipschitz constant
SLACK = 1e-6  # by which a noise scale may have been rounded down when it was written; it is added to ε
ROUNDED_UP = 2.0**-49  # by which every noise scale is rounded up
LONGEST_AUDIT = 1000


def own_epsilon(record: ReleaseRecord, terms: Basis, length: int | None) -> float | str:
    """The ε that a single release guarantees by itself; or why its claim is not believed."""
    key = record.text, length
    if key not in terms.own_epsilons:
        terms.own_epsilons[key] = _no_claim(record, terms) or _proved(record, terms, length)
    return terms.own_epsilons[key]


def _no_claim(record: ReleaseRecord, terms: Basis) -> str | None:
    if record.mechanism in (None, "entry"):
        return f"has no Pufferfish guarantee of its own ({record.mechanism or 'no mechanism'})"
    if record.epsilon is None:
        return "does not say its epsilon"
    if record.noise == "gaussian":
        return record.why_no_profile(terms.belief)
    if record.delta > 0:
        return f"promises its epsilon only up to delta = {record.delta:g}"
    if terms.guarantee == "bayesian" and record.guarantee != "bayesian":
        return "does not promise Bayesian differential privacy"
    if not record.secrets.on(terms.belief).covers(terms.secret):
        return f"promises its epsilon for the secrets {record.secrets.text} only"
    return None


def _proved(record: ReleaseRecord, terms: Basis, length: int | None) -> float | str:
    """The claim if it is proved, enlarged where the noise falls short of it by rounding only."""
    if record.mechanism == OTHER:
        return _vouched(record, terms, length)
    claim, shown = record.epsilon or 0.0, _by_noise(record, terms, length)
    if shown is not None and shown <= claim:
        return claim
    if terms.belief.real:  # the sum of its shifts says all there is to say
        if shown is not None and shown <= claim * (1 + SLACK) + GRID:
            return shown
        return (
            record.why_no_profile(terms.belief)
            if shown is None
            else f"says epsilon = {claim:g}, but tells up to {shown:.4g}"
        )
    again = by_mechanism(record, terms, length)
    if isinstance(again, float) and again <= claim:
        return claim
    exact = _audited(record, terms, length)
    nearly = [proof for proof in (shown, again, exact) if isinstance(proof, float) and proof <= claim * (1 + SLACK)]
    if nearly:
        return max(claim, min(nearly))
    if isinstance(exact, float):
        return f"says epsilon = {claim:g}, but tells {exact:.4g}"
    because = exact if record.mechanism == "audited" else str(again)
    if shown is None:
        return because
    more = "" if record.query is not None else "; its query may say more"
    return f"says epsilon = {claim:g}, but its noise guarantees {shown:.4g} only ({because}){more}"


def _vouched(record: ReleaseRecord, terms: Basis, length: int | None) -> float | str:
    """The word of its owner; where it says its noise as well, the larger of both."""
    claim = record.epsilon or 0.0
    if record.distance not in (None, terms.belief.distance):
        return f"is about another distance ({record.distance:g})"
    if _goes_beyond(record, terms, length):
        return "is about part of a series, and its promise about some pairs of states does not reach beyond it"
    if record.noise_scale is None:
        return claim
    exact = _audited(record, terms, length)
    if isinstance(exact, float):
        contradicted = exact > claim * (1 + SLACK)
        return f"says epsilon = {claim:g}, but tells {exact:.4g}" if contradicted else max(claim, exact)
    return max(claim, _by_noise(replace(record, mechanism=None), terms, length) or 0.0)


def _by_noise(record: ReleaseRecord, terms: Basis, length: int | None) -> float | None:
    """What the profile of one release guarantees, from cheap to dear; None if its facts do not say its profile."""
    claim = record.epsilon or 0.0
    total = Total.nothing(terms.belief, length=length).plus(record, terms.belief)
    if total.unknown is not None:
        return None
    case = Case(terms, total)
    epsilon, network = case.together, terms.network
    with suppress(QuiltworkError):
        if epsilon > claim and (terms.chain_like or network is not None):
            epsilon = min(epsilon, case.by_curve)  # Statement 9
        if epsilon > claim and network is not None and terms.guarantee == "pufferfish":
            epsilon = min(epsilon, case.by_quilts)  # Statement 17
    return epsilon


def by_mechanism(record: ReleaseRecord, terms: Basis, length: int | None) -> float | str:
    """The claimed ε if the mechanism, run again, needs no more noise than there is; else why not."""
    claim, name = record.epsilon or 1.0, record.mechanism or ""
    noisy = record.noisy(terms.belief)
    if name == "audited":
        return f"is by {name}: its noise is left to the exact audit"
    if name in BY_QUERY and noisy is None:
        return f"does not say the query and the noise_scale by which {name} could be run again"
    profile = record.profile(terms.belief)
    if profile is None:
        return record.why_no_profile(terms.belief)
    if name in CONTIGUOUS and record.gaps == "dependent":
        return f"cannot be by {name}: it does not cover series with gaps"
    if terms.belief.step_variables is not None and name not in QUILTS and record.touched(length) != (1, length):
        return "is about some steps only, and hides the variables of those: other steps count too"
    held, lengths = _calibrated_for(record, terms, length)
    if _goes_beyond(record, terms, length) and name != "curve":
        return "is about part of a series, and its promise about some pairs of states does not reach beyond it"
    if name in BY_QUERY and not lengths:
        return "is about series of many lengths, of which each would have to be looked at"
    known = noisy is not None and name not in QUILTS and record.query is not None
    query = record.query if known and record.query is not None else declared("a unit", 1.0)
    try:
        needed = max(
            calibrate(
                query,
                belief=held,
                epsilon=claim,
                length=values,
                mechanism=name,
                guarantee=record.guarantee,
                secrets=terms.secrets,
            ).noise_scale
            for values in (lengths if name in BY_QUERY else lengths[-1:] or [None])
        )
    except QuiltworkError as refusal:
        return f"cannot be by {name}: {str(refusal).rstrip('.')}"
    by_constant = noisy is None or name in QUILTS
    if not any(matrix.any() for matrix in profile):
        return claim  # it tells nothing
    noise = 1 / max(map(largest_change, profile)) if noisy is None or by_constant else noisy.noise_scale
    if noise >= needed * (1 - ROUNDED_UP):
        return claim
    if name == "curve" or noise < needed * (1 - SLACK):
        unit_of = " for each unit that one value can change" if name in QUILTS else ""
        return f"has noise of scale {noise:g}{unit_of}, but {name} needs {needed:g} for its epsilon"
    return claim * needed / noise  # but for the curve, ε grows no faster than noise shrinks


def _calibrated_for(record: ReleaseRecord, terms: Basis, length: int | None) -> tuple[Belief, list[int | None]]:
    """The belief and the numbers of values that the noise was chosen for, the most last; none if they are too many."""
    if terms.belief.variables is not None:
        return terms.belief, [None]
    if _goes_beyond(record, terms, length):  # only what holds for every length holds beyond a segment
        return terms.held(started=record.started), [None]
    first, last = record.touched(length)
    if record.gaps == "dependent":  # what is not recorded has the profile 0: the curve must hold for every length
        return terms.held(started=False), [None if record.mechanism == "curve" else record.length]
    if record.gaps is not None:
        return terms.held(started=False), [record.length]
    held = terms.held(started=record.started and first == 1)
    longest = None if last is None else last - first + 1
    if record.lengths == "many":
        return held, [] if record.mechanism in BY_QUERY else [longest]
    return held, [*(n - first + 1 for n in record.lengths if n >= first), longest]


def _goes_beyond(record: ReleaseRecord, terms: Basis, length: int | None) -> bool:
    """Whether there are values that a release is not about, and only some pairs are secret.

    What pairs at the ends of a segment tell is no bound on values beyond it, which lead to mixtures (Statement 63).
    """
    return not terms.secret.everything and terms.chain_like and record.touched(length) != (1, length)


def _audited(record: ReleaseRecord, terms: Basis, length: int | None) -> float | str:
    """The exact loss of one release; or why it cannot be computed."""
    noisy = record.noisy(terms.belief)
    if noisy is None or not record.placed or terms.guarantee == "bayesian":
        return "its exact loss cannot be computed from what it says"
    if terms.belief.variables is not None:
        length = None
    elif length is None or length > LONGEST_AUDIT:
        return f"its exact loss is computed for series of up to {LONGEST_AUDIT:,} values"
    if record.lengths == "many":
        return "its exact loss would have to be computed for many lengths"
    held, losses = terms.held(started=record.started), []
    try:
        for last in (*record.lengths, length):
            cut = _cut(noisy, last, length)
            if last is not None and cut is not None:
                check_outputs(terms.belief, [cut], last)
            if cut is not None:
                losses.append(audit(held, [cut], length=last, secrets=terms.secrets).epsilon)
    except QuiltworkError as refusal:
        return str(refusal)
    return max(losses)


def _cut(noisy: Noisy, last: int | None, length: int | None) -> Noisy | None:
    """What a release asks of a series that ends here; None if nothing."""
    if noisy.segment is None or last is None or noisy.segment == (1, length):
        return replace(noisy, segment=None) if last == length or noisy.segment == (1, length) else noisy
    first, end = noisy.segment
    return None if first > last else replace(noisy, segment=(first, min(end, last)))


def quilt_epsilon(record: ReleaseRecord, terms: Basis, length: int | None) -> float | str:
    """ε of a release by quilts, to be added to those of others (C Theorem 3.7); or why it does not add up."""
    if not terms.chain_like:
        return "is not about chains for which max-influence is known"
    if record.mechanism not in QUILTS:
        return f"is not by the Markov Quilt Mechanism ({record.mechanism or 'no mechanism'})"
    reason = _no_claim(record, terms)
    if reason is not None:
        return reason
    return by_mechanism(record, terms, length)
