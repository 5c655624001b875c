"""Rehearsals: made-up data follow the belief, and the noise is that of the calibration."""

import numpy as np
import pytest

from quiltwork import ChainSet, GaussianBelief, MarkovChain, NotCoveredError, calibrate
from quiltwork.errors import ParameterError
from quiltwork.fitting.edits import rescaled
from quiltwork.fitting.made_up import MOST_VALUES, made_up, made_up_records
from quiltwork.releases.rehearsal import rehearse
from quiltwork.samples import contagion_belief
from quiltwork.view.charts.releases import compared, rehearsal_chart

LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["sit", "walk"])


def test_made_up_series_have_the_transitions_and_the_start_of_the_belief() -> None:
    series = made_up(LAZY.with_start([0.0, 1.0]), length=1000, people=200)
    assert all(codes[0] == 1 for codes in series.codes)  # type: ignore[attr-defined]
    counts = series.transitions().astype(float)
    assert counts / counts.sum(axis=1, keepdims=True) == pytest.approx(LAZY.transition, abs=0.01)
    assert np.array_equal(made_up(LAZY, length=9, seed=4).counts(), made_up(LAZY, length=9, seed=4).counts())
    assert made_up(ChainSet([LAZY, LAZY.every(2)]), length=5, people=2).subjects == 2


def test_made_up_records_have_the_marginals_of_the_network() -> None:
    network = contagion_belief()
    shares = (made_up_records(network, people=20_000).codes == 1).mean(axis=0)
    outcomes = network._enumerate()
    weights = np.exp(outcomes.logs)
    assert shares == pytest.approx((outcomes.codes * weights[:, None]).sum(axis=0), abs=0.015)


def test_what_cannot_be_made_up() -> None:
    gaussian = GaussianBelief(distance=1.0, correlation={"ar1": 0.9}, step="1min")
    with pytest.raises(NotCoveredError, match="cannot be simulated"):
        made_up(gaussian, length=5)
    with pytest.raises(NotCoveredError, match="cannot be simulated"):
        made_up_records(LAZY, people=5)
    with pytest.raises(ParameterError, match="at most"):
        made_up(LAZY, length=MOST_VALUES + 1)


@pytest.mark.parametrize(
    ("query", "window", "kind"),
    [
        ("histogram", None, "bar"),
        ("frequencies", 50, "line"),
        ("transitions", None, "rect"),
        ("count:walk", 50, "line"),
    ],
)
def test_a_rehearsal_is_a_release_of_made_up_data(query: str, window: int | None, kind: str) -> None:
    noise = calibrate(query, belief=LAZY, epsilon=1.0, length=200)
    rehearsal = rehearse(LAZY, noise, length=200, people=5, window=window)
    assert rehearsal.release.calibration == noise
    assert rehearsal.release.ledger is None
    rows = compared(rehearsal)
    true = sum(row["true"] for row in rows)
    expected = {"histogram": 1000, "frequencies": 4, "transitions": 995}
    assert query not in expected or true == pytest.approx(expected[query])
    assert all(row["low"] <= row["noisy"] <= row["high"] for row in rows)
    assert f'"{kind}"' in str(rehearsal_chart(rehearsal).to_dict()).replace("'", '"')


def test_the_noise_of_a_rehearsal_has_the_scale_of_the_calibration() -> None:
    noise = calibrate("count:walk", belief=LAZY, epsilon=0.2, length=200)
    off = []
    for _ in range(200):
        rehearsal = rehearse(LAZY, noise, length=200)
        off.append(abs(rehearsal.release.answers[0].numbers[0] - rehearsal.truth[0][0]))
    assert np.mean(off) == pytest.approx(noise.noise_scale, rel=0.35)


def test_records_are_rehearsed_too() -> None:
    network = contagion_belief()
    rehearsal = rehearse(network, calibrate("histogram", belief=network, epsilon=1.0), people=50)
    assert sum(rehearsal.truth[0]) == 200


def test_a_changed_row_keeps_proportions() -> None:
    changed = rescaled([0.2, 0.3, 0.5], 2, 0.1)
    assert changed.sum() == pytest.approx(1)
    assert changed[0] / changed[1] == pytest.approx(2 / 3)
    with pytest.raises(ParameterError):
        rescaled([0.5, 0.5], 0, 1.1)
