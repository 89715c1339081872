"""Routes that accept messages about buyers (Buyer Reputation Protocol, sections 5.3, 6.1 and 7)."""

# ruff: noqa: N815  # the specification's names

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import Counter

from bilateral.api.answers import JSON, ProblemError
from bilateral.api.buyers import BuyerPath, described_body, json_body
from bilateral.api.service import service_of
from bilateral.buyers.acceptance import Accepted, BuyerMessages
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.issuing import Pseudonyms, ResultSigner
from bilateral.buyers.records import buyer_id, encode, parse_buyer
from bilateral.buyers.requests import DisputeBody, EnrichmentBody, FeedbackBody, ReplyBody, ReviewBody
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log.database import open_database

router = APIRouter(tags=["buyers"])


@dataclass(frozen=True)
class FeedbackTaken:
    """The response to feedback (Buyer Reputation Protocol, section 5.3). `counted` and `isNew` are extensions."""

    success: bool
    feedbackId: str
    buyerId: str
    sellerGlobalId: str
    message: str
    counted: bool
    isNew: bool


@dataclass(frozen=True)
class MessageTaken:
    """The response to a review, a dispute or a seller's service."""

    success: bool
    id: str
    agentId: str
    message: str
    counted: bool
    isNew: bool
    warnings: tuple[str, ...] = ()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Keep the database for messages open while the application runs."""
    service = app.state.service
    settings = service.settings.buyers
    engine = open_database(service.settings.database)
    app.state.buyer_engine = engine
    app.state.buyer_messages = BuyerMessages(engine, settings)
    app.state.buyer_pseudonyms = Pseudonyms(engine)
    app.state.buyer_counter = Counter(
        "bilateral_buyer_messages", "Messages about buyers.", ("kind", "outcome"), registry=service.metrics.registry
    )
    if settings.key_variable:
        app.state.buyer_signer = ResultSigner(_secret(settings.key_variable))
    try:
        yield
    finally:
        engine.dispose()


def _secret(variable: str) -> bytes:
    try:
        secret = bytes.fromhex(os.environ.get(variable, "").removeprefix("0x"))
    except ValueError:
        secret = b""
    if len(secret) != 32:  # noqa: PLR2004  # bytes of a key
        raise InvalidArgumentError(f"the environment variable {variable} must contain a 32-byte key in hexadecimal")
    return secret


@router.post("/api/buyer/feedback", **described_body(FeedbackBody, FeedbackTaken))
async def submit_feedback(request: Request) -> Response:
    """Accept a seller's feedback on a buyer. The feedback counts if the agent's wallet or owner signed it."""
    accepted = await _take(request, "feedback", _messages(request).take_feedback)
    text = "Feedback recorded. Buyer reputation will be updated."
    if not accepted.is_counted:
        text = "Feedback has no signature by the seller, so it does not count."
    identity = buyer_id(accepted.seller.chain_id, accepted.buyer)
    answer = FeedbackTaken(
        True, f"fb_{accepted.id[:8]}", identity, accepted.seller.global_id, text, accepted.is_counted, accepted.is_new
    )
    return _answer(answer)


@router.post("/api/review", **described_body(ReviewBody, MessageTaken))
async def submit_review(request: Request) -> Response:
    """Accept a buyer's review of a seller. The review counts if the buyer signed it."""
    accepted = await _take(request, "review", _messages(request).take_review)
    return _accepted(accepted, "rv", "Review recorded.", "Review has no signature, so it does not count.")


@router.post("/api/agent/enrichment", **described_body(EnrichmentBody, MessageTaken))
async def submit_enrichment(request: Request) -> Response:
    """Accept a seller's service and its buyer policy, signed by the agent's wallet, owner or operator."""
    accepted = await _take(request, "enrichment", _messages(request).take_enrichment)
    return _accepted(accepted, "en", "Service recorded.")


@router.post("/api/buyer/{address}/disputes", **described_body(DisputeBody, MessageTaken, 403))
async def submit_dispute(request: Request, address: BuyerPath) -> Response:
    """Accept a seller's dispute about a payment, or a withdrawal. Disabled unless the operator enables it."""
    buyer = parse_buyer(address)[1]
    take = _messages(request).take_dispute
    accepted = await _take(request, "dispute", lambda value: take(buyer, value))
    return _accepted(accepted, "dp", "Dispute recorded.")


@router.post("/api/buyer/replies", **described_body(ReplyBody, MessageTaken, 404))
async def submit_reply(request: Request) -> Response:
    """Accept a buyer's reply to feedback or a dispute, signed by the buyer."""
    accepted = await _take(request, "reply", _messages(request).take_reply)
    return _accepted(accepted, "rp", "Reply recorded.")


async def _take(request: Request, kind: str, take: Callable[[Mapping[str, Any]], Accepted]) -> Accepted:
    counter: Counter = request.app.state.buyer_counter
    try:
        accepted = await service_of(request).buyer_work.run(take, await json_body(request))
    except (BuyerRefusalError, ProblemError) as refusal:
        counter.labels(kind, refusal.code).inc()
        raise
    counter.labels(kind, "taken" if accepted.is_counted else "not_counted").inc()
    return accepted


def _messages(request: Request) -> BuyerMessages:
    buyer_messages: BuyerMessages = request.app.state.buyer_messages
    return buyer_messages


def _accepted(message: Accepted, prefix: str, text: str, uncounted: str = "") -> Response:
    sentence, agent = text if message.is_counted else uncounted, message.seller.global_id
    status = message.is_counted, message.is_new, message.warnings
    return _answer(MessageTaken(True, f"{prefix}_{message.id[:8]}", agent, sentence, *status))


def _answer(value: Any) -> Response:
    return Response(encode(value), media_type=JSON, headers={"Cache-Control": "no-store"})
