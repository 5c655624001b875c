"""What notebooks show of each kind of thing, and what its ``.plot()`` draws.

Like reports, they show no data that has no noise, except checks and fits, which are for public data.
"""

from functools import singledispatch

from quiltwork.accounting.accountant import Composed
from quiltwork.accounting.compare import Comparison
from quiltwork.auditor import Audit
from quiltwork.beliefs import Belief
from quiltwork.calibration.plan import Plan
from quiltwork.calibration.record import Calibration
from quiltwork.errors import ParameterError
from quiltwork.fitting import Fit
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.influence.curve.timeline import Losses
from quiltwork.ledger import Ledger, Statement
from quiltwork.releases.result import Release
from quiltwork.session import Session
from quiltwork.view.charts.style import Chart, nothing_to_draw
from quiltwork.view.html import fragment
from quiltwork.view.of_account import of_audit, of_composed, of_losses, of_statement
from quiltwork.view.of_belief import of_belief, of_check, of_comparison, of_fit
from quiltwork.view.of_plan import of_calibration, plan_view
from quiltwork.view.of_release import of_release
from quiltwork.view.view import View


@singledispatch
def view_of(thing: object) -> View:
    """What is said of a belief, plan, calibration, release, session, ledger or of what was found about them."""
    return View(repr(thing))


view_of.register(Belief, of_belief)
view_of.register(Fit, of_fit)
view_of.register(BeliefCheck, of_check)
view_of.register(Comparison, of_comparison)
view_of.register(Plan, plan_view)
view_of.register(Calibration, of_calibration)
view_of.register(Audit, of_audit)
view_of.register(Losses, of_losses)
view_of.register(Composed, of_composed)
view_of.register(Statement, of_statement)
view_of.register(Release, of_release)


@view_of.register
def _(ledger: Ledger) -> View:
    return of_statement(ledger.statement())


@view_of.register
def _(session: Session) -> View:
    return of_statement(session.statement(), lead=repr(session.data))


def as_html(thing: object) -> str:
    """A part of a notebook's page."""
    return fragment(view_of(thing))


def drawn(thing: object) -> Chart:
    """The first picture of what is said of something."""
    if isinstance(thing, Release) and thing.questions:
        raise ParameterError(
            "several questions have a chart each", got=repr(thing)[:80], fix="For example release.questions[0].plot()"
        )
    first = next(view_of(thing).charts(), None)
    if first is None:
        raise nothing_to_draw(thing)
    return first.make()
