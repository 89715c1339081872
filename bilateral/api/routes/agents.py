"""Routes of agents."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from bilateral.api.answers import answer, one_of
from bilateral.api.parameters import AgentPath
from bilateral.api.problems import not_found
from bilateral.api.service import service_of
from bilateral.index.queries.agents import Agent, agent

router = APIRouter(prefix="/v1", tags=["agents"])


@router.get("/agents/{agent}", response_class=Response, responses=one_of(Agent, 404))
def read_agent(request: Request, agent_id: AgentPath) -> Response:
    """Return an agent: its state on chain, its registration file, and the summaries of its ratings."""
    service = service_of(request)
    key = service.agent_key(agent_id)
    found = service.read(agent, key)
    if found is None:
        raise not_found("agent", key.id)
    return answer(request, Agent, found)
