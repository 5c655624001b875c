"""Commands that compare beliefs with data: whether one fits, and one for every n-th value."""

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import AsJson, BeliefFile
from quiltwork.show.terminal import out, print_json


def belief_every(
    belief: BeliefFile,
    steps: Annotated[int, typer.Argument(metavar="N", help="Number of steps that become one.")],
    out_file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.json", help="Write to this file instead of printing."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a belief for every N-th value from one for every value. For data with a longer step."""
    from quiltwork import load_belief, save_belief

    longer = load_belief(belief).every(steps)
    if out_file is not None:
        save_belief(longer, out_file)
    if as_json or out_file is None:
        print_json(longer.to_dict())
    else:
        step = "" if longer.step is None else f" in steps of {longer.step}"
        out.print(f"Wrote {out_file}: {len(longer.states)} states{step}.")
