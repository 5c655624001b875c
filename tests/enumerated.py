"""Every possible series or record under a belief, one by one, and what noisy answers tell about each value of it.

Nothing here comes from quiltwork: laws are written from the contents of a belief file, answers from the text of a
question, and losses from the noise that was drawn.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Contents = Mapping[str, Any]
MOST_CELLS = 3_000_000  # outputs times outcomes that are looked at; beyond, some of the outputs are
MEMBERS = 8  # of an infinite class


@dataclass(frozen=True)
class Place:
    """One value that may be secret: its variable, its moment (from 1), and the states that it may have."""

    variable: str
    moment: int
    states: tuple[str, ...]
    subject: int = 0


@dataclass(frozen=True)
class World:
    """Every outcome, and how likely it is under each of some laws of a belief."""

    places: tuple[Place, ...]
    outcomes: NDArray[np.int64]
    """Outcomes x places: which of its states each value has."""
    laws: Floats
    """Laws x outcomes."""

    def named(self) -> Iterator[tuple[str, ...]]:
        """The outcomes, by the names of states."""
        for outcome in self.outcomes:
            yield tuple(place.states[code] for place, code in zip(self.places, outcome, strict=True))


def worlds(belief: Contents, lengths: Sequence[int], rng: random.Random) -> World:
    """All outcomes of several series or records that are independent of each other, each under a law of its own."""
    joined = world(belief, lengths[0], rng)
    for subject, length in enumerate(lengths[1:], 1):
        more = world(belief, length, rng)
        outcomes = [np.concatenate(both) for both in itertools.product(joined.outcomes, more.outcomes)]
        count = max(len(joined.laws), len(more.laws))
        one, other = ([rng.randrange(len(laws)) for _ in range(count)] for laws in (joined.laws, more.laws))
        laws = np.array([np.kron(joined.laws[a], more.laws[b]) for a, b in zip(one, other, strict=True)])
        places = tuple(replace(place, subject=subject) for place in more.places)
        joined = World(joined.places + places, np.array(outcomes), laws)
    return joined


def world(belief: Contents, length: int, rng: random.Random) -> World:
    """All outcomes of that many values (of a record: of its variables) under a belief."""
    kind = belief["kind"]
    if kind in ("network", "joint", "mixtures") or (kind == "set" and belief["members"][0]["kind"] == "network"):
        return _of_records(belief, rng)
    if kind == "dynamic":
        return _of_steps(belief, length, rng)
    states = tuple(belief["members"][0]["states"] if kind == "set" else belief["states"])
    outcomes = np.array(list(itertools.product(range(len(states)), repeat=length)), dtype=np.int64)
    laws = _series_laws(belief, outcomes, rng)
    return World(tuple(Place("", t + 1, states) for t in range(length)), outcomes, laws)


def _series_laws(belief: Contents, outcomes: NDArray[np.int64], rng: random.Random) -> Floats:
    kind, length = belief["kind"], outcomes.shape[1]
    if kind == "set":
        return np.concatenate([_series_laws(member, outcomes, rng) for member in belief["members"]])
    if kind == "chain":
        P = np.array(belief["transition"])
        return _chain_laws(_starts(belief["initial"], P, rng), [P] * (length - 1), outcomes)
    if kind == "interval":
        found = []
        for _ in range(MEMBERS):
            steps = [_within(belief, rng)] * (length - 1)
            if rng.random() < 0.5:
                steps = [_within(belief, rng) for _ in steps]
            found.append(_chain_laws(_any_start(len(belief["states"]), rng), steps, outcomes))
        return np.concatenate(found)
    if kind == "mixing":
        members = mixing_members(belief, rng)
        start = belief.get("initial", "any")
        return np.concatenate([_chain_laws(_starts(start, P, rng), [P] * (length - 1), outcomes) for P in members])
    if kind == "cycle":
        tables, found = [np.array(table) for table in belief["transitions"]], []
        for begun in range(len(tables)):
            turned = tables[begun:] + tables[:begun]
            whole = np.linalg.multi_dot([np.eye(len(tables[0])), *turned, np.eye(len(tables[0]))])
            steps = [turned[t % len(tables)] for t in range(length - 1)]
            found.append(_chain_laws(_starts(belief["initial"], whole, rng), steps, outcomes))
        return np.concatenate(found)
    P, shown = _phases(belief)
    return _hidden_laws(_starts(belief["initial"], P, rng), P, shown, outcomes)


def _phases(belief: Contents) -> tuple[Floats, NDArray[np.int64]]:
    """The matrix of phases, and which state each shows; the last values of a chain of some order are phases."""
    states = list(belief["states"])
    if belief["kind"] == "hidden":
        return np.array(belief["transition"]), np.array([states.index(s) for s in belief["shows"]])
    histories = list(itertools.product(range(len(states)), repeat=belief["order"]))
    P = np.zeros((len(histories),) * 2)
    for n, history in enumerate(histories):
        for state, p in enumerate(belief["transition"][n]):
            P[n, histories.index((*history[1:], state))] += p
    return P, np.array([history[-1] for history in histories])


def _chain_laws(starts: Floats, steps: Sequence[Floats], outcomes: NDArray[np.int64]) -> Floats:
    laws = starts[:, outcomes[:, 0]]
    for t, P in enumerate(steps):
        laws = laws * P[outcomes[:, t], outcomes[:, t + 1]][None, :]
    return laws


def _hidden_laws(starts: Floats, P: Floats, shown: NDArray[np.int64], outcomes: NDArray[np.int64]) -> Floats:
    laws = np.zeros((len(starts), len(outcomes)))
    for n, outcome in enumerate(outcomes):
        reached = starts * (shown == outcome[0])
        for state in outcome[1:]:
            reached = (reached @ P) * (shown == state)
        laws[:, n] = reached.sum(axis=1)
    return laws


def stationary(P: Floats) -> Floats:
    """The law that a matrix keeps, by least squares; it must be the only one."""
    k = len(P)
    law = np.linalg.lstsq(np.vstack([P.T - np.eye(k), np.ones(k)]), np.append(np.zeros(k), 1.0), rcond=None)[0]
    law = np.where(law < 1e-12, 0.0, law)
    return np.asarray(law / law.sum())


def _starts(initial: Any, P: Floats, rng: random.Random) -> Floats:
    """The laws of the first state that a belief allows for, or some of them."""
    if initial == "stationary":
        return stationary(P)[None, :]
    return _any_start(len(P), rng) if initial == "any" else np.array([initial], dtype=np.float64)


def _any_start(k: int, rng: random.Random) -> Floats:
    starts = list(np.eye(k))
    for one, other in itertools.combinations(range(k), 2):
        for share in (0.5, 1e-3, 1 - 1e-3, rng.random()):
            start = np.zeros(k)
            start[[one, other]] = share, 1 - share
            starts.append(start)
    return np.array([*starts, *(distribution(k, rng) for _ in range(2))])


def distribution(k: int, rng: random.Random, *, zeros: bool = False) -> Floats:
    """A random law, with some zeros if allowed."""
    weights = np.array([rng.choice([rng.random(), rng.random() ** 4, 0.0 if zeros else 1.0]) for _ in range(k)])
    if weights.sum() < 1e-6:
        weights[rng.randrange(k)] = 1.0
    return np.asarray(weights / weights.sum())


def _within(belief: Contents, rng: random.Random) -> Floats:
    """A matrix within bounds: at corners, or between two of them."""
    rows = []
    for low, high in zip(belief["lower"], belief["upper"], strict=True):
        share = rng.choice([0.0, 1.0, rng.random()])
        rows.append(share * _corner(low, high, rng) + (1 - share) * _corner(low, high, rng))
    return np.array(rows)


def _corner(low: Sequence[float], high: Sequence[float], rng: random.Random) -> Floats:
    row = np.array(low, dtype=np.float64)
    for n in rng.sample(range(len(row)), len(row)):
        row[n] += min(high[n] - low[n], max(0.0, 1 - row.sum()))
    return row


def gap_and_least(P: Floats, *, reversible: bool) -> tuple[float, float]:
    """The spectral gap and the least stationary probability; a gap of -1 if the chain is not in such a class."""
    law = stationary(P)
    if law.min() <= 0:
        return -1.0, 0.0
    flow = law[:, None] * P
    if reversible:
        if np.abs(flow - flow.T).max() > 1e-12:
            return -1.0, 0.0
        return 1 - float(np.sort(np.abs(np.linalg.eigvals(P)))[-2]), float(law.min())
    backward = flow.T / law[:, None]
    return 1 - float(np.sort(np.linalg.eigvals(P @ backward).real)[-2]), float(law.min())


def mixing_members(belief: Contents, rng: random.Random) -> list[Floats]:
    """Some chains of a mixing class: of two states at its edges too, of more by trying."""
    k, gap, least, reversible = belief["states"], belief["gap"], belief["pi_min"], belief["reversible"]
    k = k if isinstance(k, int) else len(k)
    tried = []
    left = (1 - gap if reversible else math.sqrt(1 - gap)) * (1 - 1e-9)
    for share in (least, 1 - (k - 1) * least, rng.uniform(least, 1 / k)):
        law = np.full(k, (1 - share) / (k - 1))
        law[0] = share
        tried += [rate * np.eye(k) + (1 - rate) * law[None, :] for rate in (left, -left, rng.uniform(-left, left))]
    for _ in range(60):
        P = np.array([distribution(k, rng) for _ in range(k)])
        if reversible:
            flow = P + P.T
            P = flow / flow.sum(axis=1, keepdims=True)
        tried.append(P)
    members = []
    for P in tried:
        if P.min() >= 0:
            found = gap_and_least(P, reversible=reversible)
            if found[0] >= gap and found[1] >= least * (1 - 1e-12):
                members.append(P)
    return members[:MEMBERS] or [np.full((k, k), 1 / k)]


def _variables(contents: Any) -> dict[str, tuple[str, ...]]:
    return {one["name"]: tuple(one["states"]) for one in contents}


def _of_records(belief: Contents, rng: random.Random) -> World:
    members = belief["members"] if belief["kind"] in ("set", "mixtures") else [belief]
    variables = _variables(members[0]["variables"])
    outcomes = np.array(list(itertools.product(*(range(len(s)) for s in variables.values()))), dtype=np.int64)
    laws = np.array([_record_law(member, variables, outcomes) for member in members])
    if belief["kind"] == "mixtures":
        shares = [*np.eye(len(laws)), *(distribution(len(laws), rng, zeros=True) for _ in range(3 * MEMBERS))]
        laws = np.array(shares) @ laws
    return World(tuple(Place(name, 1, states) for name, states in variables.items()), outcomes, laws)


def _record_law(belief: Contents, variables: Mapping[str, tuple[str, ...]], outcomes: NDArray[np.int64]) -> Floats:
    names = list(variables)
    if belief["kind"] == "joint":
        chances = {tuple(row[name] for name in names): row["p"] for row in belief["table"]}
        codes = [tuple(variables[n][c] for n, c in zip(names, outcome, strict=True)) for outcome in outcomes]
        return np.array([chances.get(code, 0.0) for code in codes])
    law = np.ones(len(outcomes))
    for place, name in enumerate(names):
        above = [outcomes[:, names.index(parent)] for parent in belief["parents"].get(name, ())]
        law *= np.array(belief["tables"][name])[(*above, outcomes[:, place])]
    return law


def _of_steps(belief: Contents, length: int, rng: random.Random) -> World:
    """Records over time: a chain of whole steps, whose values are told apart."""
    variables = _variables(belief["variables"])
    names = list(variables)
    steps = np.array(list(itertools.product(*(range(len(s)) for s in variables.values()))), dtype=np.int64)
    P = np.ones((len(steps),) * 2)
    for x, before in enumerate(steps):
        for y, now in enumerate(steps):
            for place, name in enumerate(names):
                table: Any = belief["tables"][name]
                for parent in belief["parents"].get(name, ()):
                    source, earlier, _ = parent.partition("@before")
                    table = table[(before if earlier else now)[names.index(source)]]
                P[x, y] *= table[now[place]]
    initial = belief["initial"]
    if not isinstance(initial, str):
        initial = _record_law({"kind": "network", **initial}, variables, steps)
    starts = _starts(initial if isinstance(initial, str) else initial.tolist(), P, rng)
    paths = np.array(list(itertools.product(range(len(steps)), repeat=length)), dtype=np.int64)
    laws = _chain_laws(starts, [P] * (length - 1), paths)
    places = tuple(Place(name, t + 1, states) for t in range(length) for name, states in variables.items())
    return World(places, steps[paths].reshape(len(paths), -1), laws)


Steps = Sequence[str | None]
"""What a series is at each moment, None where that is not recorded; first what it was before all of them."""


def answer(question: str, released: Sequence[Place], values: Sequence[str], steps: Steps) -> list[Fraction]:
    """What a question asks for, before noise: of the released values, which make these steps in time."""
    words, _, chosen = question.partition(" over ")
    kind, _, rest = words.partition(":")
    if chosen:
        kept = [n for n, place in enumerate(released) if place.variable in chosen.split(",")]
        released, values = [released[n] for n in kept], [values[n] for n in kept]
    if kind in ("count", "share"):
        return [Fraction(sum(value in rest.split("|") for value in values))]
    if kind in ("histogram", "frequencies", "top", "median", "quantile"):
        states = list(dict.fromkeys(state for place in released for state in place.states))
        return [Fraction(list(values).count(state)) for state in states]
    if kind in ("sum", "mean"):
        return [sum((Fraction(value) for value in values), Fraction(0))]
    if kind in ("tally", "records"):
        wanted = dict(one.split("=") for one in rest.split("," if kind == "tally" else "&"))
        hits = [
            value in wanted[place.variable].split("|")
            for place, value in zip(released, values, strict=True)
            if place.variable in wanted
        ]
        return [Fraction(sum(hits) if kind == "tally" else all(hits))]
    return _in_order(kind, rest, _step_states(released), steps)


def _step_states(released: Sequence[Place]) -> list[str]:
    first = [place.states for place in released if place.moment == released[0].moment]
    return ["+".join(values) for values in itertools.product(*first)]


def _in_order(kind: str, rest: str, states: Sequence[str], steps: Steps) -> list[Fraction]:
    if kind == "transitions":
        pairs = list(itertools.pairwise(steps))
        return [Fraction(pairs.count((one, other))) for one in states for other in states]
    if kind == "stays":
        return [Fraction(len(_stays(steps, state.split("|")))) for state in ([rest] if rest else states)]
    if kind == "stay-length":
        among = rest.split("|")
        return [Fraction(sum(step in among for step in steps[1:])), Fraction(len(_stays(steps, among)))]
    state, _, more = rest.partition(":")
    if kind == "stay-lengths":
        edges = [1, *map(int, more.split(",")), math.inf]
        stays = _stays(steps, state.split("|"))
        return [Fraction(sum(low <= stay < high for stay in stays)) for low, high in itertools.pairwise(edges)]
    if kind == "difference":
        groups = [steps[int(first) : int(last) + 1] for first, last in (g.split("-") for g in more.split("|"))]
        shares = [Fraction(sum(s in state.split("|") for s in group), len(group)) for group in groups]
        return [(shares[1] - shares[0]) * min(map(len, groups))]
    raise ValueError(kind)


def _stays(steps: Steps, states: Sequence[str]) -> list[int]:
    """The lengths of the stays that begin in these steps."""
    runs = [(inside, len(list(run))) for inside, run in itertools.groupby(steps, lambda step: step in states)]
    stays = [length for inside, length in runs if inside]
    return stays if steps[0] not in states else stays[1:]


@dataclass(frozen=True)
class Drawn:
    """Noise that was drawn once: on how many numbers, and how it was spread."""

    numbers: tuple[Fraction, ...]
    """The true ones."""
    scale: float
    unit: Fraction
    noise: str
    totals: tuple[tuple[int, ...], ...] = ()
    """Places of numbers whose noise adds up to 0."""


Pairs = Callable[[Place], list[tuple[set[str], set[str]]]]


def secret_pairs(secrets: str | None) -> Pairs:
    """Which sets of states of a value are kept apart."""
    words, _, times = (secrets or "all").partition(" at ")
    words, _, chosen = words.partition(" over ")
    kind, _, rest = words.partition(":")

    def pairs(place: Place) -> list[tuple[set[str], set[str]]]:
        if times and not int(times.split(":")[0]) <= place.moment <= int(times.split(":")[1]):
            return []
        names = rest.split(",") if kind == "variables" else chosen.split(",") if chosen else [place.variable]
        if place.variable not in names:
            return []
        every = [({a}, {b}) for a, b in itertools.combinations(place.states, 2)]
        if kind == "state":
            return [(a, b) for a, b in every if (a | b) & {rest}]
        if kind == "pairs":
            return [(a, b) for a, b in every if a | b == set(rest.split("|"))]
        if kind == "sets":
            one, other = rest.split("|")
            inside = set(one.split(","))
            return [(inside, set(place.states) - inside if other == "*" else set(other.split(",")))]
        return every

    return pairs


@dataclass(frozen=True)
class Released:
    """The answers of every outcome, and the noise on each number of them."""

    answers: Floats
    """Outcomes x numbers."""
    drawn: tuple[Drawn, ...]

    def _blocks(self) -> Iterator[tuple[list[int], Drawn, bool]]:
        """Numbers that are noisy by themselves, or together with a total."""
        first = 0
        for one in self.drawn:
            together = {n for group in one.totals for n in group}
            yield from (([first + n], one, False) for n in range(len(one.numbers)) if n not in together)
            yield from (([first + n for n in group], one, True) for group in one.totals)
            first += len(one.numbers)

    def outputs(self, rng: random.Random) -> Floats:
        """The outputs at which the loss can be the largest.

        Along one number, or along two whose sum is kept, the ratio of two mixtures is monotone between neighbouring
        answers and constant beyond them. So each number is one that is a possible answer; where a total is kept, all
        but one are, and the last is what is left.
        """
        choices = [_of_block(self.answers[:, places], float(one.unit), total) for places, one, total in self._blocks()]
        order = [n for places, _, _ in self._blocks() for n in places]
        most = max(1, MOST_CELLS // len(self.answers))
        if math.prod(map(len, choices)) <= most:
            joined = np.array([np.concatenate(one) for one in itertools.product(*choices)])
        else:
            picked = [np.concatenate([rng.choice(block) for block in choices]) for _ in range(min(most, 3000))]
            joined = np.concatenate([np.unique(self.answers, axis=0)[:, order], picked])
        return np.asarray(joined[:, np.argsort(order)])

    def logs(self, outputs: Floats) -> Floats:
        """How likely each output is from each outcome, but for a constant: logarithms, outputs x outcomes."""
        total, first = np.zeros((len(outputs), len(self.answers))), 0
        for one in self.drawn:
            here = slice(first, first + len(one.numbers))
            first += len(one.numbers)
            apart = np.abs(outputs[:, None, here] - self.answers[None, :, here])
            if one.scale == 0:
                total = np.where(apart.max(axis=2) > 0, -np.inf, total)
            elif one.noise == "gaussian":
                total -= (apart**2).sum(axis=2) / (2 * one.scale**2)
            else:
                total -= apart.sum(axis=2) / one.scale
        return total

    def lattice(self) -> tuple[Floats, float] | None:
        """The outputs near all answers, and the logarithm of what all of them weigh; None if there are too many."""
        axes, places, constant, cells = [], [], 0.0, len(self.answers)
        for here, one, total in self._blocks():
            free = here[:-1] if total else here
            if (math.ceil(24 * one.scale / float(one.unit)) + 5) ** len(free) > MOST_CELLS:
                return None
            constant += _log_weight(one, len(free), total)
            for n in free:
                axes.append(_around(self.answers[:, n], one))
                places.append(n)
                cells *= len(axes[-1])
        if cells > MOST_CELLS:
            return None
        outputs = np.zeros((cells // len(self.answers), self.answers.shape[1]))
        outputs[:, places] = np.array(list(itertools.product(*axes)))
        for here, _, total in self._blocks():
            if total:
                outputs[:, here[-1]] = self.answers[0, here].sum() - outputs[:, here[:-1]].sum(axis=1)
        return outputs, constant

    def totals_kept(self, possible: NDArray[np.bool_]) -> bool:
        """Whether each total whose noise is 0 is the same for all possible outcomes, and so public."""
        answers = self.answers[possible]
        sums = [answers[:, places].sum(axis=1) for places, _, total in self._blocks() if total]
        return all(np.ptp(one) < 1e-9 for one in sums)


def _around(answers: Floats, one: Drawn) -> Floats:
    unit, wide = float(one.unit), 6 * one.scale + 2 * float(one.unit)
    return np.arange(round((answers.min() - wide) / unit), round((answers.max() + wide) / unit) + 1) * unit


def _log_weight(one: Drawn, free: int, total: bool) -> float:
    """The logarithm of the sum of all weights of noise; of Laplace noise by itself exactly, else far out."""
    if one.scale == 0:
        return 0.0
    step = float(one.unit) / one.scale
    if one.noise != "gaussian" and not total:
        return -free * math.log(math.tanh(step / 2))
    reach = math.ceil(12 / step)
    axis = np.arange(-reach, reach + 1) * step
    noise = np.array(list(itertools.product(axis, repeat=free)))
    noise = np.column_stack([noise, -noise.sum(axis=1)]) if total else noise
    weight = (noise**2 / 2 if one.noise == "gaussian" else np.abs(noise)).sum(axis=1)
    left_out = 0.0 if one.noise == "gaussian" else 8 * free * math.exp(-reach * step)
    return math.log(np.exp(-weight).sum()) + left_out


def _of_block(answers: Floats, unit: float, total: bool) -> list[Floats]:
    if not total:
        return [np.array([value]) for value in np.unique(answers[:, 0])]
    found: dict[tuple[float, ...], None] = {}
    whole = float(answers[0].sum())
    ranges = [np.arange(low, high + unit / 2, unit) for low, high in zip(answers.min(0), answers.max(0), strict=True)]
    for rest in range(len(ranges)):
        for others in itertools.product(*(r for n, r in enumerate(ranges) if n != rest)):
            found[(*others[:rest], whole - sum(others), *others[rest:])] = None
    return [np.array(one) for one in found]


def loss(within: World, released: Released, pairs: Pairs, rng: random.Random, *, known: bool = False) -> float:
    """The most that outputs tell about one value, whatever else of the series is known (if ``known``)."""
    possible = within.laws.max(axis=0) > 0
    if not released.totals_kept(possible):
        return math.inf
    outcomes, laws = within.outcomes[possible], within.laws[:, possible]
    kept = Released(released.answers[possible], released.drawn)
    logs = kept.logs(kept.outputs(rng))
    top = logs.max(axis=1, keepdims=True)
    dense = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    worst = 0.0
    for one, other in _compared(within, outcomes, pairs, known=known):
        worst = max(worst, _largest_ratio(dense, laws, one, other))
    return worst


def _compared(
    within: World, outcomes: NDArray[np.int64], pairs: Pairs, *, known: bool
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Outcomes with one and with the other of two secrets, given what is known of other values."""
    for n, place in enumerate(within.places):
        secret = pairs(place)
        if not secret:
            continue
        others = [m for m in range(len(within.places)) if m != n]
        subsets = [s for size in range(len(others) + 1) for s in itertools.combinations(others, size)]
        for subset in subsets if known else [()]:
            for context in _contexts(outcomes, subset):
                for one, other in secret:
                    sides = [
                        context & np.isin(outcomes[:, n], [place.states.index(s) for s in side if s in place.states])
                        for side in (one, other)
                    ]
                    if sides[0].any() and sides[1].any():
                        yield sides[0], sides[1]


def _contexts(outcomes: NDArray[np.int64], places: Sequence[int]) -> Iterable[NDArray[np.bool_]]:
    if not places:
        return [np.ones(len(outcomes), dtype=bool)]
    known = outcomes[:, list(places)]
    return [(known == values).all(axis=1) for values in np.unique(known, axis=0)]


def _mixed(dense: Floats, laws: Floats, side: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The law of outputs given that an outcome is among these, and how likely that is: by law of the belief."""
    chance = laws[:, side].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (dense[:, side] @ laws[:, side].T) / chance, chance


def _largest_ratio(dense: Floats, laws: Floats, one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    (p, p_chance), (q, q_chance) = _mixed(dense, laws, one), _mixed(dense, laws, other)
    both = (p_chance > 0) & (q_chance > 0)
    if not both.any():
        return 0.0
    p, q = p[:, both], q[:, both]
    seen = (p > 0) | (q > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(p[seen]) - np.log(q[seen])).max(initial=0.0))


def excess(within: World, released: Released, pairs: Pairs, epsilon: float, *, known: bool = False) -> float:
    """The least δ for this ε, from below: outputs far from all answers are left out. NaN if there are too many."""
    possible = within.laws.max(axis=0) > 0
    if not released.totals_kept(possible):
        return math.inf
    outcomes, laws = within.outcomes[possible], within.laws[:, possible]
    kept = Released(released.answers[possible], released.drawn)
    lattice = kept.lattice()
    if lattice is None:
        return math.nan
    outputs, constant = lattice
    dense = np.exp(kept.logs(outputs) - constant)
    worst = 0.0
    for one, other in _compared(within, outcomes, pairs, known=known):
        (p, p_chance), (q, q_chance) = _mixed(dense, laws, one), _mixed(dense, laws, other)
        both = (p_chance > 0) & (q_chance > 0)
        for a, b in ((p[:, both], q[:, both]), (q[:, both], p[:, both])):
            worst = max(worst, float(np.maximum(0.0, a - math.exp(epsilon) * b).sum(axis=0).max(initial=0.0)))
    return worst
