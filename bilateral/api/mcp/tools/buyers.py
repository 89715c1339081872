"""Tools for buyers: their reputation, and the discounts that sellers offer them."""

import json
from typing import Annotated, Any

from anyio import to_thread
from mcp.server import MCPServer
from pydantic import Field
from sqlalchemy import Connection

from bilateral.api.buyers import read_buyer
from bilateral.api.mcp.lookups import READS, AgentText, key_of, tool_errors
from bilateral.buyers.records import BuyerProfile, encode, profile_of
from bilateral.buyers.sellers import Offer, best_discount, is_withheld, read_offers
from bilateral.index.reading.readers import Reader

_Buyer = Annotated[str, Field(max_length=200, description="0x… or eip155:8453:0x….")]
_Chain = Annotated[int | None, Field(ge=1, lt=2**63, description="The first chain by default.")]
_PolicyName = Annotated[str | None, Field(max_length=64)]
_Policy = Annotated[_PolicyName, Field(description="brp-1.0 or independent-1.0.")]


def add_tools(server: MCPServer[Any], reader: Reader, default_policy: str) -> None:
    """Add the tools to a server."""

    @server.tool(title="Get buyer", annotations=READS)
    async def get_buyer(address: _Buyer, chain: _Chain = None, policy: _Policy = None) -> dict[str, Any]:
        """Look up a buyer: payments, volume, score, tier, points per component.

        Payments prove that money moved, not that a service was bought.
        """

        def read(connection: Connection) -> BuyerProfile:
            return profile_of(read_buyer(connection, address, chain, policy or default_policy))

        with tool_errors():
            return _plain(await to_thread.run_sync(reader.read, read))

    @server.tool(title="Get discount", annotations=READS)
    async def get_discount(address: _Buyer, seller: AgentText, policy: _PolicyName = None) -> dict[str, Any]:
        """Look up a seller's largest discount for a buyer, in percent, with the reason."""

        def read(connection: Connection) -> dict[str, Any]:
            key = key_of(connection, seller)
            standing = read_buyer(connection, address, key.chain_id, policy or default_policy)
            offer = read_offers(connection, [key]).get((key.chain_id, key.identity_registry, key.agent_id), Offer())
            held_back = is_withheld(connection, key.chain_id, standing.buyer)
            discount, applies_to = best_discount(offer.discounts_for(standing, is_withheld=held_back))
            answer = {"percentage": discount.percentage, "code": discount.verdict.value, "reason": discount.reason}
            return {**answer, "services": len(applies_to), "scoring_policy": standing.policy.name}

        with tool_errors():
            return _plain(await to_thread.run_sync(reader.read, read))


def _plain(value: Any) -> dict[str, Any]:
    """Return a response as JSON values. The response does not contain untrusted text."""
    parsed: dict[str, Any] = json.loads(encode(value))
    return parsed
