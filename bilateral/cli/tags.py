"""Marks on tags that look like other tags."""

from __future__ import annotations

from bilateral.core.text import quoted
from bilateral.core.values import resembled_tag


def marked_tag(tag: str) -> str:
    """Return a tag as tables show it, in quotation marks behind a mark if it may be taken for another tag.

    The mark comes first, because tables shorten long texts at their end.
    """
    mark = _mark(tag)
    return f'({mark}) "{tag}"' if mark else tag


def quoted_tag(tag: str) -> str:
    """Return a tag for a message, in quotation marks, behind a mark if it may be taken for another tag."""
    mark = _mark(tag)
    return f"({mark}) {quoted(tag)}" if mark else quoted(tag)


def _mark(tag: str) -> str:
    """Return the reason why a tag may be taken for another; an empty string if there is no reason."""
    if not tag.isascii():
        return "not ASCII"
    standard = resembled_tag(tag)
    if standard is not None:
        return f"not {standard}"
    return "blanks" if tag != " ".join(tag.split()) else ""
