"""Routes for the agent, account and home pages, and for the files that pages load.

The module's name sorts last, so other routes take precedence over agents' paths, which begin with a chain's name.
"""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from bilateral.api.answers import existing, tagged
from bilateral.api.pages import agent_of, compressed, html, page, page_answer
from bilateral.api.service import service_of
from bilateral.core.identifiers import checksummed
from bilateral.explorer import rendering
from bilateral.explorer.accounts import AccountPage, account_page
from bilateral.explorer.assets import assets
from bilateral.explorer.listing import RatingsPage, ratings_page
from bilateral.explorer.method import MethodPage, PrivateTiersPage, method_page, private_tiers_page
from bilateral.explorer.pictures import POLICY, agent_picture, badge, embedded_page, favicon, site_picture, touch_icon
from bilateral.explorer.views import AgentPage, HomePage, agent_page, agent_standings, home_page, latest_of_all
from bilateral.index.files.queries import names_of
from bilateral.index.operating.chains import chains
from bilateral.index.profiles.queries import agent as read_agent
from bilateral.index.standing.queries import doubts_of, standings_of

router = APIRouter(include_in_schema=False, default_response_class=Response)

_PNG: Final = "image/png"
_Rated = Annotated[Literal["server", "client"] | None, Query()]
_FOR_EVER: Final = "public, max-age=31536000, immutable"


@router.get("/index.json")
@router.get("/")
def home(request: Request, side: _Rated = None) -> Response:
    """Show the indexed chains, the leaders and the latest ratings."""
    service = service_of(request)
    return page_answer(request, HomePage, lambda: service.read(home_page, side), rendering.render_home)


@router.get("/latest")
def latest(request: Request, side: _Rated = None) -> Response:
    """Return the table of the latest ratings, so that an open page can refresh its own table."""
    service = service_of(request)
    rows = service.read(lambda connection: latest_of_all(connection, chains(connection), side))
    ids = {agent_id for row in rows for agent_id in (row.agent, row.by_agent)}
    names = service.read(names_of, service.registries(), ids)
    return html(request, rendering.render_latest(rows, names, service.read(doubts_of, service.registries(), ids)))


@page(router, "/method", "method")
def method(request: Request) -> MethodPage:
    """Show how each figure is computed."""
    return method_page(service_of(request).read(chains))


@page(router, "/private-tiers", "private_tiers")
def private_tiers(request: Request) -> PrivateTiersPage:
    """Show what each party learns from a private proof, and how large the groups are."""
    return service_of(request).read(private_tiers_page)


@router.get("/openapi")
def openapi(request: Request) -> Response:
    """Show the paths of the HTTP API."""
    return page_answer(request, dict[str, Any], request.app.openapi, rendering.render_docs)


@router.get("/assets/{name}")
def asset(request: Request, name: str) -> Response:
    """Return a file that pages load, by its hashed name."""
    asset = existing(assets().get(name), "asset", name)
    headers = {"Cache-Control": _FOR_EVER, "X-Content-Type-Options": "nosniff"}
    response = Response(asset.body, 200, headers, asset.media_type)
    return response if asset.name.endswith(".woff2") else compressed(request, response)  # fonts are already compressed


@router.get("/picture.png")
def picture(request: Request) -> Response:
    """Return the image for link previews."""
    return tagged(request, site_picture(), _PNG)


@page(router, "/accounts/{address}", rendering.render_account)
def account(request: Request, address: str) -> AccountPage:
    """Show an account: its agents, and its feedback, ratings and payments."""
    service = service_of(request)
    return service.read(account_page, service.registries(), checksummed(address))


@router.get("/{network}/{agent_id:number}.png")
def agent_preview(request: Request, network: str, agent_id: int) -> Response:
    """Return an agent's image for link previews."""
    service = service_of(request)
    key = agent_of(service, network, agent_id)
    return tagged(request, agent_picture(*existing(service.read(agent_standings, key), "agent", key.id)), _PNG)


@page(router, "/{network}/{agent_id:number}", rendering.render_agent)
def agent(request: Request, network: str, agent_id: int) -> AgentPage:
    """Show an agent's record as a server and as a client."""
    service = service_of(request)
    key = agent_of(service, network, agent_id)
    return existing(service.read(agent_page, service.registries(), key), "agent", key.id)


@page(router, "/{network}/{agent_id:number}/ratings", "ratings")
def ratings(request: Request, network: str, agent_id: int) -> RatingsPage:
    """Show the ratings behind one of an agent's figures."""
    service, path = service_of(request), f"/{network}/{agent_id}/ratings"
    key = agent_of(service, network, agent_id)
    return existing(service.read(ratings_page, service.registries(), key, path, request.query_params), "agent", key.id)


_EmbeddedSide = Annotated[Literal["server", "client"], Query()]

_SHARED: Final = {
    "Cache-Control": "public, max-age=300",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of responses that other sites embed. Standings change every few minutes."""


@router.get("/embed/{network}/{agent_id:number}.svg")
def agent_badge(request: Request, network: str, agent_id: int, side: _EmbeddedSide = "server") -> Response:
    """Return an agent's badge, which shows its standing and its number of raters."""
    service = service_of(request)
    key = agent_of(service, network, agent_id)
    standings = service.read(standings_of, key)
    if not standings:
        existing(service.read(read_agent, key), "agent", key.id)
    return _shared(request, badge(key.id, standings, side), "image/svg+xml")


@router.get("/embed/{network}/{agent_id:number}")
def agent_frame(request: Request, network: str, agent_id: int, side: _EmbeddedSide = "server") -> Response:
    """Return a page that contains only an agent's badge, for frames on other sites."""
    service = service_of(request)
    key = agent_of(service, network, agent_id)
    existing(service.read(read_agent, key), "agent", key.id)
    return _shared(request, embedded_page(key.id, side), "text/html; charset=utf-8")


@router.get("/favicon.ico")
def icon() -> Response:
    """Return the site's icon for browsers without SVG support."""
    return Response(favicon(), 200, {"Cache-Control": "public, max-age=86400"}, "image/vnd.microsoft.icon")


@router.get("/apple-touch-icon.png")
def icon_of_phones() -> Response:
    """Return the site's icon for home screens on phones."""
    return Response(touch_icon(), 200, {"Cache-Control": "public, max-age=86400"}, "image/png")


def _shared(request: Request, body: str, media_type: str) -> Response:
    response = tagged(request, body.encode(), media_type)
    response.headers.update(_SHARED)
    return response
