"""Routes of one account: its agents, the feedback that it gave, the validations that it was asked for."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from bilateral.api.answers import answer, list_of, one_of
from bilateral.api.parameters import AddressPath, ChainId, ListQuery, Revoked
from bilateral.api.service import service_of
from bilateral.core.identifiers import checksummed
from bilateral.index.agents.queries import Account, account
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback_by
from bilateral.index.ratings.validations import Validation, validations_by

router = APIRouter(prefix="/v1/accounts/{address}", tags=["accounts"], default_response_class=Response)


@router.get("", responses=one_of(Account))
def read_account(request: Request, address: AddressPath) -> Response:
    """Return the agents that an account owns, is paid for, or speaks as, on all chains."""
    service = service_of(request)
    profile = service.read(account, checksummed(address), tuple(service.registries().by_chain))
    return answer(request, Account, profile)


class GivenQuery(ListQuery):
    """Filters of the feedback that an account gave, and the page and form of the list."""

    chain_id: ChainId
    revoked: Revoked = False


@router.get("/feedback", responses=list_of(Feedback, 404))
def read_given_feedback(request: Request, address: AddressPath, query: Annotated[GivenQuery, Query()]) -> Response:
    """Return the feedback that an account gave on a chain, the newest first."""
    service_of(request).require_indexed((query.chain_id,))
    chosen = FeedbackFilter(include_revoked=query.revoked)
    return query.answer(request, Feedback, feedback_by, query.chain_id, checksummed(address), chosen)


class RequestedQuery(ListQuery):
    """The chain of validation requests, and the page and form of the list."""

    chain_id: ChainId


@router.get("/validations", responses=list_of(Validation, 404))
def read_requested_validations(
    request: Request, address: AddressPath, query: Annotated[RequestedQuery, Query()]
) -> Response:
    """Return the validation requests to an account on a chain, the newest first."""
    service_of(request).require_indexed((query.chain_id,))
    return query.answer(request, Validation, validations_by, query.chain_id, checksummed(address))
