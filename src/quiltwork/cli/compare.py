"""What if the belief is wrong? The same noise under other beliefs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.options import (
    AsJson,
    BeliefFile,
    DividedBy,
    NoiseScale,
    QueryText,
    job_options,
    length_of,
    query_of,
    whole_of,
)
from quiltwork.show.output import out, print_json, progress, table

if TYPE_CHECKING:
    from quiltwork.accounting.compare import Comparison


@job_options()
def belief_compare(
    belief: BeliefFile,
    query: QueryText,
    noise_scale: NoiseScale,
    other: Annotated[
        Path | None,
        typer.Argument(metavar="OTHER", help="Belief that may be true instead. Omit it to see longer stays only."),
    ] = None,
    length: Annotated[
        str, typer.Option("--length", metavar="N", help="Length of the series, or any. Not for records.")
    ] = "any",
    values: DividedBy = None,
    state_values: str | None = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Compute the exact loss under both beliefs (short series, known start).")
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Plot the loss against how long stays last.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a release is worth if another belief is true. Also if stays last longer."""
    from quiltwork import compare, load_belief

    held = load_belief(belief)
    rival = None if other is None else load_belief(other)
    asked, scale = whole_of(query_of(query, state_values, held), noise_scale, values)
    with progress("Comparing"):
        found = compare(asked, belief=held, other=rival, noise_scale=scale, length=length_of(length), exact=exact)
    if report is not None:
        from quiltwork.show.beliefs import write_comparison

        write_comparison(report, found=found)
    if as_json:
        print_json(found.to_dict() | ({} if report is None else {"report": str(report)}))
        return
    _print_comparison(found)
    if report is not None:
        out.print(f"Report: {report}")


def _print_comparison(found: "Comparison") -> None:
    out.print(f"{found.query} with noise of scale {found.noise_scale:g}: ε = {found.epsilon:.4g} under the belief.")
    if found.epsilon_other is not None:
        out.print(f"If the other belief is true: ε = {found.epsilon_other:.4g} (by {found.rule_other}).")
    if found.stays:
        rows: list[dict[str, Any]] = [
            {"if stays last": f"{times:g} times as long", "ε": epsilon} for times, epsilon in found.stays
        ]
        out.print(table(rows))
