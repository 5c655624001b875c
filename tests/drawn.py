"""Random releases, the noise that was really drawn for each, and what it tells, by enumeration.

``python tests/drawn.py --cases 10000 --seed 1`` tries many.
"""

import argparse
import itertools
import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from enumerated import (
    Drawn,
    Place,
    Released,
    World,
    answer,
    distribution,
    excess,
    gap_and_least,
    loss,
    secret_pairs,
    worlds,
)
from numpy.typing import NDArray

from quiltwork import QuiltworkError, Release, Series, release
from quiltwork.beliefs import belief_from_dict
from quiltwork.releases import noise as noise_module, prepared as prepared_module

SLACK = 1e-9
MECHANISMS = ("curve", "quilt-exact", "quilt-approx", "wasserstein", "group", "gk16", "audited")
RECORDS = ("network", "networks", "joint", "mixtures")


@dataclass(frozen=True)
class Case:
    """A release of random data: all that it takes to make it again."""

    belief: dict[str, Any]
    questions: tuple[str, ...]
    length: int
    epsilon: float = 1.0
    mechanism: str | None = None
    guarantee: str = "pufferfish"
    noise: str = "laplace"
    delta: float = 0.0
    secrets: str | None = None
    segment: tuple[int, int] | None = None
    missing: tuple[int, ...] = ()
    """Moments whose values were not recorded."""
    window: int | None = None
    others: tuple[int, ...] = ()
    """The lengths of further series (of records: 1 for each of them)."""
    by_subject: bool = False
    seed: int = 0

    @property
    def kind(self) -> str:
        """The kind of belief, with its start where it has one."""
        initial = self.belief.get("initial", "")
        named = initial if isinstance(initial, str) else "given"
        members = self.belief.get("members", [{"kind": ""}])
        kind = self.belief["kind"]
        return "networks" if kind == "set" and members[0]["kind"] == "network" else f"{kind} {named}".strip()

    def __str__(self) -> str:
        return json.dumps(asdict(self))


def in_words(case: Case, claimed: float, exact: float) -> str:
    """What was promised and what is true."""
    return f"{case.kind}, {' + '.join(case.questions)}, {case.mechanism}: claimed {claimed}, told {exact}\n{case}"


@contextmanager
def recording() -> Iterator[list[Drawn]]:
    """What noise is added meanwhile; nothing may be drawn in another way."""
    calls: list[Drawn] = []
    inside: list[str] = []
    add_noise, mechanism = noise_module.add_noise, noise_module._mechanism

    def recorded(numbers: NDArray[Any], **how: Any) -> Any:
        unit = how.get("unit", Fraction(1))
        exact = tuple(Fraction(n) * unit for n in numbers.tolist())
        kind = how.get("noise", "laplace")
        # what Gaussian noise tells does not hang on the sum of numbers whose total is public: projected or not
        totals = () if kind == "gaussian" else tuple(tuple(group) for group in how.get("totals", ()))
        calls.append(Drawn(exact, how["scale"], unit, kind, totals))
        inside.append("add_noise")
        try:
            return add_noise(numbers, **how)
        finally:
            inside.pop()

    def watched(*arguments: Any) -> Any:
        assert inside, "noise is drawn past add_noise"
        return mechanism(*arguments)

    with (
        mock.patch.object(prepared_module, "add_noise", recorded),
        mock.patch.object(noise_module, "_mechanism", watched),
    ):
        yield calls


Parts = list[list[Fraction]]
"""The true answer to a question: some numbers for each window."""


def made(case: Case, within: World, rng: random.Random) -> tuple[Release, list[Drawn], list[Parts]]:
    """A release of random data, what was drawn for it, and the true answer to each question."""
    belief = belief_from_dict(case.belief)
    values = tuple(rng.choice(place.states) for place in within.places)
    data: Any
    if belief.variables is not None:
        size = len(belief.variables)
        records = [values[n : n + size] for n in range(0, len(values), size)]
        data = [dict(zip(belief.variables, record, strict=True)) for record in records]
    else:
        codes = []
        for subject in range(1 + len(case.others)):
            steps = _steps(within.places, values, subject)
            codes.append([-1 if t in case.missing else belief.states.index(step) for t, step in steps.items()])
        data = Series.from_codes(
            [np.array(one) for one in codes],
            states=belief.states,
            segment=case.segment,
            missing="split" if case.missing else "refuse",
        )
    asked: dict[str, Any] = {"guarantee": case.guarantee, "noise": case.noise, "delta": case.delta}
    asked |= {"secrets": case.secrets, "mechanism": case.mechanism, "window": case.window}
    asked |= {"by_subject": case.by_subject}
    with recording() as calls:
        result = release(data, list(case.questions), belief=belief, epsilon=case.epsilon, **asked, anyway=True)
    return result, calls, [answers(case, question, within.places, values) for question in case.questions]


def _steps(places: Sequence[Place], values: Sequence[str], subject: int) -> dict[int, str]:
    """What a series is at each moment: the values of all variables together."""
    at: dict[int, list[str]] = {}
    for place, value in zip(places, values, strict=True):
        if place.subject == subject:
            at.setdefault(place.moment, []).append(value)
    return {t: "+".join(together) for t, together in at.items()}


def answers(case: Case, question: str, places: Sequence[Place], values: Sequence[str]) -> Parts:
    """The true answer to a question, for each window, of all subjects together or of each."""
    found: dict[tuple[int, int], list[Fraction]] = {}
    for subject in range(1 + len(case.others)):
        for part, numbers in _of_subject(case, question, places, values, subject).items():
            here = (subject if case.by_subject else 0, part)
            so_far = found.get(here, [Fraction(0)] * len(numbers))
            found[here] = [one + other for one, other in zip(so_far, numbers, strict=True)]
    return list(found.values())


def _of_subject(
    case: Case, question: str, places: Sequence[Place], values: Sequence[str], subject: int
) -> dict[int, list[Fraction]]:
    own = [n for n, place in enumerate(places) if place.subject == subject]
    if case.belief["kind"] != "dynamic" and places[0].variable:
        return {0: answer(question, [places[n] for n in own], [values[n] for n in own], [])}
    steps = _steps(places, values, subject)
    first, last = case.segment or (1, max(steps))
    found = {}
    span = case.window or last + 1
    for part, moments in itertools.groupby(range(first, last + 1), lambda t: (t - 1) // span):
        here = list(moments)
        kept = [n for n in own if places[n].moment in here and places[n].moment not in case.missing]
        if kept:
            around = [here[0] - 1, *here]
            row = [steps[t] if first <= t <= last and t not in case.missing else None for t in around]
            found[part] = answer(question, [places[n] for n in kept], [values[n] for n in kept], row)
    return found


def told(case: Case) -> tuple[float, float]:
    """What a release claims, and the truth: ε, or with a δ that δ."""
    rng = random.Random(case.seed)
    within = worlds(case.belief, (case.length, *case.others), rng)
    result, calls, own = made(case, within, rng)
    places = _asked(calls, own)
    if len(case.questions) > 1:  # by chance two questions may have one answer
        _, others, more = made(case, within, rng)
        assert list(map(_how, others)) == list(map(_how, calls)), f"the noise depends on the data\n{case}"
        places = [place for place in places if place in _asked(others, more)]
    assert places, f"noise was added to other numbers than those asked for\n{case}"
    rows = []
    for values in within.named():
        own = [answers(case, question, within.places, values) for question in case.questions]
        picked = [_drawn_for(own[n], call) for n, call in zip(places[0], calls, strict=True)]
        rows.append([float(number) for numbers in picked for number in numbers])
    released = Released(np.array(rows), tuple(calls))
    pairs, known = secret_pairs(case.secrets), case.guarantee == "bayesian"
    claimed = result.calibration
    if claimed.delta:
        return claimed.delta, excess(within, released, pairs, claimed.epsilon, known=known)
    return claimed.epsilon, loss(within, released, pairs, rng, known=known)


def _how(call: Drawn) -> tuple[Any, ...]:
    return call.scale, call.unit, call.noise, call.totals, len(call.numbers)


def _drawn_for(parts: Parts, call: Drawn) -> tuple[Fraction, ...]:
    """The numbers that got noise: all, or where each part's total is known, all but the last ones of it."""
    size = len(call.numbers) // len(parts)
    return tuple(number for part in parts for number in part[:size])


def _asked(calls: Sequence[Drawn], own: Sequence[Parts]) -> list[tuple[int, ...]]:
    """Which question each noise was drawn for: those after one another whose true numbers it was added to."""
    return [
        places
        for places in itertools.combinations(range(len(own)), len(calls))
        if all(_drawn_for(own[n], call) == call.numbers for n, call in zip(places, calls, strict=True))
    ]


def _matrix(k: int, rng: random.Random) -> NDArray[np.float64]:
    """Transitions: random, sticky, periodic, with zeros."""
    zeros = rng.random() < 0.35
    P = np.array([distribution(k, rng, zeros=zeros) for _ in range(k)])
    if rng.random() < 0.3:
        stay = rng.choice([0.5, 0.9, 0.99])
        P = stay * np.eye(k) + (1 - stay) * P
    if rng.random() < 0.1:
        P = 0.9 * np.roll(np.eye(k), 1, axis=1) + 0.1 * P
    if rng.random() < 0.05:
        P = np.roll(np.eye(k), rng.randrange(k), axis=1)
    return P


def _unique(P: NDArray[np.float64]) -> bool:
    """Whether a matrix keeps one law only."""
    return int(np.linalg.matrix_rank(P - np.eye(len(P)), tol=1e-9)) == len(P) - 1


def _initial(P: NDArray[np.float64], rng: random.Random) -> Any:
    kind = rng.choice(["given", "stationary", "any"])
    if kind == "given":
        return distribution(len(P), rng, zeros=True).tolist()
    return kind if kind == "any" or _unique(P) else "any"


def _states(k: int, rng: random.Random) -> list[str]:
    return rng.choice([["0", "1", "2"], ["1", "3", "7"], ["0", "0.5", "2"]])[:k]


def _chain(rng: random.Random, states: list[str]) -> dict[str, Any]:
    P = _matrix(len(states), rng)
    return {"kind": "chain", "states": states, "transition": P.tolist(), "initial": _initial(P, rng)}


def _set(rng: random.Random, states: list[str]) -> dict[str, Any]:
    return {"kind": "set", "members": [_chain(rng, states) for _ in range(2)]}


def _interval(rng: random.Random, states: list[str]) -> dict[str, Any]:
    P, width = _matrix(len(states), rng), rng.choice([0.0, 0.05, 0.2])
    lower, upper = np.maximum(0, P - width * rng.random()), np.minimum(1, P + width * rng.random())
    return {"kind": "interval", "states": states, "lower": lower.tolist(), "upper": upper.tolist(), "initial": "any"}


def _mixing(rng: random.Random, states: list[str]) -> dict[str, Any]:
    reversible = rng.random() < 0.5
    P = _matrix(len(states), rng)
    P = (P + P.T) / (P + P.T).sum(axis=1, keepdims=True) if reversible else P
    gap, least = gap_and_least(P, reversible=reversible) if _unique(P) else (0.0, 0.0)
    gap, least = max(0.05, min(1.0, gap * 0.999)), max(0.02, least * 0.999)
    initial = rng.choice(["any", "stationary"])
    return {
        "kind": "mixing", "states": states, "gap": gap, "pi_min": least, "reversible": reversible, "initial": initial
    }  # fmt: skip


def _cycle(rng: random.Random, states: list[str]) -> dict[str, Any]:
    tables = [_matrix(len(states), rng) for _ in range(rng.randint(1, 3))]
    whole = tables[0]
    for table in tables[1:]:
        whole = whole @ table
    initial = rng.choice(["any", "stationary"]) if _unique(whole) else "any"
    listed = [table.tolist() for table in tables]
    return {"kind": "cycle", "states": states, "transitions": listed, "initial": initial}


def _hidden(rng: random.Random, states: list[str]) -> dict[str, Any]:
    shows = [*states, *(rng.choice(states) for _ in range(rng.randint(0, 2)))]
    P = _matrix(len(shows), rng)
    contents = {"kind": "hidden", "states": states, "shows": shows, "transition": P.tolist()}
    return contents | {"initial": _initial(P, rng)}


def _order(rng: random.Random, states: list[str]) -> dict[str, Any]:
    rows = np.array([_matrix(len(states), rng)[0] for _ in range(len(states) ** 2)])
    k = len(states)
    P = np.zeros((k * k, k * k))
    for n, row in enumerate(rows):
        P[n, [n % k * k + y for y in range(k)]] = row
    return {"kind": "order", "states": states, "order": 2, "transition": rows.tolist(), "initial": _initial(P, rng)}


def _table(above: Sequence[int], size: int, rng: random.Random) -> Any:
    if not above:
        return distribution(size, rng, zeros=rng.random() < 0.2).tolist()
    return [_table(above[1:], size, rng) for _ in range(above[0])]


def _network(rng: random.Random, variables: dict[str, list[str]] | None = None) -> dict[str, Any]:
    if variables is None:
        alike = rng.random() < 0.7
        pool = [["0", "1"], ["0", "1"], ["0", "1", "2"], ["1", "3"]]
        first = rng.choice(pool)
        variables = {name: first if alike else rng.choice(pool) for name in "abcd"[: rng.randint(2, 4)]}
    names = list(variables)
    path, in_order = rng.random() < 0.6, rng.random() < 0.7
    if not in_order:
        rng.shuffle(names)
    parents: dict[str, list[str]] = {}
    tables: dict[str, Any] = {}
    for n, name in enumerate(names):
        chosen = names[max(0, n - 1) : n] if path else rng.sample(names[:n], rng.randint(0, min(n, 2)))
        parents[name] = chosen
        tables[name] = _table([len(variables[p]) for p in chosen], len(variables[name]), rng)
        if path and in_order and n > 1 and len({tuple(states) for states in variables.values()}) == 1:
            tables[name] = tables[names[1]]  # a chain
    listed = [{"name": name, "states": states} for name, states in variables.items()]
    return {"kind": "network", "variables": listed, "parents": parents, "tables": tables}


def _networks(rng: random.Random) -> dict[str, Any]:
    first = _network(rng)
    return {"kind": "set", "members": [first, _again(first, rng)]}


def _again(network: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The same graph with other tables."""
    sizes = {one["name"]: len(one["states"]) for one in network["variables"]}
    tables = {name: _table([sizes[p] for p in network["parents"].get(name, ())], sizes[name], rng) for name in sizes}
    return network | {"tables": tables}


def _joint(rng: random.Random) -> dict[str, Any]:
    variables = _network(rng)["variables"]
    outcomes = list(itertools.product(*(one["states"] for one in variables)))
    law = distribution(len(outcomes), rng, zeros=True)
    names = [one["name"] for one in variables]
    table = [dict(zip(names, outcome, strict=True)) | {"p": float(p)} for outcome, p in zip(outcomes, law, strict=True)]
    return {"kind": "joint", "variables": variables, "table": table}


def _mixtures(rng: random.Random) -> dict[str, Any]:
    first = _network(rng)
    return {"kind": "mixtures", "members": [first, _again(first, rng)]}


def _dynamic(rng: random.Random) -> dict[str, Any]:
    variables = {name: ["0", "1"] for name in "ab"[: rng.randint(1, 2)]}
    if len(variables) == 1 and rng.random() < 0.5:
        variables["a"] = ["0", "1", "2"]
    names, parents, tables = list(variables), {}, {}
    for n, name in enumerate(names):
        known = [f"{other}@before" for other in names] + names[:n]
        parents[name] = rng.sample(known, rng.randint(0, min(2, len(known))))
        above = [len(variables[p.removesuffix("@before")]) for p in parents[name]]
        tables[name] = _table(above, len(variables[name]), rng)
    listed = [{"name": name, "states": states} for name, states in variables.items()]
    initial: Any = rng.choice(["any", "stationary", "given"])
    if initial == "given":
        first = _network(rng, variables)
        initial = {"parents": first["parents"], "tables": first["tables"]}
    return {"kind": "dynamic", "variables": listed, "parents": parents, "tables": tables, "initial": initial}


OF_SERIES: dict[str, Callable[[random.Random, list[str]], dict[str, Any]]] = {
    "chain": _chain,
    "set": _set,
    "interval": _interval,
    "mixing": _mixing,
    "cycle": _cycle,
    "hidden": _hidden,
    "order": _order,
}
OF_RECORDS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "network": _network,
    "networks": _networks,
    "joint": _joint,
    "mixtures": _mixtures,
    "dynamic": _dynamic,
}
KINDS = ("chain", "chain", *OF_SERIES, "network", *OF_RECORDS)


def random_case(seed: int, kind: str | None = None) -> Case:
    """A case, the same for each seed."""
    rng = random.Random(seed)
    kind = kind or rng.choice(KINDS)
    if kind in OF_SERIES:
        states = _states(rng.choice([2, 2, 3]), rng)
        belief = OF_SERIES[kind](rng, states)
        length = rng.randint(1, 5 if len(states) == 2 else 4)
        variables = {"": states}
    else:
        belief = OF_RECORDS[kind](rng)
        listed = belief.get("variables") or belief["members"][0]["variables"]
        variables = {one["name"]: one["states"] for one in listed}
        length = rng.randint(1, 3) if kind == "dynamic" else 1
    more: dict[str, Any] = {}
    if kind not in RECORDS:
        more = _places(length, rng, often=kind in ("hidden", "order", "dynamic"))
    if kind in RECORDS and rng.random() < 0.1 and len(variables) == 2:
        more["others"] = (1,)
    if kind not in RECORDS and not more.get("missing") and not more.get("segment") and rng.random() < 0.15:
        length = min(length, 3)
        more |= {"others": (rng.randint(1, 2 if kind != "dynamic" else 1),), "by_subject": rng.random() < 0.4}
    released = more["segment"][1] - more["segment"][0] + 1 if more.get("segment") else length
    if rng.random() < 0.25:
        more["secrets"] = _secrets(kind, variables, length, rng)
    if rng.random() < 0.2:
        more["guarantee"] = "bayesian"
    if rng.random() < 0.15:
        more |= {"noise": rng.choice(["gaussian", "best", "gaussian"]), "delta": rng.choice([0.05, 0.01, 1e-3])}
    count = 2 if rng.random() < 0.2 else 1
    questions = [_question(kind, variables, released, rng, more) for _ in range(count)]
    return Case(
        belief=belief,
        questions=tuple(dict.fromkeys(questions)),
        length=length,
        epsilon=rng.choice([0.1, 0.5, 1.0, 1.0, 2.0, 5.0]),
        mechanism=rng.choice([None, None, None, None, "curve", *MECHANISMS]),
        seed=seed,
        **more,
    )


def _places(length: int, rng: random.Random, *, often: bool) -> dict[str, Any]:
    """Which values are released: all, those of a segment, or those that were recorded; by windows, or all together.

    Segments often, where values beyond one may show more of what is behind them than those in it.
    """
    kind = rng.random() * (0.5 if often else 1.0)
    if length >= 2 and kind < 0.2:
        first = rng.randint(1, length)
        return {"segment": (first, rng.randint(first, length))}
    if length >= 3 and kind < 0.28:
        return {"missing": tuple(sorted(rng.sample(range(2, length), rng.randint(1, length - 2))))}
    if length >= 3 and kind < 0.36:
        return {"window": 2}
    return {}


def _secrets(kind: str, variables: dict[str, list[str]], length: int, rng: random.Random) -> str | None:
    name = rng.choice(list(variables))
    states = variables[name]
    options = [f"state:{rng.choice(states)}", f"pairs:{states[0]}|{states[1]}", f"sets:{states[0]}|*"]
    if kind in OF_RECORDS:
        options = [f"variables:{name}", f"state:{rng.choice(states)} over {name}"]
    chosen = rng.choice(options)
    if kind not in RECORDS and rng.random() < 0.3:
        first = rng.randint(1, length)
        chosen += f" at {first}:{rng.randint(first, length)}"
    return chosen


def _question(
    kind: str, variables: dict[str, list[str]], released: int, rng: random.Random, more: dict[str, Any]
) -> str:
    states = list(dict.fromkeys(state for own in variables.values() for state in own))
    one = rng.choice(states)
    options = ["histogram"] * 4 + ["frequencies", "top:1", "median", "quantile:0.3", "sum", "mean"]
    options += [f"count:{one}", f"share:{one}", f"count:{states[0]}|{states[1]}"]
    if kind in RECORDS:
        name, other = rng.sample(list(variables), 2)
        options += [f"tally:{name}={variables[name][0]}", f"histogram over {name}", f"sum over {name},{other}"]
        options += [f"records:{name}={variables[name][0]}&{other}={variables[other][0]}"]
        return rng.choice(options)
    if kind == "dynamic":
        steps = ["+".join(values) for values in itertools.product(*variables.values())]
        return rng.choice([*options, "transitions", "stays", f"stays:{rng.choice(steps)}"])
    options += ["transitions", "transitions", "stays", f"stays:{one}", f"stay-length:{one}"]
    if not more.get("window"):
        options += [f"stay-lengths:{one}:2", f"stay-lengths:{one}:2,3"]
    if released >= 2 and not {"missing", "window", "segment", "others"} & set(more):
        options.append(f"difference:{one}:1-{released // 2}|{released // 2 + 1}-{released}")
    return rng.choice(options)


def accepted(seed: int, kind: str | None = None) -> Iterator[tuple[Case, tuple[float, float]]]:
    """The case of a seed, or of later ones if it is refused; nothing if all of some are."""
    for more in range(8):
        case = random_case(seed + 1_000_003 * more, kind)
        try:
            found = told(case)
        except QuiltworkError:
            continue
        if not math.isnan(found[1]):
            yield case, found
            return


def main() -> None:
    """Try many cases and say what was found."""
    reader = argparse.ArgumentParser(description=main.__doc__)
    reader.add_argument("--cases", type=int, default=1000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--kind")
    reader.add_argument("--refusals", action="store_true")
    reader.add_argument("--seconds", type=float, default=math.inf)
    chosen = reader.parse_args()
    tried: Counter[str] = Counter()
    worst: dict[str, float] = {}
    begun = time.monotonic()
    for seed in range(chosen.seed, chosen.seed + chosen.cases):
        if time.monotonic() - begun > chosen.seconds:
            break
        case = random_case(seed, chosen.kind)
        try:
            claimed, exact = told(case)
        except QuiltworkError as problem:
            tried["refused"] += 1
            if chosen.refusals:
                print(f"{case.kind} {case.questions} {case.mechanism} {case.guarantee}: {problem}")
            continue
        except Exception as problem:
            tried["failed"] += 1
            print(f"FAILED {type(problem).__name__}: {str(problem)[:300]}\n{case}", flush=True)
            continue
        tried[f"{case.kind}{' δ' if case.delta else ''}" if not math.isnan(exact) else "too large"] += 1
        if not math.isnan(exact):
            worst[case.kind] = max(worst.get(case.kind, 0.0), exact / claimed)
        if exact > claimed * (1 + SLACK):
            print("VIOLATED " + in_words(case, claimed, exact), flush=True)
    print(f"{sum(tried.values())} cases in {time.monotonic() - begun:.0f} s: {dict(sorted(tried.items()))}")
    print({kind: round(ratio, 6) for kind, ratio in sorted(worst.items())})


if __name__ == "__main__":
    main()
