"""Routes of the web pages of agents and accounts, of the first page, and of the files that pages load.

The module's name puts its routes behind all others, because the path of an agent begins with the name of any chain.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from bilateral.api.answers import tagged
from bilateral.api.compression import compressed
from bilateral.api.pages import html, indexed_chain, page_answer
from bilateral.api.problems import known
from bilateral.api.service import Service, service_of
from bilateral.core.identifiers import checksummed
from bilateral.explorer import rendering
from bilateral.explorer.accounts import AccountPage, account_page
from bilateral.explorer.assets import assets
from bilateral.explorer.listing import RatingsPage, ratings_page
from bilateral.explorer.method import MethodPage, method_page
from bilateral.explorer.pictures import agent_picture, site_picture
from bilateral.explorer.private_tiers import PrivateTiersPage, private_tiers_page
from bilateral.explorer.views import AgentPage, HomePage, agent_page, agent_standings, home_page, latest_of_all
from bilateral.index.files.queries import names_of
from bilateral.index.operating.chains import chains
from bilateral.index.standing.queries import doubts_of

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
    """Return the table of the latest ratings, with which a page renews its own."""
    service = service_of(request)
    rows = service.read(lambda connection: latest_of_all(connection, chains(connection), side))
    ids = {agent_id for row in rows for agent_id in (row.agent, row.by_agent)}
    names = service.read(names_of, service.registries(), ids)
    doubts = service.read(doubts_of, service.registries(), ids)
    return html(request, rendering.render_latest(rows, names, doubts))


@router.get("/method.json")
@router.get("/method")
def method(request: Request) -> Response:
    """Show how each figure is made."""
    service = service_of(request)
    return page_answer(request, MethodPage, lambda: method_page(service.read(chains)), rendering.template("method"))


@router.get("/private-tiers.json")
@router.get("/private-tiers")
def private_tiers(request: Request) -> Response:
    """Show who learns what of a private proof, and the size of the groups."""
    service = service_of(request)
    return page_answer(
        request, PrivateTiersPage, lambda: service.read(private_tiers_page), rendering.template("private_tiers")
    )


@router.get("/openapi")
def openapi(request: Request) -> Response:
    """Show the paths of the HTTP API."""
    return page_answer(request, dict[str, Any], request.app.openapi, rendering.render_docs)


@router.get("/assets/{name}")
def asset(request: Request, name: str) -> Response:
    """Return a file that pages load, by its name with a hash."""
    asset = known(assets().get(name), "asset", name)
    headers = {"Cache-Control": _FOR_EVER, "X-Content-Type-Options": "nosniff"}
    response = Response(asset.body, 200, headers, asset.media_type)
    return response if asset.name.endswith(".woff2") else compressed(request, response)  # fonts are compressed


@router.get("/picture.png")
def picture(request: Request) -> Response:
    """Return the picture that previews of links show."""
    return tagged(request, site_picture(), _PNG)


@router.get("/accounts/{address}")
@router.get("/accounts/{address}.json")  # the lower one is looked at first
def account(request: Request, address: str) -> Response:
    """Show an account: its agents, and what it gave."""
    service = service_of(request)

    def read() -> AccountPage:
        return service.read(account_page, service.registries(), checksummed(address))

    return page_answer(request, AccountPage, read, rendering.render_account)


@router.get("/{network}/{agent_id:number}.png")
def agent_preview(request: Request, network: str, agent_id: int) -> Response:
    """Return the picture of an agent that previews of links show."""
    service = service_of(request)
    key = service.agent_key(f"{indexed_chain(service, network)}:{agent_id}")
    return tagged(request, agent_picture(*known(service.read(agent_standings, key), "agent", key.id)), _PNG)


@router.get("/{network}/{agent_id:number}.json")
@router.get("/{network}/{agent_id:number}")
def agent(request: Request, network: str, agent_id: int) -> Response:
    """Show an agent from both sides."""
    service = service_of(request)
    return page_answer(request, AgentPage, lambda: _read_agent(service, network, agent_id), rendering.render_agent)


@router.get("/{network}/{agent_id:number}/ratings.json")
@router.get("/{network}/{agent_id:number}/ratings")
def ratings(request: Request, network: str, agent_id: int) -> Response:
    """Show the ratings that a figure of an agent is made of."""
    service = service_of(request)

    def read() -> RatingsPage:
        key = service.agent_key(f"{indexed_chain(service, network)}:{agent_id}")
        path = f"/{network}/{agent_id}/ratings"
        page = service.read(ratings_page, service.registries(), key, path, request.query_params)
        return known(page, "agent", key.id)

    return page_answer(request, RatingsPage, read, rendering.template("ratings"))


def _read_agent(service: Service, network: str, agent_id: int) -> AgentPage:
    """Return the content of an agent's page."""
    key = service.agent_key(f"{indexed_chain(service, network)}:{agent_id}")
    page = service.read(agent_page, service.registries(), key)
    return known(page, "agent", key.id)
