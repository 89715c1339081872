"""Routes of the web pages on which visitors act with their own wallets."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from bilateral.api.pages import page_answer
from bilateral.api.problems import known
from bilateral.api.service import service_of
from bilateral.explorer import rendering
from bilateral.explorer.acting import ActPage, Offers, act_page

router = APIRouter(include_in_schema=False, default_response_class=Response)


@router.get("/act/{action}.json")
@router.get("/act/{action}")
def act(request: Request, action: str) -> Response:
    """Show the form of an action."""
    service = service_of(request)

    def read() -> ActPage:
        aggregator = getattr(request.app.state, "aggregator", None)
        sponsors = frozenset() if aggregator is None else {chain.chain_id for chain in aggregator.settings.chains}
        offers = Offers(frozenset(sponsors), service.settings.store is not None)
        page = service.read(act_page, service.registries(), action, request.query_params, offers)
        return known(page, "action", action)

    return page_answer(request, ActPage, read, rendering.template("act"))
