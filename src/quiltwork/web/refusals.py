"""Refusals over HTTP: the object that ``--json`` prints, and the status that goes with it."""

from collections.abc import Mapping
from typing import Any

from quiltwork.errors import visible

STATUS = {
    "budget": 409,
    "cancelled": 409,
    "replaced": 409,
    "time": 504,
    "internal": 500,
    "lost": 500,
    "memory": 507,
}
INPUT = 422


class RefusedError(Exception):
    """A request that the service itself refuses.

    >>> RefusedError("this service is read-only.", "read-only", 403).content
    {'error': 'this service is read-only.', 'kind': 'read-only', 'exit_code': 2}
    """

    def __init__(self, message: str, kind: str, status: int):
        super().__init__(message)
        self.status = status
        self.content: dict[str, Any] = {"error": visible(message), "kind": kind, "exit_code": 2}


def status_of(refusal: Mapping[str, Any]) -> int:
    """The HTTP status of a refusal.

    >>> status_of({"kind": "budget"}), status_of({"kind": "data"})
    (409, 422)
    """
    return STATUS.get(str(refusal.get("kind")), INPUT)


def from_validation(problems: list[Any]) -> dict[str, Any]:
    """What is wrong with a request's form; it names places, and never what stood there.

    >>> from_validation([{"loc": ("body", "epsilon"), "type": "greater_than", "msg": "Input should be greater than 0"}])
    {'error': 'epsilon: should be greater than 0.', 'kind': 'request', 'exit_code': 2}
    """
    problem = problems[0]
    if problem["type"] == "json_invalid":
        return {"error": "the request must be JSON. Look for a comma, a quotation mark or a bracket.", "kind": "json",
                "exit_code": 2}  # fmt: skip
    if problem["type"] == "model_attributes_type":
        return {"error": "the request must be a JSON object, sent as application/json.", "kind": "json", "exit_code": 2}
    place = ".".join(str(part) for part in problem["loc"] if part not in ("body", "query", "path")) or "the request"
    said = {"extra_forbidden": "this key is not known", "missing": "it is needed"}.get(
        problem["type"], str(problem["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    )
    return {"error": visible(f"{place[:200]}: {said.rstrip('.')}."), "kind": "request", "exit_code": 2}
