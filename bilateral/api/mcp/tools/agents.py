"""Tools for an agent and its records."""

from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field
from sqlalchemy import Connection

from bilateral.api.mcp import lookups
from bilateral.api.mcp.lookups import READS, AgentText, Cursor, Limit, Tag, Untrusted
from bilateral.api.parameters import RatingFilters, require_storable
from bilateral.core.identifiers import checksummed
from bilateral.index.profiles.queries import Agent
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback_of
from bilateral.index.ratings.queries import Rating, ratings_of
from bilateral.index.ratings.sealed import SealedPair, sealed_pairs_of
from bilateral.index.reading.pages import Page
from bilateral.index.reading.readers import Reader


def add_tools(server: MCPServer[Any], reader: Reader) -> None:
    """Add the tools to a server."""

    @server.tool(title="Get agent", annotations=READS)
    async def get_agent(agent: AgentText) -> Untrusted:
        """Look up an agent: owner, wallet, file, metadata, and ratings by side and tag.

        lower_bound is a value's lower confidence bound (95 %).
        """
        return await lookups.words_of_strangers(Agent, lookups.read_agent_of, reader, agent)

    @server.tool(title="Get feedback", annotations=READS)
    async def get_feedback(
        agent: AgentText,
        tag1: Tag = None,
        client: Annotated[str | None, Field(max_length=42, description="Its address.")] = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Untrusted:
        """List the unrevoked feedback on an agent, newest first."""

        def read(connection: Connection) -> Page[Feedback]:
            chosen = FeedbackFilter(require_storable(tag1), client=None if client is None else checksummed(client))
            return feedback_of(connection, lookups.key_of(connection, agent), chosen, limit=limit, cursor=cursor)

        return await lookups.words_of_strangers(Page[Feedback], reader.read, read)

    @server.tool(title="Get ratings", annotations=READS)
    @lookups.asks(lookups.brief(RatingFilters, {}))
    async def get_ratings(
        question: Any, agent: AgentText, sealed: bool = False, limit: Limit = 20, cursor: Cursor = None
    ) -> Untrusted:
        """List ratings (0-100) that an agent received (as client or validator) or gave, or sealed pairs."""

        def read(connection: Connection) -> Page[Any]:
            key = lookups.key_of(connection, agent)
            if sealed:
                return sealed_pairs_of(connection, key, limit=limit, cursor=cursor)
            return ratings_of(connection, key, question.direction, question.side, limit=limit, cursor=cursor)

        return await lookups.words_of_strangers(Page[SealedPair] if sealed else Page[Rating], reader.read, read)
