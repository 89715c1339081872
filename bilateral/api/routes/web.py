"""Routes of the web pages. Each has its content as JSON too: by `.json` at the end of the path, or by `Accept`.

The module's name puts its routes behind all others, because the path of an agent begins with the name of any chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request, Response

from bilateral.api.answers import answer, tagged
from bilateral.api.problems import ProblemError, not_found, problem_of
from bilateral.api.service import service_of
from bilateral.errors import BilateralError
from bilateral.explorer import rendering
from bilateral.explorer.assets import assets
from bilateral.explorer.method import METHOD, MethodPage
from bilateral.explorer.networks import chain_of
from bilateral.explorer.views import AccountPage, AgentPage, HomePage, account_page, agent_page, home_page
from bilateral.identifiers import checksummed

if TYPE_CHECKING:
    from collections.abc import Callable

router = APIRouter(include_in_schema=False)

_HTML: Final = "text/html; charset=utf-8"
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_SECURITY: Final = {
    "Content-Security-Policy": rendering.POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept",
}


@router.get("/index.json", response_class=Response)
@router.get("/", response_class=Response)
def home(request: Request) -> Response:
    """Show the indexed chains and the latest ratings."""
    return _page(request, HomePage, lambda: service_of(request).read(home_page), rendering.render_home)


@router.get("/method.json", response_class=Response)
@router.get("/method", response_class=Response)
def method(request: Request) -> Response:
    """Show how each figure is made."""
    return _page(request, MethodPage, lambda: METHOD, rendering.render_method)


@router.get("/assets/{name}", response_class=Response)
def asset(name: str) -> Response:
    """Return a file that pages load, by its name with a hash."""
    found = assets().get(name)
    if found is None:
        raise not_found("asset", name)
    headers = {"Cache-Control": _FOR_EVER, "X-Content-Type-Options": "nosniff"}
    return Response(found.body, 200, headers, found.media_type)


@router.get("/accounts/{address}", response_class=Response)
@router.get("/accounts/{address}.json", response_class=Response)  # the lower one is looked at first
def account(request: Request, address: str) -> Response:
    """Show an account: its agents, and the feedback that it gave."""
    service = service_of(request)

    def read() -> AccountPage:
        return service.read(account_page, checksummed(address), tuple(service.registries().by_chain))

    return _page(request, AccountPage, read, rendering.render_account)


@router.get("/{network}/{agent_id:int}.json", response_class=Response)
@router.get("/{network}/{agent_id:int}", response_class=Response)
def agent(request: Request, network: str, agent_id: int) -> Response:
    """Show an agent from both sides."""
    service = service_of(request)

    def read() -> AgentPage:
        chain_id = chain_of(network)
        if chain_id is None:
            raise not_found("chain", network)
        key = service.agent_key(f"{chain_id}:{agent_id}")
        found = service.read(agent_page, key)
        if found is None:
            raise not_found("agent", key.id)
        return found

    return _page(request, AgentPage, read, rendering.render_agent)


def _page(
    request: Request, kind: Any, read: Callable[[], Any], render: Callable[[rendering.Frame, Any], str]
) -> Response:
    """Answer with a page as HTML or JSON; problems are pages too, for who asked for HTML."""
    if _wants_json(request):
        response = answer(request, kind, read())
        response.headers["Vary"] = "Accept"
        return response
    frame = rendering.Frame(request.url.path, request.url.query, str(request.base_url).rstrip("/"))
    try:
        body = render(frame, read())
    except (ProblemError, BilateralError) as error:
        problem = error if isinstance(error, ProblemError) else problem_of(error)
        body = rendering.render_problem(frame, problem.status, problem.detail)
        return Response(body, problem.status, {**_SECURITY, **problem.headers, "Cache-Control": "no-store"}, _HTML)
    response = tagged(request, body.encode(), _HTML)
    response.headers.update(_SECURITY)
    return response


def _wants_json(request: Request) -> bool:
    """Check whether a request is for JSON: by its path, or because it accepts JSON and no HTML."""
    accepted = request.headers.get("accept", "")
    return request.url.path.endswith(".json") or ("application/json" in accepted and "text/html" not in accepted)
