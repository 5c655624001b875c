"""Commands that plan and make releases."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import (
    AsJson,
    BeliefFile,
    ColumnName,
    DataFile,
    Delta,
    EpsilonValue,
    GapsRule,
    GuaranteeName,
    Missing,
    MissingRule,
    Promised,
    QueryText,
    SubjectName,
    TimeName,
    length_of,
    missing_rule,
    promise_of,
    segment_of,
)
from quiltwork.display import out, print_json, print_plan, print_release
from quiltwork.errors import NotCoveredError


def plan(
    belief: BeliefFile,
    query: QueryText,
    length: Annotated[str, typer.Option("--length", metavar="N", help="Values of the longest series, or any.")],
    epsilon: EpsilonValue,
    values: Annotated[
        int | None,
        typer.Option("--values", metavar="N", help="Values of all series together, for frequencies and mean."),
    ] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option("--mechanism", metavar="M", help="Only this one; may be repeated.")
    ] = None,
    delta: Delta = 0.0,
    releases: Annotated[
        int, typer.Option("--releases", metavar="K", help="Share ε over so many releases; shows the noise of each.")
    ] = 1,
    guarantee: Promised = GuaranteeName.PUFFERFISH,
    as_json: AsJson = False,
) -> None:
    """Show how much noise each mechanism would need. Sees no data, spends nothing."""
    from quiltwork import load_belief, parse_query
    from quiltwork import plan as make_plan

    made = make_plan(
        parse_query(query),
        belief=load_belief(belief),
        epsilon=epsilon,
        length=length_of(length),
        values=values,
        delta=delta,
        mechanisms=mechanism,
        releases=releases,
        guarantee=promise_of(guarantee),
    )
    if all(offer.refused for offer in made.offers):
        raise NotCoveredError(" ".join(offer.refused or "" for offer in made.offers).rstrip("."))
    if as_json:
        print_json(made.to_dict())
    else:
        print_plan(made)


def release(
    data: DataFile,
    column: ColumnName,
    belief: Annotated[Path, typer.Option("--belief", metavar="B", help="A belief file, JSON or TOML.")],
    query: QueryText,
    epsilon: EpsilonValue,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", metavar="M", help="Another than the one with least noise.")
    ] = None,
    subject: SubjectName = None,
    time_column: TimeName = None,
    segment: Annotated[
        str | None,
        typer.Option("--segment", metavar="A:B", help="Only values A to B of each series, from 1."),
    ] = None,
    missing: Missing = MissingRule.REFUSE,
    gaps: Annotated[
        GapsRule,
        typer.Option("--gaps", help="Whether values before and after a gap may depend on each other."),
    ] = GapsRule.DEPENDENT,
    delta: Delta = 0.0,
    guarantee: Promised = GuaranteeName.PUFFERFISH,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write a report to open in a browser.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Release a statistic with noise that hides every single value."""
    from quiltwork import load_belief, parse_query, read_series
    from quiltwork import plan as make_plan
    from quiltwork import release as make_release

    held, asked = load_belief(belief), parse_query(query)
    series = read_series(
        data,
        column=column,
        states=held.states,
        subject=subject,
        time=time_column,
        missing=missing_rule(missing),
        segment=None if segment is None else segment_of(segment),
    )
    result = make_release(
        series,
        asked,
        belief=held,
        epsilon=epsilon,
        mechanism=mechanism,
        gaps="dependent" if gaps is GapsRule.DEPENDENT else "independent",
        delta=delta,
        guarantee=promise_of(guarantee),
    )
    if report is not None:
        from quiltwork.report import write_report

        beside = make_plan(
            asked,
            belief=result.belief,
            epsilon=epsilon,
            length=result.calibration.length,
            values=result.values,
            guarantee=promise_of(guarantee),
        )
        write_report(report, release=result, plan=beside)
    if as_json:
        print_json(result.to_dict() | ({} if report is None else {"report": str(report)}))
        return
    print_release(result)
    if report is not None:
        out.print(f"Report: {report}")


def demo(
    report: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="Where to write the report.")] = Path(
        "quiltwork-report.html"
    ),
    files: Annotated[
        Path | None,
        typer.Option("--files", metavar="FOLDER", help="Only copy the sample diary and its belief there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Release a histogram of the sample diary, privately, and write a report."""
    from quiltwork import Histogram, read_series, save_belief
    from quiltwork import plan as make_plan
    from quiltwork import release as make_release
    from quiltwork.report import write_report
    from quiltwork.samples import diary_belief, diary_path

    if files is not None:
        files.mkdir(parents=True, exist_ok=True)
        names = {"diary": "diary.parquet", "belief": "belief.json", "stationary": "stationary.json"}
        copies = {name: files / file for name, file in names.items()}
        shutil.copyfile(diary_path(), copies["diary"])
        save_belief(diary_belief(), copies["belief"])
        save_belief(diary_belief().with_start("stationary"), copies["stationary"])
        if as_json:
            print_json({name: str(path) for name, path in copies.items()})
        else:
            out.print(f"Wrote {', '.join(map(str, copies.values()))}")
        return
    held = diary_belief()
    series = read_series(diary_path(), column="activity", states=held.states, subject="person", time="time")
    made = make_plan(Histogram(), belief=held, epsilon=1.0, length=series.longest)
    result = make_release(series, Histogram(), belief=held, epsilon=1.0)
    write_report(report, release=result, plan=made)
    if as_json:
        print_json(result.to_dict() | {"report": str(report)})
        return
    out.print(
        f"A simulated activity diary: {len(series.subjects)} people, {series.size:,} quarter hours, "
        f"{len(held.states)} activities.\n"
        "How much noise hides what anybody did in any one quarter hour, at ε = 1?\n"
    )
    print_plan(made)
    out.print("\nThe private histogram of quarter hours:\n")
    print_release(result)
    out.print(f"\nReport: {report} (open it in a browser)")
