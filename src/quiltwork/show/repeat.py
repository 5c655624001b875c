"""How to make a release again in Python, from what is known about it."""

from typing import Any

from quiltwork.beliefs.dynamic import JOIN
from quiltwork.data.reading import About, source_name
from quiltwork.question import Query, Said
from quiltwork.releases.result import Release

IN_MEMORY = "sqlite://"  # the address of a ledger that is forgotten with its session
LONGEST = 88


def address_name(address: str) -> str:
    """The address of a ledger without the folder of its file.

    >>> address_name("sqlite:////home/ann/ledger.db"), address_name("sqlite:///ledger.db")
    ('sqlite:///ledger.db', 'sqlite:///ledger.db')
    """
    kind, found, path = address.partition(":///")
    if kind != "sqlite" or not found:
        return address
    return f"sqlite:///{source_name(path.removeprefix('file:'))}"


def python_code(release: Release) -> str:
    """A few lines of Python that make the same release: of the belief, only its fingerprint is known.

    >>> from quiltwork import MarkovChain, release
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> print(python_code(release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0, mechanism="curve")))
    from quiltwork import load_belief, release
    <BLANKLINE>
    belief = load_belief("belief.json")  # the belief with fingerprint e2b9feb74c0eb370
    data = ...  # 1 series, 100 values
    result = release(data, 'count:1', belief=belief, epsilon=1.0, mechanism='curve')
    """
    about, ledger = release.about, release.ledger
    reader, columns = _reading(release)
    imported = {"load_belief", "release" if ledger is None else "Session"} | ({reader} if about is not None else set())
    mark = release.belief.fingerprint[:16]
    lines = [
        f"from quiltwork import {', '.join(sorted(imported, key=lambda name: (name.islower(), name)))}",
        "",
        f'belief = load_belief("belief.json")  # the belief with fingerprint {mark}',
        f"data = ...  # {release.subjects:,} {release.belief.noun}, {release.values:,} values",
    ]
    if about is not None:
        source = "table" if about.source is None else repr(about.source)
        lines[-1] = _call(f"data = {reader}", [source], columns)
    asked, options = _asked(release), _options(release)
    if ledger is None:
        lines.append(_call("result = release", ["data", asked, "belief=belief"], options))
    else:
        kept: dict[str, Any] = {"budget": ledger["budget"]}
        kept |= {} if ledger["address"] == IN_MEMORY else {"ledger": address_name(str(ledger["address"]))}
        kept |= {key: options.pop(key) for key in ("guarantee", "gaps") if key in options}
        lines.append(_call("session = Session", ["data", "belief=belief"], kept))
        lines.append(_call("result = session.release", [asked], options))
    return "\n".join(lines)


def _call(name: str, arguments: list[str], options: dict[str, Any]) -> str:
    written = [*arguments, *(f"{key}={_plain(value)}" for key, value in options.items())]
    line = f"{name}({', '.join(written)})"
    if len(line) <= LONGEST:
        return line
    return f"{name}(\n    " + ",\n    ".join(written) + ",\n)"


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, _Code) else repr(value)


class _Code(str):
    """Text that is code, not a string."""

    __slots__ = ()


def _reading(release: Release) -> tuple[str, dict[str, Any]]:
    """The function that read the data, and how."""
    about: About | None = release.about
    if about is None:
        return "", {}
    left_out = ("layout", "files")  # the function and the name of the data say them
    read = about.reading.to_dict().items()
    settings = {key: value for key, value in read if key not in left_out and value != "auto"}
    if release.belief.variables is not None:
        return "read_records", {"belief": _Code("belief")} | settings
    if release.recorded.segment is not None:
        settings["segment"] = release.recorded.segment
    if release.belief.real:
        return "read_measurements", settings
    column = settings.pop("column", "")
    several = release.belief.step_variables is not None
    columns = {"column": column.split(JOIN) if several else column, "states": _Code("belief.states")}
    return "read_series", columns | settings


def _asked(release: Release) -> str:
    questions = [question.calibration.query for question in release.questions]
    if questions:
        return f"[{', '.join(map(_question, questions))}]"
    return _question(release.calibration.query)


def _question(query: Said) -> str:
    """As text, unless it is a function of somebody's own."""
    own = isinstance(query, Query) and not query.entry.reads and query.kind != "share-difference"
    return "query" if own else repr(query.text)


def _options(release: Release) -> dict[str, Any]:
    calibration, record = release.calibration, release.recorded
    options: dict[str, Any] = {"epsilon": calibration.epsilon, "mechanism": calibration.mechanism}
    if calibration.delta:
        options["delta"] = calibration.delta
    if calibration.guarantee == "bayesian":
        options["guarantee"] = "bayesian"
    if not calibration.secrets.everything:
        options["secrets"] = calibration.secrets.text
    if record.gaps == "independent":
        options["gaps"] = "independent"
    if any(answer.pure_noise for answer in release.answers):
        options["anyway"] = True
    if release.checked is not None and release.checked.outcome == "refuted":
        options["despite_check"] = True
    if record.window is not None:
        options["window"] = record.window
    if any(part.subject for part in release.parts):
        options["by_subject"] = True
    return options
