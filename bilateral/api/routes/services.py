"""The route for a service that is known by its URL alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from bilateral.api.answers import answer, one_of
from bilateral.api.service import service_of
from bilateral.index.files.named_hosts import NamedHost, services_at

router = APIRouter(prefix="/v1/services", tags=["agents"], default_response_class=Response)


@router.get("", responses=one_of(NamedHost))
def read_services(
    request: Request, url: Annotated[str, Query(max_length=2_000, description="An https URL, or a host alone.")]
) -> Response:
    """Return the agents whose registration files name a URL, or another one of its host. Nothing is fetched.

    Everybody can name the host of somebody else: check the agent, and its wallet, before you pay.
    """
    return answer(request, NamedHost, service_of(request).read(services_at, url))
