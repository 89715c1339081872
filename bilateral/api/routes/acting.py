"""Routes of the web pages on which visitors act with their own wallets."""

from __future__ import annotations

from typing import Final, get_args

from fastapi import APIRouter, Request, Response

from bilateral.api.actions.preparing import AnyAction
from bilateral.api.pages import page
from bilateral.api.problems import known
from bilateral.api.service import service_of
from bilateral.explorer.acting import ActPage, Offers, act_page

router = APIRouter(include_in_schema=False, default_response_class=Response)

_FINAL: Final = {
    get_args(kind.model_fields["action"].annotation)[0]: kind.final for kind in get_args(get_args(AnyAction)[0])
}
"""The sentence of each action that says what cannot be undone."""


@page(router, "/act/{action}", "act")
def act(request: Request, action: str) -> ActPage:
    """Show the form of an action."""
    service, aggregator = service_of(request), getattr(request.app.state, "aggregator", None)
    sponsors = [] if aggregator is None else [chain.chain_id for chain in aggregator.settings.chains]
    files = None if service.settings.store is None else service.settings.store_url
    offers = Offers(frozenset(sponsors), files, _FINAL.get(action, ""))
    content = service.read(act_page, service.registries(), action, request.query_params, offers)
    return known(content, "action", action)
