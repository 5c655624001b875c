"""The command that plans: how precise answers would be, and what would make them better."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.options import (
    AsJson,
    BeliefOrJob,
    believed,
    in_options,
    job_of,
    job_options,
    needed_length,
    questions_of,
    secrets_of,
)
from quiltwork.errors import LedgerError, NotCoveredError
from quiltwork.job import Job, is_job
from quiltwork.view.terminal import print_json, progress, say_where, show

if TYPE_CHECKING:
    from quiltwork import Belief, Plan
    from quiltwork.calibration.plan import Offer


@job_options(
    *("epsilon", "ask", "workload", "state_values", "length", "values", "people", "target_error", "delta", "noise"),
    *("guarantee", "secrets", "secret_times", "quilt_size", "distance", "window", "by_subject"),
)
def plan(
    belief: BeliefOrJob,
    said: dict[str, Any],
    mechanism: Annotated[
        list[str] | None, typer.Option("--mechanism", metavar="M", help="Show only this mechanism; may be repeated.")
    ] = None,
    releases: Annotated[
        int, typer.Option("--releases", metavar="K", help="Share ε among K releases; shows the noise of each.")
    ] = 1,
    also: Annotated[
        Path | None,
        typer.Option("--also", metavar="OTHER", help="Also show the ε of each noise scale if this belief is true."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE.html", help="Write a report with charts; a network is drawn with its quilt."
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show all mechanisms, with the noise that each needs and why.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how precise answers would be. Also what would make them better; reads no data and spends no budget."""
    from quiltwork.calibration.wanted import asked as asked_by, distances_to_dict, in_each, plan_wanted, values_of
    from quiltwork.influence.delta import USUAL_DELTA

    job = job_of(belief, said, "belief")
    if is_job(belief):
        _plan_job(job, mechanism, as_json=as_json)
        return
    held, data, terms = believed(job), job.data, job.privacy
    (ask,) = questions_of(job)
    asked = asked_by(ask, held)
    span = needed_length(data.length, held)
    people, size = data.people, span
    if ask.window is not None:
        people, size = people or 1, in_each(ask.window, span, held.step)
    with progress("Calibrating"):
        held, made, by_distance = plan_wanted(
            asked,
            belief=held,
            window=ask.window,
            epsilon=ask.epsilon,
            distances=terms.distance,
            target_error=ask.target_error,
            length=span,
            values=values_of(data.values, people, size),
            delta=terms.delta or (USUAL_DELTA if terms.noise == "gaussian" else 0.0),
            noise=terms.noise or "best",
            mechanisms=mechanism,
            releases=releases,
            guarantee=terms.guarantee,
            secrets=secrets_of(terms.secrets, terms.secret_times),
            quilt_size=terms.quilt_size,
        )
    made = replace(made, offers=tuple(_in_options(offer) for offer in made.offers))
    if all(offer.refused for offer in made.offers):
        raise NotCoveredError(" ".join(offer.refused or "" for offer in made.offers).rstrip("."))
    if report is not None:
        from quiltwork.view.html import write_page
        from quiltwork.view.of_plan import plan_page

        write_page(report, f"plan for {made.query}", plan_page(made, held))
    other = None if also is None else _under_other(made, held, also)
    if as_json:
        content = made.to_dict()
        for offer in content["mechanisms"] if other is not None else ():
            offer["epsilon_other"] = None if other is None else other.get(offer["mechanism"])
        if by_distance:
            content["distances"] = distances_to_dict(by_distance)
        print_json(content | ({} if report is None else {"report": str(report)}))
        return
    from quiltwork.view.of_plan import compare_view, distances_view, questions_view

    several = len(mechanism or ()) > 1
    show(compare_view(made, other=other) if compare or several else questions_view([made], other=other))
    if by_distance:
        show(distances_view(distances_to_dict(by_distance)))
    say_where(report)


def _plan_job(job: Job, mechanisms: list[str] | None, *, as_json: bool) -> None:
    """What each question of a job would be worth; of its data only the shape is read."""
    from quiltwork.ledger import Ledger
    from quiltwork.releases.of_job import plan_questions
    from quiltwork.view.of_plan import planned_view

    questions_of(job)
    held, book, compare = believed(job), None, as_json or bool(mechanisms)
    with suppress(LedgerError):  # it may still have to be created
        book = None if job.privacy.ledger is None else Ledger(job.privacy.ledger)
    with progress("Calibrating"):
        planned = plan_questions(job, held, ledger=book, compare=compare, mechanisms=mechanisms)
    if as_json:
        print_json({"questions": [one.to_dict() for one in planned]})
    else:
        show(planned_view(planned))


def _under_other(made: "Plan", held: "Belief", also: Path) -> dict[str, float | None]:
    from quiltwork import load_belief
    from quiltwork.accounting.compare import plan_under

    return plan_under(made, belief=held, other=load_belief(also))


def _in_options(offer: "Offer") -> "Offer":
    return offer if offer.refused is None else replace(offer, refused=in_options(offer.refused))
