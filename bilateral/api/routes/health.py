"""Routes for monitors: alive, ready, figures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from bilateral.api.answers import JSON, PROBLEM, adapter
from bilateral.api.metrics import CONTENT_TYPE
from bilateral.api.service import service_of
from bilateral.index.operating.chains import ChainProgress

router = APIRouter(tags=["health"], default_response_class=Response)


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
        ready: True if every chain that can be read is close to its head, and has current standings.
        problems: The reasons why it is not.
        chains: The progress of each chain.
        missing: The chains whose shard does not answer.
    """

    ready: bool
    problems: tuple[str, ...]
    chains: tuple[ChainProgress, ...]
    missing: tuple[int, ...]


@router.get("/healthz", responses={200: {"model": Health}})
async def read_health() -> Response:
    """Tell that the process answers."""
    return Response(b'{"status":"ok"}', media_type=JSON, headers={"Cache-Control": "no-store"})


@router.get("/readyz", responses={200: {"model": Readiness}, 503: {"model": Readiness, **PROBLEM}})
def read_readiness(request: Request) -> Response:
    """Tell whether the database answers, and each chain is close to its head, with current payments and standings."""
    service = service_of(request)
    progress, missing = service.progress.get(), tuple(sorted(service.reader.missing))
    now = time.time()
    problems = [] if progress else ["no shard answers" if missing else "no chain is indexed yet"]
    for chain in progress:
        if chain.lag > service.settings.max_lag:
            problems.append(f"chain {chain.chain_id} is {chain.lag} blocks behind its head")
        if now - chain.updated_at > service.settings.max_silence:
            problems.append(f"chain {chain.chain_id} was last looked at {now - chain.updated_at:.0f} seconds ago")
        if service.settings.needs_analysis and (lack := chain.standings.lack):
            problems.append(f"chain {chain.chain_id} {lack}")
    for payments in service.payments.get():
        if payments.lag and payments.block < payments.first_block:
            problems.append(f"no payment of chain {payments.chain_id} is read yet")
        elif payments.lag > service.settings.max_lag:
            problems.append(f"payments of chain {payments.chain_id} are {payments.lag} blocks behind its index")
    status = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
    body = adapter(Readiness).dump_json(Readiness(not problems, tuple(problems), progress, missing))
    return Response(body, status, {"Cache-Control": "no-store"}, JSON)


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
def read_metrics(request: Request) -> Response:
    """Return the figures of the service for Prometheus."""
    return Response(service_of(request).metrics.text(), media_type=CONTENT_TYPE)
