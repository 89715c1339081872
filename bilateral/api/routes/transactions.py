"""The route that prepares what a visitor's wallet signs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from bilateral.api.actions.base import PATH, Prepared
from bilateral.api.actions.catalogue import AnyAction
from bilateral.api.actions.preparing import prepare
from bilateral.api.answers import JSON, adapter, one_of
from bilateral.api.service import service_of

router = APIRouter(tags=["actions"], default_response_class=Response)


@router.post(PATH, responses=one_of(Prepared, 404, 409, 422))
async def prepare_transaction(request: Request, action: Annotated[AnyAction, Body()]) -> Response:
    """Check and simulate an action of an account, and return what its wallet has to sign. Nothing is sent or stored."""
    service = service_of(request)
    prepared = await service.visitor_work.run(prepare, service, action)
    body = adapter(Prepared).dump_json(prepared)
    return Response(body, media_type=JSON, headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})
