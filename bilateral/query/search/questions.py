"""The question that every face of a search of agents asks: its fields, their limits, and the search that they mean."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from bilateral.query.blind import Blind
from bilateral.query.search.filters import AgentSearch, Gate, Order, Payment, Side
from bilateral.query.search.gate_texts import EXAMPLE, capability_of, entry_of, gate_of

_Address = Annotated[str | None, Field(max_length=42)]
_Names = Annotated[list[str] | None, Field(max_length=200)]
_Number = Annotated[Decimal | None, Field(allow_inf_nan=False, max_digits=60)]
_Count = Annotated[int | None, Field(ge=1, lt=2**63)]
_Time = Annotated[int | None, Field(ge=0, lt=2**63, description="Unix seconds.")]

_OF_GATE: Final = ("tag", "minimum", "maximum", "lower_bound", "count", "maximum_count", "clients", "payment", "blind")
"""The fields that make the first gate, beside the side and the reviewers."""

_AS_THEY_ARE: Final = (
    *("text", "owner", "wallet", "active", "x402", "verified_domain", "rated", "order"),
    *("registered_from", "registered_to", "updated_from", "updated_to"),
)
"""The fields that a search takes as they are."""


class AgentQuestion(BaseModel):
    """A search of agents in texts and numbers. The conditions on ratings make the first gate, and `gates` add more."""

    model_config = ConfigDict(populate_by_name=True)

    text: Annotated[str | None, Field(alias="q", max_length=1_000, description="Words of the registration file.")] = (
        None
    )
    chains: Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]] | None, Field(alias="chain", max_length=200)] = None
    owner: _Address = None
    wallet: _Address = None
    capability: Annotated[_Names, Field(description="Kind and exact value, such as mcp_tool:get_weather.")] = None
    service: Annotated[_Names, Field(description="The kind of a service, such as mcp.")] = None
    metadata: Annotated[
        list[Annotated[str, Field(max_length=2_000)]] | None,
        Field(max_length=200, description="Metadata on chain: `key`, `key=text` or `key=hex:ff00`; may be repeated."),
    ] = None
    active: bool | None = None
    x402: bool | None = None
    verified_domain: Annotated[bool | None, Field(description="Named by the domain of one of its services.")] = None
    rated: bool | None = None
    registered_from: _Time = None
    registered_to: _Time = None
    updated_from: _Time = None
    updated_to: _Time = None
    tag: Annotated[str | None, Field(max_length=1_000, description="The tag, exactly.")] = None
    side: Side = Side.SERVER
    minimum: _Number = None
    maximum: _Number = None
    lower_bound: _Number = None
    count: _Count = None
    maximum_count: _Count = None
    clients: _Count = None
    reviewer: _Names = None
    payment: Payment | None = None
    blind: Annotated[
        Blind | None, Field(description="`only`: ratings that were sealed before either side saw the other's.")
    ] = None
    gates: Annotated[
        list[Annotated[str, Field(max_length=10_000)]] | None,
        Field(alias="gate", max_length=5, description=f"A further gate, such as {EXAMPLE}; may be repeated."),
    ] = None
    order: Order | None = None

    def search(self) -> AgentSearch:
        """Return the search.

        Raises:
            InvalidArgumentError: A value is out of its limits, or malformed.
        """
        return AgentSearch(
            chains=tuple(self.chains or ()),
            capabilities=tuple(map(capability_of, self.capability or ())),
            services=tuple(self.service or ()),
            metadata=tuple(map(entry_of, self.metadata or ())),
            gates=(*self._first_gate(), *map(gate_of, self.gates or ())),
            **{name: getattr(self, name) for name in _AS_THEY_ARE},
        )

    def _first_gate(self) -> tuple[Gate, ...]:
        """Return the gate of the conditions on ratings, if there are any."""
        limits = {name: value for name in _OF_GATE if (value := getattr(self, name)) is not None}
        if not limits and self.reviewer is None and self.side is Side.SERVER:
            return ()
        return (Gate(side=self.side, reviewers=tuple(self.reviewer or ()), **limits),)
