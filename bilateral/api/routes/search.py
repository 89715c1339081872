"""Search routes: agents, feedback, leaders, and the published SDKs' keyword search."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from bilateral.api.answers import answer, list_of, one_of
from bilateral.api.parameters import ChainId, ListQuery, SealedOnly, Tag
from bilateral.api.service import service_of
from bilateral.index.ratings.feedback import Feedback
from bilateral.index.reading.pages import MAX_LIMIT
from bilateral.index.reading.registries import AgentKey
from bilateral.index.search.feedback import FeedbackSearch, search_feedback
from bilateral.index.search.filters import AgentSearch, Side, query_words
from bilateral.index.search.gate_texts import AgentQuestion
from bilateral.index.search.leaders import Board, Leader, leaderboard
from bilateral.index.search.queries import FoundAgent, FoundAgents, search_agents, search_indexed

router = APIRouter(tags=["search"], default_response_class=Response)

_Names = Annotated[list[str] | None, Query(max_length=200)]
_Chains = Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]] | None, Query(alias="chain", max_length=200)]
_Number = Annotated[Decimal | None, Query(allow_inf_nan=False, max_digits=60)]
_Time = Annotated[int | None, Query(ge=0, lt=2**63, description="Unix seconds.")]


class AgentQuery(ListQuery, AgentQuestion):
    """A search for agents, and the page and format of its result."""


@router.get("/v1/search/agents", responses=list_of(FoundAgent, 404, page=FoundAgents))
def read_agents(request: Request, query: Annotated[AgentQuery, Query()]) -> Response:
    """Find agents by text, capabilities and conditions on their ratings. Text in the response is untrusted.

    The conditions on ratings form one gate. Each `gate` adds another, for example for a different tag or side. If no
    agent matches all words and no order is specified, the agents closest in meaning are returned, and `is_closest` is
    true.
    """
    return query.answer(request, FoundAgent, search_indexed, query.search())


class FeedbackSearchQuery(ListQuery):
    """A search of a chain's open feedback, and the page and format of its result."""

    chain_id: ChainId
    agent: Annotated[_Names, Query(description="An agent's id; may be repeated.")] = None
    reviewer: _Names = None
    tag1: Tag = None
    tag2: Tag = None
    tag: Annotated[_Names, Query(description="Either of the two tags; may be repeated.")] = None
    minimum: _Number = None
    maximum: _Number = None
    given_from: _Time = None
    given_to: _Time = None
    tool: Annotated[
        str | None, Query(max_length=1_000, description="An MCP tool that the feedback's file mentions.")
    ] = None
    answered: bool | None = None
    paid: bool | None = None
    revoked: bool = False
    blind: SealedOnly = None

    def search(self, agents: Iterable[AgentKey]) -> FeedbackSearch:
        """Return the search of feedback on agents."""
        names = ("tag1", "tag2", "minimum", "maximum", "given_from", "given_to", "tool", "blind")
        return FeedbackSearch(
            self.chain_id,
            agents=tuple(agents),
            reviewers=tuple(self.reviewer or ()),
            tags=tuple(self.tag or ()),
            is_answered=self.answered,
            has_payment=self.paid,
            include_revoked=self.revoked,
            **{name: getattr(self, name) for name in names},
        )


@router.get("/v1/search/feedback", responses=list_of(Feedback, 404))
def read_feedback(request: Request, query: Annotated[FeedbackSearchQuery, Query()]) -> Response:
    """Find open feedback (given without authorisation) on one chain, newest first."""
    service = service_of(request)
    service.require_indexed((query.chain_id,))
    return query.answer(request, Feedback, search_feedback, query.search(map(service.agent_key, query.agent or ())))


class LeadersQuery(ListQuery):
    """A leaderboard, and the page and format of its result."""

    tag: Annotated[str, Query(max_length=1_000, description="The tag; empty for ratings by servers.")]
    side: Side = Side.SERVER
    board: Board | None = None
    chains: _Chains = None


@router.get("/v1/leaders", responses=list_of(Leader, 404))
def read_leaders(request: Request, query: Annotated[LeadersQuery, Query()]) -> Response:
    """Rank the agents that have ratings for a tag by standing. Agents that are held back have a separate board.

    Validators have no standing; they rank by lower confidence bound. A chain that has not been analysed has no leaders.
    """
    chains = tuple(query.chains or ())
    service_of(request).require_indexed(chains)
    return query.answer(request, Leader, leaderboard, query.tag, query.side, board=query.board, chains=chains)


class Keywords(BaseModel):
    """A keyword search, as sent by published SDKs."""

    query: str = Field(max_length=1_000)
    minScore: float = Field(default=0.5, ge=0, le=1)  # noqa: N815  # the name of the SDKs
    limit: int = Field(default=MAX_LIMIT, ge=1, le=5_000)


class KeywordResult(BaseModel):
    """An agent found by a keyword search, with its relevance relative to a perfect match."""

    chainId: int  # noqa: N815  # the name of the SDKs
    agentId: str  # noqa: N815
    score: float


class KeywordResults(BaseModel):
    """The agents found by a keyword search, best matches first."""

    results: list[KeywordResult]


@router.post("/api/v1/search", responses=one_of(KeywordResults))
def search_keywords(request: Request, keywords: Keywords) -> Response:
    """Find agents by text, for the published SDKs' `keyword` search. At most 1,000 agents are returned."""
    keyword_results: list[KeywordResult] = []
    if words := query_words(keywords.query):
        search = AgentSearch(text=keywords.query)
        page = service_of(request).read(search_agents, search, limit=min(keywords.limit, MAX_LIMIT))
        best = len(words)
        # Every found agent has all words. If none are in the name, the score is 0.5, the minimum that SDKs request.
        scores = [(hit, round(0.5 + 0.5 * hit.relevance / best, 4)) for hit in page.items]
        keyword_results = [
            KeywordResult(chainId=hit.chain_id, agentId=hit.id, score=s) for hit, s in scores if s >= keywords.minScore
        ]
    return answer(request, KeywordResults, KeywordResults(results=keyword_results))
