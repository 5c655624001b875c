"""Commands that make and show belief files."""

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import (
    AsJson,
    BeliefFile,
    ColumnName,
    DataFile,
    HowToRead,
    reads_data,
)
from quiltwork.show.terminal import cell, err, out, print_json, table


@reads_data
def belief_fit(
    data: DataFile,
    column: ColumnName,
    how: HowToRead,
    confidence: Annotated[
        float | None,
        typer.Option(
            "--confidence", metavar="P", help="Write bounds that hold with this confidence instead of one estimate."
        ),
    ] = None,
    smoothing: Annotated[
        float, typer.Option("--smoothing", metavar="X", help="Number added to each transition count.")
    ] = 1.0,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.json", help="Write to this file instead of printing."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate a chain from public data. Do not use the data you want to protect."""
    from quiltwork import Belief, IntervalChain, MarkovChain, save_belief

    series = how.read(data, column=column, states=None)
    fitted: Belief
    if confidence is None:
        fitted = MarkovChain.from_counts(
            series.transitions(), smoothing=smoothing, states=series.states, step=series.step
        )
    else:
        fitted = IntervalChain.from_counts(
            series.transitions(), confidence=confidence, states=series.states, step=series.step
        )
    err.print(
        "warning: do not fit a belief on the data that you want to protect: the belief would reveal that data without "
        "any noise. Fit it on public data, or on other people's data of the same kind."
    )
    if out_file is not None:
        save_belief(fitted, out_file)
    if as_json or out_file is None:
        print_json(fitted.to_dict())
    else:
        out.print(f"Wrote {out_file}: {len(fitted.states)} states, from {series.size:,} values.")


def belief_show(belief: BeliefFile, as_json: AsJson = False) -> None:
    """Show what a belief file says. Includes how quickly values forget each other."""
    from quiltwork import load_belief

    summary = load_belief(belief).summary()
    if as_json:
        print_json(summary)
        return
    for heading, content in summary.items():
        if isinstance(content, list) and content and isinstance(content[0], dict):
            out.print(table(content))
        elif not isinstance(content, list):
            out.print(f"{heading.replace('_', ' '):>14}  {cell(content)}")
