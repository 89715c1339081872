"""Routes for the sites of others: the badge of an agent, and a page for frames. Also icons that browsers ask for."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from bilateral.api.answers import tagged
from bilateral.api.pages import agent_of
from bilateral.api.problems import known
from bilateral.api.service import service_of
from bilateral.explorer.pictures import POLICY, badge, embedded_page, favicon, touch_icon
from bilateral.index.profiles.queries import agent as read_agent
from bilateral.index.standing.queries import standings_of

router = APIRouter(include_in_schema=False, default_response_class=Response)

_Side = Annotated[Literal["server", "client"], Query()]

_SHARED: Final = {
    "Cache-Control": "public, max-age=300",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of answers for other sites. Standings are renewed every few minutes."""


@router.get("/embed/{network}/{agent_id:number}.svg")
def agent_badge(request: Request, network: str, agent_id: int, side: _Side = "server") -> Response:
    """Return the badge of an agent: its standing, and the number of its raters."""
    service = service_of(request)
    key = agent_of(service, network, agent_id)
    standings = service.read(standings_of, key)
    if not standings:
        known(service.read(read_agent, key), "agent", key.id)
    return _shared(request, badge(key.id, standings, side), "image/svg+xml")


@router.get("/embed/{network}/{agent_id:number}")
def agent_frame(request: Request, network: str, agent_id: int, side: _Side = "server") -> Response:
    """Return a page with the badge alone, for frames on other sites."""
    service = service_of(request)
    key = agent_of(service, network, agent_id)
    known(service.read(read_agent, key), "agent", key.id)
    return _shared(request, embedded_page(key.id, side), "text/html; charset=utf-8")


@router.get("/favicon.ico")
def icon() -> Response:
    """Return the icon of the site for browsers that take no SVG."""
    return Response(favicon(), 200, {"Cache-Control": "public, max-age=86400"}, "image/vnd.microsoft.icon")


@router.get("/apple-touch-icon.png")
def icon_of_phones() -> Response:
    """Return the icon of the site for the home screens of phones."""
    return Response(touch_icon(), 200, {"Cache-Control": "public, max-age=86400"}, "image/png")


def _shared(request: Request, body: str, media_type: str) -> Response:
    """Answer with a body that other sites show, and that caches keep for five minutes."""
    response = tagged(request, body.encode(), media_type)
    response.headers.update(_SHARED)
    return response
