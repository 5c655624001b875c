"""What ``.plot()`` draws: one chart for each kind of thing."""

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from quiltwork.accounting.accountant import Composed
from quiltwork.accounting.compare import Comparison
from quiltwork.auditor import Audit
from quiltwork.beliefs import (
    AnyMixture,
    BayesianNetwork,
    Belief,
    DynamicNetwork,
    GaussianBelief,
    IntervalChain,
    JointTable,
    MixingClass,
)
from quiltwork.beliefs.record import RecordLaw
from quiltwork.calibration.plan import Plan
from quiltwork.calibration.record import Calibration
from quiltwork.errors import ParameterError
from quiltwork.fitting import Fit
from quiltwork.fitting.gaussian_check import GaussianCheck
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.influence.curve.timeline import Losses
from quiltwork.ledger import Ledger, Statement
from quiltwork.releases.result import Release
from quiltwork.session import Session
from quiltwork.show.answers import release_chart
from quiltwork.show.beliefs import heat_chart, longer_chart, range_chart
from quiltwork.show.charts import cycle_chart, network_chart, posterior_chart
from quiltwork.show.fit import memory_chart
from quiltwork.show.gaussian import belief_chart, correlation_chart
from quiltwork.show.lags import lag_axis, lag_ticks
from quiltwork.show.losses import loss_chart, noise_chart, timeline_chart
from quiltwork.show.pictures import alt
from quiltwork.show.style import ACCENT, FONT, INK, WARNING, Chart, sized, styled
from quiltwork.types import Floats

MOST_OUTCOMES = 30
MOST_RELEASES = 200
LONGEST_LAG = 10_000
FORGOTTEN = 0.01


@singledispatch
def drawn(thing: object) -> Chart:
    """An Altair chart of a belief, plan, calibration, release, session, ledger or of what was found about them."""
    raise _nothing_to_draw(thing)


def _nothing_to_draw(thing: object) -> ParameterError:
    return ParameterError("there is nothing to draw", got=repr(thing)[:80], fix="Print it, or use to_dict()")


@drawn.register
def _transitions(belief: Belief) -> Chart:
    """How likely each state follows each; where that is known up to a range only, the range."""
    if len(belief.chains) > 1:
        tables = np.stack([chain.transition for chain in belief.chains])
        return range_chart(belief.states, tables.min(axis=0), tables.max(axis=0))
    chain = belief.chains[0] if belief.chains else belief.average()
    if chain is not None:
        return heat_chart(chain)
    if belief.networks:
        return network_chart(belief.networks[0])
    raise _nothing_to_draw(belief)


@drawn.register
def _(belief: IntervalChain) -> Chart:
    return range_chart(belief.states, belief.lower, belief.upper)


@drawn.register
def _(belief: MixingClass) -> Chart:
    """How likely a value is to be the same again, at most, until that no longer changes."""
    longest = 2
    while longest < LONGEST_LAG and _falls_after(belief, longest):
        longest *= 2
    lags = np.unique(np.geomspace(1, longest, 80).astype(int)).tolist()
    again = belief.again(lags).max(axis=1).tolist()
    rows = [{"lag": lag, "again": p} for lag, p in zip(lags, again, strict=True)]
    line = alt.Chart(alt.InlineData(rows)).mark_line(color=ACCENT, strokeWidth=2)
    y = alt.Y("again:Q", title="the same state again, at most", axis=alt.Axis(format="%"))
    x = lag_axis(lag_ticks(belief.step, longest), "time later (log axis)")
    return styled(line.encode(x=x, y=y.scale(domain=[0, 1])).properties(width=520, height=220))


def _falls_after(belief: Belief, lag: int) -> bool:
    now, later = belief.again([lag, 2 * lag]).max(axis=1).tolist()
    return bool(now - later > FORGOTTEN or now >= 1)


@drawn.register
def _(belief: DynamicNetwork) -> Chart:
    """Two steps of the network, one after the other; where the first step may be any, how steps follow each other."""
    return _transitions(belief) if belief.start == "any" else network_chart(belief.unrolled(2))


@drawn.register
def _(belief: GaussianBelief) -> Chart:
    return belief_chart(belief)


@drawn.register
def _(belief: JointTable) -> Chart:
    return outcomes_chart([belief])


@drawn.register
def _(belief: AnyMixture) -> Chart:
    first = belief.mixed[0]
    return network_chart(first) if isinstance(first, BayesianNetwork) else outcomes_chart(belief.mixed)


def outcomes_chart(laws: Sequence[RecordLaw]) -> Chart:
    """How likely each record is, the most likely ones first; under several laws from the least to the most."""
    names = list(laws[0].variables.values())
    by_outcome: dict[tuple[int, ...], Floats] = {}
    for n, law in enumerate(laws):
        found = law.all_outcomes
        for codes, log in zip(found.codes.tolist(), found.logs.tolist(), strict=True):
            by_outcome.setdefault(tuple(codes), np.zeros(len(laws)))[n] = np.exp(log)
    most_likely = sorted(by_outcome.items(), key=lambda item: -float(item[1].max()))[:MOST_OUTCOMES]
    rows = [
        {
            "record": ", ".join(states[code] for states, code in zip(names, codes, strict=True)),
            "low": float(p.min()) if len(laws) > 1 else 0.0,
            "high": float(p.max()),
        }
        for codes, p in most_likely
    ]
    bars = (
        alt.Chart(alt.InlineData(rows))
        .mark_bar(color=ACCENT, height={"band": 0.62})
        .encode(
            y=alt.Y("record:N", sort=None, title=", ".join(laws[0].variables), axis=alt.Axis(labelLimit=300)),
            x=alt.X("low:Q", title="probability"),
            x2="high:Q",
        )
    )
    return sized(alt.layer(bars), len(rows))


@drawn.register
def _(fit: Fit) -> Chart:
    return heat_chart(fit.chain)


@drawn.register
def _(check: BeliefCheck) -> Chart:
    if not check.lags:
        raise _nothing_to_draw(check)
    return memory_chart(check)


@drawn.register
def _(check: GaussianCheck) -> Chart:
    if not check.lags:
        raise _nothing_to_draw(check)
    return correlation_chart(check)


@drawn.register
def _(comparison: Comparison) -> Chart:
    return longer_chart(comparison)


@drawn.register
def _(plan: Plan) -> Chart:
    return noise_chart(plan)


@drawn.register
def _(calibration: Calibration) -> Chart:
    """The loss of each time of a cycle; else how far a probability may move."""
    losses = calibration.reason.detail().get("by_time")
    if losses:
        return cycle_chart(losses, None)
    return posterior_chart({f"ε = {calibration.epsilon:g}": calibration.epsilon})


@drawn.register
def _(release: Release) -> Chart:
    if release.questions:
        raise ParameterError(
            "several questions have a chart each", got=repr(release)[:80], fix="For example release.questions[0].plot()"
        )
    return release_chart(release)


@drawn.register
def _(audit: Audit) -> Chart:
    if not isinstance(audit.node, int) or len(audit.by_node) < 2:
        raise _nothing_to_draw(audit)
    return loss_chart(audit)


@drawn.register
def _(losses: Losses) -> Chart:
    return timeline_chart(losses, ())


@drawn.register
def _(composed: Composed) -> Chart:
    if composed.losses is None:
        raise _nothing_to_draw(composed)
    return timeline_chart(composed.losses, ())


@drawn.register
def _(session: Session) -> Chart:
    return spending_chart(session.statement())


@drawn.register
def _(ledger: Ledger) -> Chart:
    return spending_chart(ledger.statement())


@drawn.register
def _(statement: Statement) -> Chart:
    return spending_chart(statement)


def spending_chart(statement: Statement) -> Chart:
    """The privacy loss of all releases together after each of them, and the budget."""
    releases = statement.releases()[-MOST_RELEASES:]
    rows = [
        {"row": f"{one['row']}", "spent": one["spent"], "query": one["query"], "mechanism": one["mechanism"]}
        for one in releases
    ]
    budget = statement.terms.budget
    y = alt.Y("spent:Q", title="privacy loss together (ε)", scale=alt.Scale(domain=[0, budget * 1.08], nice=False))
    x = alt.X("row:O", sort=None, title="row of the ledger", axis=alt.Axis(labelAngle=0, labelOverlap=True))
    bars = alt.Chart(alt.InlineData(rows)).mark_bar(color=ACCENT, width={"band": 0.6})
    line = alt.Chart(alt.InlineData([{"spent": budget, "text": f"budget {budget:g}"}]))
    width = max(240, min(520, 48 * len(rows)))
    layers = [
        bars.encode(x=x, y=y, tooltip=["row:O", "query:N", "mechanism:N", "spent:Q"]),
        line.mark_rule(color=WARNING, strokeDash=[6, 4], size=2).encode(y=y),
        line.mark_text(color=INK, align="left", dx=6, dy=-7, font=FONT).encode(y=y, x=alt.value(0), text="text:N"),
    ]
    return styled(alt.layer(*layers[not rows :]).properties(width=width, height=180))
