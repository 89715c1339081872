"""Columns of tables, and marks for tags that imitate other tags."""

from collections.abc import Callable, Mapping
from typing import Any

from bilateral.core.text import quoted
from bilateral.core.values import resembled_tag

Reader = Callable[[Any], Any]
"""Reads a column's value from a row."""


def columns(*names: str, **fields: str | Reader) -> dict[str, Reader]:
    """Return column readers, keyed by label: fields labelled with their own names, then labelled paths or readers."""
    paths: dict[str, str | Reader] = {**{name: name for name in names}, **fields}
    return {label.replace("_", " "): field_at(path) if isinstance(path, str) else path for label, path in paths.items()}


def field_at(path: str) -> Reader:
    """Return a reader of a field or of a dotted path into nested objects. It returns None for a missing value."""

    def read(value: Any) -> Any:
        for name in path.split("."):
            if value is not None:
                value = value.get(name) if isinstance(value, Mapping) else getattr(value, name)
        return value

    return read


def tag_at(name: str) -> Reader:
    """Return a reader that marks a tag if it may be mistaken for another tag."""
    return lambda entry: marked_tag(getattr(entry, name))


def marked_tag(tag: str) -> str:
    """Return a tag for tables. A tag that may be mistaken for another one is quoted and preceded by a mark.

    The mark comes first, because tables truncate long text.
    """
    mark = _mark(tag)
    return f'({mark}) "{tag}"' if mark else tag


def quoted_tag(tag: str) -> str:
    """Return a tag for a message, in quotation marks, preceded by a mark if it may be mistaken for another tag."""
    mark = _mark(tag)
    return f"({mark}) {quoted(tag)}" if mark else quoted(tag)


def _mark(tag: str) -> str:
    """Return why a tag may be mistaken for another tag; empty if it may not."""
    if not tag.isascii():
        return "not ASCII"
    standard = resembled_tag(tag)
    if standard is not None:
        return f"not {standard}"
    return "blanks" if tag != " ".join(tag.split()) else ""
