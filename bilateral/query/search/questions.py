"""The question that every face of a search of agents asks: its fields, their limits, and the search that they mean."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bilateral.query.search.filters import MAX_GATES, MAX_LISTED, AgentSearch, Gate, Order, Side
from bilateral.query.search.gate_texts import EXAMPLE, GateFilters, capability_of, entry_of, gate_of

_Address = Annotated[str | None, Field(max_length=42)]
_Time = Annotated[int | None, Field(ge=0, lt=2**63, description="Unix seconds.")]


class AgentFilters(BaseModel):
    """The conditions of a search of agents but those on ratings, in texts and numbers."""

    model_config = ConfigDict(populate_by_name=True)

    text: Annotated[str | None, Field(alias="q", max_length=1_000, description="Words of the registration file.")] = (
        None
    )
    chains: Annotated[
        list[Annotated[int, Field(ge=1, lt=2**63)]] | None, Field(alias="chain", max_length=MAX_LISTED)
    ] = None
    owner: _Address = None
    wallet: _Address = None
    capabilities: Annotated[
        list[str] | None,
        Field(
            alias="capability", max_length=MAX_LISTED, description="Kind and exact value, such as mcp_tool:get_weather."
        ),
    ] = None
    services: Annotated[
        list[str] | None,
        Field(alias="service", max_length=MAX_LISTED, description="The kind of a service, such as mcp."),
    ] = None
    metadata: Annotated[
        list[Annotated[str, Field(max_length=2_000)]] | None,
        Field(
            max_length=MAX_LISTED,
            description="Metadata on chain: `key`, `key=text` or `key=hex:ff00`; may be repeated.",
        ),
    ] = None
    active: bool | None = None
    x402: bool | None = None
    verified_domain: Annotated[bool | None, Field(description="Named by the domain of one of its services.")] = None
    rated: bool | None = None
    registered_from: _Time = None
    registered_to: _Time = None
    updated_from: _Time = None
    updated_to: _Time = None

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
    order: Order | None = None

    def search(self) -> AgentSearch:
        """Return the search.

        Raises:
            InvalidArgumentError: A value is out of its limits, or malformed.
        """
        own = (getattr(self, name) for name in GateFilters.model_fields if name != "side")
        is_rated = self.side is not Side.SERVER or any(value is not None for value in own)
        gates = (self.gate(),) if is_rated else ()
        return self.search_by((*gates, *map(gate_of, self.gates or ())), self.order)
