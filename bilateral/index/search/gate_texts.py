"""Gates, capabilities and entries of metadata of searches as fields and as texts, for command lines and URLs."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl

from pydantic import BaseModel, Field, ValidationError

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.invalid_fields import first_problem
from bilateral.core.text import quoted
from bilateral.core.values.blind import Blind
from bilateral.index.search.filters import MAX_LISTED, Capability, Gate, Payment, Side

EXAMPLE: Final = "tag=starred,minimum=80,count=5"
"""A gate as text."""

_HEX: Final = "hex:"
"""The beginning of a value in hexadecimal digits."""

_Number = Annotated[Decimal | None, Field(allow_inf_nan=False, max_digits=60)]
_Count = Annotated[int | None, Field(ge=1, lt=2**63)]


class GateFilters(BaseModel):
    """The conditions of one gate: on the ratings of one side and tag."""

    tag: Annotated[
        str | None, Field(max_length=1_000, description="Rated under this tag, exactly; under any if left out.")
    ] = None
    side: Annotated[Side, Field(description="Rated on this side.")] = Side.SERVER
    minimum: Annotated[_Number, Field(description="The least mean.")] = None
    maximum: Annotated[_Number, Field(description="The greatest mean.")] = None
    lower_bound: Annotated[_Number, Field(description="The least lower bound, with a confidence of 95 %.")] = None
    count: Annotated[_Count, Field(description="The least number of ratings.")] = None
    maximum_count: Annotated[_Count, Field(description="The greatest number of ratings.")] = None
    clients: Annotated[_Count, Field(description="The least number of distinct clients, or servers, that rated.")] = (
        None
    )
    reviewers: Annotated[
        list[str] | None,
        Field(
            alias="reviewer",
            max_length=MAX_LISTED,
            description="Count only ratings by this account; may be repeated.",
        ),
    ] = None
    payment: Annotated[Payment | None, Field(description="Count only feedback that claims a payment.")] = None
    blind: Annotated[
        Blind | None, Field(description="`only`: ratings that were sealed before either side saw the other's.")
    ] = None

    def gate(self) -> Gate:
        """Return the gate.

        Raises:
            InvalidArgumentError: A value is out of its limits.
        """
        values = {name: value for name in GateFilters.model_fields if (value := getattr(self, name)) is not None}
        return Gate(**{**values, "reviewers": tuple(self.reviewers or ())})


_NAMES: Final = tuple(field.alias or name for name, field in GateFilters.model_fields.items())
"""The names of the fields in a text."""


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
            text, separator=",", keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_LISTED + len(_NAMES)
        )
    except ValueError:
        pairs = []
    if not pairs:
        raise InvalidArgumentError(f"the gate {quoted(text)} is not as in {EXAMPLE}")
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name not in _NAMES:
            raise InvalidArgumentError(f"a gate has no {quoted(name)}: it has {', '.join(_NAMES)}")
        if name == "reviewer":
            fields.setdefault(name, []).append(value)
            continue
        if name in fields:
            raise InvalidArgumentError(f"the gate {quoted(text)} has {name} twice")
        fields[name] = value
    try:
        return GateFilters(**fields).gate()
    except ValidationError as error:
        raise InvalidArgumentError(f"the gate {quoted(text)} is invalid: {first_problem(error)}") from None


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
