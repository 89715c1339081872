"""Results in the form of JSON (see docs/cli.md).

An object has the fields and public properties of its class, under the same names. Identifiers and addresses are
strings, bytes are hexadecimal with 0x, decimal numbers are strings (to keep them exact), and times are ISO 8601 in UTC.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

from bilateral.core.errors import BilateralError
from bilateral.core.identifiers import AccountId, AgentId, ChainId, FeedbackId, GlobalAgentId, TransactionRef
from bilateral.core.text import ChainText
from bilateral.core.values import FeedbackValue
from bilateral.documents.model import DocumentModel

_EXACT: Final = 2**53 - 1
"""The largest integer that every JSON parser reads exactly."""


def plain(value: Any) -> Any:
    """Return an SDK result as JSON values."""
    if value is None:
        return None
    for kinds, shape in _SHAPES:
        if isinstance(value, kinds):
            return shape(value)
    return _object((name, getattr(value, name)) for name in _names(type(value)))  # type: ignore[arg-type]


def _object(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, with an added field for the bytes of each string that is not valid UTF-8."""
    fields: dict[str, Any] = {}
    for name, value in items:
        fields[name] = plain(value)
        if isinstance(value, ChainText) and not value.is_valid:
            fields[f"{name}_bytes"] = plain(value.raw)
    return fields


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    properties = [
        name
        for base in reversed(kind.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, property) and not name.startswith("_")
    ]
    return tuple(dict.fromkeys([*(field.name for field in fields(kind)), *properties]))


_SHAPES: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...]] = (
    (bool, bool),
    (float, float),
    (int, lambda value: int(value) if abs(value) <= _EXACT else str(value)),
    ((str, Path, AccountId, AgentId, ChainId, FeedbackId, GlobalAgentId, TransactionRef), str),
    (Decimal, lambda value: format(value, "f")),
    (bytes, lambda value: f"0x{value.hex()}"),
    (datetime, lambda value: value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
    (FeedbackValue, lambda value: {"value": str(value.value), "decimals": value.decimals}),
    (DocumentModel, lambda value: value.to_object()),
    (BilateralError, lambda value: {"reason": value.reason, "message": str(value)}),
    (Mapping, lambda value: _object((str(name), inner) for name, inner in value.items())),
    ((list, tuple, set, frozenset), lambda value: [plain(inner) for inner in value]),
)
"""Conversions to JSON by type; the first matching type applies. All other values are SDK dataclasses."""
