"""Whether a release's noise bears out the ε that it claims. Checks fail closed: what cannot be checked is not believed.

A claim is believed if one of these proves it: all its values hidden together, the influence curve, one quilt at each
variable of a network, its own mechanism run again, or the exact audit. The word of its owner is enough for a mechanism
that is not ours, unless the audit contradicts it.
"""

from contextlib import suppress
from dataclasses import replace

from quiltwork.audit import audit
from quiltwork.beliefs import Belief, RecordBelief
from quiltwork.composition.case import Case, Terms
from quiltwork.composition.divergence import check_outputs
from quiltwork.composition.records import OTHER, ReleaseRecord
from quiltwork.composition.total import Total
from quiltwork.errors import QuiltworkError
from quiltwork.mechanisms import calibrate
from quiltwork.queries import Custom

QUILTS = ("quilt-exact", "quilt-approx")
BY_QUERY = ("wasserstein",)  # its noise depends on the query itself, not on its Lipschitz constant
SLACK = 1e-6  # by which a noise scale may have been rounded down when it was written; it is added to ε
ROUNDED_UP = 2.0**-49  # by which every noise scale is rounded up
LONGEST_AUDIT = 1000


def own_epsilon(record: ReleaseRecord, terms: Terms, length: int | None) -> float | str:
    """The ε that a single release guarantees by itself; or why its claim is not believed."""
    key = record.text, length
    if key not in terms.own_epsilons:
        terms.own_epsilons[key] = _no_claim(record, terms) or _proved(record, terms, length)
    return terms.own_epsilons[key]


def _no_claim(record: ReleaseRecord, terms: Terms) -> str | None:
    if record.mechanism in (None, "entry"):
        return f"has no Pufferfish guarantee of its own ({record.mechanism or 'no mechanism'})"
    if record.epsilon is None:
        return "does not say its epsilon"
    if record.delta > 0:
        return f"promises its epsilon only up to delta = {record.delta:g}"
    if terms.promise == "bayesian" and record.guarantee != "bayesian":
        return "does not promise Bayesian differential privacy"
    return None


def _proved(record: ReleaseRecord, terms: Terms, length: int | None) -> float | str:
    """The claim if it is proved, enlarged where the noise falls short of it by rounding only."""
    claim, shown = record.epsilon or 0.0, _by_noise(record, terms, length)
    if shown is not None and shown <= claim:
        return claim
    again = by_mechanism(record, terms, length)
    if isinstance(again, float) and again <= claim:
        return claim
    exact = _audited(record, terms, length)
    nearly = [proof for proof in (shown, again, exact) if isinstance(proof, float) and proof <= claim * (1 + SLACK)]
    if nearly:
        return max(claim, min(nearly))
    if record.mechanism == OTHER:
        return claim if isinstance(exact, str) else f"says epsilon = {claim:g}, but tells {exact:.4g}"
    if shown is None:
        return str(again)
    more = "" if record.asked is not None else "; its query may say more"
    return f"says epsilon = {claim:g}, but its noise guarantees {shown:.4g} only ({again}){more}"


def _by_noise(record: ReleaseRecord, terms: Terms, length: int | None) -> float | None:
    """What the profile of one release guarantees, from cheap to dear; None if its facts do not say its profile."""
    claim = record.epsilon or 0.0
    total = Total.nothing(terms.belief, length=length).plus(record, terms.belief)
    if total.unknown is not None:
        return None
    case = Case(terms, total)
    found, network = case.together, terms.network
    with suppress(QuiltworkError):
        if found > claim and (terms.chain_like or (network is not None and network.graph.forest)):
            found = min(found, case.by_curve)
        if found > claim and network is not None and terms.promise == "pufferfish":
            found = min(found, case.by_quilts)
    return found


def by_mechanism(record: ReleaseRecord, terms: Terms, length: int | None) -> float | str:
    """The claimed ε if the mechanism, run again, needs no more noise than there is; else why not."""
    claim, name = record.epsilon or 1.0, record.mechanism or ""
    noisy = record.noisy(terms.belief)
    if name in (OTHER, "audited"):
        return f"is by {name}, which is left to the exact audit"
    if name in BY_QUERY and noisy is None:
        return f"does not say the query and the noise_scale by which {name} could be run again"
    held, values = _calibrated_for(record, terms, length)
    unit = Custom(lambda _: 0.0, constant=1.0)
    try:
        needed = calibrate(
            unit if noisy is None or name in QUILTS else noisy.query,
            belief=held,
            epsilon=claim,
            length=values,
            mechanism=name,
            guarantee=record.guarantee,
        ).noise_scale
    except QuiltworkError as refusal:
        return f"cannot be by {name}: {str(refusal).rstrip('.')}"
    profile = record.profile(terms.belief)
    if profile is None:
        return claim if record.noise_scale is None else record.why_no_profile()  # the name stands for its noise
    by_constant = noisy is None or name in QUILTS
    noise = 1 / max(float(matrix.max()) for matrix in profile) if noisy is None or by_constant else noisy.noise_scale
    if noise >= needed * (1 - ROUNDED_UP):
        return claim
    if name == "curve" or noise < needed * (1 - SLACK):
        unit_of = " for each unit that one value can change" if name in QUILTS else ""
        return f"has noise of scale {noise:g}{unit_of}, but {name} needs {needed:g} for its epsilon"
    return claim * needed / noise  # but for the curve, ε grows no faster than noise shrinks


def _calibrated_for(record: ReleaseRecord, terms: Terms, length: int | None) -> tuple[Belief, int | None]:
    """The belief and the number of values that the noise was chosen for."""
    if isinstance(terms.belief, RecordBelief):
        return terms.belief, None
    first, last = record.touched(length)
    begins = record.started and first == 1
    if not record.placed:
        return terms.held(started=False), record.length
    return terms.held(started=begins), None if last is None else last - first + 1


def _audited(record: ReleaseRecord, terms: Terms, length: int | None) -> float | str:
    """The exact loss of one release; or why it cannot be computed."""
    noisy = record.noisy(terms.belief)
    if noisy is None or not record.placed or terms.promise == "bayesian":
        return "its exact loss cannot be computed from what it says"
    if isinstance(terms.belief, RecordBelief):
        length = None
    elif length is None or length > LONGEST_AUDIT:
        return f"its exact loss is computed for series of up to {LONGEST_AUDIT:,} values"
    elif noisy.segment == (1, length):
        noisy = replace(noisy, segment=None)
    try:
        if length is not None:
            check_outputs(terms.belief, [noisy], length)
        return audit(terms.held(started=record.started), [noisy], length=length).epsilon
    except QuiltworkError as refusal:
        return str(refusal)


def quilt_epsilon(record: ReleaseRecord, terms: Terms, length: int | None) -> float | str:
    """ε of a release by quilts, to be added to those of others (C Theorem 3.7); or why it does not add up."""
    if not terms.chain_like:
        return "is not about chains for which max-influence is known"
    if record.mechanism not in QUILTS:
        return f"is not by the Markov Quilt Mechanism ({record.mechanism or 'no mechanism'})"
    reason = _no_claim(record, terms)
    if reason is not None:
        return reason
    return by_mechanism(record, terms, length)
