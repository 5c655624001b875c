"""Pictures, each by a function of what it shows. Altair describes them, vl-convert makes SVG of them."""

from importlib.util import find_spec

from quiltwork.errors import NotInstalledError

try:
    import altair as alt

    if find_spec("vl_convert") is None:  # a process of its own loads it
        raise ModuleNotFoundError(name="vl_convert")
except ModuleNotFoundError as problem:
    why = "they are large, and releases and tables do without"
    raise NotInstalledError("a picture or a report", "pictures", got=f"no {problem.name}", why=why) from None

__all__ = ["alt"]
