"""Routes of searches: agents, feedback, leaders, and the keyword search of published SDKs."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from bilateral.api.answers import Format, answer, answer_page, list_of, one_of
from bilateral.api.parameters import BlindOnly, ChainId, Cursor, Limit, ListFormat, Tag
from bilateral.api.service import service_of
from bilateral.query.feedback import Feedback
from bilateral.query.pages import DEFAULT_LIMIT, MAX_LIMIT
from bilateral.query.search.agents import FoundAgent, search_agents
from bilateral.query.search.feedback import FeedbackSearch, search_feedback
from bilateral.query.search.filters import AgentSearch, Side, query_words
from bilateral.query.search.leaders import Board, Leader, leaderboard
from bilateral.query.search.questions import AgentQuestion

router = APIRouter(tags=["search"])

_Names = Annotated[list[str] | None, Query(max_length=200)]
_Chains = Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]] | None, Query(alias="chain", max_length=200)]
_Number = Annotated[Decimal | None, Query(allow_inf_nan=False, max_digits=60)]
_Time = Annotated[int | None, Query(ge=0, lt=2**63, description="Unix seconds.")]


class AgentQuery(AgentQuestion):
    """A search of agents, and the page and form of its answer."""

    limit: Limit = DEFAULT_LIMIT
    cursor: Cursor = None
    shown_as: ListFormat = Format.JSON


@router.get("/v1/search/agents", response_class=Response, responses=list_of(FoundAgent, 404))
def read_agents(request: Request, query: Annotated[AgentQuery, Query()]) -> Response:
    """Find agents by words, capabilities, and gates on their ratings. Texts are the words of strangers.

    The conditions on ratings make the first gate. Each `gate` adds one: of another tag or side, for example.
    """
    search = query.search()
    service_of(request).require_indexed(search.chains)
    page = service_of(request).read(search_agents, search, limit=query.limit, cursor=query.cursor)
    return answer_page(request, FoundAgent, page, query.shown_as)


@router.get("/v1/search/feedback", response_class=Response, responses=list_of(Feedback, 404))
def read_feedback(  # noqa: PLR0913, PLR0917  # one a filter
    request: Request,
    chain_id: ChainId,
    agent: Annotated[_Names, Query(description="An agent's id; may be repeated.")] = None,
    reviewer: _Names = None,
    tag1: Tag = None,
    tag2: Tag = None,
    tag: Annotated[_Names, Query(description="A tag in either place; may be repeated.")] = None,
    minimum: _Number = None,
    maximum: _Number = None,
    given_from: _Time = None,
    given_to: _Time = None,
    tool: Annotated[str | None, Query(max_length=1_000, description="An MCP tool that its file names.")] = None,
    answered: bool | None = None,
    paid: bool | None = None,
    revoked: bool = False,
    blind: BlindOnly = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    shown_as: ListFormat = Format.JSON,
) -> Response:
    """Find open feedback of one chain, the newest first."""
    service = service_of(request)
    service.require_indexed((chain_id,))
    search = FeedbackSearch(
        chain_id,
        agents=tuple(service.agent_key(agent_id) for agent_id in agent or ()),
        reviewers=tuple(reviewer or ()),
        tag1=tag1,
        tag2=tag2,
        tags=tuple(tag or ()),
        minimum=minimum,
        maximum=maximum,
        given_from=given_from,
        given_to=given_to,
        tool=tool,
        is_answered=answered,
        has_payment=paid,
        include_revoked=revoked,
        blind=blind,
    )
    page = service.read(search_feedback, search, limit=limit, cursor=cursor)
    return answer_page(request, Feedback, page, shown_as)


@router.get("/v1/leaders", response_class=Response, responses=list_of(Leader, 404))
def read_leaders(  # noqa: PLR0913, PLR0917  # one a parameter
    request: Request,
    tag: Annotated[str, Query(max_length=1_000, description="The tag; empty for ratings by servers.")],
    side: Side = Side.SERVER,
    board: Board = Board.STANDING,
    chains: _Chains = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    shown_as: ListFormat = Format.JSON,
) -> Response:
    """Rank agents with ratings for a tag by their standing. Those who are held back have a board of their own."""
    service = service_of(request)
    service.require_indexed(chains or ())
    page = service.read(leaderboard, tag, side, board=board, chains=tuple(chains or ()), limit=limit, cursor=cursor)
    return answer_page(request, Leader, page, shown_as)


class Keywords(BaseModel):
    """A keyword search, as published SDKs send it."""

    query: str = Field(max_length=1_000)
    minScore: float = Field(default=0.5, ge=0, le=1)  # noqa: N815  # the name of the SDKs
    limit: int = Field(default=MAX_LIMIT, ge=1, le=5_000)


class KeywordResult(BaseModel):
    """An agent that a keyword search found, with its share of the best relevance."""

    chainId: int  # noqa: N815  # the name of the SDKs
    agentId: str  # noqa: N815
    score: float


class KeywordResults(BaseModel):
    """The agents that a keyword search found, the best first."""

    results: list[KeywordResult]


@router.post("/api/v1/search", response_class=Response, responses=one_of(KeywordResults))
def search_keywords(request: Request, keywords: Keywords) -> Response:
    """Find agents by words, for the `keyword` of published SDKs. At most 1,000 agents are found."""
    keyword_results: list[KeywordResult] = []
    if words := query_words(keywords.query):
        search = AgentSearch(text=keywords.query)
        page = service_of(request).read(search_agents, search, limit=min(keywords.limit, MAX_LIMIT))
        best = len(words)
        # Every agent has all words. The score of one that has none of them in its name is 0.5, which SDKs ask for.
        scores = [(hit, round(0.5 + 0.5 * hit.relevance / best, 4)) for hit in page.items]
        keyword_results = [
            KeywordResult(chainId=hit.chain_id, agentId=hit.id, score=s) for hit, s in scores if s >= keywords.minScore
        ]
    return answer(request, KeywordResults, KeywordResults(results=keyword_results))
