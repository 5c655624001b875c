"""The exact law of statistics given one secret: what the audit and the Wasserstein Mechanism both look at.

A statistic is a vector of sums of whole numbers, one for each value. On a chain its laws given X_i = x come from
forward and backward tables over (state, partial sums), kept as logarithms so that tail masses of any size stay
accurate; no Fourier transform, whose errors are relative to the largest mass. Partial sums of several statistics are
one number, in mixed radix, so that one table serves all. For T values, k states and R possible sums the cost is about
k T R^2 / 6 and the memory k T R numbers. An explicit joint distribution is simply added up.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from quiltwork.beliefs import BayesianNetwork, Belief, HiddenChain, MarkovChain, RecordLaw, SecretPairs
from quiltwork.errors import InternalError, NotCoveredError, ParameterError
from quiltwork.numeric import in_threads
from quiltwork.question import Question
from quiltwork.types import Flags, Floats, Integers, Progress, Segment

MOST_NUMBERS = 2**26
MOST_WORK = 2 * 10**10
FEW_RECORDS = 2**14  # networks with no more records than this are gone through record by record


@dataclass(frozen=True)
class Statistic:
    """An additive question on a segment of the series (None: all of it)."""

    question: Question
    segment: Segment | None = None


@dataclass(frozen=True)
class SecretLaws:
    """Laws of the numbers asked for, in units, given each secret.

    ``points[v]`` are possible values of all the numbers; ``logs[i, x, v]`` is log P(numbers = points[v] | X_i = x),
    -inf throughout where X_i = x is impossible. ``nodes`` and ``states`` name the secrets.

    Under any start there is a law for each start z, one after the other: ``logs[i, z k + x, v]``. ``leads[i, z, x]`` is
    then log P(X_i = x and what is known | X_1 = z). Else ``priors[i, x]`` is log P(X_i = x and what is known).

    ``apart[i, x, y]`` says which secrets are to be kept apart (None: every two). Where sets of states are, each side of
    such a pair is one more state x, after all others.
    """

    nodes: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    points: Integers
    logs: Floats
    leads: Floats | None = None
    priors: Floats | None = None
    apart: Flags | None = None
    starts: tuple[str, ...] = ()
    """What the starts z are called, if they are no states."""

    @property
    def possible(self) -> Flags:
        """Which secrets can occur, by node and state."""
        possible = np.asarray(np.isfinite(self.logs).any(axis=2))
        if self.leads is None:
            return possible
        return np.asarray(np.isfinite(self.leads).any(axis=1))

    @property
    def pairs(self) -> Flags:
        """Which secrets are to be kept apart, by node."""
        if self.apart is not None:
            return self.apart
        count = self.possible.shape[1]
        return np.repeat(~np.eye(count, dtype=bool)[None], len(self.nodes), axis=0)

    @property
    def comparable(self) -> bool:
        """Whether two secrets that are to be kept apart can both occur."""
        possible = self.possible
        return bool((self.pairs & possible[:, :, None] & possible[:, None, :]).any())

    def about(self, secret: SecretPairs, *, begun: int = 0) -> "SecretLaws":
        """The laws of what is secret: of pairs of states, and of sets, whose laws are mixtures (Statement 62).

        A series of a cycle begins at this time of it.
        """
        if secret.everything:
            return self
        named = secret.names != ("",)
        which = [secret.names.index(name) if named else 0 for name in self.nodes]
        nodes = np.ones(len(which), dtype=bool) if named else secret.at_nodes(len(which), begun=begun)
        rows, most = self.possible.shape[1], max(len(sets) for sets in secret.sets)
        weights = self.leads if self.leads is not None else None if self.priors is None else self.priors[:, None, :]
        if most and weights is None:
            raise NotCoveredError("the law of a set of states needs the probabilities of its states")
        apart = np.zeros((len(which), rows + 2 * most, rows + 2 * most), dtype=bool)
        starts = 1 if self.leads is None else self.leads.shape[1]
        laws = np.full((len(which), starts, rows + 2 * most, self.logs.shape[2]), -np.inf)
        laws[:, :, :rows] = self.logs.reshape(len(which), starts, rows, -1)
        leads = np.full((len(which), starts, rows + 2 * most), -np.inf)
        leads[:, :, :rows] = 0.0 if weights is None else weights
        names = [list(states) + [""] * (rows - len(states)) for states in self.states]
        for i, n in enumerate(which):
            size = len(secret.pairs[n])
            apart[i, :size, :size] = secret.pairs[n] & nodes[i]
            for place, both in enumerate(secret.sets[n]):
                at = rows + 2 * place
                apart[i, at, at + 1] = apart[i, at + 1, at] = nodes[i]
                for side, states in enumerate(both):
                    inside = np.flatnonzero(states)
                    _mix(laws[i], leads[i], inside, at + side)
                    names[i].append(" or ".join(self.states[i][x] for x in inside))
        flat = laws.reshape(len(which), starts * (rows + 2 * most), -1)
        return replace(
            self,
            states=tuple(map(tuple, names)),
            logs=np.ascontiguousarray(flat),
            leads=None if self.leads is None else leads,
            priors=None if self.priors is None else leads[:, 0],
            apart=apart,
        )


def _mix(laws: Floats, leads: Floats, inside: Integers, row: int) -> None:
    """Write the law given a set of states, and how likely the set is, for each start."""
    with np.errstate(invalid="ignore"):
        leads[:, row] = np.logaddexp.reduce(leads[:, inside], axis=1)
        weighed = laws[:, inside] + leads[:, inside, None]
        laws[:, row] = np.logaddexp.reduce(weighed, axis=1) - leads[:, row, None]
    laws[:, row][np.isnan(laws[:, row])] = -np.inf  # where no state of the set is possible


def chain_laws(
    chain: MarkovChain,
    asked: Sequence[Statistic],
    length: int,
    *,
    know: Mapping[int, str] | None = None,
    progress: Progress | None = None,
) -> SecretLaws:
    """The laws of sums over a chain's values, given X_i = x and what else is known (time → state).

    >>> from quiltwork.question import bind
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    >>> laws = chain_laws(coin, [Statistic(bind("count:1", coin).only)], 2)
    >>> laws.points.ravel().tolist(), np.exp(laws.logs[0]).round(6).tolist()      # X_1 = 0 and X_1 = 1
    ([0, 1, 2], [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    """
    logs, leads, points = _tables(chain, chain.states, np.arange(len(chain.states)), asked, length, know, progress)
    names = tuple(str(t) for t in range(1, length + 1))
    told = SecretLaws(names, (chain.states,) * length, points, logs)
    return replace(told, priors=leads[:, 0]) if chain.initial is not None else replace(told, leads=leads)


def hidden_laws(
    belief: HiddenChain,
    asked: Sequence[Statistic],
    length: int,
    *,
    know: Mapping[int, str] | None = None,
    progress: Progress | None = None,
) -> SecretLaws:
    """The same where phases lie behind values: the law given a state is a mixture of those given its phases.

    >>> from quiltwork.question import bind
    >>> slow = HiddenChain([[0.5, 0.5, 0], [0, 0.5, 0.5], [1, 0, 0]], shows=[*"aab"], initial=[1, 0, 0])
    >>> asked = Statistic(bind("count:b", slow).only)
    >>> np.exp(hidden_laws(slow, [asked], 3).logs[2]).round(6).tolist()      # X_3 = a and X_3 = b
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    """
    if belief.phases.initial is None:
        raise NotCoveredError(
            "exact laws of a chain with phases need a start",
            got='initial "any"',
            why="how likely each phase of a state is depends on it",
            fix='Use initial "stationary" or a vector',
        )
    by_phase, leads, points = _tables(belief.phases, belief.states, belief.shown, asked, length, know, progress)
    phases, states = by_phase.shape[1], len(belief.states)
    laws = np.pad(by_phase, ((0, 0), (0, states), (0, 0)))
    leads = np.pad(leads[:, 0], ((0, 0), (0, states)))
    for state in range(states):
        _mix(laws, leads, np.flatnonzero(belief.shown == state), phases + state)
    names = tuple(str(t) for t in range(1, length + 1))
    logs, priors = np.ascontiguousarray(laws[:, phases:]), leads[:, phases:]
    return SecretLaws(names, (belief.states,) * length, points, logs, priors=priors)


def _tables(
    chain: MarkovChain,
    states: tuple[str, ...],
    shown: Integers,
    asked: Sequence[Statistic],
    length: int,
    know: Mapping[int, str] | None,
    progress: Progress | None,
) -> tuple[Floats, Floats, Integers]:
    """Laws given each state of a chain that shows these states, what leads to it, and the points of the laws."""
    digits, numbers = _digits(asked, states, length)
    moves, widths, lows = _moves(digits, states, length)
    moves = np.ascontiguousarray(moves[:, shown])
    width = int(np.prod([float(w) for w in widths]))
    k = len(chain.states)
    starts = np.eye(k) if chain.initial is None else chain.initial[None, :]  # Statement 48
    size = k * length * width * len(starts)
    got = f"{size:,} numbers and {size * width // 6:.1e} steps"
    _check_size(size, size * width // 6, got=got, fix="Use a shorter length, or a query with fewer possible values")
    allowed = np.ones((length, k), dtype=bool)
    for node, state in (know or {}).items():
        allowed[node - 1] = _known_state(states, node, state, length)[shown]
    from quiltwork.laws import tables  # compiled: loaded when needed

    with np.errstate(divide="ignore"):
        log_p, log_starts = np.log(chain.transition), np.log(starts)
    after = tables.backward(log_p, moves, allowed, width)
    by_start, leads = np.empty((length, len(starts), k, width)), np.empty((length, len(starts), k))
    for z, log_start in enumerate(log_starts):
        before = tables.forward(log_p, log_start, moves, allowed, width)
        leads[:, z] = _log_sum(before) + _log_sum(after)
        joined = np.empty_like(before)
        in_threads(partial(tables.join_some, before, after, joined), length, progress)
        by_start[:, z] = joined
    logs = by_start.reshape(length, -1, width)
    _check_known(logs)
    sums = np.stack(np.unravel_index(np.arange(width), widths), axis=1) + lows
    points = np.stack([base + sums @ weights for weights, base in numbers], axis=1)
    if len(widths) > 1:  # most combinations of several sums cannot occur
        kept = np.isfinite(logs).any(axis=(0, 1))
        points, logs = points[kept], np.ascontiguousarray(logs[:, :, kept])
    return logs, leads, points.astype(np.int64)


def _log_sum(table: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp.reduce(table, axis=2))


def record_laws(law: RecordLaw, asked: Sequence[Statistic], *, know: Mapping[str, str] | None = None) -> SecretLaws:
    """The laws of sums over the variables of a record, given one of them, by adding up all possible records.

    >>> from quiltwork import JointTable
    >>> from quiltwork.question import bind
    >>> twins = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    >>> np.exp(record_laws(twins, [Statistic(bind("count:1", twins).only)]).logs[0]).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    _check_variables(law, know or {})
    return _added_up(law, [_of_records(a) or _record_steps(a, law) for a in asked], know or {})


def mixture_laws(
    laws: Sequence[RecordLaw], asked: Sequence[Statistic], *, know: Mapping[str, str] | None = None
) -> SecretLaws:
    """The laws of sums under each of some laws of records, of which any mixture may hold (Statement 66).

    The law takes the place of a start: that of a mixture is found as that of any start on two of them.

    >>> from quiltwork import JointTable
    >>> from quiltwork.question import bind
    >>> both = [JointTable({"x": "01"}, [(("0",), p), (("1",), 1 - p)]) for p in (0.5, 0.9)]
    >>> np.exp(mixture_laws(both, [Statistic(bind("count:1", both[0]).only)]).leads[0]).round(6).tolist()
    [[0.5, 0.5], [0.9, 0.1]]
    """
    single: list[SecretLaws] = []
    for law in laws:
        with suppress(ImpossibleError):  # what is known cannot happen under it
            single.append(record_laws(law, asked, know=know))
    if not single:
        _check_known(np.full(1, -np.inf))
    points, which = np.unique(np.concatenate([one.points for one in single]), axis=0, return_inverse=True)
    nodes, states, _ = single[0].logs.shape
    logs = np.full((nodes, len(single), states, len(points)), -np.inf)
    leads, begun = np.empty((nodes, len(single), states)), 0
    for z, one in enumerate(single):
        logs[:, z][:, :, which.ravel()[begun : begun + len(one.points)]] = one.logs
        leads[:, z] = -np.inf if one.priors is None else one.priors
        begun += len(one.points)
    names = tuple(f"law {z}" for z in range(1, len(single) + 1))
    flat = np.ascontiguousarray(logs.reshape(nodes, -1, len(points)))
    return SecretLaws(single[0].nodes, single[0].states, points, flat, leads, starts=names)


Adds = Callable[[Integers], Integers]
"""What each of some records, given by codes, adds to each number."""


def laws_by_part(network: BayesianNetwork, asked: Sequence[Statistic]) -> list[SecretLaws]:
    """The laws of what each independent part of a network adds to the sums, given one of its own variables."""
    steps = [_record_steps(a, network) for a in asked]
    return [
        _added_up(network.part(nodes), [[by_variable[j] for j in nodes] for by_variable in steps], {})
        for nodes in network.graph.components
    ]


def _added_up(law: RecordLaw, steps: Sequence["Sequence[Integers] | Adds"], know: Mapping[str, str]) -> SecretLaws:
    """``steps`` say for each query and variable what each state adds, or what records add."""
    names, sizes = list(law.variables), [len(states) for states in law.variables.values()]
    if isinstance(law, BayesianNetwork) and math.prod(sizes) > FEW_RECORDS:
        by_states = [by_variable for by_variable in steps if not callable(by_variable)]
        if len(by_states) < len(steps):
            raise NotCoveredError(
                "exact laws of questions about whole records need few of them",
                got=f"{math.prod(sizes):.1e} possible records",
                why=f"all of them are gone through, and the limit is {FEW_RECORDS:,}",
                fix="Use curve or group",
            )
        return _along_cliques(law, by_states, know)
    outcomes = law.all_outcomes
    kept = np.ones(len(outcomes.logs), dtype=bool)
    for name, state in know.items():
        kept &= outcomes.codes[:, names.index(name)] == law.variables[name].index(state)
    codes, log_p = outcomes.codes[kept], outcomes.logs[kept]
    sums = np.concatenate(
        [adds(codes) if callable(adds) else sum(adds[j][:, codes[:, j]] for j in range(len(names))) for adds in steps],
        axis=0,
        dtype=np.int64,
    ).T
    points, place = np.unique(sums, axis=0, return_inverse=True)
    logs = np.full((len(names), max(sizes), max(len(points), 1)), -np.inf)
    for j in range(len(names)):
        _add_up(logs[j].ravel(), codes[:, j] * logs.shape[2] + place.ravel(), log_p)
    return _given_each(law, points, logs)


def _given_each(law: RecordLaw, points: Integers, joint: Floats) -> SecretLaws:
    """Laws given each secret from log P(X_i = x, numbers = points[v]) as [i, x, v]."""
    priors = np.logaddexp.reduce(joint, axis=2)
    with np.errstate(invalid="ignore"):
        logs = joint - priors[:, :, None]
    logs[np.isnan(logs)] = -np.inf
    _check_known(logs)
    return SecretLaws(tuple(law.variables), tuple(law.variables.values()), points, logs, priors=priors)


def _along_cliques(
    network: BayesianNetwork, steps: Sequence[Sequence[Integers]], know: Mapping[str, str]
) -> SecretLaws:
    """The same along the tree of cliques, for networks with too many records to go through."""
    from quiltwork.laws.cliques import clique_laws, clique_sizes  # compiled: loaded when needed

    rows = [_mixed(by_variable) for by_variable in steps]
    kept = np.concatenate([np.array(matrix) for matrix, _ in rows], axis=0)  # numbers x (variables, states) in a row
    sizes = [len(states) for states in network.variables.values()]
    ends = np.cumsum(sizes)[:-1]
    lows = np.stack([part.min(axis=1) for part in np.split(kept, ends, axis=1)])  # variables x numbers
    spans = np.stack([np.ptp(part, axis=1) for part in np.split(kept, ends, axis=1)]).sum(axis=0)
    widths = tuple(int(span) + 1 for span in spans)
    width = int(np.prod([float(w) for w in widths]))
    work = sum(clique_sizes(network)) * float(width) ** 2
    largest = max(float(size) for size in clique_sizes(network)) * width
    variables, bits = network.width
    size = f"tables of {variables} variables with 2^{bits:.0f} entries and {width:,} possible answers"
    _check_size(largest, work, got=size, fix="Ask about fewer variables, or use curve")
    strides = np.concatenate([np.cumprod(widths[::-1])[-2::-1], [1]]).astype(np.int64)
    parts = zip(np.split(kept, ends, axis=1), lows, strict=True)
    moves = [strides @ (part - low[:, None]) for part, low in parts]
    allowed = [
        np.array([know.get(name, state) == state for state in states]) for name, states in network.variables.items()
    ]
    tables = clique_laws(network, moves, width, allowed)
    logs = np.full((len(sizes), max(sizes), width), -np.inf)
    for node, table in enumerate(tables):
        logs[node, : len(table)] = table
    sums = np.stack(np.unravel_index(np.arange(width), widths), axis=1) + lows.sum(axis=0)
    occurs = np.isfinite(logs).any(axis=(0, 1))
    points, place = [], 0
    for matrix, constant in rows:
        own = sums[:, place : place + len(matrix)]
        place += len(matrix)
        points += [*own.T] if constant is None else [*own.T, constant - own.sum(axis=1)]
    told = np.stack(points, axis=1)[occurs].astype(np.int64)
    return _given_each(network, told, logs[:, :, occurs])


def _mixed(by_variable: Sequence[Integers]) -> tuple[Integers, int | None]:
    """What each state of each variable adds to the numbers that have to be kept, and what all add up to if known.

    The last count of a histogram is what the others leave over, so it needs no sum of its own.
    """
    totals = [steps.sum(axis=0) for steps in by_variable]
    whole = len(by_variable[0]) > 1 and all(len(set(total.tolist())) == 1 for total in totals)
    matrix = np.concatenate(by_variable, axis=1)
    return (matrix[:-1], sum(int(total[0]) for total in totals)) if whole else (matrix, None)


def _add_up(sums: Floats, places: Integers, log_p: Floats) -> None:
    """Write log of the sum of the probabilities of each place; the sums are exact, so that none is lost among many."""
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    for group in np.split(order, starts[1:]) if len(order) else []:
        most = log_p[group].max()
        sums[places[group[0]]] = most + math.log(math.fsum(np.exp(log_p[group] - most)))


def _of_records(asked: Statistic) -> Adds | None:
    """For a query that does not add up over variables, but over records."""
    if asked.segment is not None or asked.question.join == "sum":
        return None
    return asked.question.matching


def _record_steps(asked: Statistic, law: RecordLaw) -> list[Integers]:
    """What each state of each variable adds, for a query that adds up."""
    if asked.segment is not None:
        raise ParameterError("segments need a series", got="a record", why="its variables have no order in time")
    if not asked.question.additive or len(asked.question.parts) != len(law.variables):
        raise _not_additive(asked.question)
    steps = asked.question.steps
    _check_sums(sum(int(np.abs(step).max()) for step in steps))
    return list(steps)


def expected_work(question: Question, belief: Belief, length: int) -> float:
    """About how many steps the tables of one question take; 0 where they do not apply."""
    if belief.networks:
        return sum(_network_work(question, network) for network in belief.networks)
    if belief.variables is not None or not question.additive:
        return 0.0
    (steps,) = question.steps
    widths = [float(np.ptp(row)) * length + 1 for row in (steps[:-1] if len(steps) > 1 else steps)]
    k = len(belief.hidden_chains[0].shown) if belief.hidden_chains else len(belief.states)
    unknown = any(chain.initial is None for chain in belief.chains[:1])
    with np.errstate(over="ignore"):
        tables = k * length * np.prod(widths) ** 2 / 6 * (k if unknown else 1)
        pairs = 50.0 * k**4 * length * np.prod(widths) if unknown else 0.0  # every two states, for every two starts
        return float(len(belief.members) * (tables + pairs))


def outputs_of(question: Question, belief: Belief, length: int) -> float:
    """How many outputs an exact loss of a question on series is looked for at, over all times; 0 for records."""
    if belief.variables is not None or not question.additive:
        return 0.0
    (steps,) = question.steps
    with np.errstate(over="ignore"):
        return float(length * np.prod([float(np.ptp(row)) * length + 1 for row in steps]))


def _network_work(question: Question, network: BayesianNetwork) -> float:
    if math.prod(map(len, network.state_sets)) <= FEW_RECORDS:
        return 0.0
    from quiltwork.laws.cliques import clique_sizes  # compiled: loaded when needed

    if not question.additive:
        return 0.0
    matrix, _ = _mixed(question.steps)
    parts = np.split(matrix, np.cumsum([len(states) for states in network.state_sets])[:-1], axis=1)
    width = np.prod(np.sum([np.ptp(part, axis=1) for part in parts], axis=0, dtype=np.float64) + 1)
    return sum(clique_sizes(network)) * float(width) ** 2


def unit_of(asked: Statistic, length: int) -> Fraction:
    """What one unit of the laws' numbers is worth in the query's own answer."""
    first, last = asked.segment or (1, length)
    return asked.question.unit / asked.question.divisor_of(last - first + 1)


def _additive(question: Question, states: Sequence[str], count: int) -> Integers:
    if not question.additive:
        raise _not_additive(question)
    (steps,) = question.steps
    if steps.shape[1] != len(states):
        raise InternalError(
            "laws must be those of the question's own states", got=f"{len(states)} states", why="others add other steps"
        )
    _check_sums(max(abs(int(n)) for n in (steps.min(), steps.max())) * count)
    return steps


def _not_additive(question: Question) -> NotCoveredError:
    return NotCoveredError(
        f"exact laws need a query that adds up over values, got {question.text}",
        why="the tables hold partial sums",
        fix="Use a count, histogram, frequencies, sum or mean",
    )


def _check_sums(largest: int) -> None:
    if largest >= 2**62:
        raise NotCoveredError(
            "sums must stay below 2^62 steps",
            got=f"up to {largest:.1e}",
            fix="Round the states' numbers to fewer digits",
        )


Digit = tuple[tuple[int, ...], Segment]


def _digits(
    asked: Sequence[Statistic], states: Sequence[str], length: int
) -> tuple[list[Digit], list[tuple[Integers, int]]]:
    """The different partial sums to keep, and each number asked for as weights on them plus a constant.

    The last count of a histogram is the number of values less the others, so it needs no sum of its own.
    """
    digits: dict[Digit, int] = {}
    parts: list[tuple[dict[int, int], int]] = []
    for a in asked:
        first, last = segment = a.segment or (1, length)
        if not 1 <= first <= last <= length:
            raise ParameterError(
                f"a segment must lie within 1:{length}", got=f"{first}:{last}", why="the series has no other values"
            )
        steps = _additive(a.question, states, length)
        whole = len(steps) > 1 and bool((steps.sum(axis=0) == 1).all())
        rows = steps[:-1] if whole else steps
        parts += [({digits.setdefault((tuple(row.tolist()), segment), len(digits)): 1}, 0) for row in rows]
        if whole:
            parts.append(({n: -1 for part, _ in parts[1 - len(steps) :] for n in part}, last - first + 1))
    numbers = []
    for part, base in parts:
        weights = np.zeros(len(digits), dtype=np.int64)
        for n, weight in part.items():
            weights[n] = weight
        numbers.append((weights, base))
    return list(digits), numbers


def _moves(digits: Sequence[Digit], states: Sequence[str], length: int) -> tuple[Integers, tuple[int, ...], Integers]:
    """What each value adds to the mixed-radix sum, by time and state; the digits' widths and lowest values."""
    lows = np.array([min(steps) * (last - first + 1) for steps, (first, last) in digits], dtype=np.int64)
    widths = tuple((max(s) - min(s)) * (last - first + 1) + 1 for s, (first, last) in digits)
    moves = np.zeros((length, len(states)), dtype=np.int64)
    stride = 1
    for (steps, (first, last)), width in zip(reversed(digits), reversed(widths), strict=True):
        moves[first - 1 : last] += stride * (np.array(steps) - min(steps))
        stride *= width
    return moves, widths, lows


def _known_state(states: Sequence[str], node: int, state: str, length: int) -> Flags:
    if not 1 <= node <= length or state not in states:
        raise ParameterError(
            "what is known must be a time and a state of the series",
            got=f"{node}={state}",
            fix=f"Times are 1 to {length}, states {', '.join(states)}",
        )
    return np.asarray(np.array(states) == state)


def _check_variables(table: RecordLaw, know: Mapping[str, str]) -> None:
    for name, state in know.items():
        if state not in table.variables.get(name, ()):
            raise ParameterError(
                "what is known must be a variable and one of its states",
                got=f"{name}={state}",
                fix=f"Variables are {', '.join(table.variables)}",
            )


class ImpossibleError(ParameterError):
    """What is said to be known cannot happen under the belief."""


def _check_known(logs: Floats) -> None:
    if not np.isfinite(logs).any():
        raise ImpossibleError(
            "what is known must be possible under the belief",
            got="values of probability zero",
            why="nothing can be computed given an impossible event",
            fix="Check know=",
        )


def _check_size(numbers: float, work: float, *, got: str, fix: str) -> None:
    if numbers > MOST_NUMBERS or work > MOST_WORK:
        raise NotCoveredError(
            "the tables of exact laws would be too large",
            got=got,
            why=f"the limits are {MOST_NUMBERS:,} numbers (half a gigabyte) and {MOST_WORK:.0e} steps (a few minutes)",
            fix=fix,
        )
