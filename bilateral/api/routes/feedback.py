"""Routes of one feedback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from bilateral.api.answers import answer, one_of
from bilateral.api.problems import not_found
from bilateral.api.service import service_of
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import FeedbackId
from bilateral.index.ratings.feedback import Feedback, feedback, responses_of
from bilateral.index.ratings.feedback import Response as FeedbackResponse
from bilateral.index.reading.pages import MAX_LIMIT

router = APIRouter(prefix="/v1/feedback", tags=["feedback"], default_response_class=Response)


@dataclass(frozen=True, slots=True)
class FeedbackWithResponses:
    """A feedback and the responses to it.

    Attributes:
        feedback: The feedback; several if more than one registry has its id. The newest comes first.
        responses: The responses, the newest first; the first 1,000.
    """

    feedback: tuple[Feedback, ...]
    responses: tuple[FeedbackResponse, ...]


@router.get("/{id}", responses=one_of(FeedbackWithResponses, 404))
def read_one_feedback(
    request: Request,
    feedback_id: Annotated[
        str, Path(alias="id", max_length=250, description="The feedback's textual id, whose last number counts from 0.")
    ],
) -> Response:
    """Return one feedback with its responses, by its textual id, such as 8453:247:0x742d…:0."""
    service = service_of(request)
    parsed = FeedbackId.parse(feedback_id)
    if parsed.agent.chain_id is None:
        raise MalformedIdentifierError("a feedback id with its chain", feedback_id, "expected 8453:247:0x…:0")
    key = service.agent_key(str(parsed.agent))
    feedbacks = service.read(feedback, key, parsed.client, parsed.on_chain_index)
    if not feedbacks:
        raise not_found("feedback", str(parsed))
    responses = service.read(responses_of, key, parsed.client, parsed.on_chain_index, limit=MAX_LIMIT)
    return answer(request, FeedbackWithResponses, FeedbackWithResponses(feedbacks, responses.items))
