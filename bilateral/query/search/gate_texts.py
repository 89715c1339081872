"""Gates, capabilities and entries of metadata of searches as texts, for command lines and URLs."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from bilateral.errors import InvalidArgumentError
from bilateral.query.blind import Blind
from bilateral.query.search.filters import MAX_LISTED, Capability, Gate, Payment, Side
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLE: Final = "tag=starred,minimum=80,count=5"
"""A gate as text."""

_HEX: Final = "hex:"
"""The beginning of a value in hexadecimal digits."""

_DIGITS: Final = 60
"""Characters of a number."""


def gate_of(text: str) -> Gate:
    """Return the gate that a text describes: `name=value`, separated by commas.

    The names are the fields of `Gate`; `reviewer` may be repeated. A comma within a value is written as `%2C`, as in
    URLs.

    Args:
        text: The text, such as `EXAMPLE`.

    Raises:
        InvalidArgumentError: A name is unknown or comes twice, or a value is out of its limits.
    """
    try:
        pairs = parse_qsl(
            text, separator=",", keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_LISTED + len(_FIELDS)
        )
    except ValueError:
        pairs = []
    if not pairs:
        raise InvalidArgumentError(f"the gate {quoted(text)} is not as in {EXAMPLE}")
    fields: dict[str, Any] = {}
    reviewers: list[str] = []
    for name, value in pairs:
        if name == "reviewer":
            reviewers.append(value)
            continue
        if name not in _FIELDS:
            raise InvalidArgumentError(f"a gate has no {quoted(name)}: it has {', '.join([*_FIELDS, 'reviewer'])}")
        if name in fields:
            raise InvalidArgumentError(f"the gate {quoted(text)} has {name} twice")
        try:
            fields[name] = _FIELDS[name](value)
        except (ValueError, InvalidOperation):
            raise InvalidArgumentError(f"{name} {quoted(value)} of a gate is invalid") from None
    return Gate(**fields, reviewers=tuple(reviewers))


def capability_of(text: str) -> tuple[Capability, str]:
    """Return the kind and the value of a capability.

    Args:
        text: Both, such as `mcp_tool:get_weather`.

    Raises:
        InvalidArgumentError: The text does not begin with a kind.
    """
    kind, colon, value = text.partition(":")
    if not colon or kind not in list(Capability):
        raise InvalidArgumentError(
            f"a capability is its kind and its value, such as mcp_tool:get_weather; kinds are {', '.join(Capability)}"
        )
    return Capability(kind), value


def entry_of(text: str) -> tuple[str, bytes | None]:
    """Return the key of an entry of metadata, and its value; None for any value.

    Args:
        text: `key`, `key=text`, or `key=hex:ff00` for other bytes.

    Raises:
        InvalidArgumentError: The value is not in hexadecimal digits behind `hex:`, or not Unicode.
    """
    key, equals, value = text.partition("=")
    try:
        hash_bytes = bytes.fromhex(value.removeprefix(_HEX)) if value.startswith(_HEX) else value.encode()
    except ValueError:
        raise InvalidArgumentError(f"the metadata {quoted(text)} is not as in region=eu or region=hex:6575") from None
    return key, hash_bytes if equals else None


def _decimal(text: str) -> Decimal:
    """Return a number."""
    if len(text) > _DIGITS:
        raise ValueError(text)
    return Decimal(text)


def _whole(text: str) -> int:
    """Return a whole number."""
    if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS:
        raise ValueError(text)
    return int(text)


_FIELDS: Final[dict[str, Callable[[str], Any]]] = {
    "tag": str,
    "side": Side,
    "minimum": _decimal,
    "maximum": _decimal,
    "lower_bound": _decimal,
    "count": _whole,
    "maximum_count": _whole,
    "clients": _whole,
    "payment": Payment,
    "blind": Blind,
}
"""The readers of a gate's fields, beside those of reviewers."""
