"""The command that plans: how precise answers would be, and what would make them better."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiltwork.cli.options import (
    AsJson,
    BeliefFile,
    Delta,
    GuaranteeName,
    NoiseName,
    QueryTexts,
    QuiltSize,
    SecretsText,
    SecretTimes,
    StateValues,
    WorkloadFile,
    asked_in,
    in_options,
    needed_length,
    secrets_of,
)
from quiltwork.errors import NotCoveredError
from quiltwork.view.terminal import print_json, progress, say_where, show

if TYPE_CHECKING:
    from quiltwork import Belief, Plan, Query
    from quiltwork.calibration.plan import Offer


def plan(
    belief: BeliefFile,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", metavar="E", help="Privacy loss allowed for any one moment; smaller is safer."),
    ] = None,
    query: QueryTexts = None,
    workload: WorkloadFile = None,
    state_values: StateValues = None,
    length: Annotated[
        str | None, typer.Option("--length", metavar="N", help="Length of the longest series, or any. Not for records.")
    ] = None,
    values: Annotated[
        int | None,
        typer.Option("--values", metavar="N", help="Total number of values, for frequencies and mean."),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option("--people", metavar="N", help="Number of series of that length, instead of --values."),
    ] = None,
    target_error: Annotated[
        str | None,
        typer.Option(
            "--target-error",
            metavar="5%",
            help="Show which ε, how many people or which window keeps the error within this with probability 95 %: a "
            "number, or a percentage of what the answer can be.",
        ),
    ] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option("--mechanism", metavar="M", help="Show only this mechanism; may be repeated.")
    ] = None,
    delta: Delta = 0.0,
    noise: NoiseName = None,
    releases: Annotated[
        int, typer.Option("--releases", metavar="K", help="Share ε among K releases; shows the noise of each.")
    ] = 1,
    guarantee: GuaranteeName = "pufferfish",
    secrets: SecretsText = None,
    secret_times: SecretTimes = None,
    quilt_size: QuiltSize = None,
    distance: Annotated[
        list[float] | None,
        typer.Option(
            "--distance",
            metavar="D",
            help="For real values: hide differences of up to D instead of the belief's. Repeat it to compare several.",
        ),
    ] = None,
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
    from quiltwork import load_belief
    from quiltwork.calibration.wanted import distances_to_dict, plan_wanted, values_of
    from quiltwork.influence.delta import USUAL_DELTA

    held = load_belief(belief)
    asked = asked_in(query, workload, state_values, held)
    span = needed_length(length, held)
    with progress("Calibrating"):
        held, made, by_distance = plan_wanted(
            asked,
            belief=held,
            epsilon=epsilon,
            distances=distance,
            target_error=target_error,
            length=span,
            values=values_of(values, people, span),
            delta=delta or (USUAL_DELTA if noise == "gaussian" else 0.0),
            noise=noise or "best",
            mechanisms=mechanism,
            releases=releases,
            guarantee=guarantee,
            secrets=secrets_of(secrets, secret_times),
            quilt_size=quilt_size,
        )
    made = replace(made, offers=tuple(_in_options(offer) for offer in made.offers))
    if all(offer.refused for offer in made.offers):
        raise NotCoveredError(" ".join(offer.refused or "" for offer in made.offers).rstrip("."))
    if report is not None:
        from quiltwork.view.html import write_page
        from quiltwork.view.of_plan import plan_page

        write_page(report, f"plan for {made.query}", plan_page(made, held))
    other = None if also is None else _under_other(made, asked, held, also)
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


def _under_other(made: "Plan", asked: "Query", held: "Belief", also: Path) -> dict[str, float | None]:
    from quiltwork import load_belief
    from quiltwork.accounting.compare import plan_under

    return plan_under(made, asked, belief=held, other=load_belief(also))


def _in_options(offer: "Offer") -> "Offer":
    return offer if offer.refused is None else replace(offer, refused=in_options(offer.refused))
