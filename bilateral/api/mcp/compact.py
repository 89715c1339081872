"""Short schemas of tools. A model pays for each of them before its first question, so they say only what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_LEFT_OUT: Final = frozenset(
    {
        *("title", "maxLength", "maxItems", "minimum", "maximum", "exclusiveMaximum"),
        *("pattern", "additionalProperties", "$defs"),
    }
)
"""Titles repeat names. The server checks bounds in any case, and its errors name them."""

_NULL: Final = {"type": "null"}


def compact(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shorter schema of a tool's arguments. It allows the same values but null, which is as a missing one.

    Args:
        schema: The schema, as Pydantic makes it.
    """
    return {**_short(schema, schema.get("$defs", {})), "additionalProperties": False}


def _short(schema: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shorter schema, with references replaced by what they name."""
    whole = dict(schema)
    if "$ref" in whole:
        definition = dict(named[whole.pop("$ref").rpartition("/")[2]])
        definition.pop("description", None)  # it is for readers of the code
        whole = {**definition, **whole}
    if "anyOf" in whole:
        options = [option for option in whole.pop("anyOf") if option != _NULL]
        if len(options) == 1:
            whole = {**_short(options[0], named), **whole}
        else:
            types = [option["type"] for option in options]
            whole["type"] = "number" if types == ["number", "string"] else types  # a number may be a text, too
    if whole.get("default", 0) in (None, [], "") or whole.get("default") is False:
        del whole["default"]
    short = {name: value for name, value in whole.items() if name not in _LEFT_OUT}
    if "properties" in short:
        short["properties"] = {name: _short(inner, named) for name, inner in short["properties"].items()}
    if "items" in short:
        short["items"] = _short(short["items"], named)
    return short
