"""Pictures, each by a function of what it shows. Altair describes them, vl-convert makes SVG of them."""

from quiltwork.errors import NotInstalledError

try:
    import altair as alt
    import vl_convert
except ModuleNotFoundError as problem:
    why = "they are large, and releases and tables do without"
    raise NotInstalledError("a picture or a report", "pictures", got=f"no {problem.name}", why=why) from None

__all__ = ["alt", "vl_convert"]
