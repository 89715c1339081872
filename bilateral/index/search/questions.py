"""The question that every face of a search of agents asks: its fields, their limits, and the search that they mean."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bilateral.index.search.filters import MAX_GATES, MAX_LISTED, AgentSearch, Gate, Order, Side
from bilateral.index.search.gate_texts import EXAMPLE, GateFilters, capability_of, entry_of, gate_of

_Time = Annotated[int | None, Field(ge=0, lt=2**63)]


class AgentFilters(BaseModel):
    """The conditions of a search of agents but those on ratings, in texts and numbers."""

    model_config = ConfigDict(populate_by_name=True)

    text: Annotated[
        str | None,
        Field(alias="q", max_length=1_000, description="Words of names, descriptions, services, capabilities."),
    ] = None
    chains: Annotated[
        list[Annotated[int, Field(ge=1, lt=2**63)]] | None,
        Field(alias="chain", max_length=MAX_LISTED, description="On this chain; may be repeated."),
    ] = None
    owner: Annotated[str | None, Field(max_length=42, description="Of this owner.")] = None
    wallet: Annotated[str | None, Field(max_length=42, description="With this wallet.")] = None
    capabilities: Annotated[
        list[str] | None,
        Field(
            alias="capability",
            max_length=MAX_LISTED,
            description="With this capability, by kind and exact value: mcp_tool:get_weather; may be repeated.",
        ),
    ] = None
    services: Annotated[
        list[str] | None,
        Field(
            alias="service",
            max_length=MAX_LISTED,
            description="With a service of this kind, such as mcp; may be repeated.",
        ),
    ] = None
    metadata: Annotated[
        list[Annotated[str, Field(max_length=2_000)]] | None,
        Field(
            max_length=MAX_LISTED,
            description="Metadata on chain: `key`, `key=text` or `key=hex:ff00`; may be repeated.",
        ),
    ] = None
    active: Annotated[bool | None, Field(description="The file says that it is active, or that it is not.")] = None
    x402: Annotated[bool | None, Field(description="The file says that it takes payments by x402, or not.")] = None
    verified_domain: Annotated[
        bool | None, Field(description="Named by the domain of one of its services, or not.")
    ] = None
    rated: Annotated[bool | None, Field(description="With feedback, or without.")] = None
    registered_from: Annotated[_Time, Field(description="Registered at this time or later, in Unix seconds.")] = None
    registered_to: Annotated[_Time, Field(description="Registered at this time or earlier, in Unix seconds.")] = None
    updated_from: Annotated[_Time, Field(description="Changed last at this time or later, in Unix seconds.")] = None
    updated_to: Annotated[_Time, Field(description="Changed last at this time or earlier, in Unix seconds.")] = None

    def search_by(self, gates: tuple[Gate, ...], order: Order | None) -> AgentSearch:
        """Return the search with these filters.

        Args:
            gates: The conditions on ratings. The first one ranks.
            order: The order; None for that of standings.

        Raises:
            InvalidArgumentError: A value is out of its limits, or malformed.
        """
        lists: dict[str, Any] = {name: tuple(getattr(self, name) or ()) for name in ("chains", "services")}
        lists["capabilities"] = tuple(map(capability_of, self.capabilities or ()))
        lists["metadata"] = tuple(map(entry_of, self.metadata or ()))
        values = {name: getattr(self, name) for name in AgentFilters.model_fields if name not in lists}
        return AgentSearch(**values, **lists, gates=gates, order=order)


class AgentQuestion(GateFilters, AgentFilters):
    """A search of agents in texts and numbers. The conditions on ratings make the first gate, and `gates` add more."""

    gates: Annotated[
        list[Annotated[str, Field(max_length=10_000)]] | None,
        Field(alias="gate", max_length=MAX_GATES, description=f"A further gate, such as {EXAMPLE}; may be repeated."),
    ] = None
    order: Annotated[Order | None, Field(description="The order; docs/search.md has the default.")] = None

    def search(self) -> AgentSearch:
        """Return the search.

        Raises:
            InvalidArgumentError: A value is out of its limits, or malformed.
        """
        own = (getattr(self, name) for name in GateFilters.model_fields if name != "side")
        is_rated = self.side is not Side.SERVER or any(value is not None for value in own)
        gates = (self.gate(),) if is_rated else ()
        return self.search_by((*gates, *map(gate_of, self.gates or ())), self.order)
