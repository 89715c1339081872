"""The terms of the buyer registry, as JSON files that commands read.

The fields have the same names as in the output of `--json`.
"""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar, get_type_hints

from bilateral.core.errors import InvalidArgumentError

T = TypeVar("T")

_HEX: Final = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def object_of(content: bytes, *names: str) -> Mapping[str, Any]:
    """Read a JSON object that must have exactly the given fields."""
    return _fields(json_of(content), "the file", names)


def json_of(content: bytes) -> Any:
    """Read JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"the file is not JSON: {error}") from None


def list_of(value: Any, kind: type[T], place: str = "the file") -> list[T]:
    """Return the terms from a JSON list."""
    if not isinstance(value, list):
        raise InvalidArgumentError(f"{place} must be a list")
    return [term_of(entry, kind, f"{place}[{number}]") for number, entry in enumerate(value)]


def term_of(value: Any, kind: type[T], place: str = "the file") -> T:
    """Return the term from a JSON object."""
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # it is a dataclass
    parts, kinds = _fields(value, place, names), get_type_hints(kind)
    return kind(**{name: _value(parts[name], kinds[name], f"{place}.{name}") for name in names})


def fields_of(term: Any) -> dict[str, Any]:
    """Return a term as the JSON object that `term_of` reads."""
    from bilateral.cli.json_values import plain  # noqa: PLC0415  # slow to import

    return {field.name: plain(getattr(term, field.name)) for field in dataclasses.fields(term)}


def bytes_of(value: Any, place: str) -> bytes:
    """Return the bytes encoded by a hexadecimal string."""
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise InvalidArgumentError(f"{place} must be hexadecimal, such as 0x5c1f")
    return bytes.fromhex(value[2:])


def _fields(value: Any, place: str, names: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{place} must be an object with the fields {', '.join(names)}")
    for name in names:
        if name not in value:
            raise InvalidArgumentError(f"{place} lacks the field {name}")
    for name in value:
        if name not in names:
            raise InvalidArgumentError(f"{place} has an unknown field: {name}")
    return value


def _value(value: Any, kind: type, place: str) -> Any:
    if kind is bytes:
        return bytes_of(value, place)
    if issubclass(kind, StrEnum):
        if value not in list(kind):
            raise InvalidArgumentError(f"{place} must be one of {', '.join(kind)}")
        return kind(value)
    if dataclasses.is_dataclass(kind):
        return term_of(value, kind, place)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidArgumentError(f"{place} must be {'a whole number' if kind is int else 'a string'}")
    return value
