"""What an accountant says of some releases."""

from examples import LAZY
from hypothesis import strategies as st

from quiltwork import Accountant, Count, Noisy, ReleaseRecord, calibrate
from quiltwork.accounting.case import Case
from quiltwork.accounting.rules import RULES
from quiltwork.beliefs import Belief


def told(belief: Belief, *records: ReleaseRecord, length: int | None = None) -> float:
    return Accountant(belief, length=length, releases=records).composed().epsilon


def why(belief: Belief, *records: ReleaseRecord, length: int | None = None, rule: str = "single-release") -> str:
    rules = Accountant(belief, length=length, releases=records).composed().rules
    return next(finding.why or "" for finding in rules if finding.rule == rule)


@st.composite
def counts(draw: st.DrawFn, length: int) -> Noisy:
    """A noisy count on a segment."""
    first = draw(st.integers(1, length))
    segment = (first, draw(st.integers(first, length)))
    return Noisy(Count("0"), draw(st.sampled_from([0.5, 2.0, 10.0])), segment)


def quilts(epsilon: float, length: int = 1000, mechanism: str = "quilt-exact", **more: object) -> ReleaseRecord:
    scale = calibrate("count:1", belief=LAZY, epsilon=epsilon, length=length, mechanism=mechanism).noise_scale
    return ReleaseRecord(mechanism=mechanism, epsilon=epsilon, noise_scale=scale, lipschitz=1.0, **more)  # type: ignore[arg-type]


def finding(releases: list[ReleaseRecord], rule: str, belief: object = LAZY, length: int = 1000) -> tuple[object, str]:
    found = next(r for r in RULES if r.name == rule)
    accountant = Accountant(belief, length=length, releases=releases)  # type: ignore[arg-type]
    case = Case(accountant.terms, accountant.total)
    why = found.applies(case)
    return (None, why) if why is not None else (found.bound(case), "")
