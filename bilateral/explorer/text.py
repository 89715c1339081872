"""Format untrusted text and figures for pages."""

import unicodedata
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from typing import Final
from urllib.parse import urlsplit

from markupsafe import Markup, escape

UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""The Unicode categories of characters that are invisible or change the text direction."""

_LOOK_ALIKE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH"})
"""Alphabets that share look-alike letters."""

MAX_LENGTH: Final = 300
"""The maximum length of untrusted text on a page."""

_MOST_MARKS: Final = 3
"""The maximum number of consecutive marks for invisible characters. Sixty would push everything else off the page."""


def visible(text: str | None, limit: int = MAX_LENGTH) -> Markup:
    """Return untrusted text as HTML, with marks for invisible characters.

    A run of more than three such characters gets a single mark that states their number.
    """
    parts = [
        escape("".join(run)) if not is_unseen else Markup("").join(map(_mark, _shortened(list(run))))
        for is_unseen, run in groupby((text or "")[:limit], _is_unseen)
    ]
    return Markup("").join(parts) + ("…" if len(text or "") > limit else "")


def plain(text: str | None, limit: int = MAX_LENGTH) -> str:
    """Return untrusted text without markup, for titles and images, with marks for invisible characters."""
    marked = "".join(
        "".join(run) if not is_unseen else "".join(f"[{word}]" for word in _shortened(list(run)))
        for is_unseen, run in groupby((text or "")[:limit], _is_unseen)
    )
    return marked + ("…" if len(text or "") > limit else "")


def mixes_alphabets(text: str | None) -> bool:
    """Return True if a name mixes look-alike alphabets, such as a Cyrillic letter among Latin letters."""
    scripts = {
        unicodedata.name(character, "").partition(" ")[0]
        for character in (text or "")[:MAX_LENGTH]
        if character.isalpha()
    }
    return len(scripts & _LOOK_ALIKE) > 1


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in UNSEEN


def _shortened(run: list[str]) -> list[str]:
    if len(run) > _MOST_MARKS:
        return [f"U+{ord(run[0]):04X} and {len(run) - 1} more"]
    return [f"U+{ord(character):04X}" for character in run]


def _mark(word: str) -> Markup:
    return Markup('<mark class="code" title="invisible character">{}</mark><wbr>').format(word)


def short(identifier: str) -> str:
    """Return an address or a hash with its middle elided."""
    return f"{identifier[:6]}…{identifier[-4:]}" if identifier.startswith("0x") and len(identifier) > 12 else identifier  # noqa: PLR2004


def timestamp(seconds: int) -> str:
    """Format a time for people, such as `22 Nov 2026 09:54 UTC`."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%-d %b %Y %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"


def iso(seconds: int) -> str:
    """Format a time for programs, such as `2026-11-22T09:54:00Z`; empty if the time is out of the calendar's range."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


def figure(value: float | Decimal | None) -> str:
    """Format a value with at most one decimal."""
    return "\N{EN DASH}" if value is None else f"{value:,.1f}".removesuffix(".0")


def rounded(rating: float | None) -> str:
    """Format a standing's rating, so that every page shows the same figure for an agent."""
    return "\N{EN DASH}" if rating is None else f"{rating:.0f}"


def web_link(uri: str | None) -> str | None:
    """Return an untrusted URI if pages may link to it (`http` or `https`, a host, no user name); otherwise None."""
    try:
        parts = urlsplit(uri or "")
        is_safe = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    except ValueError:
        return None
    return uri if is_safe else None


def day(number: int) -> str:
    """Format a day for people, such as `22 Nov`."""
    return datetime.fromtimestamp(number * 86_400, UTC).strftime("%-d %b")
