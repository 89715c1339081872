"""A tool that finds agents by text, capabilities and ratings."""

from typing import Annotated, Any, Final

from mcp.server import MCPServer
from pydantic import BeforeValidator, Field, WithJsonSchema

from bilateral.api.mcp.lookups import READS, Cursor, Limit, Untrusted, asks, brief, words_of_strangers
from bilateral.core.values.summaries import Blind
from bilateral.index.reading.readers import Reader
from bilateral.index.search.filters import MAX_GATES, Order
from bilateral.index.search.gate_texts import AgentFilters, GateFilters
from bilateral.index.search.queries import FoundAgents, search_indexed


def _only(is_sealed: object) -> object:
    return (Blind.ONLY if is_sealed else None) if isinstance(is_sealed, bool) else is_sealed


_Gate: Final = brief(
    GateFilters,
    {
        "tag": "Such as starred; empty unless server.",
        "side": "Rated role.",
        "lower_bound": "Minimum (95 %).",
        "count": "Minimum ratings.",
        "clients": "Minimum raters.",
        "reviewers": "Only their ratings count.",
        "payment": "Only with a claimed payment.",
    },
    blind=Annotated[Blind | None, BeforeValidator(_only), WithJsonSchema({"type": "boolean"})],
)
_Search: Final = brief(
    AgentFilters,
    {
        "text": "Words.",
        "wallet": "Payee.",
        "capabilities": "All of these, such as mcp_tool:get_weather.",
        "services": "All of these, such as mcp.",
        "metadata": "On chain: key, key=text or key=hex:ff00.",
        "registered_from": "Unix seconds.",
        "gates": "Conditions on ratings; the first ranks.",
    },
    gates=Annotated[list[_Gate] | None, Field(max_length=MAX_GATES)],  # type: ignore[valid-type]  # made just now
    order=Order | None,
)


def add_tools(server: MCPServer[Any], reader: Reader) -> None:
    """Add the tool to a server."""

    @server.tool(title="Search agents", annotations=READS)
    @asks(_Search)
    async def search_agents(question: Any, limit: Limit = 10, cursor: Cursor = None) -> Untrusted:
        """Find agents by text, capabilities and ratings. is_closest: true if matched by meaning.

        Ratings can be bought: pass `reviewers` that your principal trusts, and use check_server before paying.
        """

        def read() -> FoundAgents:
            search = question.search_by(tuple(gate.gate() for gate in question.gates or ()), question.order)
            return reader.read(search_indexed, search, limit=limit, cursor=cursor)

        return await words_of_strangers(FoundAgents, read)
