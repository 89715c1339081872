"""A tool that finds agents by words, by what they do, and by how they are rated."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from bilateral.api.mcp.lookups import READS, Cursor, Limit, tool_errors
from bilateral.api.mcp.untrusted import Untrusted, untrusted
from bilateral.query.blind import Blind
from bilateral.query.pages import Page
from bilateral.query.registries import read_registries
from bilateral.query.search.agents import FoundAgent
from bilateral.query.search.agents import search_agents as find_agents
from bilateral.query.search.filters import MAX_GATES, MAX_LISTED, AgentSearch, Gate, Order, Payment, Side
from bilateral.query.search.gate_texts import capability_of, entry_of

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from sqlalchemy import Connection

    from bilateral.query.readers import Reader

_Text = Annotated[str, Field(max_length=200)]
_Number = Annotated[Decimal | None, Field(allow_inf_nan=False, max_digits=60)]
_Time = Annotated[int | None, Field(ge=0, lt=2**63)]
_Count = Annotated[int, Field(ge=1, lt=2**63)]


class GateArgument(BaseModel):
    """A condition on the ratings of one side and tag."""

    model_config = ConfigDict(extra="forbid")

    tag: Annotated[str | None, Field(max_length=1_000, description="Such as starred; empty for other sides.")] = None
    side: Annotated[Side, Field(description="Rated as.")] = Side.SERVER
    minimum: _Number = None
    maximum: _Number = None
    lower_bound: Annotated[_Number, Field(description="Least, of 95 %.")] = None
    count: Annotated[_Count, Field(description="Least ratings.")] = 1
    maximum_count: _Count | None = None
    clients: Annotated[_Count, Field(description="Least raters.")] = 1
    reviewers: Annotated[
        list[_Text], Field(max_length=MAX_LISTED, description="Count only theirs: strangers cannot pass.")
    ] = []
    payment: Annotated[Payment | None, Field(description="Only with a claimed payment.")] = None
    blind: bool = False

    def gate(self) -> Gate:
        """Return the gate of a search.

        Raises:
            InvalidArgumentError: A value is out of its limits.
        """
        return Gate(
            **{**self.model_dump(), "reviewers": tuple(self.reviewers), "blind": Blind.ONLY if self.blind else None}
        )


def add_tools(server: MCPServer[Any], reader: Reader) -> None:
    """Add the tool.

    Args:
        server: The server.
        reader: The database of the index.
    """

    @server.tool(title="Search agents", annotations=READS)
    async def search_agents(  # noqa: PLR0913, PLR0917  # one a filter
        text: Annotated[str | None, Field(max_length=1_000, description="Words.")] = None,
        gates: Annotated[
            list[GateArgument], Field(max_length=MAX_GATES, description="Conditions on ratings; the first ranks.")
        ] = [],  # noqa: B006  # nobody changes it
        chains: Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]], Field(max_length=MAX_LISTED)] = [],  # noqa: B006
        owner: Annotated[str | None, Field(max_length=42)] = None,
        wallet: Annotated[str | None, Field(max_length=42, description="Payee.")] = None,
        capabilities: Annotated[
            list[_Text], Field(max_length=MAX_LISTED, description="All of these, such as mcp_tool:get_weather.")
        ] = [],  # noqa: B006
        services: Annotated[list[_Text], Field(max_length=MAX_LISTED, description="All of these, such as mcp.")] = [],  # noqa: B006
        metadata: Annotated[
            list[Annotated[str, Field(max_length=2_000)]],
            Field(max_length=MAX_LISTED, description="On chain: key, key=text or key=hex:ff00."),
        ] = [],  # noqa: B006
        registered_from: Annotated[_Time, Field(description="Unix seconds.")] = None,
        registered_to: _Time = None,
        updated_from: _Time = None,
        updated_to: _Time = None,
        active: bool | None = None,
        x402: bool | None = None,
        verified_domain: bool | None = None,
        rated: bool | None = None,
        order: Order | None = None,
        limit: Limit = 10,
        cursor: Cursor = None,
    ) -> Untrusted:
        """Find agents by words, capabilities and ratings.

        Ratings can be bought: name `reviewers` that your principal trusts, and use check_server before you pay.
        """

        def read(connection: Connection) -> Page[FoundAgent]:
            search = AgentSearch(
                text=text,
                chains=tuple(chains),
                owner=owner,
                wallet=wallet,
                capabilities=tuple(map(capability_of, capabilities)),
                services=tuple(services),
                metadata=tuple(map(entry_of, metadata)),
                registered_from=registered_from,
                registered_to=registered_to,
                updated_from=updated_from,
                updated_to=updated_to,
                active=active,
                x402=x402,
                verified_domain=verified_domain,
                rated=rated,
                gates=tuple(gate.gate() for gate in gates),
                order=order,
            )
            read_registries(connection).require_indexed(chains)
            return find_agents(connection, search, limit=limit, cursor=cursor)

        with tool_errors():
            return untrusted(Page[FoundAgent], await to_thread.run_sync(reader.read, read))
