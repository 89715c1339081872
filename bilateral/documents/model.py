"""The base of all models of documents: fields in camel case, unknown fields kept, absent fields left absent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from bilateral.errors import MalformedDocumentError
from bilateral.text import printable
from bilateral.text.encoding import decode_object, encode_object

_PROBLEMS_SHOWN: Final = 10  # enough to mend a file by; a hostile one may have thousands


class DocumentModel(BaseModel):
    """Part of a document. Fields that it does not define are kept as they are, and written back."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="allow", strict=True, frozen=True, hide_input_in_errors=True
    )

    @model_validator(mode="wrap")
    @classmethod
    def _only_given(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Count a field as given only by its name in JSON: an unknown `agent_id` is not `agentId`."""
        model = handler(value)
        if isinstance(value, dict):
            names = {name for name, field in cls.model_fields.items() if field.alias in value}
            model.model_fields_set.intersection_update(names)
        return model

    @classmethod
    def written(cls, fields: Mapping[str, Any]) -> Self:
        """Make the model from fields that its author names, and refuse the names of Python.

        Raises:
            MalformedDocumentError: A field has its name of Python, is of the wrong type, or is missing.
        """
        for name, field in cls.model_fields.items():
            if name != field.alias and name in fields:
                raise MalformedDocumentError(f"{name} is called {field.alias} in JSON")
        return cls.of(dict(fields))

    @classmethod
    def of(cls, value: Any) -> Self:
        """Make the model from a JSON object, by the fields' names in JSON.

        Raises:
            MalformedDocumentError: A field is of the wrong type or missing. The error names the first ten of them.
        """
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            problems = [
                f"{printable('.'.join(map(str, problem['loc'])))}: {problem['msg']}" for problem in error.errors()
            ]
            more = len(problems) - _PROBLEMS_SHOWN
            shown = problems[:_PROBLEMS_SHOWN] + ([f"and {more} more"] if more > 0 else [])
            raise MalformedDocumentError("; ".join(shown)) from None

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read the document.

        Raises:
            MalformedDocumentError: It is not a JSON object, or a field is of the wrong type or missing.
        """
        return cls.of(decode_object(content))

    def to_object(self) -> dict[str, Any]:
        """Return the document as a JSON object, with known and unknown fields."""
        return self.model_dump(by_alias=True, exclude_unset=True)

    def to_bytes(self) -> bytes:
        """Return the bytes to store and to hash. Bytes that others stored may be serialised differently.

        Raises:
            MalformedDocumentError: An unknown field has a value that JSON cannot hold.
        """
        return encode_object(self.to_object())


def sorted_names(value: Any) -> Any:
    """Sort the names of all objects in a JSON value, as canonical JSON requires (RFC 8785)."""
    if isinstance(value, dict):
        return {name: sorted_names(value[name]) for name in sorted(value, key=_utf_16)}
    return [sorted_names(element) for element in value] if isinstance(value, list) else value


def _utf_16(name: str) -> bytes:
    """Return the order of a name: that of its units in UTF-16."""
    return name.encode("utf-16-be", "surrogatepass")


def as_list(items: Any) -> Any:
    """Turn a collection into a list of JSON; return anything else unchanged."""
    is_several = isinstance(items, Collection) and not isinstance(items, (str, bytes, bytearray, Mapping))
    return [as_object(item) for item in items] if is_several else items


def as_object(item: Any) -> Any:
    """Turn a mapping or part of a document into an object of JSON; return anything else unchanged."""
    if isinstance(item, DocumentModel):
        return item.to_object()
    return dict(item) if isinstance(item, Mapping) else item
