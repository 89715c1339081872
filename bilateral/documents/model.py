"""The base class of document models. JSON names are in camel case. Unknown fields are kept; missing ones are not added.

New files are validated strictly (`written`, `of`). Untrusted files are read with `from_bytes` and `read`, which drop
and report malformed fields, because one malformed optional field must not make an agent unverifiable.
"""

import copy
import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.text import printable
from bilateral.core.text.encoding import decode_object, encode_object

_MOST_PROBLEMS: Final = 10  # enough to fix a file; a hostile file may have thousands
_MOST_PLACE: Final = 60  # characters of a field's path, whose names are untrusted
_PASSES: Final = 4  # a repair can reveal the next problem: in a part, its list or its field

MAX_ITEMS: Final = 500
"""The maximum number of entries to read from one list in an untrusted file."""

_EXPECTED: Final = {
    "bool_type": "true or false",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a text",
}
"""Descriptions of the expected type, by pydantic error type."""

_DROPPED: Final = object()


class _Repair(NamedTuple):
    """What `DocumentModel.read` changed in an untrusted document."""

    source: dict[str, Any]
    faults: tuple[str, ...]
    malformed: frozenset[str]


class DocumentModel(BaseModel):
    """A document or part of one. Fields that the model does not define are preserved and written back unchanged."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="allow", strict=True, frozen=True, hide_input_in_errors=True
    )

    STRICT: ClassVar[frozenset[str]] = frozenset()
    """The JSON names of fields that are never repaired: if one of them is malformed, the document is unreadable."""

    _repair: _Repair | None = PrivateAttr(default=None)  # one attribute: each takes time in each part of a document

    @model_validator(mode="wrap")
    @classmethod
    def _only_json_names(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Accept fields only by their JSON names: an unknown `agent_id` is not treated as `agentId`."""
        model = handler(value)
        if isinstance(value, dict) and not (names := _python_names(cls)).isdisjoint(value):
            model.model_fields_set.difference_update(name for name in names if to_camel(name) not in value)
        return model

    @classmethod
    def written(cls, fields: Mapping[str, Any]) -> Self:
        """Create the model from fields passed by its author, rejecting fields with Python names."""
        for name, field in cls.model_fields.items():
            if name != field.alias and name in fields:
                raise MalformedDocumentError(f"use the JSON name {field.alias} instead of {name}")
        return cls.of(dict(fields))

    @classmethod
    def of(cls, value: Any) -> Self:
        """Create the model from a JSON object, using the fields' JSON names."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            problems = [
                f"{printable('.'.join(map(str, problem['loc'])))}: {problem['msg']}" for problem in error.errors()
            ]
            raise MalformedDocumentError(_listed(problems)) from None

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read an untrusted document as `read` does."""
        return cls.read(decode_object(content))

    @classmethod
    def read(cls, source: dict[str, Any], *, is_strict: bool = True) -> Self:
        """Read an untrusted document. Malformed fields are dropped, except those in `STRICT`.

        A number in place of a string is converted to its digits. `faults` lists the fields that were dropped or
        converted.

        Args:
            is_strict: False to also drop malformed fields that are in `STRICT`, for example to list a document with
                such a field.
        """
        faults: list[str] = []
        malformed: set[str] = set()
        value = cls._in_present_form(source, faults)
        for name in sorted(value.keys() - cls.STRICT):
            if isinstance(value[name], list) and len(value[name]) > MAX_ITEMS:
                faults.append(f"{_place((name,))} has more than {MAX_ITEMS} entries: the others are not read")
                value = {**value, name: value[name][:MAX_ITEMS]}
        for attempt in range(_PASSES):
            try:
                model = cls.model_validate(value)
                break
            except ValidationError as error:
                problems = _by_path(value, error)
                sentences = {path: _sentence(path, of_path) for path, of_path in problems.items()}
                if is_strict and (strict := [text for path, text in sentences.items() if path[0] in cls.STRICT]):
                    raise MalformedDocumentError(_listed(strict)) from None
                faults += sentences.values()
                malformed.update(path[0] for path in problems)
                whole = malformed if attempt > 1 else cls.STRICT
                repairs: dict[tuple[Any, ...], Any] = {}
                for path, of_path in problems.items():
                    if path[0] in whole:
                        repairs[path[:1]] = _DROPPED
                    else:
                        repairs[path] = _digits_or_nothing(of_path)
                value = dict(_with_repairs(value, repairs, ()))
        else:
            raise MalformedDocumentError("; ".join(faults[:_MOST_PROBLEMS]))
        if faults or value != source:
            listed = tuple(dict.fromkeys(faults))[:_MOST_PROBLEMS]
            model._repair = _Repair(copy.deepcopy(source), listed, frozenset(malformed))  # noqa: SLF001
        return model

    @classmethod
    def _in_present_form(cls, source: dict[str, Any], faults: list[str]) -> dict[str, Any]:
        """Return an untrusted document with the current field names. Subclasses map other names to these."""
        del faults
        return source

    @property
    def faults(self) -> tuple[str, ...]:
        """A sentence for each of the first ten fields that `read` dropped or converted; empty if there are none."""
        return () if self._repair is None else self._repair.faults

    @property
    def malformed_fields(self) -> frozenset[str]:
        """The JSON names of the fields that `read` dropped or converted, partly or entirely."""
        return frozenset() if self._repair is None else self._repair.malformed

    def to_object(self) -> dict[str, Any]:
        """Return the document as a JSON object, with known and unknown fields, as its author wrote it."""
        if self._repair is not None:
            return copy.deepcopy(self._repair.source)
        return self.model_dump(by_alias=True, exclude_unset=True)

    def to_bytes(self) -> bytes:
        """Return the bytes to store and to hash. Files stored by others may be serialised differently."""
        return encode_object(self.to_object())


@cache
def _python_names(model: type[DocumentModel]) -> frozenset[str]:
    """Return the Python names of a model's fields that differ from the fields' JSON names."""
    return frozenset(name for name, field in model.model_fields.items() if field.alias != name)


def _listed(problems: list[str]) -> str:
    more = len(problems) - _MOST_PROBLEMS
    return "; ".join(problems[:_MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else []))


def _by_path(value: Any, error: ValidationError) -> dict[tuple[Any, ...], list[Any]]:
    """Return a pydantic error's problems, keyed by path in a JSON value, omitting path segments that it lacks."""
    problems: dict[tuple[Any, ...], list[Any]] = {}
    for problem in error.errors(include_url=False, include_context=False):
        path: list[int | str] = []
        part: Any = value
        for key in problem["loc"]:
            is_inside = key in part if isinstance(part, dict) else isinstance(part, list) and isinstance(key, int)
            if not is_inside:
                break
            path.append(key)
            part = part[key]
        problems.setdefault(tuple(path), []).append(problem)
    return problems


def _sentence(path: tuple[Any, ...], problems: list[Any]) -> str:
    expected = dict.fromkeys(_EXPECTED.get(problem["type"], "") for problem in problems)
    if "" in expected:
        inner = ".".join(map(str, problems[0]["loc"]))
        return f"{printable(inner[:_MOST_PLACE])}: {problems[0]['msg']}"
    return f"{_place(path)} is not {' or '.join(expected)}"


def _digits_or_nothing(problems: list[Any]) -> Any:
    """Return the digits of a number found in place of a string; for any other value, the marker for a dropped part."""
    value = problems[0]["input"]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_text_expected = any(problem["type"] == "string_type" for problem in problems)
    return json.dumps(value) if is_number and is_text_expected else _DROPPED


def _place(path: tuple[Any, ...]) -> str:
    return printable(".".join(map(str, path))[:_MOST_PLACE])


def _with_repairs(value: Any, repairs: dict[tuple[Any, ...], Any], path: tuple[Any, ...]) -> Any:
    if path in repairs:
        return repairs[path]
    if isinstance(value, dict):
        parts = {name: _with_repairs(part, repairs, (*path, name)) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part is not _DROPPED}
    if isinstance(value, list):
        entries = [_with_repairs(entry, repairs, (*path, at)) for at, entry in enumerate(value)]
        return [entry for entry in entries if entry is not _DROPPED]
    return value


def sorted_names(value: Any) -> Any:
    """Sort the names of all objects in a JSON value, as canonical JSON requires (RFC 8785)."""
    if isinstance(value, dict):
        return {name: sorted_names(value[name]) for name in sorted(value, key=_utf_16)}
    return [sorted_names(element) for element in value] if isinstance(value, list) else value


def _utf_16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def as_list(items: Any) -> Any:
    """Convert a collection to a JSON list; return anything else unchanged."""
    is_several = isinstance(items, Collection) and not isinstance(items, (str, bytes, bytearray, Mapping))
    return [as_object(item) for item in items] if is_several else items


def as_object(item: Any) -> Any:
    """Convert a mapping or part of a document to a JSON object; return anything else unchanged."""
    if isinstance(item, DocumentModel):
        return item.to_object()
    return dict(item) if isinstance(item, Mapping) else item
