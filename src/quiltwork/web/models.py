"""What requests look like: the options of the commands, as JSON. Keys that are not known are refused."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from quiltwork.types import Gaps, Guarantee, NoiseChoice

Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(max_length=1000)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Query = Annotated[
    Text | list[Text],
    Field(description="A question such as `histogram`, or several that share ε.", examples=["histogram"]),
]
Secrets = Annotated[Text | None, Field(description="What is secret: `all` if left out.")]
Times = Annotated[Text | None, Field(description="When it is secret.")]
Length = Annotated[
    Annotated[int, Field(ge=1)] | Literal["any"] | None,
    Field(description="Values of the longest series, or `any`. Left out for records.", examples=[672]),
]


class Form(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="forbid", strict=True)


Belief = Annotated[
    dict[str, Any],
    Field(
        description='The contents of a belief file, or `{"path": ..}` of one below the public folder.',
        examples=[{"kind": "chain", "states": ["sit", "walk"], "transition": [[0.9, 0.1], [0.4, 0.6]]}],
    ),
]


Charts = Annotated[bool, Field(description="Also pictures as Vega-Lite, and words for them.")]


class Data(Form):
    """Data: a file that was sent, or one below a folder: for releases that of data, for checks the public one."""

    upload: Name | None = None
    path: Name | None = None

    @model_validator(mode="after")
    def _one(self) -> "Data":
        if (self.upload is None) == (self.path is None):
            raise ValueError("data needs an upload or a path, and not both")
        return self


class Read(Form):
    """How rows become series: the options of the command."""

    subject: Name | None = Field(default=None, description="Column identifying the subject.")
    time: Name | None = Field(default=None, description="Time column, or `DATE,TIME` for two columns.")
    missing: Literal["refuse", "split"] = "refuse"
    gap: Name | None = Field(default=None, description="Split the series at pauses longer than this: `15min`.")
    every: Name | None = Field(default=None, description="Keep one row per step: `5min`.")
    take: Literal["first", "last", "mean"] = "first"
    bins: Text | None = Field(default=None, description="Group numbers into levels: `100,500` or `LOW:HIGH:LEVELS`.")
    unsorted: Literal["refuse", "sort"] = "refuse"
    duplicates: Literal["refuse", "drop"] = "refuse"
    together: Name | None = Field(default=None, description="Column naming people who influence each other.")
    separator: Name | None = None
    decimal: Literal[".", ","] | None = None
    date_format: Name | None = Field(default=None, description="How dates are written in text: `dd/mm/yyyy`.")
    recode: dict[str, str | None] | None = Field(default=None, description="Names of states for values of the data.")


class PlanForm(Form):
    """How much noise each mechanism would need."""

    belief: Belief
    query: Query
    epsilon: Positive | None = Field(default=None, description="Privacy loss allowed for any moment.", examples=[1.0])
    length: Length = None
    values: Annotated[int, Field(ge=1)] | None = None
    people: Annotated[int, Field(ge=1)] | None = None
    target_error: Name | None = Field(default=None, description="Wanted error, such as `5%`, instead of ε.")
    mechanisms: list[Name] | None = None
    state_values: dict[str, float] | None = None
    delta: float = Field(default=0.0, description="Allow for a weaker (ε, δ) guarantee.")
    noise: NoiseChoice | None = Field(default=None, description="Which noise; the best one with a δ if left out.")
    releases: Annotated[int, Field(ge=1)] = 1
    guarantee: Guarantee = "pufferfish"
    secrets: Secrets = None
    secret_times: Times = None
    quilt_size: int | None = None
    distance: list[Positive] | None = None
    advice: bool = Field(
        default=True, description="Search for the ε that would do where an answer would be noise only; takes longer."
    )

    window: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Values of each series that one answer is about, if there is one for each window."
    )
    charts: Charts = False


class RehearseForm(Form):
    """How an answer would look, on data that the belief makes up."""

    belief: Belief
    query: Query
    epsilon: Positive
    length: Length = None
    people: Annotated[int, Field(ge=1)] | None = None
    window: Annotated[int, Field(ge=1)] | None = Field(default=None, description="Values of each series in one answer.")
    mechanisms: Annotated[list[Name], Field(min_length=1, max_length=1)] | None = None
    state_values: dict[str, float] | None = None
    guarantee: Guarantee = "pufferfish"
    secrets: Secrets = None
    secret_times: Times = None
    seed: Annotated[int, Field(ge=0)] = Field(default=0, description="Which simulated data.")
    draw: Annotated[int, Field(ge=0)] = Field(default=0, description="Another number draws new noise.")


class ComposeForm(Form):
    """The total privacy loss of several releases."""

    belief: Belief
    releases: list[dict[str, Any]] = Field(
        description="Records of releases, as `release --json` prints them.",
        examples=[[{"mechanism": "curve", "epsilon": 1.0, "noise_scale": 3.4, "lipschitz": 1.0}]],
    )
    length: Length = None
    delta: float = Field(default=0.0, description="The δ at which ε is wanted.")
    budget: Positive | None = None
    guarantee: Guarantee = "pufferfish"
    secrets: Secrets = None
    secret_times: Times = None


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


class ReleaseForm(Form):
    """A release: first everything but `confirm`, for a preview; then `confirm` alone, to make it."""

    confirm: Literal[False] | Name = Field(default=False, description="What the preview returned, to make the release.")
    data: Data | None = None
    belief: Belief | None = Field(default=None, description="That of the ledger if left out.")
    query: Query | None = None
    epsilon: Positive | None = None
    column: Name | None = None
    variable: Name | None = None
    read: Read | None = Field(default=None, description="That of the ledger if left out.")
    state_values: dict[str, float] | None = None
    mechanism: Name | None = None
    segment: list[int] | None = Field(default=None, min_length=2, max_length=2)
    window: Name | int | None = None
    by_subject: bool = False
    gaps: Gaps | None = None
    delta: float = Field(default=0.0, description="Allow for a weaker (ε, δ) guarantee.")
    noise: NoiseChoice | None = Field(default=None, description="Which noise; the best one with a δ if left out.")
    guarantee: Guarantee | None = Field(default=None, description="That of the ledger if left out.")
    secrets: Secrets = None
    secret_times: Times = None
    quilt_size: int | None = None
    spread: Positive | None = Field(default=None, description="For numbers: how wide the range is that values lie in.")
    anyway: bool = Field(default=False, description="Release answers that are noise only.")
    despite_check: bool = Field(default=False, description="Release under a belief that its check refuted.")

    @model_validator(mode="after")
    def _complete(self) -> "ReleaseForm":
        given = self.model_fields_set - {"confirm"}
        if self.confirm is not False and given:
            raise ValueError("a confirmation takes nothing else: what was previewed is what is released")
        missing = [name for name in ("data", "query", "epsilon") if getattr(self, name) is None]
        if self.confirm is False and missing:
            raise ValueError(f"a preview needs {missing[0]}")
        return self
