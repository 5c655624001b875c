"""Audit releases under a belief: the exact loss, and the node, pair and output where it is attained."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quiltwork.auditor.delta import CURVE, largest_delta, nodes_at_delta
from quiltwork.auditor.gaussian import audit_gaussian
from quiltwork.auditor.loss import Lattice, NodeLoss, losses, node_densities, rounding_error
from quiltwork.auditor.noisy import (
    Audit,
    DeltaAt,
    Noisy,
    NoisyQuestion,
    Recorded,
    check_pure,
    each_question,
    noisy_of,
)
from quiltwork.auditor.outputs import Outputs
from quiltwork.beliefs import Belief, Believed, GaussianBelief, JointTable, SecretPairs, Secrets, as_belief
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.forks import working
from quiltwork.laws.exact import (
    ImpossibleError,
    SecretLaws,
    Statistic,
    chain_laws,
    hidden_laws,
    mixture_laws,
    record_laws,
    unit_of,
)
from quiltwork.numeric import check_delta, check_epsilon, check_length
from quiltwork.question.binding import question_of, unrolled
from quiltwork.types import Floats, Noise, Progress

MOST_RELEASES = 30
CUT = 1e-9  # of a δ: what is left out of Gaussian noise, and counted as δ
LEFT_OUT = 1e-15  # the same where no δ is aimed at


@working()
def audit(
    belief: Believed,
    releases: Noisy | Recorded | Sequence[Noisy | Recorded],
    *,
    length: int | None = None,
    know: Mapping[int, str] | Mapping[str, str] | None = None,
    progress: Progress | None = None,
    secrets: Secrets | str | None = None,
    delta: float | None = None,
) -> Audit:
    """The exact loss of several releases seen together, by somebody who knows some values (time or variable → state).

    A release is a :class:`Release` or its record, which say how long their series are, or a :class:`Noisy`. Of series
    of several lengths, the loss is the largest; ``length`` asks about series of that length only.

    ``secrets`` says what is to be kept apart (see :class:`Secrets`); every two states of every value if left out. With
    a ``delta`` it is the smallest ε for which they are (ε, δ)-private, with Laplace or Gaussian noise.

    >>> from quiltwork import Count, MarkovChain
    >>> chain = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
    >>> once = audit(chain, [Noisy(Count("1"), 1.0)], length=2)
    >>> round(once.epsilon, 6), once.node, once.pair
    (1.917665, 1, ('1', '0'))
    >>> seen = [Noisy(Count("1"), 2.0, noise="gaussian")] * 2
    >>> round(audit(chain, seen, length=2, delta=1e-3).epsilon, 4)
    4.5911
    """
    belief, secret = as_belief(belief), Secrets.of(secrets)
    seen = noisy_of(belief, releases)
    if delta is None:
        check_pure(seen.releases)
    else:
        check_delta(delta)
    if not seen.started:
        belief = belief.without_given_start()
    spans = seen.lengths or (None,) if length is None else (length,)
    each = [_audit_length(belief, seen.to(span), span, know, progress, secret, delta) for span in spans]
    return max(each, key=lambda one: one.epsilon)


def _audit_length(
    belief: Belief,
    releases: Sequence[Noisy],
    length: int | None,
    know: Mapping[int, str] | Mapping[str, str] | None,
    progress: Progress | None,
    secret: Secrets,
    delta: float | None,
) -> Audit:
    """The exact loss for series of one length."""
    if isinstance(belief, GaussianBelief):
        secret.on(belief)
        _check_states(delta)
        return audit_gaussian(belief, releases, length=check_length(length), know=_times(know or {}))
    belief, asked, length, found = _of_states(belief, releases, length, secret)
    audits, impossible = [], None
    for n, member in belief.members_to_audit():
        try:
            audits.append(_audit_one(member, asked, length, know, progress, member=n, secret=found, delta=delta))
        except ImpossibleError as problem:
            impossible = problem  # whoever believes in this member cannot know that
    if not audits and impossible is not None:
        raise impossible
    worst = max(audits, key=lambda member_audit: member_audit.epsilon)
    return worst if delta is None else _of_all(worst, audits)


def _of_states(
    belief: Belief, releases: Sequence[Noisy], length: int | None, secret: Secrets
) -> tuple[Belief, Sequence[NoisyQuestion], int | None, SecretPairs]:
    """Beliefs about states, checked: records over time as the network of all their steps, and what is secret there."""
    secret.check_length(length)
    secret = of_steps(secret, belief, length)
    belief, asked, length = over_time(belief, each_question(releases, belief), check_length(length))
    size = belief.size(length)
    check_releases(len(asked))
    return belief, asked, size, secret.on(belief)


def exact_delta(
    belief: Believed,
    releases: Sequence[Noisy],
    *,
    epsilon: float,
    length: int | None = None,
    know: Mapping[int, str] | Mapping[str, str] | None = None,
    secrets: Secrets | str | None = None,
) -> DeltaAt:
    """The smallest δ for which several releases are (ε, δ)-private, from above and from below.

    Part of it may come from the randomness of the data itself.

    >>> from quiltwork import Count, MarkovChain
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    >>> at = exact_delta(coin, [Noisy(Count("1"), 4.0, noise="gaussian")], epsilon=1.0, length=1)
    >>> f"{at.at_most:.6g} {at.at_least:.6g}"
    '3.05545e-06 3.05545e-06'
    """
    belief, secret = as_belief(belief), Secrets.of(secrets)
    check_epsilon(epsilon)
    if isinstance(belief, GaussianBelief):
        _check_states(epsilon)
    belief, asked, length, found = _of_states(belief, releases, length, secret)
    both, impossible = [], None
    for n, member in belief.members_to_audit():
        try:
            _, laws = _laws_about(member, asked, length, know, None, secret=found, member=n)
        except ImpossibleError as problem:
            impossible = problem
            continue
        both.append(largest_delta(laws, _outputs(member, asked, length, laws, LEFT_OUT), epsilon))
    if not both and impossible is not None:
        raise impossible
    return DeltaAt(epsilon, max(high for high, _ in both), max(low for _, low in both))


def _check_states(asked: float | None) -> None:
    if asked is not None:
        raise NotCoveredError(
            "an exact delta covers values that are states",
            got="real values",
            why="the outputs of noise on states are gone through one by one",
            fix="Leave out delta for the exact loss of Laplace noise",
        )


def _of_all(worst: Audit, audits: Sequence[Audit]) -> Audit:
    """With the curve of all members of a set."""
    curve = tuple(
        DeltaAt(at[0].epsilon, max(a.at_most for a in at), max(a.at_least for a in at))
        for at in zip(*(one.curve for one in audits), strict=True)
    )
    return replace(worst, curve=curve, epsilon_at_least=max(one.epsilon_at_least or 0.0 for one in audits))


def of_steps(secrets: Secrets, belief: Belief, length: int | None) -> Secrets:
    """The same about the network of all steps, for records over time."""
    if belief.step_variables is None or length is None:
        return secrets
    secrets.on(belief)
    return secrets.unrolled(belief.names_at(1, length))


def over_time(
    belief: Belief, releases: Sequence[NoisyQuestion], length: int | None
) -> tuple[Belief, Sequence[NoisyQuestion], int | None]:
    """Records over time as the network of all their steps, where a secret is one variable at one step."""
    if belief.step_variables is None:
        return belief, releases, length
    network = belief.as_network(length)
    asked = []
    for release in releases:
        first, last = release.segment or (1, length or 1)
        _check_segment(release.segment, length)
        query = unrolled(release.question, belief.names_at(first, last))
        if query is not None and network is not None:
            question = question_of(query, network, windows=False)
            if release.question.divide == "nothing":  # its noise is on what a share or a mean is made of
                question = question.undivided
            asked.append(release._replace(question=question, segment=None))
    if network is None or len(asked) < len(releases):
        raise NotCoveredError(
            f"an exact loss covers sums over records over time of up to {belief.unrolled_up_to} steps",
            got="any length" if length is None else f"{length:,} steps",
            why="it is about one variable at one step, in the network of all steps",
            fix="Use compose, whose bounds cover any length",
        )
    return network, asked, None


def _check_segment(segment: tuple[int, int] | None, length: int | None) -> None:
    if segment is not None and not (length is not None and 1 <= segment[0] <= segment[1] <= length):
        raise ParameterError("a segment must lie within the series", got=f"{segment[0]}:{segment[1]} of {length}")


def check_releases(releases: int) -> None:
    """Refuse more releases than a grid of all their results can have."""
    if releases > MOST_RELEASES:
        raise NotCoveredError(
            f"an exact loss covers up to {MOST_RELEASES} releases",
            got=f"{releases:,}",
            why="every combination of their results is looked at",
            fix="Use compose, whose bounds cover any number",
        )


def secret_laws(
    belief: Belief,
    asked: Sequence[Statistic],
    length: int | None,
    know: Mapping[int, str] | Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SecretLaws:
    """The laws of what is asked under one belief, given each secret."""
    if belief.mixed:
        return mixture_laws(belief.mixed, asked, know={str(v): s for v, s in (know or {}).items()})
    if length is None and (belief.chains or belief.hidden_chains):
        raise ParameterError("an exact loss needs a length", got="any", why="the tables go through all values")
    for chain in belief.chains:
        return chain_laws(chain, asked, length or 1, know=_times(know or {}), progress=progress)
    for hidden in belief.hidden_chains:
        return hidden_laws(hidden, asked, length or 1, know=_times(know or {}), progress=progress)
    for law in belief.laws:
        return record_laws(law, asked, know={str(v): s for v, s in (know or {}).items()})
    raise NotCoveredError(
        "an exact loss needs chains, a network or a joint table",
        got=repr(belief),
        why="the class has infinitely many beliefs",
        fix="Audit some of its members",
    )


def _times(know: Mapping[int, str] | Mapping[str, str]) -> dict[int, str]:
    try:
        return {int(t): s for t, s in know.items()}
    except ValueError:
        raise ParameterError(
            "what is known of a series must be a time and a state",
            got=", ".join(map(str, know)),
            fix="For example 3=walk",
        ) from None


def scales_in_units(belief: Belief, releases: Sequence[NoisyQuestion], length: int | None) -> Floats:
    """The noise scale of every number released, in units of its lattice."""
    span = belief.size(length) or 1
    scales: list[float] = []
    for release in releases:
        unit = unit_of(Statistic(release.question, release.segment), span)
        if not 1e-100 < release.noise_scale / float(unit) < 1e100:
            raise ParameterError(
                "the noise scale must be between 1e-100 and 1e100 steps of the answer",
                got=str(release.noise_scale),
                why="beyond that the exact loss cannot be computed",
            )
        scales += [release.noise_scale / float(unit)] * len(release.question.labels)
    return np.array(scales)


def totals_of(releases: Sequence[NoisyQuestion]) -> list[tuple[int, ...]]:
    """Groups of the numbers of all releases, in a row, whose noise adds up to 0."""
    groups, begun = [], 0
    for release in releases:
        if release.noise == "laplace-total":
            groups += [tuple(begun + n for n in group) for group in release.question.totals]
        begun += len(release.question.labels)
    return groups


def _audit_one(
    belief: Belief,
    releases: Sequence[NoisyQuestion],
    length: int | None,
    know: Mapping[int, str] | Mapping[str, str] | None,
    progress: Progress | None,
    *,
    member: int | None,
    secret: SecretPairs,
    delta: float | None,
) -> Audit:
    every, laws = _laws_about(belief, releases, length, know, progress, secret=secret, member=member)
    if delta is not None:
        return _audit_delta(belief, releases, length, every, laws, delta=delta, member=member)
    lattice, scales = Lattice(laws, totals_of(releases)), scales_in_units(belief, releases, length)
    nodes = losses(laws, lattice, scales)
    worst = max(range(len(nodes)), key=lambda n: (nodes[n].loss, nodes[n].more >= 0))
    at = nodes[worst]
    skipped = sum(len(s) for s in every.states) - int(every.possible.sum())
    if at.more < 0:
        return Audit(0.0, None, None, None, tuple(n.loss for n in nodes), skipped, member)
    name = laws.nodes[worst]
    return Audit(
        epsilon=at.loss + rounding_error(laws, lattice, scales),
        node=int(name) if belief.variables is None else name,
        pair=(laws.states[worst][at.more], laws.states[worst][at.less]),
        output=_in_answer_terms(belief, releases, length, lattice.output(at.output)),
        by_node=tuple(n.loss for n in nodes),
        skipped=skipped,
        member=member,
        start=_start(laws.starts or laws.states[worst], at),
    )


def _laws_about(
    belief: Belief,
    releases: Sequence[NoisyQuestion],
    length: int | None,
    know: Mapping[int, str] | Mapping[str, str] | None,
    progress: Progress | None,
    *,
    secret: SecretPairs,
    member: int | None,
) -> tuple[SecretLaws, SecretLaws]:
    """The laws given each state, and given what is secret."""
    if not releases:
        raise ParameterError("an audit needs a release", got="none")
    every = secret_laws(belief, [Statistic(r.question, r.segment) for r in releases], length, know, progress)
    return every, every.about(secret, begun=(member or 1) - 1)


def _outputs(
    belief: Belief, releases: Sequence[NoisyQuestion], length: int | None, laws: SecretLaws, left_out: float
) -> Outputs:
    noises: list[Noise] = [r.noise for r in releases for _ in r.question.labels]
    scales, totals = scales_in_units(belief, releases, length), totals_of(releases)
    return Outputs(laws, scales, noises, totals=totals, tail=left_out / max(1, len(noises)))


def _audit_delta(
    belief: Belief,
    releases: Sequence[NoisyQuestion],
    length: int | None,
    every: SecretLaws,
    laws: SecretLaws,
    *,
    delta: float,
    member: int | None,
) -> Audit:
    nodes = nodes_at_delta(laws, _outputs(belief, releases, length, laws, CUT * delta), delta)
    worst = max(range(len(nodes)), key=lambda n: (nodes[n].loss.loss, nodes[n].loss.more >= 0))
    at, name = nodes[worst].loss, laws.nodes[worst]
    secret = at.more >= 0
    return Audit(
        epsilon=at.loss,
        node=None if not secret else int(name) if belief.variables is None else name,
        pair=(laws.states[worst][at.more], laws.states[worst][at.less]) if secret else None,
        output=None,
        by_node=tuple(n.loss.loss for n in nodes),
        skipped=sum(len(s) for s in every.states) - int(every.possible.sum()),
        member=member,
        start=_start(laws.starts or laws.states[worst], at),
        delta=delta,
        noise=" and ".join(sorted({r.noise for r in releases}, reverse=True)),
        epsilon_at_least=max(n.epsilon_at_least for n in nodes),
        curve=tuple(
            DeltaAt(epsilon, max(n.at_most[place] for n in nodes), max(n.at_least[place] for n in nodes))
            for place, epsilon in enumerate(CURVE)
        ),
    )


def _start(states: Sequence[str], at: NodeLoss) -> tuple[tuple[str, float], ...] | None:
    """The worst start on two states, in words."""
    if at.starts is None:
        return None
    first, second = at.starts
    share = 1 / (1 + math.exp(-at.log_odds))  # of the second
    return ((states[first], 1 - share), (states[second], share)) if first != second else ((states[first], 1.0),)


def _in_answer_terms(
    belief: Belief, releases: Sequence[NoisyQuestion], length: int | None, output: tuple[int, ...]
) -> tuple[float, ...]:
    units = [r.noise_scale for r in releases for _ in r.question.labels]
    return tuple(
        float(n * s / u) for n, s, u in zip(output, units, scales_in_units(belief, releases, length), strict=True)
    )


def worst_densities(
    belief: Belief,
    releases: Sequence[Noisy],
    found: Audit,
    *,
    length: int | None = None,
    secrets: Secrets | None = None,
) -> tuple[list[float], list[float], list[float]]:
    """Outputs and the two output densities at the worst node, for a picture: single numbers only."""
    secret = of_steps(secrets or Secrets.all(), belief, length)
    belief, asked, length = over_time(belief, each_question(releases, belief), length)
    pairs = secret.on(belief)
    belief = belief.members[(found.member or 1) - 1]
    for chain in belief.chains if found.start is not None else ():
        law = dict(found.start or ())
        belief = chain.with_start([law.get(state, 0.0) for state in chain.states])
    laws = secret_laws(belief, [Statistic(r.question, r.segment) for r in asked], length)
    laws = laws.about(pairs, begun=(found.member or 1) - 1)
    lattice, scales = Lattice(laws, totals_of(asked)), scales_in_units(belief, asked, length)
    if len(lattice.shape) != 1 or found.pair is None or laws.starts:
        raise NotCoveredError("densities are drawn for a single number", got=f"{len(lattice.shape)} numbers")
    at = laws.nodes.index(str(found.node))
    density = node_densities(laws.logs[at], lattice, scales)
    outputs = [_in_answer_terms(belief, asked, length, lattice.output(n))[0] for n in range(lattice.size)]
    normaliser = 2 * releases[0].noise_scale * float(lattice.scales(scales)[0] / scales[0])
    more, less = (np.exp(density[laws.states[at].index(s)]) / normaliser for s in found.pair)
    return outputs, more.tolist(), less.tolist()


@working()
def audit_mechanism(table: JointTable, mechanism: Mapping[Any, Sequence[float]]) -> Audit:
    """The exact loss of any mechanism with finitely many outputs: outcome of the variables → law of the output.

    >>> pair = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    >>> flip = {(a, b): [0.75, 0.25] if a == "0" else [0.25, 0.75] for a in "01" for b in "01"}
    >>> round(audit_mechanism(pair, flip).epsilon, 6)       # log 3, for x and for y alike
    1.098612
    """
    rows = []
    for outcome in table.outcomes:
        row = np.asarray(mechanism.get(outcome, ()), dtype=np.float64)
        if row.ndim != 1 or not row.size or np.any(~np.isfinite(row) | (row < 0)) or abs(row.sum() - 1) > 1e-9:
            raise ParameterError(
                "the mechanism must give every possible outcome a law of its output",
                got="one without, or one that does not sum to 1",
            )
        rows.append(row)
    if len({len(row) for row in rows}) != 1:
        raise ParameterError("the mechanism's laws must have one length", got="several", why="they share the outputs")
    outputs = np.array(rows)
    worst = Audit(0.0, None, None, None, (), 0)
    by_node, skipped = [], 0
    for position, (name, states) in enumerate(table.variables.items()):
        laws = {}
        for state in states:
            here = np.array([outcome[position] == state for outcome in table.outcomes])
            mass = table.probabilities[here].sum()
            if mass > 0:
                laws[state] = table.probabilities[here] @ outputs[here] / mass
            else:
                skipped += 1
        largest = 0.0
        for more, p in laws.items():
            for less, q in laws.items():
                for w in np.flatnonzero(p > 0):
                    loss = math.inf if q[w] == 0 else math.log(p[w] / q[w])
                    largest = max(largest, loss)
                    if more != less and loss > worst.epsilon:
                        worst = Audit(loss * (1 + 1e-12), name, (more, less), (float(w),), (), 0)
        by_node.append(largest)
    return Audit(worst.epsilon, worst.node, worst.pair, worst.output, tuple(by_node), skipped)
