"""The command that writes a first job file."""

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import AsJson, DataFile
from quiltwork.errors import ParameterError
from quiltwork.job import ENDING, Job
from quiltwork.view.terminal import out, print_json

HEAD = """\
# What will be published, under which belief and within which budget.
# A draft from the names and types of the columns: check every line.
#
#   quiltwork plan {job}                      what the answers would be worth; reads no values
#   quiltwork belief check {job} PUBLIC.csv   whether the belief fits public data
#   quiltwork ledger create {job}             a ledger, if one is named below
#   quiltwork release {job}                   draws the noise and spends the budget
"""
BUDGET = """\
# A ledger counts what all releases tell together, and refuses those that would exceed the budget.
# ledger = "sqlite:///ledger.db"
# budget = 2.0
"""
QUESTIONS = """\
# Each [[question]] is one release. A list, ask = ["histogram", "transitions"], shares one epsilon.
"""
OUT = """
# [out]
# report = "report.html"
# table = "answers.csv"
"""


def new(
    data: DataFile,
    file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.toml", help="Write to this file instead of printing."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a job file for a data file. Looks at the names and types of columns, not at values."""
    from quiltwork.data.proposed import BELIEF, proposed

    if file is not None and file.suffix.lower() != ENDING:
        raise ParameterError(f"a job file must end in {ENDING}", got=repr(file.suffix), fix=f"--out job{ENDING}")
    if file is not None and file.exists():
        raise ParameterError(
            f"job file {file} exists already", why="your changes would be lost", fix="Choose another name, or delete it"
        )
    job = proposed(data)
    text = written(job if file is None else job.near(file).with_(belief=BELIEF), file)
    if file is not None:
        file.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"job": text} | ({} if file is None else {"file": str(file)}))
    elif file is None:
        print(text, end="")
    else:
        out.print(f"Wrote {file}. Check it, then: quiltwork plan {file}")


def written(job: Job, file: Path | None) -> str:
    """A job as a file that explains itself."""
    name = "job.toml" if file is None else file.name
    data, privacy = (Job(data=job.data), Job(privacy=job.privacy))
    parts = [HEAD.format(job=name), data.to_toml(comments=True), privacy.to_toml(comments=True) + BUDGET]
    return "\n".join([*parts, QUESTIONS + Job(questions=job.questions).to_toml(comments=True)]) + OUT
