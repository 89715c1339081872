"""Routes for visitors who act with their own wallets: a page for each action, and a route that prepares it."""

from typing import Annotated, Final, get_args

from fastapi import APIRouter, Body, Request, Response

from bilateral.api.actions.base import PATH, Action, Prepared
from bilateral.api.actions.preparing import AnyAction, prepare
from bilateral.api.actions.sponsored import PublishReview
from bilateral.api.answers import JSON, adapter, existing, one_of
from bilateral.api.pages import page
from bilateral.api.service import service_of
from bilateral.explorer.acting import ActPage, Offers, act_page

router = APIRouter(default_response_class=Response)

_FINAL: Final = {
    get_args(kind.model_fields["action"].annotation)[0]: kind.final for kind in get_args(get_args(AnyAction)[0])
}
"""The sentence for each action that states what cannot be undone."""


@page(router, "/act/{action}", "act")
def act(request: Request, action: str) -> ActPage:
    """Show the form for an action."""
    service, aggregator = service_of(request), getattr(request.app.state, "aggregator", None)
    sponsors = [] if aggregator is None else [chain.chain_id for chain in aggregator.settings.chains]
    files = None if service.settings.store is None else service.settings.store_url
    offers = Offers(frozenset(sponsors), files, _FINAL.get(action, ""))
    content = service.read(act_page, service.registries(), action, request.query_params, offers)
    return existing(content, "action", action)


def _prepare(request: Request, action: Action) -> Prepared:
    prepared = prepare(service_of(request), action)
    if isinstance(action, PublishReview) and prepared.signature is not None:
        request.app.state.buyer_messages.check_review(prepared.signature.body)
    return prepared


@router.post(PATH, tags=["actions"], responses=one_of(Prepared, 404, 409, 422))
async def prepare_transaction(request: Request, action: Annotated[AnyAction, Body()]) -> Response:
    """Check and simulate an account's action, and return what its wallet has to sign. No transaction is sent.

    If `keep` is true, the account signs the registration file first, and the service stores the file when it receives
    the signature.
    """
    prepared = await service_of(request).visitor_work.run(_prepare, request, action)
    body = adapter(Prepared).dump_json(prepared)
    return Response(body, media_type=JSON, headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})
