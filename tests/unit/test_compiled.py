"""Loops give the same numbers whether they are interpreted or compiled, and are compiled once there is work."""

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st

from quiltwork import MarkovChain, calibrate, compiled
from quiltwork.compiled import Loop, njit
from quiltwork.errors import QuiltworkError
from quiltwork.influence.curve import bridges, steps, walk
from quiltwork.influence.quilts import kernels
from quiltwork.types import Floats

LOOPS = [one for module in (bridges, kernels, steps, walk) for one in vars(module).values() if isinstance(one, Loop)]


@njit(steps=lambda numbers: len(numbers), cache=False)
def _half(numbers: Floats) -> float:
    total = 0.0
    for number in numbers:
        total += _shorter(number)
    return total


@njit(cache=False)
def _shorter(number: float) -> float:
    return number / 2


def test_a_loop_is_compiled_once_it_took_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "FEW", 1000)
    assert isinstance(_half, Loop)
    _half.taken = 0
    for _ in range(10):
        assert _half(np.ones(100)) == 50.0
    assert "compiled" not in vars(_half)
    assert "compiled" not in vars(_shorter)  # what a loop calls is interpreted with it
    assert _half(np.ones(100)) == 50.0
    assert "compiled" in vars(_half)
    assert _half(np.ones(1)) == 0.5  # and stays so


def test_one_long_call_is_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "FEW", 1000)
    again = Loop(_half.plain, _half.steps, {})  # type: ignore[attr-defined]
    assert again(np.ones(1001)) == 500.5
    assert "compiled" in vars(again)


def test_errors_leave_the_next_call_as_it_was() -> None:
    @njit(steps=lambda _: 1)
    def fails(number: float) -> float:
        raise ValueError(number)

    for _ in range(2):
        with pytest.raises(ValueError):  # noqa: PT011 - any
            fails(1.0)
    assert not getattr(compiled._interpreting, "now", False)


@st.composite
def tables(draw: st.DrawFn) -> Floats:
    k = draw(st.integers(1, 5))
    entry = st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-12, 1.0))
    rows = np.array([[draw(entry) for _ in range(k)] for _ in range(k)])
    rows[:, 0] += rows.sum(axis=1) == 0
    law: Floats = rows / rows.sum(axis=1, keepdims=True)
    return law


@given(tables(), st.floats(0, 400))
def test_interpreted_and_compiled_steps_agree(table: Floats, difference: float) -> None:
    kernel = steps.Kernel.of(table)
    cross = steps.cross_ratios(table)
    cases = [
        (kernels.largest_ratios, (table, table > 0)),
        (kernels.row_peaks, (table, table[0])),
    ]
    for loop, arguments in cases:
        assert isinstance(loop, Loop)
        np.testing.assert_array_equal(loop._interpreted(arguments), loop.compiled(*arguments))
    for loop, before in (
        (steps._best_ratios, (0, kernel.above, kernel.below, kernel.most, kernel.least, 1.0, 2.5, difference)),
        (steps._projective, (cross, difference)),
    ):
        assert isinstance(loop, Loop)
        shape = cross.shape if loop is steps._projective else (len(kernel.above), len(kernel.below))
        plain, fast = np.zeros(shape), np.zeros(shape)
        loop._interpreted((*before, plain))
        loop.compiled(*before, fast)
        np.testing.assert_allclose(plain, fast, rtol=1e-14, atol=1e-14)


@given(st.floats(0, 5), st.floats(0, 400), st.floats(0, 1), st.floats(0, 1), st.floats(0, 400))
def test_interpreted_and_compiled_walks_agree(
    most: float, difference: float, above: float, below: float, cross: float
) -> None:
    points = (np.array([1, 2]), np.array([[above], [above]]), np.array([[below], [0.0]]))
    arrays = (*points, np.array([1, 0]), np.array([cross, cross]), np.zeros(2))
    for loop, arguments in ((walk.steady_bound, (most, arrays)), (walk.frontier_step, (0, difference, arrays))):
        assert isinstance(loop, Loop)
        plain, fast = loop._interpreted(arguments), loop.compiled(*arguments)
        assert type(plain) is type(fast) is float
        assert plain == pytest.approx(fast, rel=1e-12, nan_ok=True)


@settings(max_examples=examples(12), deadline=None)
@given(tables(), st.sampled_from(["any", "stationary"]), st.sampled_from([None, 1, 2, 30, 10**12]),
       st.sampled_from(["count:0", "histogram", "transitions", "stays"]))  # fmt: skip
def test_interpreted_noise_is_never_smaller(table: Floats, initial: str, length: int | None, query: str) -> None:
    """Zeros, one state and length 1 are among them; loops that were compiled before count their steps anew."""
    found: list[float | str] = []
    for few in (-1, 4 * compiled.FEW):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "FEW", few)
            for loop in LOOPS:
                patch.setattr(loop, "taken", 0)
            try:
                chain = MarkovChain(table, initial=initial)
                found.append(calibrate(query, belief=chain, epsilon=1.0, length=length, mechanism="curve").noise_scale)
            except QuiltworkError as problem:
                found.append(str(problem))
    fast, plain = found
    assert plain == fast or (isinstance(plain, float) and isinstance(fast, float) and plain >= fast * (1 - 1e-12))


@pytest.mark.parametrize("initial", ["any", "stationary", [0.3, 0.7]])
def test_the_noise_does_not_depend_on_how_it_was_computed(
    initial: str | list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    scales = []
    for few in (0, 10**9):
        monkeypatch.setattr(compiled, "FEW", few)
        chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=initial)
        scales.append(calibrate("histogram", belief=chain, epsilon=1.0, length=300).noise_scale)
    assert scales[0] == pytest.approx(scales[1], rel=1e-12)
