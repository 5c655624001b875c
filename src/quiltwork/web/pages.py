"""The pages: templates filled with what the service offers. Everything that is put into them is escaped."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from quiltwork import __version__

NAVIGATION = (
    {
        "name": "belief",
        "title": "Belief",
        "about": "What an adversary may believe about how values follow each other. The noise is chosen for it.",
    },
    {
        "name": "plan",
        "title": "Plan",
        "about": "How much noise a question needs, and how its answer would look. Reads no data and spends nothing.",
    },
    {
        "name": "release",
        "title": "Release",
        "about": "Answer questions about data with noise: first a preview with its cost, then a confirmation.",
    },
    {
        "name": "budget",
        "title": "Budget",
        "about": "What was spent, who spent it, and what remains.",
    },
)
METHODS = ("get", "post", "delete")
DETAILS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
}


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("quiltwork.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = with_code
    return made


def with_code(text: str) -> Markup:
    """Text with code between backticks; everything in it is escaped before.

    >>> with_code("as `plan --json` <b>")
    Markup('as <code>plan --json</code> &lt;b&gt;')
    """
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - it is escaped


def _page(name: str, **content: Any) -> str:
    frame = {"version": __version__, "navigation": NAVIGATION, "here": ""}
    return _templates().get_template(name).render(frame | content)


def sign_in(*, wrong: bool = False) -> bytes:
    """The page for who has not shown the token, or a wrong one."""
    return _page("sign-in.html", wrong=wrong).encode()


def signed_in() -> bytes:
    """The page that leads on from the address with the token."""
    return _page("signed-in.html").encode()


def landing(status: dict[str, Any]) -> str:
    """What the service offers."""
    return _page("landing.html", status=status)


def work(name: str, status: dict[str, Any]) -> str:
    """A page to work in: its frame, which a script fills."""
    page = next(page for page in NAVIGATION if page["name"] == name)
    return _page("work.html", page=page, here=name, status=status)


def interface(schema: dict[str, Any]) -> str:
    """The JSON interface, from its OpenAPI description: no script, no network."""
    return _page("interface.html", title=schema["info"]["title"], requests=requests_in(schema))


def requests_in(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The requests of an OpenAPI description, with their parameters and fields."""
    found = []
    for path, methods in schema["paths"].items():
        for method in METHODS:
            if method not in methods:
                continue
            asked = methods[method]
            body = asked.get("requestBody", {}).get("content", {})
            form = _resolved(body.get("application/json", {}).get("schema", {}), schema)
            found.append(
                {
                    "id": f"{method}-{path.strip('/').replace('/', '-').replace('{', '').replace('}', '')}",
                    "method": method.upper(),
                    "path": path,
                    "about": asked.get("description", "").split("\n\n"),
                    "parameters": [
                        _field(
                            one["name"], one["schema"] | {"description": one.get("description", "")}, one["required"]
                        )
                        for one in asked.get("parameters", [])
                    ],
                    "file": "application/octet-stream" in body,
                    "fields": list(_fields(form, schema)),
                }
            )
    return found


def _fields(form: dict[str, Any], schema: dict[str, Any], within: str = "") -> Iterator[dict[str, Any]]:
    """The fields of an object, each followed by those of the object that it holds."""
    for name, content in form.get("properties", {}).items():
        yield _field(within + name, content, name in form.get("required", []))
        for option in (content, *content.get("anyOf", ())):
            if "$ref" in option:
                yield from _fields(_resolved(option, schema), schema, f"{within}{name}.")


def _field(name: str, content: dict[str, Any], required: bool) -> dict[str, Any]:
    return {
        "name": name,
        "type": _type(content),
        "required": required,
        "default": content.get("default"),
        "about": content.get("description", ""),
    }


def _type(content: dict[str, Any]) -> str:
    """The type of a field, in a few words."""
    if "$ref" in content:
        return "object"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in content:
            names = [_type(one) for one in content[key] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(names))
    if "const" in content:
        return repr(content["const"])
    if "enum" in content:
        return " or ".join(map(repr, content["enum"]))
    kind = str(content.get("type", "any"))
    if kind == "array":
        return f"list of {_type(content.get('items', {}))}"
    words = {"integer": "whole number", "string": "text", "boolean": "true or false"}
    limits = [said.format(f"{content[key]:g}") for key, said in DETAILS.items() if key in content]
    return ", ".join([words.get(kind, kind), *limits])


def _resolved(content: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in content:
        found: dict[str, Any] = schema["components"]["schemas"][str(content["$ref"]).rpartition("/")[2]]
        return found
    return content
