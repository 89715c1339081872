"""Text of strangers and figures, as pages show them."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from decimal import Decimal

_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""The categories of characters that are invisible, or that turn the direction of writing."""

MAX_SHOWN: Final = 300
"""The characters of a text of a stranger that a page shows."""


def visible(text: str | None, limit: int = MAX_SHOWN) -> Markup:
    """Return a text of a stranger as HTML, with a mark for each character that a person would not see.

    Args:
        text: The text; None shows nothing.
        limit: The largest number of characters to show.
    """
    shown = (text or "")[:limit]
    parts = [_mark(it) if unicodedata.category(it) in _UNSEEN else escape(it) for it in shown]
    return Markup("").join(parts) + ("…" if len(text or "") > limit else "")


def _mark(character: str) -> Markup:
    """Return the mark of a character that a person would not see."""
    return Markup('<mark class="code" title="invisible character">U+{:04X}</mark>').format(ord(character))


def short(identifier: str) -> str:
    """Return an address or a hash with its middle left out.

    Args:
        identifier: `0x` and hexadecimal digits; other text stays as it is.
    """
    return f"{identifier[:6]}…{identifier[-4:]}" if identifier.startswith("0x") and len(identifier) > 12 else identifier  # noqa: PLR2004


def moment(seconds: int) -> str:
    """Return a time as a person reads it, such as `22 Nov 2026 09:54 UTC`.

    Args:
        seconds: Unix seconds.
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%-d %b %Y %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"


def figure(value: float | Decimal | None) -> str:
    """Return a value with at most one digit behind the point.

    Args:
        value: The value; None shows a dash.
    """
    return "\N{EN DASH}" if value is None else f"{value:,.1f}".removesuffix(".0")


def web_link(uri: str | None) -> str | None:
    """Return a URI of a stranger if a page may link to it: `http` or `https`, with a host and no user name.

    Args:
        uri: The URI.
    """
    try:
        parts = urlsplit(uri or "")
        is_safe = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    except ValueError:
        return None
    return uri if is_safe else None
