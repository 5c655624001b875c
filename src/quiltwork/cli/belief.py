"""Commands that make and show belief files."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.options import (
    AsJson,
    BeliefFile,
    ColumnName,
    DataFile,
    RhythmName,
    UnitName,
    counted,
    job_options,
)
from quiltwork.errors import ParameterError
from quiltwork.job import Data
from quiltwork.view.terminal import err, out, print_json, progress, say_where, show, warn
from quiltwork.view.words import say

if TYPE_CHECKING:
    from quiltwork import Belief, Series
    from quiltwork.fitting.autocorrelation import Rhythm

Distance = Annotated[
    float | None,
    typer.Option(
        "--distance", metavar="D", help="For numbers: hide differences of up to D at any one moment. You decide this."
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE.json", help="Write to this file instead of printing."),
]


@job_options()
def belief_fit(
    data: DataFile,
    column: ColumnName,
    how: Data,
    confidence: Annotated[
        float | None,
        typer.Option(
            "--confidence",
            metavar="P",
            help="Write a set of chains: also the slowest ones that the data allow with this confidence. "
            "With --gaussian: confidence of the bounds (default: 0.95).",
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals", help="With --confidence: write bounds on every transition instead (far more noise)."
        ),
    ] = False,
    stays: Annotated[
        float | None,
        typer.Option("--stays", metavar="F", help="Add a margin: stays may last F times as long as fitted."),
    ] = None,
    states: Annotated[
        str | None,
        typer.Option("--states", metavar="A,B,..", help="All states, also those that do not occur in the data."),
    ] = None,
    cycle: Annotated[
        str | None,
        typer.Option("--cycle", metavar="day|week", help="Fit a transition matrix for each time of day (or week)."),
    ] = None,
    phases: Annotated[
        int | None,
        typer.Option("--phases", metavar="N", help="Fit N phases behind each state (stays of any length)."),
    ] = None,
    order: Annotated[
        int | None,
        typer.Option("--order", metavar="M", help="Fit a chain whose values depend on the last M values."),
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(
            "--smoothing",
            metavar="X",
            help="Number added to each transition count (default: none; only rows without data are filled).",
        ),
    ] = None,
    gaussian: Annotated[
        bool, typer.Option("--gaussian", help="For numbers: bound how strongly values are correlated along time.")
    ] = False,
    distance: Distance = None,
    unit: UnitName = None,
    rhythm: RhythmName = "auto",
    margin: Annotated[
        float | None,
        typer.Option("--margin", metavar="M", help="With --gaussian: correlations may last M times as long as fitted."),
    ] = None,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Estimate a belief from public data. Do not use the data you want to protect."""
    from quiltwork import GaussianFit, save_belief
    from quiltwork.data.read import rows_to_fit, series_of
    from quiltwork.fitting.belief import Wanted

    wanted = Wanted(
        kind="gaussian" if gaussian else None,
        states=None if states is None else [state.strip() for state in states.split(",") if state.strip()],
        confidence=confidence,
        intervals=intervals,
        stays=stays,
        smoothing=smoothing,
        cycle=cycle,
        phases=phases,
        order=order,
        together=how.together,
        distance=distance,
        unit=unit,
        rhythm=None if rhythm == "auto" else rhythm,
        margin=margin,
    )
    how = replace(how, path=data, column=column)
    series, people = counted(rows_to_fit, how, states=wanted.states, real=wanted.real)
    with progress("Fitting"):
        fit = wanted.fit(series, people)
    warn("fit-public")
    fitted, chains = fit.belief, ""
    if isinstance(fit, GaussianFit):
        for line in fit.lines():
            err.print(line)
        listed = len(fit.belief.correlation.listed) - 1
        what = f"{listed:,} listed lag{'s' * (listed > 1)}"
    else:
        for line in fit.warnings():
            err.print(f"warning: {line}")
        if not as_json and wanted.kind == "chain":
            from quiltwork.view.of_belief import rests_on

            show(rests_on(fit), to=err)
        chains = f", {len(fitted.members)} chains" if len(fitted.members) > 1 else ""
        what = f"{len(fitted.states)} states{chains}, start {fitted.start}"
    if people:  # with combinations that do not occur
        series = counted(series_of, how, fitted)
    _print_verdict(fitted, series, wanted.rhythm)
    if out_file is not None:
        save_belief(fitted, out_file)
    if as_json or out_file is None:
        print_json(fitted.to_dict())
    else:
        out.print(f"Wrote {out_file}: {what}, from {series.size:,} values.")


def _print_verdict(belief: "Belief", series: "Series", rhythm: "Rhythm | None") -> None:
    """Whether the belief fits the data that it was fitted to: if not, another kind is needed."""
    from quiltwork import NotCoveredError, check_belief
    from quiltwork.view.of_belief import other_lines

    try:
        check = check_belief(belief, series, rhythm=rhythm or "auto")
    except NotCoveredError:
        return
    verdict = f"On the data that it was fitted to: {check.verdict} {check.remedy}".strip()
    for line in other_lines(check) if belief.real else [verdict]:
        err.print(line)
    if series.reading.time is None:
        err.print(say("no-times"))


def belief_show(
    belief: BeliefFile,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Draw how likely each state follows each.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a belief file says. Includes how quickly values forget each other."""
    from quiltwork import load_belief
    from quiltwork.fitting import described

    held = load_belief(belief)
    summary = described(held)
    if report is not None:
        from quiltwork.view.html import write_page
        from quiltwork.view.of_belief import belief_page

        write_page(report, "belief", belief_page(held))
    if as_json:
        print_json(summary | ({} if report is None else {"report": str(report)}))
        return
    from quiltwork.view.of_belief import of_belief

    show(of_belief(held))
    say_where(report)


def belief_new(
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="NAME=STAY", help="State and how long a stay lasts on average; repeat it."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option("--step", metavar="D", help="Time between two values: 15min, 1h. Without it stays are numbers."),
    ] = None,
    follows: Annotated[
        list[str] | None,
        typer.Option("--follows", metavar="A=B,C", help="What follows A, alike or with weights B:3,C:1; repeat it."),
    ] = None,
    distance: Distance = None,
    decay: Annotated[
        str | None,
        typer.Option(
            "--decay", metavar="D", help="For numbers: time in which correlation falls to 1/e at the latest: 30min."
        ),
    ] = None,
    unit: UnitName = None,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a belief from words. Asks if no state is given.

    Say how long stays last on average, and what follows what. For numbers, say which differences are hidden and how
    soon correlation fades.
    """
    from quiltwork import save_belief
    from quiltwork.fitting import chain_of_stays, with_step

    if distance is not None or decay is not None or unit is not None:
        _new_gaussian(
            {"distance": distance, "decay": decay, "unit": unit, "step": step}, state, follows, out_file, as_json
        )
        return
    asked = not state
    if asked:
        step, state, follows = _ask(step)
    stays = dict(_split(one, "--state sleep=7h") for one in state or ())
    if len(stays) < len(state or ()):
        raise ParameterError("each state must be given once", got="one of them twice")
    after = {name: _following(text) for name, text in (_split(one, "--follows walk=sit") for one in follows or ())}
    made = with_step(chain_of_stays(stays, step=step, follows=after), step)
    if asked and out_file is None:
        out_file = Path(typer.prompt("Write to which file?", default="belief.json", err=True))
    if out_file is not None:
        save_belief(made, out_file)
    if as_json or out_file is None:
        print_json(made.to_dict())
    else:
        out.print(f"Wrote {out_file}: {len(made.states)} states. Show it: quiltwork belief show {out_file}")


def _new_gaussian(
    said: dict[str, Any], state: list[str] | None, follows: list[str] | None, out_file: Path | None, as_json: bool
) -> None:
    """Write a belief about numbers from how soon their correlation fades."""
    from quiltwork import GaussianBelief, save_belief

    if state or follows:
        raise ParameterError(
            "a belief is about states or about numbers", got="options for both", fix="Leave out --state and --follows"
        )
    if said["distance"] is None or said["decay"] is None:
        raise ParameterError(
            "a belief about numbers needs a distance and a decay",
            got="only one of them" if said["distance"] is not None or said["decay"] is not None else "none of them",
            fix="For example --distance 1 --unit kW --decay 2h --step 1min",
        )
    decay = {"decay": said["decay"]}
    made = GaussianBelief(decay, distance=said["distance"], unit=said["unit"], step=said["step"])
    if out_file is not None:
        save_belief(made, out_file)
    if as_json or out_file is None:
        print_json(made.to_dict())
    else:
        out.print(f"Wrote {out_file}. Show it: quiltwork belief show {out_file}")


def _ask(step: str | None) -> tuple[str | None, list[str], list[str]]:
    """Ask for the step, the states with their stays, and what follows each."""
    if step is None:
        step = typer.prompt("How much time is between two values? (15min, 1h; 1 if there is no clock)", err=True)
    names: list[str] = []
    while True:
        name = typer.prompt(
            f"Name of state {len(names) + 1} (leave empty when done)", default="", show_default=False, err=True
        )
        if name:
            names.append(name)
        elif len(names) >= 2:
            break
    stays = [f"{name}={typer.prompt(f'How long does {name} last on average? (7h, 20min)', err=True)}" for name in names]
    follows = []
    for name in names if len(names) > 2 else ():
        others = [other for other in names if other != name]
        text = typer.prompt(
            f"What follows {name}? (weights: {others[0]}:3,{others[1]}:1)", default=",".join(others), err=True
        )
        follows.append(f"{name}={text}")
    return step, stays, follows


def _split(text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not (name.strip() and equals and value.strip()):
        raise ParameterError("a state needs a name and a value", got=repr(text), fix=f"For example {example}")
    return name.strip(), value.strip()


def _following(text: str) -> dict[str, float]:
    """States with weights: sit, walk or sit:3,walk:1."""
    weights = {}
    for part in text.split(","):
        name, colon, weight = part.strip().rpartition(":")
        if not colon:
            name, weight = part.strip(), "1"
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            raise ParameterError(
                "a weight must be a number", got=repr(weight), fix="For example sit:3,walk:1"
            ) from None
    return weights
