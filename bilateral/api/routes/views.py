"""Routes for the web pages for searches, individual records, comparisons, networks and trust analysis."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from bilateral.api.answers import ProblemError, existing
from bilateral.api.pages import agent_of, indexed_chain, page, page_answer
from bilateral.api.parameters import require_storable
from bilateral.api.service import Service, service_of
from bilateral.core.errors import BilateralError
from bilateral.explorer import analysis, rendering
from bilateral.explorer.comparing import ComparePage, compare_page
from bilateral.explorer.network import NetworkPage, RecentNetworks, neighbourhood_page, network_page
from bilateral.explorer.networks import slug_of
from bilateral.explorer.records import RatingPage, ValidationPage, rating_page, validation_page
from bilateral.explorer.searching import SearchPage, filled, path_of, search_page
from bilateral.index.errors import MissingChainError
from bilateral.index.ratings.neighbourhood import MAX_RATINGS
from bilateral.index.reading.registries import AgentKey

router = APIRouter(include_in_schema=False, default_response_class=Response)

_Number = Annotated[int, Query(alias="page", ge=1, le=1_000_000)]
_Event = Annotated[int, Path(ge=0, lt=2**31)]
_Block = Annotated[int, Path(ge=0, lt=2**63)]
_Id = Annotated[str, Query(max_length=200)]


@router.get("/search.json")
@router.get("/search")
def search(request: Request) -> Response:
    """Show a form that finds agents. Each state of the form has its own URL."""
    fields, service = filled(request.query_params), service_of(request)
    if not request.url.path.endswith(".json") and dict(request.query_params) != fields:
        return RedirectResponse(path_of(fields), 303)
    return page_answer(
        request, SearchPage, lambda: service.read(search_page, service.registries(), fields), rendering.render_search
    )


@page(router, "/compare", rendering.render_compare)
def compare(request: Request, first: _Id = "", second: _Id = "") -> ComparePage:
    """Compare two agents."""
    service, keys, problem = service_of(request), list[AgentKey](), None
    for text in (first.strip(), second.strip()):
        try:
            if text:
                keys.append(_key(service, text))
        except (BilateralError, ProblemError) as error:
            problem = error.detail if isinstance(error, ProblemError) else str(error)
    return service.read(compare_page, service.registries(), (first, second), keys, problem)


def _key(service: Service, text: str) -> AgentKey:
    network, slash, number = text.strip("/").partition("/")
    key = service.agent_key(f"{indexed_chain(service, network)}:{number}" if slash else text)
    if key.chain_id in service.reader.missing:
        raise MissingChainError(key.chain_id)
    return key


@router.get("/network")
def first_network(request: Request) -> Response:
    """Redirect to the first chain's network page."""
    return _first_chain(request, "network")


@router.get("/analysis")
def first_analysis(request: Request) -> Response:
    """Redirect to the first chain's trust analysis."""
    return _first_chain(request, "analysis")


def _first_chain(request: Request, name: str) -> Response:
    chains = list(service_of(request).registries().by_chain)
    return RedirectResponse(f"/{slug_of(chains[0])}/{name}" if chains else "/", 303)


@router.get("/{network}/network.json")
@router.get("/{network}/network")
def chain_network(
    request: Request,
    network: str,
    number: _Number = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_RATINGS)] = MAX_RATINGS,
) -> Response:
    """Show who rated whom in a chain's newest ratings."""
    service = service_of(request)

    def read() -> NetworkPage:
        chain_id, registries = indexed_chain(service, network), service.registries()
        return service.recent(RecentNetworks).get(
            chain_id, limit, lambda: service.read(network_page, registries, chain_id, limit)
        )

    return page_answer(request, NetworkPage, read, _network(number))


@router.get("/{network}/{agent_id:number}/network.json")
@router.get("/{network}/{agent_id:number}/network")
def agent_network(request: Request, network: str, agent_id: int, number: _Number = 1) -> Response:
    """Show an agent's counterparts, and the counterparts of those."""
    service = service_of(request)

    def read() -> NetworkPage:
        return service.read(neighbourhood_page, service.registries(), agent_of(service, network, agent_id))

    return page_answer(request, NetworkPage, read, _network(number))


def _network(number: int) -> Callable[[rendering.Frame, Any], str]:
    return lambda frame, page: rendering.render_network(frame, page, number)


@page(router, "/{network}/ratings/{block:number}-{log_index:number}", "rating")
def rating(request: Request, network: str, block: _Block, log_index: _Event) -> RatingPage:
    """Show a rating with all evidence for it."""
    service = service_of(request)
    content = service.read(rating_page, service.registries(), indexed_chain(service, network), block, log_index)
    return existing(content, "rating", f"{network} {block}-{log_index}")


@page(router, "/{network}/validations/{request_hash}", "validation")
def validation(
    request: Request, network: str, request_hash: Annotated[str, Path(pattern="^0x[0-9a-f]{64}$")]
) -> ValidationPage:
    """Show a validation with all responses to it."""
    service, name = service_of(request), bytes.fromhex(request_hash[2:])
    content = service.read(validation_page, service.registries(), indexed_chain(service, network), name)
    return existing(content, "validation", request_hash)


@page(router, "/{network}/analysis", "analysis")
def chain_analysis(request: Request, network: str) -> analysis.AnalysisPage:
    """Show what a chain's trust analysis found, and how."""
    service = service_of(request)
    return service.read(analysis.analysis_page, *_analysed(service, network))


def _analysed(service: Service, network: str) -> tuple[int, str]:
    chain_id = indexed_chain(service, network)
    return chain_id, service.registries().identity_of(chain_id)


@page(router, "/{network}/clusters/{number:number}", "cluster")
def cluster(request: Request, network: str, number: _Block) -> analysis.ClusterPage:
    """Show the accounts in a cluster."""
    service = service_of(request)
    content = service.read(analysis.cluster_page, service.registries(), *_analysed(service, network), number)
    return existing(content, "cluster", str(number))


@page(router, "/{network}/findings/{finding_id}", "finding")
def finding(request: Request, network: str, finding_id: Annotated[str, Path(max_length=60)]) -> analysis.FindingPage:
    """Show a finding with its accounts and events."""
    service = service_of(request)
    about = service.registries(), *_analysed(service, network)
    return existing(service.read(analysis.finding_page, *about, require_storable(finding_id)), "finding", finding_id)
