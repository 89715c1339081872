"""Routes for an account, for a feedback entry, and for a service of which only the URL is known."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from bilateral.api.answers import answer, existing, list_of, one_of
from bilateral.api.parameters import AddressPath, ChainId, ListQuery, Revoked
from bilateral.api.service import service_of
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import FeedbackId, checksummed
from bilateral.index.agents.queries import Account, account
from bilateral.index.files.queries import NamedHost, services_at
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback, feedback_by, responses_of
from bilateral.index.ratings.feedback import Response as FeedbackResponse
from bilateral.index.ratings.validations import Validation, validations_by
from bilateral.index.reading.pages import MAX_LIMIT

router = APIRouter(default_response_class=Response)


@router.get("/v1/accounts/{address}", tags=["accounts"], responses=one_of(Account))
def read_account(request: Request, address: AddressPath) -> Response:
    """Return the agents on all chains that an account owns, is the wallet of, or has as its primary agent."""
    service = service_of(request)
    return answer(request, Account, service.read(account, checksummed(address), tuple(service.registries().by_chain)))


class FeedbackByQuery(ListQuery):
    """Filters for the feedback that an account gave, and the page and format of the list."""

    chain_id: ChainId
    revoked: Revoked = False


@router.get("/v1/accounts/{address}/feedback", tags=["accounts"], responses=list_of(Feedback, 404))
def read_given_feedback(request: Request, address: AddressPath, query: Annotated[FeedbackByQuery, Query()]) -> Response:
    """Return the feedback that an account gave on a chain, newest first."""
    service_of(request).require_indexed((query.chain_id,))
    chosen = FeedbackFilter(include_revoked=query.revoked)
    return query.answer(request, Feedback, feedback_by, query.chain_id, checksummed(address), chosen)


class RequestedQuery(ListQuery):
    """The chain on which validations were requested, and the page and format of the list."""

    chain_id: ChainId


@router.get("/v1/accounts/{address}/validations", tags=["accounts"], responses=list_of(Validation, 404))
def read_requested_validations(
    request: Request, address: AddressPath, query: Annotated[RequestedQuery, Query()]
) -> Response:
    """Return the validation requests to an account on a chain, newest first."""
    service_of(request).require_indexed((query.chain_id,))
    return query.answer(request, Validation, validations_by, query.chain_id, checksummed(address))


@dataclass(frozen=True, slots=True)
class FeedbackWithResponses:
    """A feedback entry and the responses to it.

    Attributes:
        feedback: The entry. If several registries contain its id, there are several, newest first.
        responses: At most 1,000 responses, newest first.
    """

    feedback: tuple[Feedback, ...]
    responses: tuple[FeedbackResponse, ...]


@router.get("/v1/feedback/{id}", tags=["feedback"], responses=one_of(FeedbackWithResponses, 404))
def read_one_feedback(
    request: Request,
    feedback_id: Annotated[
        str,
        Path(alias="id", max_length=250, description="The feedback entry's textual id, whose last number starts at 0."),
    ],
) -> Response:
    """Return the feedback entry with an id such as 8453:247:0x742d…:0, and the responses to it."""
    service = service_of(request)
    parsed = FeedbackId.parse(feedback_id)
    if parsed.agent.chain_id is None:
        raise MalformedIdentifierError("a feedback id that includes a chain", feedback_id, "expected 8453:247:0x…:0")
    key = service.agent_key(str(parsed.agent))
    feedbacks = service.read(feedback, key, parsed.client, parsed.on_chain_index)
    existing(feedbacks or None, "feedback", parsed)
    responses = service.read(responses_of, key, parsed.client, parsed.on_chain_index, limit=MAX_LIMIT)
    return answer(request, FeedbackWithResponses, FeedbackWithResponses(feedbacks, responses.items))


@router.get("/v1/services", tags=["agents"], responses=one_of(NamedHost))
def read_services(
    request: Request, url: Annotated[str, Query(max_length=2_000, description="An https URL, or just a host.")]
) -> Response:
    """Return the agents whose registration files list a URL, or another URL on that host. The URL is not fetched.

    Anyone can list somebody else's host, so check the agent and its wallet before you pay.
    """
    return answer(request, NamedHost, service_of(request).read(services_at, url))
