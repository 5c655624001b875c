"""Plans: the best mechanism with a real guarantee, for one release or several."""

import pytest
from examples import CHAIN

from quiltwork import Accountant, Count, Frequencies, Histogram, InputError, ReleaseRecord, plan
from quiltwork.samples import contagion_belief


def test_plans_name_the_best_real_guarantee() -> None:
    made = plan(Histogram(), belief=CHAIN, epsilon=1.0, length=60)
    assert made.best is not None
    assert made.best.mechanism == "audited"
    assert [made.multiple(o) is None for o in made.offers] == [o.refused is not None for o in made.offers]
    quick = plan(Histogram(), belief=CHAIN, epsilon=1.0, length=5000)
    assert [o.mechanism for o in quick.offers if "would take" in (o.refused or "")] == ["wasserstein", "audited"]
    assert plan("mean", belief=CHAIN, epsilon=1.0, length=100, values=400).lipschitz == pytest.approx(10 / 400)
    assert plan(Frequencies(), belief=CHAIN, epsilon=1.0, length=100).lipschitz == pytest.approx(0.02)
    with pytest.raises(InputError, match="frequencies needs a length"):
        plan(Frequencies(), belief=CHAIN, epsilon=1.0)
    assert plan(Count("0"), belief=CHAIN, epsilon=1.0, mechanisms=["entry"]).best is None


def test_several_quilt_releases_share_one_quilt() -> None:
    household = contagion_belief()
    one = plan("count:yes", belief=household, epsilon=1.0, mechanisms=["quilt-exact"]).offers[0]
    three = plan("count:yes", belief=household, epsilon=1.0, mechanisms=["quilt-exact"], releases=3).offers[0]
    assert three.rule == "same-quilts"
    assert three.noise_scale == pytest.approx(3 * (one.noise_scale or 0.0))
    record = ReleaseRecord(noise_scale=three.noise_scale, query="count:yes")
    assert Accountant(household, releases=[record] * 3).composed().epsilon <= 1 + 1e-9


def test_a_plan_is_a_table() -> None:
    made = plan("count:0", belief=CHAIN, epsilon=1.0, length=5000)
    assert [offer.mechanism for offer in made] == [made[n].mechanism for n in range(len(made))]
    assert made["curve"].guarantee == "pufferfish"
    assert made["audited"].guarantee is None
    table = made.to_polars()
    assert table["mechanism"].to_list() == [offer.mechanism for offer in made]
    assert table.filter(mechanism="curve")["noise_scale"].item() == made["curve"].noise_scale
    assert table.filter(mechanism="audited")["noise_scale"].item() is None
    with pytest.raises(InputError, match=r"no such mechanism, got 'curves'\. Did you mean 'curve'"):
        made["curves"]
