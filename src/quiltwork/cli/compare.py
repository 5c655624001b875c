"""What if the belief is wrong? The same noise under other beliefs."""

from pathlib import Path
from typing import Annotated

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
from quiltwork.view.terminal import print_json, progress, say_where, show


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
    from quiltwork.view.of_belief import of_comparison

    shown = of_comparison(found)
    if report is not None:
        from quiltwork.view.html import write_page

        write_page(report, "other beliefs", shown)
    if as_json:
        print_json(found.to_dict() | ({} if report is None else {"report": str(report)}))
        return
    show(shown)
    say_where(report)
