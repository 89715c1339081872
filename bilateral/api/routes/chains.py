"""Routes of the indexed chains: progress, registries, statistics by day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from bilateral.api.answers import Format, answer_page, list_of
from bilateral.api.parameters import ListFormat
from bilateral.api.service import service_of
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.reading.pages import Page
from bilateral.index.reading.registries import IndexedRegistry
from bilateral.index.reading.statistics import DayStatistics, statistics

router = APIRouter(prefix="/v1", tags=["chains"], default_response_class=Response)

_DEFAULT_DAYS = 30  # a month, with one row a day for each chain


@dataclass(frozen=True, slots=True)
class Chain:
    """An indexed chain.

    Attributes:
        progress: Its progress. Answers are of its last indexed block.
        registries: Its registries, the oldest first.
    """

    progress: ChainProgress
    registries: tuple[IndexedRegistry, ...]


@router.get("/chains", responses=list_of(Chain))
def read_chains(request: Request, shown_as: ListFormat = Format.JSON) -> Response:
    """Return the indexed chains with their registries."""
    service = service_of(request)
    registries = service.registries().by_chain
    listed = tuple(
        Chain(chain_progress, tuple(registries.get(chain_progress.chain_id, ())))
        for chain_progress in service.read(chains)
    )
    return answer_page(request, Chain, Page(listed, None), shown_as)


@router.get("/statistics", responses=list_of(DayStatistics, 404))
def read_statistics(
    request: Request,
    chain_id: Annotated[
        int | None, Query(alias="chain", ge=1, lt=2**63, description="The chain; all if missing.")
    ] = None,
    first: Annotated[date | None, Query(alias="from", description="The first day in UTC; 30 days up to `to`.")] = None,
    last: Annotated[date | None, Query(alias="to", description="The last day in UTC; today if missing.")] = None,
    shown_as: ListFormat = Format.JSON,
) -> Response:
    """Return the numbers of events by chain and day, for each day with an event."""
    service = service_of(request)
    known = service.registries()
    if chain_id is not None:
        known.require_indexed([chain_id])
    today = datetime.now(UTC).date()
    end = last or today
    begin = first or max(date.min + timedelta(days=_DEFAULT_DAYS), end) - timedelta(days=_DEFAULT_DAYS - 1)
    wanted = tuple(known.by_chain) if chain_id is None else (chain_id,)
    days = service.read(statistics, wanted, begin, end)
    return answer_page(request, DayStatistics, Page(days, None), shown_as)
