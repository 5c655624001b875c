"""What requests look like: the fields of a job, as JSON. Keys that are not known are refused."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from quiltwork.fields import NAME
from quiltwork.job import READING, TEXT, fields_by_name

Text = Annotated[str, Field(max_length=TEXT)]
Name = Annotated[str, Field(max_length=NAME)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


LARGEST_JOB = 1_000_000


class Form(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="forbid", strict=True)


Made = TypeVar("Made", bound=Form)
IN_JSON: dict[str, Any] = {
    "epsilon": Positive | None,
    "spread": Positive | None,
    "segment": Annotated[list[int], Field(min_length=2, max_length=2)] | None,
    "window": Name | int | None,
    "recode": dict[str, str | None] | None,
    "state_values": dict[str, float] | None,
    "distance": list[Positive] | None,
    "target_error": Name | None,
    "length": Annotated[int, Field(ge=1)] | Literal["any"] | None,
}
"""Fields that JSON says in another way than a job file does: lists in place of text, tables in place of files."""


EXAMPLES: dict[str, list[Any]] = {"epsilon": [1.0], "length": [672]}


def of_job(*names: str, given: bool = False) -> Callable[[type[Made]], type[Made]]:
    """Gives a form the fields of a job with these names; with ``given``, none has a value before it is sent."""

    def made(form: type[Made]) -> type[Made]:
        return create_model(form.__name__, __base__=form, __module__=form.__module__, __doc__=form.__doc__, **fields)

    fields: dict[str, Any] = {name: _field(name, given=given) for name in names}
    return made


def _field(name: str, *, given: bool) -> tuple[Any, Any]:
    """The type and the default of a field in a form; what a service decides for itself is in none."""
    one = fields_by_name()[name]
    if not one.metadata["web"]:
        raise AssertionError(f"{name} is no field of a form")
    limits = one.metadata["limits"]
    kind = IN_JSON.get(name, one.type)
    if name not in IN_JSON and limits:
        kind = Annotated[one.type, Field(**limits)]
    none = given or isinstance(one.default, tuple)
    default, examples = None if none else one.default, EXAMPLES.get(name)
    return kind | None if none else kind, Field(default=default, description=one.metadata["help"], examples=examples)


Query = Annotated[
    Text | list[Text],
    Field(description="A question such as `histogram`, or several that share ε.", examples=["histogram"]),
]
Belief = Annotated[
    dict[str, Any],
    Field(
        description='The contents of a belief file, or `{"path": ..}` of one below the public folder.',
        examples=[{"kind": "chain", "states": ["sit", "walk"], "transition": [[0.9, 0.1], [0.4, 0.6]]}],
    ),
]
Charts = Annotated[bool, Field(description="Also pictures as Vega-Lite, and words for them.")]
PROMISED = ("guarantee", "secrets", "secret_times")


class Data(Form):
    """Data: a file that was sent, or one below a folder: for releases that of data, for checks the public one."""

    upload: Name | None = None
    path: Name | None = None

    @model_validator(mode="after")
    def _one(self) -> "Data":
        if (self.upload is None) == (self.path is None):
            raise ValueError("data needs an upload or a path, and not both")
        return self


@of_job(*(name for name in READING if name not in ("column", "variable", "gaps")))
class Read(Form):
    """How rows become series: the options of the command."""


@of_job(
    *("epsilon", "length", "values", "people", "target_error", "state_values", "delta", "noise", "quilt_size"),
    *("distance", *PROMISED),
)
class PlanForm(Form):
    """How much noise each mechanism would need."""

    belief: Belief
    query: Query
    mechanisms: list[Name] | None = None
    releases: Annotated[int, Field(ge=1)] = 1
    advice: bool = Field(
        default=True, description="Search for the ε that would do where an answer would be noise only; takes longer."
    )
    window: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Values of each series that one answer is about, if there is one for each window."
    )
    charts: Charts = False


@of_job("length", "people", "state_values", *PROMISED)
class RehearseForm(Form):
    """How an answer would look, on data that the belief makes up."""

    belief: Belief
    query: Query
    epsilon: Positive
    window: Annotated[int, Field(ge=1)] | None = Field(default=None, description="Values of each series in one answer.")
    mechanisms: Annotated[list[Name], Field(min_length=1, max_length=1)] | None = None
    seed: Annotated[int, Field(ge=0)] = Field(default=0, description="Which simulated data.")
    draw: Annotated[int, Field(ge=0)] = Field(default=0, description="Another number draws new noise.")


@of_job("length", *PROMISED)
class ComposeForm(Form):
    """The total privacy loss of several releases."""

    belief: Belief
    releases: list[dict[str, Any]] = Field(
        description="Records of releases, as `release --json` prints them.",
        examples=[[{"mechanism": "curve", "epsilon": 1.0, "noise_scale": 3.4, "lipschitz": 1.0}]],
    )
    delta: float = Field(default=0.0, description="The δ at which ε is wanted.")
    budget: Positive | None = None


class BeliefForm(Form):
    """A belief to be read."""

    belief: Belief
    charts: Charts = False


State = Annotated[int, Field(ge=0, description="The place of a state, from 0.")]


class Change(Form):
    """One change of a chain."""

    cell: Annotated[list[State], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="Row and column whose probability becomes `value`; the rest of the row is rescaled."
    )
    stay: State | None = Field(default=None, description="State whose stays last `value` steps on average.")
    initial: Literal["any", "stationary", "given"] | State | None = Field(
        default=None, description="The start, or the state whose probability at the start becomes `value`."
    )
    rename: State | None = Field(default=None, description="State that gets the name `name`.")
    add: Name | None = Field(default=None, description="Name of one more state.")
    remove: State | None = None
    value: float | None = Field(default=None, allow_inf_nan=False)
    name: Name | None = None

    @model_validator(mode="after")
    def _one(self) -> "Change":
        kinds = {name for name in self.model_fields_set - {"value", "name"} if getattr(self, name) is not None}
        if len(kinds) != 1:
            raise ValueError("a change is one of cell, stay, initial, rename, add and remove")
        needs_value = bool(kinds & {"cell", "stay"}) or isinstance(self.initial, int)
        if needs_value and self.value is None:
            raise ValueError("this change needs a value")
        if "rename" in kinds and self.name is None:
            raise ValueError("this change needs a name")
        return self


class EditForm(Form):
    """A chain, and one change of it."""

    belief: Belief
    change: Change
    charts: Charts = False


class CheckForm(Form):
    """A belief, and public data to compare it with."""

    belief: Belief
    data: Data
    column: Name
    read: Read = Read()
    rhythm: Literal["auto", "day", "week", "none"] = "auto"
    charts: Charts = False


class ColumnsForm(Form):
    """Data whose columns are wanted."""

    data: Data
    separator: Name | None = None


@of_job(
    *("column", "variable", "state_values", "mechanism", "segment", "window", "by_subject", "delta", "noise"),
    *("secrets", "secret_times", "quilt_size", "spread", "anyway", "despite_check"),
)
@of_job("epsilon", "gaps", "guarantee", given=True)
class JobForm(Form):
    """What a release asks, as a job file may say it."""

    data: Data | None = None
    belief: Belief | None = Field(default=None, description="That of the ledger if left out.")
    query: Query | None = None
    read: Read | None = Field(default=None, description="That of the ledger if left out.")


class JobText(Form):
    """A job file."""

    text: Annotated[str, Field(max_length=LARGEST_JOB)]


class ReleaseForm(JobForm):
    """A release: first everything but `confirm`, for a preview; then `confirm` alone, to make it."""

    confirm: Literal[False] | Name = Field(default=False, description="What the preview returned, to make the release.")

    @model_validator(mode="after")
    def _complete(self) -> "ReleaseForm":
        given = self.model_fields_set - {"confirm"}
        if self.confirm is not False and given:
            raise ValueError("a confirmation takes nothing else: what was previewed is what is released")
        missing = [name for name in ("data", "query", "epsilon") if getattr(self, name) is None]
        if self.confirm is False and missing:
            raise ValueError(f"a preview needs {missing[0]}")
        return self
