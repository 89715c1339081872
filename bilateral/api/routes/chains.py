"""Routes for the indexed chains (progress, registries and daily statistics), health checks and metrics."""

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from bilateral.api.answers import JSON, PROBLEM, Format, adapter, answer_page, list_of
from bilateral.api.metrics import CONTENT_TYPE
from bilateral.api.parameters import ListFormat
from bilateral.api.service import service_of
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.reading.missing_chains import NO_ANSWER
from bilateral.index.reading.pages import Page
from bilateral.index.reading.registries import IndexedRegistry
from bilateral.index.reading.statistics import DayStatistics, statistics

router = APIRouter(default_response_class=Response)

_DEFAULT_DAYS = 30  # a month, with one row per day and chain


@dataclass(frozen=True, slots=True)
class Chain:
    """An indexed chain.

    Attributes:
        progress: How far the chain is indexed. Responses reflect its last indexed block.
        registries: The chain's registries, oldest first.
    """

    progress: ChainProgress
    registries: tuple[IndexedRegistry, ...]


@router.get("/v1/chains", tags=["chains"], responses=list_of(Chain))
def read_chains(request: Request, list_format: ListFormat = Format.JSON) -> Response:
    """Return the indexed chains with their registries."""
    service = service_of(request)
    registries = service.registries().by_chain
    listed = tuple(
        Chain(chain_progress, tuple(registries.get(chain_progress.chain_id, ())))
        for chain_progress in service.read(chains)
    )
    return answer_page(request, Chain, Page(listed, None), list_format)


@router.get("/v1/statistics", tags=["chains"], responses=list_of(DayStatistics, 404))
def read_statistics(
    request: Request,
    chain_id: Annotated[
        int | None, Query(alias="chain", ge=1, lt=2**63, description="The chain; all chains by default.")
    ] = None,
    first: Annotated[date | None, Query(alias="from", description="The first day in UTC; 30 days up to `to`.")] = None,
    last: Annotated[date | None, Query(alias="to", description="The last day in UTC; today by default.")] = None,
    list_format: ListFormat = Format.JSON,
) -> Response:
    """Return the number of events by chain and day, for each day with events."""
    service = service_of(request)
    registries = service.registries()
    if chain_id is not None:
        registries.require_indexed([chain_id])
    end = last or datetime.now(UTC).date()
    begin = first or max(date.min + timedelta(days=_DEFAULT_DAYS), end) - timedelta(days=_DEFAULT_DAYS - 1)
    chain_ids = tuple(registries.by_chain) if chain_id is None else (chain_id,)
    days = service.read(statistics, chain_ids, begin, end)
    return answer_page(request, DayStatistics, Page(days, None), list_format)


@dataclass(frozen=True)
class Health:
    """The state of the process.

    Attributes:
        status: `ok`.
    """

    status: str


@dataclass(frozen=True)
class Readiness:
    """The state of the service.

    Attributes:
        ready: True if every readable chain is close to its head and has current standings.
        problems: The reasons why the service is not ready.
        chains: The progress of each chain.
        missing: The chains whose database server is not responding.
    """

    ready: bool
    problems: tuple[str, ...]
    chains: tuple[ChainProgress, ...]
    missing: tuple[int, ...]


@router.get("/healthz", tags=["health"], responses={200: {"model": Health}})
async def read_health() -> Response:
    """Report that the process is alive."""
    return Response(b'{"status":"ok"}', media_type=JSON, headers={"Cache-Control": "no-store"})


@router.get("/readyz", tags=["health"], responses={200: {"model": Readiness}, 503: {"model": Readiness, **PROBLEM}})
def read_readiness(request: Request) -> Response:
    """Report whether the database responds and each chain is close to its head, with current payments and standings."""
    service = service_of(request)
    progress, missing = service.progress.get(), tuple(sorted(service.reader.missing))
    now = time.time()
    problems = [] if progress else [NO_ANSWER if missing else "no chain is indexed yet"]
    for chain in progress:
        if chain.lag > service.settings.max_lag:
            problems.append(f"chain {chain.chain_id} is {chain.lag} blocks behind its head")
        if now - chain.updated_at > service.settings.max_silence:
            problems.append(f"chain {chain.chain_id} was last polled {now - chain.updated_at:.0f} seconds ago")
        if service.settings.needs_analysis and (lack := chain.standings.lack):
            problems.append(f"chain {chain.chain_id} {lack}")
    for payments in service.payments.get():
        if payments.lag and payments.block < payments.first_block:
            problems.append(f"no payments on chain {payments.chain_id} have been read yet")
        elif payments.lag > service.settings.max_lag:
            problems.append(f"payments on chain {payments.chain_id} are {payments.lag} blocks behind the index")
    status = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
    body = adapter(Readiness).dump_json(Readiness(not problems, tuple(problems), progress, missing))
    return Response(body, status, {"Cache-Control": "no-store"}, JSON)


@router.get("/metrics", tags=["health"], responses={200: {"content": {"text/plain": {}}}})
def read_metrics(request: Request) -> Response:
    """Return the service's metrics for Prometheus."""
    return Response(service_of(request).metrics.text(), media_type=CONTENT_TYPE)
