"""Conditions of searches (gates, capabilities and metadata) as fields, and as text for command lines and URLs."""

from decimal import Decimal
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.invalid_fields import first_problem
from bilateral.core.text import quoted
from bilateral.core.values.summaries import Blind
from bilateral.index.measurements.values import Alive
from bilateral.index.search.filters import MAX_GATES, MAX_LISTED, AgentSearch, Capability, Gate, Order, Payment, Side

EXAMPLE: Final = "tag=starred,minimum=80,count=5"
"""An example of a gate as text."""

_HEX: Final = "hex:"
"""The prefix of a value in hexadecimal digits."""

_Number = Annotated[Decimal | None, Field(allow_inf_nan=False, max_digits=60)]
_Count = Annotated[int | None, Field(ge=1, lt=2**63)]
_Time = Annotated[int | None, Field(ge=0, lt=2**63)]
_Address = Annotated[str | None, Field(max_length=42)]
_Text = Annotated[str | None, Field(max_length=1_000)]
_Texts = Annotated[list[str] | None, Field(max_length=MAX_LISTED)]


class GateFilters(BaseModel):
    """The conditions of one gate, which apply to the ratings of one side and tag."""

    tag: Annotated[_Text, Field(description="Only agents rated under exactly this tag; any tag by default.")] = None
    side: Annotated[Side, Field(description="Only agents rated on this side.")] = Side.SERVER
    minimum: Annotated[_Number, Field(description="The minimum mean rating.")] = None
    maximum: Annotated[_Number, Field(description="The maximum mean rating.")] = None
    lower_bound: Annotated[_Number, Field(description="The minimum lower bound, at 95 % confidence.")] = None
    count: Annotated[_Count, Field(description="The minimum number of ratings.")] = None
    maximum_count: Annotated[_Count, Field(description="The maximum number of ratings.")] = None
    clients: Annotated[_Count, Field(description="The minimum number of distinct raters.")] = None
    reviewers: Annotated[
        _Texts, Field(alias="reviewer", description="Count only ratings by this account; may be repeated.")
    ] = None
    payment: Annotated[Payment | None, Field(description="Count only feedback that claims a payment.")] = None
    blind: Annotated[
        Blind | None, Field(description="`only`: ratings that were sealed before either side saw the other's.")
    ] = None

    def gate(self) -> Gate:
        """Return the gate that the fields describe."""
        values = {name: value for name in GateFilters.model_fields if (value := getattr(self, name)) is not None}
        return Gate(**{**values, "reviewers": tuple(self.reviewers or ())})


_NAMES: Final = tuple(field.alias or name for name, field in GateFilters.model_fields.items())
"""The names of the fields in a gate's text."""


def gate_of(text: str) -> Gate:
    """Return the gate that a text describes as `name=value` pairs, separated by commas.

    The names are the fields of `Gate`; `reviewer` may be repeated. As in URLs, a comma within a value is written as
    `%2C`.
    """
    try:
        pairs = parse_qsl(
            text, separator=",", keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_LISTED + len(_NAMES)
        )
    except ValueError:
        pairs = []
    if not pairs:
        raise InvalidArgumentError(f"the gate {quoted(text)} must have a format such as {EXAMPLE}")
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name not in _NAMES:
            raise InvalidArgumentError(f"a gate has no field {quoted(name)}: its fields are {', '.join(_NAMES)}")
        if name == "reviewer":
            fields.setdefault(name, []).append(value)
            continue
        if name in fields:
            raise InvalidArgumentError(f"the gate {quoted(text)} specifies {name} twice")
        fields[name] = value
    try:
        return GateFilters(**fields).gate()
    except ValidationError as error:
        raise InvalidArgumentError(f"the gate {quoted(text)} is invalid: {first_problem(error)}") from None


def capability_of(text: str) -> tuple[Capability, str]:
    """Parse the kind and value of a capability."""
    kind, colon, value = text.partition(":")
    if not colon or kind not in list(Capability):
        raise InvalidArgumentError(
            f"a capability has a kind and a value, such as mcp_tool:get_weather; the kinds are {', '.join(Capability)}"
        )
    return Capability(kind), value


def entry_of(text: str) -> tuple[str, bytes | None]:
    """Parse a metadata entry's key and value. The value is None if any value matches."""
    key, equals, value = text.partition("=")
    try:
        hash_bytes = bytes.fromhex(value.removeprefix(_HEX)) if value.startswith(_HEX) else value.encode()
    except ValueError:
        raise InvalidArgumentError(
            f"the metadata {quoted(text)} must have a format such as region=eu or region=hex:6575"
        ) from None
    return key, hash_bytes if equals else None


class AgentFilters(BaseModel):
    """The conditions of an agent search as strings and numbers, except for conditions on ratings."""

    model_config = ConfigDict(populate_by_name=True)

    text: Annotated[
        _Text, Field(alias="q", description="Words from names, descriptions, services or capabilities.")
    ] = None
    chains: Annotated[
        list[Annotated[int, Field(ge=1, lt=2**63)]] | None,
        Field(alias="chain", max_length=MAX_LISTED, description="Only agents on this chain; may be repeated."),
    ] = None
    owner: Annotated[_Address, Field(description="Only agents of this owner.")] = None
    wallet: Annotated[_Address, Field(description="Only agents with this wallet.")] = None
    capabilities: Annotated[
        _Texts,
        Field(
            alias="capability",
            description="Agents with this capability, such as mcp_tool:get_weather (exact match); may be repeated.",
        ),
    ] = None
    services: Annotated[
        _Texts,
        Field(alias="service", description="Only agents with a service of this kind, such as mcp; may be repeated."),
    ] = None
    metadata: Annotated[
        list[Annotated[str, Field(max_length=2_000)]] | None,
        Field(
            max_length=MAX_LISTED,
            description="Metadata on chain: `key`, `key=text` or `key=hex:ff00`; may be repeated.",
        ),
    ] = None
    active: Annotated[
        bool | None, Field(description=("Whether the registration file says that the agent is active."))
    ] = None
    x402: Annotated[
        bool | None, Field(description=("Whether the registration file says that the agent takes payments by x402."))
    ] = None
    verified_domain: Annotated[
        bool | None, Field(description="Whether the domain of one of its services confirms the agent.")
    ] = None
    alive: Annotated[Alive | None, Field(description="Whether an endpoint responds, according to a watchtower.")] = None
    rated: Annotated[bool | None, Field(description="Whether the agent has feedback.")] = None
    registered_from: Annotated[_Time, Field(description="Registered at this time or later, in Unix seconds.")] = None
    registered_to: Annotated[_Time, Field(description="Registered at this time or earlier, in Unix seconds.")] = None
    updated_from: Annotated[_Time, Field(description="Last changed at this time or later, in Unix seconds.")] = None
    updated_to: Annotated[_Time, Field(description="Last changed at this time or earlier, in Unix seconds.")] = None

    def search_by(self, gates: tuple[Gate, ...], order: Order | None) -> AgentSearch:
        """Return the search with these conditions and the given gates and sort order."""
        lists: dict[str, Any] = {name: tuple(getattr(self, name) or ()) for name in ("chains", "services")}
        lists["capabilities"] = tuple(map(capability_of, self.capabilities or ()))
        lists["metadata"] = tuple(map(entry_of, self.metadata or ()))
        values = {name: getattr(self, name) for name in AgentFilters.model_fields if name not in lists}
        return AgentSearch(**values, **lists, gates=gates, order=order)


class AgentQuestion(GateFilters, AgentFilters):
    """An agent search as strings and numbers. Its conditions on ratings form the first gate; `gates` adds more."""

    gates: Annotated[
        list[Annotated[str, Field(max_length=10_000)]] | None,
        Field(
            alias="gate", max_length=MAX_GATES, description=(f"An additional gate, such as {EXAMPLE}; may be repeated.")
        ),
    ] = None
    order: Annotated[Order | None, Field(description="The order of results; docs/search.md lists the defaults.")] = None

    def search(self) -> AgentSearch:
        """Return the search that the fields describe."""
        own = (getattr(self, name) for name in GateFilters.model_fields if name != "side")
        is_rated = self.side is not Side.SERVER or any(value is not None for value in own)
        gates = (self.gate(),) if is_rated else ()
        return self.search_by((*gates, *map(gate_of, self.gates or ())), self.order)
