"""Plain references: slow, obviously correct, and sharing no code with what they check."""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def powers(P: Array, count: int) -> list[Array]:
    found = [np.eye(len(P))]
    for _ in range(count):
        found.append(found[-1] @ P)
    return found


def log_ratio(numerator: float, denominator: float) -> float:
    """log n/d; -inf where n is 0 (never the maximum), inf where only d is 0."""
    if numerator == 0:
        return -math.inf
    return math.inf if denominator == 0 else math.log(numerator / denominator)


def influence(P: list[Array], start: Array | None, i: int, a: int | None, b: int | None) -> float:
    """e_i of the quilt {i-a, i+b} straight from its definition; start None stands for every start."""
    k = len(P[0])
    if start is None:
        # the supremum over all starts: a law near each single state, with a trace of every other one
        reach = [P[t].sum(axis=0) > 0 for t in range(i)]
        pairs = [(x, y) for x in range(k) for y in range(k) if x != y and reach[i - 1][x] and reach[i - 1][y]]
    else:
        law = [start @ P[t] for t in range(i)]
        reach = [p > 0 for p in law]
        pairs = [(x, y) for x in range(k) for y in range(k) if x != y and reach[i - 1][x] and reach[i - 1][y]]
    worst = 0.0
    for x, y in pairs:
        total = 0.0
        if b is not None:
            total += max(log_ratio(P[b][x, v], P[b][y, v]) for v in range(k))
        if a is not None:
            total += max(log_ratio(P[a][z, x], P[a][z, y]) for z in range(k) if reach[i - a - 1][z])
            if start is None:
                total += max(log_ratio(P[i - 1][s, y], P[i - 1][s, x]) for s in range(k))
            else:
                total += math.log(law[i - 1][y] / law[i - 1][x])
        worst = max(worst, total)
    return worst


def has_secret(P: list[Array], start: Array | None, i: int) -> bool:
    law = P[i - 1].sum(axis=0) if start is None else start @ P[i - 1]
    return int((law > 0).sum()) > 1


def node_score(P: list[Array], start: Array | None, i: int, length: int, epsilon: float) -> float:
    """The best score of node i over all quilts."""
    if not has_secret(P, start, i):
        return 1 / epsilon
    best = length / epsilon
    for a, b in itertools.product([None, *range(1, i)], [None, *range(1, length - i + 1)]):
        if a is None and b is None:
            continue
        card = (i if a is None else a) + (length + 1 - i if b is None else b) - 1
        if card / epsilon >= best:
            continue
        e = influence(P, start, i, a, b)
        if e < epsilon:
            best = min(best, card / (epsilon - e))
    return best


def quilt_score(transition: Array, start: Array | None, length: int, epsilon: float) -> float:
    """σ of the Markov Quilt Mechanism: loops over all nodes and quilts."""
    P = powers(transition, length)
    return max(node_score(P, start, i, length, epsilon) for i in range(1, length + 1))


def paths(transition: Array, start: Array, length: int) -> list[tuple[tuple[int, ...], float]]:
    """Every series of positive probability, with its probability."""
    found = []
    for path in itertools.product(range(len(transition)), repeat=length):
        p = float(start[path[0]])
        for x, y in itertools.pairwise(path):
            p *= float(transition[x, y])
        if p > 0:
            found.append((path, p))
    return found


def laplace_loss(
    law: list[tuple[tuple[int, ...], float]],
    statistic: str,
    scale: float,
    state: int = 0,
    seen: list[int] | None = None,
) -> float:
    """The exact privacy loss of Laplace noise on a count or histogram, by enumeration over series and lattice outputs.

    With ``seen`` only the values at these positions are counted; all positions are secrets. Between lattice points the
    ratio of two mixtures is monotone in each coordinate and beyond the last constant.
    """
    length = len(law[0][0])
    counted = [tuple(path[t] for t in seen) if seen is not None else path for path, _ in law]
    k = 1 + max(max(path) for path, _ in law)
    if statistic == "count":
        answers = np.array([[path.count(state)] for path in counted])
    else:
        answers = np.array([[path.count(s) for s in range(k)] for path in counted])
    outputs = np.array(list(itertools.product(range(length + 1), repeat=answers.shape[1])))
    weight = np.exp(-np.abs(answers[:, None, :] - outputs[None, :, :]).sum(axis=2) / scale)  # (paths, outputs)
    probability = np.array([p for _, p in law])
    series = np.array([path for path, _ in law])
    worst = 0.0
    for i in range(length):
        density = []
        for x in range(k):
            here = series[:, i] == x
            mass = probability[here].sum()
            if mass > 0:
                density.append(probability[here] @ weight[here] / mass)
        for p, q in itertools.permutations(density, 2):
            worst = max(worst, float(np.log(p / q).max()))
    return worst


Law = list[tuple[tuple[int, ...], float]]


def records(
    variables: dict[str, tuple[str, ...]], parents: dict[str, tuple[str, ...]], tables: dict[str, Array]
) -> Law:
    """Every record of a network of positive probability: the product of its tables' entries."""
    names = list(variables)
    found = []
    for record in itertools.product(*(range(len(states)) for states in variables.values())):
        value = dict(zip(names, record, strict=True))
        p = math.prod(float(tables[n][tuple(value[x] for x in (*parents[n], n))]) for n in names)
        if p > 0:
            found.append((record, p))
    return found


def record_loss(law: Law, points: list[list[int]], scale: float) -> float:
    """The exact loss of Laplace noise on a sum over the variables of a record; ``points[j][x]`` is what x adds."""
    answers = np.array([sum(points[j][x] for j, x in enumerate(record)) for record, _ in law])
    outputs = np.arange(answers.min(), answers.max() + 1)
    weight = np.exp(-np.abs(answers[:, None] - outputs[None, :]) / scale)
    return output_loss(law, weight)


def output_loss(law: Law, weight: Array) -> float:
    """The largest log-ratio of what is seen given two values of a variable; ``weight[m, w]`` is P(w | record m)."""
    probability = np.array([p for _, p in law])
    codes = np.array([record for record, _ in law])
    worst = 0.0
    for j in range(codes.shape[1]):
        seen = []
        for x in np.unique(codes[:, j]):
            here = codes[:, j] == x
            seen.append(probability[here] @ weight[here] / probability[here].sum())
        for p, q in itertools.permutations(seen, 2):
            worst = max(worst, float(np.log(p / q).max()))
    return worst


def record_influence(law: Law, node: int, quilt: tuple[int, ...]) -> float:
    """e(X_Q | X_i) straight from its definition."""
    given: dict[int, dict[tuple[int, ...], float]] = {}
    for record, p in law:
        own = given.setdefault(record[node], {})
        key = tuple(record[q] for q in quilt)
        own[key] = own.get(key, 0.0) + p
    laws = [{key: p / sum(own.values()) for key, p in own.items()} for own in given.values()]
    worst = 0.0
    for one, other in itertools.permutations(laws, 2):
        worst = max([worst, *(log_ratio(p, other.get(key, 0.0)) for key, p in one.items())])
    return worst


def dependent(parents: list[tuple[int, ...]], node: int, quilt: set[int]) -> set[int]:
    """The nodes that are not d-separated: by the moral graph of the ancestors, one node at a time."""
    found = {node}
    for other in set(range(len(parents))) - {node} - quilt:
        kept, waiting = set(), [node, other, *quilt]
        while waiting:
            v = waiting.pop()
            if v not in kept:
                kept.add(v)
                waiting += parents[v]
        edges = {frozenset(pair) for v in kept for pair in itertools.combinations((v, *parents[v]), 2)}
        reached, waiting = set(), [node]
        while waiting:
            v = waiting.pop()
            if v not in reached and v not in quilt:
                reached.add(v)
                waiting += [w for edge in edges if v in edge for w in edge]
        if other in reached:
            found.add(other)
    return found


def tail(scale: float, m: int) -> float:
    """P(|Z| > m) of discrete Laplace, summed from its law (1-α)/(1+α) α^|z|."""
    alpha = math.exp(-1 / scale)
    return 2 * (1 - alpha) / (1 + alpha) * alpha ** (m + 1) / (1 - alpha)


Laws = list[tuple[Array, Array]]


def given_secrets(codes: NDArray[np.int64], probability: Array) -> Laws:
    """The laws of series (or records) given each two values at each place."""
    pairs: Laws = []
    for place in range(codes.shape[1]):
        given_value = []
        for value in np.unique(codes[:, place]):
            here = np.where(codes[:, place] == value, probability, 0.0)
            if here.sum() > 0:
                given_value.append(here / here.sum())
        pairs += itertools.permutations(given_value, 2)
    return pairs


def largest_delta(outputs: Array, pairs: Laws, epsilon: float) -> float:
    """sup_S P(S) - e^ε Q(S), the largest over all pairs; one row of outputs for each series."""
    return max(
        (float(np.maximum(p @ outputs - math.exp(epsilon) * (q @ outputs), 0).sum()) for p, q in pairs), default=0.0
    )


def lattice_law(scale: float, noise: str, reach: int) -> Array:
    """Noise on whole numbers up to a reach."""
    steps = np.arange(-reach, reach + 1)
    weights = np.exp(-(steps**2) / (2 * scale**2)) if noise == "gaussian" else np.exp(-np.abs(steps) / scale)
    return np.asarray(weights / weights.sum())


def noisy_outputs(counts: NDArray[np.int64], scale: float, noise: str, reach: int) -> Array:
    """The law of each series' count with noise, cut off where next to nothing is left."""
    law = lattice_law(scale, noise, 2 * reach)
    return np.stack([law[reach - int(c) : 3 * reach + 1 - int(c)] for c in counts])


def claimed_delta(outputs: Array, distance: Array, epsilon: float) -> float:
    """e^ε · sup over x, x' of e^-d H_d: what Statement 77 says of any mechanism, straight from its definition."""
    apart = np.maximum(outputs[:, None, :] - np.exp(distance)[:, :, None] * outputs[None, :, :], 0).sum(axis=2)
    return math.exp(epsilon) * float((np.exp(-distance) * apart).max())


def mechanisms_near(distance: Array, rng: np.random.Generator, number: int) -> list[Array]:
    """Random mechanisms with five outputs; every other one nearly keeps to the distance."""
    found = []
    for n in range(number):
        outputs = rng.random((len(distance), 5)) ** rng.choice([1, 4, 20])
        if n % 2:
            towards = np.exp(-distance[:, rng.integers(len(distance), size=5)])
            outputs = towards * (1 + rng.choice([0.01, 0.3]) * outputs)
        found.append(outputs / outputs.sum(axis=1, keepdims=True))
    return found
