"""Job files and the form of a release: each from the other. No file that a job names is opened here."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from quiltwork.errors import ParameterError
from quiltwork.job import READING, Data, Job, fields_by_name

OUTSIDE = ("column", "variable", "gaps")
"""Of how data are read, what stands in the form itself."""
FILES = (".json", ".toml", ".csv")


def job_of(form: Mapping[str, Any], **more: Any) -> Job:
    """The job that a form asks for; ``more`` are fields that only the service sets.

    >>> job_of({"query": "histogram", "epsilon": 1.0, "read": {"time": "time"}, "ledger": "sqlite:///l.db"}).said()
    {'time': 'time', 'ask': ('histogram',), 'epsilon': 1.0}
    """
    known = fields_by_name()
    said = {name: value for name, value in form.items() if name in known and known[name].metadata["web"]}
    said |= form.get("read") or {}
    if form.get("query") is not None:
        said["ask"] = form["query"]
    return Job.of(**{name: value for name, value in (said | more).items() if value is not None})


def form_of(text: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a job file says, as a form with these fields takes it, and what only the service sets: ``left_out``.

    Of several questions it is the first: each is a release of its own.

    >>> job = "[data]\\npath = '/etc/passwd'\\ntime = 'at'\\n[[question]]\\nask = 'histogram'\\nepsilon = 1"
    >>> form_of(job, {"query": None, "epsilon": None, "read": None})
    {'form': {'read': {'time': 'at'}, 'query': ['histogram'], 'epsilon': 1.0}, 'left_out': ['path'], 'questions': 1}
    """
    job = Job.parse(text)
    said = job.with_questions(job.questions[:1]).said()
    read, form, left_out = {}, {}, []
    for name, value in said.items():
        plain = _plain(name, value)
        if name == "ask":
            form["query"] = list(value)
        elif not fields_by_name()[name].metadata["web"] or plain is None:
            left_out.append(name)
        elif name in READING and name not in OUTSIDE:
            read[name] = plain
        elif name in fields:
            form[name] = plain
        else:
            left_out.append(name)
    return {"form": ({"read": read} if read else {}) | form, "left_out": left_out, "questions": len(job.questions)}


def text_of(form: Mapping[str, Any]) -> str:
    """A form as a job file; the file of the data by its name."""
    data = form.get("data") or {}
    return job_of(form, path=data.get("path")).to_toml()


def read_of(form: Mapping[str, Any]) -> Data:
    """How a form says that data are read."""
    return job_of({name: value for name, value in form.items() if name in (*OUTSIDE, "read")}).data


def _plain(name: str, value: Any) -> Any:
    """A value as JSON has it; None if it is a file, which a service does not open."""
    if name in ("recode", "state_values") and isinstance(value, str):
        if "=" not in value or PurePath(value).suffix.lower() in FILES:
            return None
        pairs = dict(part.rpartition("=")[::2] for part in value.split(","))
        try:
            return pairs if name == "recode" else {state: float(number) for state, number in pairs.items()}
        except ValueError:
            raise ParameterError("state_values must be numbers", got="text") from None
    if name == "belief" and not isinstance(value, Mapping):
        return None
    return list(value) if isinstance(value, tuple) else value
