"""Flu in households (A section 2 and 3): how much noise hides one person's status."""

from quiltwork.calibration.plan import plan
from quiltwork.papers.base import Effort, Found
from quiltwork.question import Count
from quiltwork.samples import contagion_belief, household_network
from quiltwork.view.charts.losses import noise_chart

MECHANISMS = ("wasserstein", "quilt-exact", "group", "audited", "entry")


def contagion(effort: Effort) -> Found:  # noqa: ARG001 - it takes no time
    """One household of four, and a street of smaller and larger ones."""
    street = household_network(
        {
            ("ann", "bob", "cem", "dea"): (0.1, 0.15, 0.5, 0.15, 0.1),
            ("eve", "fay"): (0.6, 0.1, 0.3),
            ("gus", "hal", "ida"): (0.5, 0.2, 0.2, 0.1),
            ("jim",): (0.9, 0.1),
        }
    )
    beliefs = {"one household of four": contagion_belief(), "four households, ten people": street}
    plans = {
        name: plan(Count("yes"), belief=belief, epsilon=1.0, mechanisms=MECHANISMS) for name, belief in beliefs.items()
    }
    rows = [
        {
            "households": name,
            "mechanism": offer.mechanism,
            "noise scale": offer.noise_scale,
            "guarantee": None if offer.calibration is None else offer.calibration.guarantee,
        }
        for name, planned in plans.items()
        for offer in planned.offers
    ]
    remarks = [
        "Given one person's status the number of infected people in their household has laws that are 2 apart "
        "(Wasserstein), while group privacy covers all 4.",
        "Households are independent of each other, so a street needs no more noise than its most demanding household. "
        "In a clique nobody is cut off by a quilt; still two of the others may serve as one, if they tell little.",
    ]
    return Found("Number of people with flu, ε = 1", rows, remarks, noise_chart(plans["one household of four"]))
