"""The page saves and loads job files; no file that one names is opened, and the service's own settings stay its own."""

from typing import Any

import pytest
from starlette.testclient import TestClient
from web_service import BELIEF

from quiltwork.errors import ParameterError
from quiltwork.job import Job
from quiltwork.web.job_files import form_of, job_of, text_of
from quiltwork.web.models import JobForm

FORM: dict[str, Any] = {
    "belief": BELIEF,
    "column": "doing",
    "gaps": "independent",
    "read": {"time": "time", "missing": "split", "recode": {"1": "sit", "?": None}},
    "query": ["mean", "count:walk"],
    "state_values": {"sit": 0.0, "walk": 1.5},
    "epsilon": 0.5,
    "segment": [1, 96],
    "window": "day",
    "secrets": "state:walk",
    "anyway": True,
}
OWN = """
[data]
path = "/etc/passwd"
column = "doing"
engine = "spark"
master = "local[4]"
recode = "/etc/names.json"
[privacy]
belief = "/etc/belief.json"
ledger = "sqlite:///other.db"
key = "/etc/key"
who = "somebody"
[[question]]
ask = "histogram"
epsilon = 1
[[question]]
ask = "stays"
epsilon = 1
[out]
report = "/tmp/report.html"
"""


def test_a_form_saved_and_loaded_is_the_same() -> None:
    text = text_of(JobForm.model_validate(FORM).model_dump(exclude_unset=True))
    found = form_of(text, JobForm.model_fields)
    assert found == {"form": FORM, "left_out": [], "questions": 1}
    assert Job.parse(text).data.path is None
    assert Job.parse(text_of({**FORM, "data": {"path": "diary.csv"}})).data.path == "diary.csv"


def test_what_the_service_sets_is_never_taken() -> None:
    found = form_of(OWN, JobForm.model_fields)
    assert found["form"] == {"column": "doing", "query": ["histogram"], "epsilon": 1.0}
    assert set(found["left_out"]) == {
        *("path", "engine", "master", "recode", "belief", "ledger", "key", "who", "report"),
    }
    assert found["questions"] == 2
    assert job_of({"query": "histogram", "ledger": "sqlite:///l.db", "path": "/etc/passwd"}).said() == {
        "ask": ("histogram",)
    }
    with pytest.raises(ParameterError, match="no key 'colum'"):
        form_of("[data]\ncolum = 'x'", {})


def test_the_interface_reads_and_writes_job_files(served: TestClient) -> None:
    text = served.post("/api/job/text", json=FORM).json()["text"]
    assert served.post("/api/job/fields", json={"text": text}).json()["form"] == FORM
    refused = served.post("/api/job/fields", json={"text": "[data]\ncolum = 'x'"})
    assert refused.status_code == 422
    assert "Did you mean 'column'?" in refused.json()["error"]
