"""Routes for an agent: its state, and the records about it."""

import re
from re import Match
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from bilateral.api import parameters
from bilateral.api.answers import adapter, answer, existing, list_of, one_of
from bilateral.api.layers import Shortcut
from bilateral.api.parameters import AgentPath, ListQuery, require_storable
from bilateral.api.service import Service, service_of
from bilateral.core.identifiers import checksummed
from bilateral.index.measurements.queries import Measurements, measurements_of
from bilateral.index.profiles.queries import Agent, agent
from bilateral.index.ratings.authorized import AuthorizedFeedback, authorized_feedback_of
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback_of, responses_of
from bilateral.index.ratings.feedback import Response as FeedbackResponse
from bilateral.index.ratings.neighbourhood import MAX_EDGES, Neighbourhood, neighbourhood
from bilateral.index.ratings.queries import Rating, ratings_of
from bilateral.index.ratings.sealed import SealedPair, SealState, sealed_pairs_of
from bilateral.index.ratings.validations import Validation, validations_of
from bilateral.index.reading.registries import agent_key

router = APIRouter(prefix="/v1/agents/{agent}", tags=["agents"], default_response_class=Response)


@router.get("", responses=one_of(Agent, 404))
def read_agent(
    request: Request,
    agent_id: AgentPath,
    newest: Annotated[int, Query(ge=0, le=100, description="The number of newest feedback entries to include.")] = 0,
) -> Response:
    """Return an agent: its on-chain state, its registration file, and summaries of its ratings."""
    service = service_of(request)
    key = service.agent_key(agent_id)
    return answer(request, Agent, existing(service.read(agent, key, newest), "agent", key.id))


async def _agent_json(service: Service, match: Match[str], query: bytes) -> bytes | None:
    """Return an agent as JSON; None if the route has to validate the query."""
    newest = _NEWEST.fullmatch(query)
    if newest is None:
        return None
    key = agent_key(await service.registries_briefly(), match[1])
    details = await service.read_briefly(agent, key, int(newest[1] or 0))
    return adapter(Agent).dump_json(existing(details, "agent", key.id))


_NEWEST: Final = re.compile(rb"(?:newest=([0-9]{1,2}|100))?")

shortcuts = (Shortcut("/v1/agents/{agent}", re.compile("/v1/agents/([^/]{1,200})"), _agent_json),)


@router.get("/endpoints", responses=one_of(Measurements, 404))
def read_endpoints(request: Request, agent_id: AgentPath) -> Response:
    """Return the endpoints in an agent's current file, with watchtower measurements from the last 90 days."""
    service = service_of(request)
    key = service.agent_key(agent_id)
    existing(service.read(agent, key, 0), "agent", key.id)
    return answer(request, Measurements, service.read(measurements_of, key))


def _address(client: str | None) -> str | None:
    return None if client is None else checksummed(client)


class ReceivedFeedbackQuery(ListQuery):
    """Filters for the feedback on an agent, and the page and format of the list."""

    tag1: parameters.Tag = None
    tag2: parameters.Tag = None
    client: parameters.Client = None
    revoked: parameters.Revoked = False
    sealed: parameters.SealedOnly = None


@router.get("/feedback", responses=list_of(Feedback, 404))
def read_feedback(request: Request, agent_id: AgentPath, query: Annotated[ReceivedFeedbackQuery, Query()]) -> Response:
    """Return the feedback on an agent, newest first."""
    address, tag1, tag2 = _address(query.client), require_storable(query.tag1), require_storable(query.tag2)
    chosen = FeedbackFilter(tag1, tag2, address, query.revoked, query.sealed)
    return query.answer(request, Feedback, feedback_of, service_of(request).agent_key(agent_id), chosen)


class ClientQuery(ListQuery):
    """The client whose records are listed, and the page and format of the list."""

    client: parameters.Client = None


@router.get("/authorized-feedback", responses=list_of(AuthorizedFeedback, 404))
def read_authorized_feedback(request: Request, agent_id: AgentPath, query: Annotated[ClientQuery, Query()]) -> Response:
    """Return the feedback on an agent that its owner authorised, newest first."""
    address, key = _address(query.client), service_of(request).agent_key(agent_id)
    return query.answer(request, AuthorizedFeedback, authorized_feedback_of, key, address)


@router.get("/responses", responses=list_of(FeedbackResponse, 404))
def read_responses(request: Request, agent_id: AgentPath, query: Annotated[ClientQuery, Query()]) -> Response:
    """Return the responses to the feedback on an agent, newest first."""
    address, key = _address(query.client), service_of(request).agent_key(agent_id)
    return query.answer(request, FeedbackResponse, responses_of, key, address)


class RatingsQuery(ListQuery, parameters.RatingFilters):
    """Filters for ratings that servers gave, and the page and format of the list."""

    sealed: parameters.SealedOnly = None


@router.get("/ratings", responses=list_of(Rating, 404))
def read_ratings(request: Request, agent_id: AgentPath, query: Annotated[RatingsQuery, Query()]) -> Response:
    """Return the ratings that an agent received from servers, or gave as a server, newest first."""
    key = service_of(request).agent_key(agent_id)
    return query.answer(request, Rating, ratings_of, key, query.direction, query.side, sealed=query.sealed)


class SealedPairsQuery(ListQuery):
    """A filter for sealed ratings, and the page and format of the list."""

    state: Annotated[SealState | None, Query(description="The state of the pairs.")] = None


@router.get("/sealed-pairs", responses=list_of(SealedPair, 404))
def read_sealed_pairs(request: Request, agent_id: AgentPath, query: Annotated[SealedPairsQuery, Query()]) -> Response:
    """Return the ratings that an agent and its counterparts sealed, including those opened since, newest first."""
    return query.answer(request, SealedPair, sealed_pairs_of, service_of(request).agent_key(agent_id), query.state)


@router.get("/validations", responses=list_of(Validation, 404))
def read_validations(request: Request, agent_id: AgentPath, query: Annotated[ListQuery, Query()]) -> Response:
    """Return an agent's validations, newest requests first."""
    return query.answer(request, Validation, validations_of, service_of(request).agent_key(agent_id))


@router.get("/neighbourhood", responses=one_of(Neighbourhood, 404))
def read_neighbourhood(
    request: Request,
    agent_id: AgentPath,
    limit: Annotated[int, Query(ge=1, le=MAX_EDGES, description="The maximum number of edges of each kind.")] = 100,
) -> Response:
    """Return the accounts and agents that rated an agent, and the clients and validators that the agent rated."""
    service = service_of(request)
    return answer(request, Neighbourhood, service.read(neighbourhood, service.agent_key(agent_id), limit=limit))
