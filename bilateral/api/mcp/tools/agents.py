"""Tools for one agent and its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from anyio import to_thread
from pydantic import Field

from bilateral.api.mcp.arguments import asks, brief
from bilateral.api.mcp.lookups import READS, AgentText, Cursor, Limit, Tag, key_of, read_agent_of, tool_errors
from bilateral.api.mcp.untrusted import Untrusted, untrusted
from bilateral.api.parameters import RatingFilters
from bilateral.api.texts import require_storable
from bilateral.core.identifiers import checksummed
from bilateral.index.profiles.queries import Agent
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback_of
from bilateral.index.ratings.queries import Rating, ratings_of
from bilateral.index.ratings.sealed import SealedPair, sealed_pairs_of
from bilateral.index.reading.pages import Page

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from sqlalchemy import Connection

    from bilateral.index.reading.readers import Reader


def add_tools(server: MCPServer[Any], reader: Reader) -> None:
    """Add the tools."""

    @server.tool(title="Get agent", annotations=READS)
    async def get_agent(agent: AgentText) -> Untrusted:
        """Look up an agent: owner, wallet, registration file, metadata, summaries of ratings by side and tag.

        A lower_bound is the least value with 95 % confidence.
        """
        with tool_errors():
            return untrusted(Agent, await to_thread.run_sync(read_agent_of, reader, agent))

    @server.tool(title="Get feedback", annotations=READS)
    async def get_feedback(
        agent: AgentText,
        tag1: Tag = None,
        client: Annotated[str | None, Field(max_length=42, description="Its address.")] = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Untrusted:
        """List the feedback on an agent, the newest first, without revoked feedback."""

        def read(connection: Connection) -> Page[Feedback]:
            address = None if client is None else checksummed(client)
            wanted = FeedbackFilter(require_storable(tag1), client=address)
            return feedback_of(connection, key_of(connection, agent), wanted, limit=limit, cursor=cursor)

        with tool_errors():
            return untrusted(Page[Feedback], await to_thread.run_sync(reader.read, read))

    @server.tool(title="Get ratings", annotations=READS)
    @asks(brief(RatingFilters, {}))
    async def get_ratings(
        question: Any, agent: AgentText, sealed: bool = False, limit: Limit = 20, cursor: Cursor = None
    ) -> Untrusted:
        """List ratings (0-100) of a client or validator, or by an agent; or sealed pairs."""

        def read(connection: Connection) -> Page[Rating]:
            key = key_of(connection, agent)
            return ratings_of(connection, key, question.direction, question.side, limit=limit, cursor=cursor)

        def read_sealed(connection: Connection) -> Page[SealedPair]:
            return sealed_pairs_of(connection, key_of(connection, agent), limit=limit, cursor=cursor)

        with tool_errors():
            if sealed:
                return untrusted(Page[SealedPair], await to_thread.run_sync(reader.read, read_sealed))
            return untrusted(Page[Rating], await to_thread.run_sync(reader.read, read))
