"""Routes of the aggregator, which pays the gas for clients' signed feedback ("feedbackAggregator")."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
from anyio import to_thread
from fastapi import APIRouter, FastAPI, Query, Request, Response

from bilateral.api.aggregator import FEEDBACK_PATH
from bilateral.api.answers import JSON, Problem, ProblemError, adapter, answer, answer_page, existing, list_of, one_of
from bilateral.api.load import NodeWork
from bilateral.api.metrics import AggregatorCounters, AggregatorFigures
from bilateral.api.parameters import ListQuery
from bilateral.api.service import service_of
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId, GlobalAgentId, TransactionRef, checksummed
from bilateral.index.log.database import open_database
from bilateral.index.reading.pages import Page, decode_cursor, encode_cursor
from bilateral.x402.aggregator.messages import RelayedPair
from bilateral.x402.aggregator.records import Sponsored, Tally, list_feedback, read_feedback, tally_feedback
from bilateral.x402.aggregator.refusals import FeedbackRefusedError
from bilateral.x402.aggregator.service import Aggregator
from bilateral.x402.aggregator.settings import AggregatorSettings, read_aggregator_settings
from bilateral.x402.aggregator.tables import State

router = APIRouter(prefix="/v1/aggregator", tags=["aggregator"], default_response_class=Response)

_LOOK_SECONDS: Final = 0.05
"""Seconds between polls for a transaction. Blocks take at least two seconds, so little time is lost."""

_LIST: Final = "sponsored"


@dataclass(frozen=True)
class Receipt:
    """The response to an accepted message, in the format of the upstream draft.

    Attributes:
        status: `queued` until there is a transaction, then `submitted`; later `included`, `confirmed` or `failed`.
        id: The log entry's number.
        settlementRegistry: The reputation registry (CAIP-10).
        txRef: The transaction; null until there is one.
        feedbackURI: The feedback file's URI.
        proof: `bound` if the agent's signature is proven to belong to this payment, otherwise `unbound`.
        file: `checked` if the feedback file was loaded and matches, otherwise `unchecked`.
    """

    status: str
    id: int
    settlementRegistry: str  # noqa: N815  # the draft's name
    txRef: str | None  # noqa: N815
    feedbackURI: str  # noqa: N815
    proof: str
    file: str


@dataclass(frozen=True)
class LogEntry:
    """A feedback entry that this service accepted.

    Attributes:
        id: The entry's number in the log.
        state: `queued`, `sent`, `included`, `confirmed` or `failed`.
        agent_id: The rated agent.
        client: The reviewing client.
        task_ref: The payment's reference.
        value: The integer value.
        tag1: The first tag (untrusted text).
        tag2: The second tag (untrusted text).
        feedback_index: The feedback's on-chain index, starting at 1.
        feedback_uri: The feedback file's URI (untrusted text).
        feedback_hash: The feedback file's hash.
        proof: `bound` or `unbound`.
        file: `checked` or `unchecked`.
        transaction: The hash of the latest transaction; null until there is one.
        block_number: The block that contains the transaction.
        gas_used: The gas that the transaction used.
        cost: The cost in wei. Until the feedback is confirmed, this is the maximum possible cost.
        problem: The reason for a failure or delay.
        accepted_at: The time at which the feedback was accepted, in ISO 8601 format.
    """

    id: int
    chain_id: int
    state: str
    agent_id: str
    client: str
    task_ref: str
    value: int
    value_decimals: int
    tag1: str
    tag2: str
    feedback_index: str
    feedback_uri: str
    feedback_hash: str
    proof: str
    file: str
    transaction: str | None
    block_number: int | None
    gas_used: int | None
    cost: str
    problem: str | None
    accepted_at: str

    @classmethod
    def of(cls, sponsored: Sponsored) -> LogEntry:
        """Create an entry from a record."""
        same = {name: getattr(sponsored, name) for name in cls.__dataclass_fields__}
        changed = {
            "state": sponsored.state.value,
            "agent_id": str(sponsored.agent_id),
            "feedback_index": str(sponsored.feedback_index),
            "feedback_hash": "0x" + bytes(sponsored.feedback_hash).hex(),
            "cost": str(sponsored.cost),
            "accepted_at": sponsored.accepted_at.isoformat().replace("+00:00", "Z"),
        }
        return cls(**{**same, **changed})


@dataclass(frozen=True)
class SponsoredTerms:
    """The terms that apply on one chain.

    Attributes:
        network: The chain (CAIP-2).
        identity_registry: The identity registry whose agents are served (CAIP-10).
        reputation_registry: The reputation registry (CAIP-10).
        account: The account that pays for the gas.
        tokens: The minimum accepted payment, by token address.
        confirmations: The number of confirmations that a payment needs, including its own block.
        requires_bound_proof: True if messages must include `bodies` as proof.
        requires_checked_file: True if the feedback file must be published before the message is sent.
        budget: The daily budget in wei.
        spent_today: The amount charged to today's budget (UTC), in wei.
    """

    network: str
    identity_registry: str
    reputation_registry: str
    account: str
    tokens: dict[str, str]
    confirmations: int
    requires_bound_proof: bool
    requires_checked_file: bool
    budget: str
    spent_today: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run the aggregator while the application runs."""
    service = app.state.service
    configured = service.settings.aggregator
    settings = configured if isinstance(configured, AggregatorSettings) else read_aggregator_settings(Path(configured))
    engine = open_database(service.settings.database)
    counters = AggregatorCounters(service.metrics.registry)
    aggregator = Aggregator(engine, settings, observe=counters.observe)
    figures = AggregatorFigures(aggregator)
    service.metrics.shared.register(figures)
    app.state.aggregator, app.state.aggregator_work = aggregator, NodeWork()
    aggregator.start()
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(aggregator.close)
        service.metrics.shared.unregister(figures)
        counters.close()
        engine.dispose()


_BODY: Final = {"application/json": {"schema": {"type": "object", "description": "See docs/x402.md, Aggregator."}}}
_PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": Problem} for status in (400, 404, 409, 413, 414, 422, 429, 431, 503)
}


@router.post(
    "/feedback",
    status_code=HTTPStatus.CREATED,
    responses={200: {"model": Receipt}, 201: {"model": Receipt}, 202: {"model": Receipt}, **_PROBLEMS},
    openapi_extra={"requestBody": {"required": True, "content": _BODY}},
)
async def submit_feedback(request: Request) -> Response:
    """Accept signed feedback on a paid request, and pay for the gas.

    Returns 201 if a transaction was sent, 202 if the feedback is queued, and 200 if the message was accepted before.
    """
    aggregator = _aggregator(request)
    accepted, is_new = await _take(request, aggregator.submit)
    end = time.monotonic() + aggregator.settings.answer_seconds
    while accepted.is_waiting and time.monotonic() < end:
        await anyio.sleep(_LOOK_SECONDS)
        later: Sponsored | None = await to_thread.run_sync(aggregator.read, accepted.id)
        accepted = later or accepted
    status = HTTPStatus.OK
    if is_new:
        status = HTTPStatus.ACCEPTED if accepted.transaction is None else HTTPStatus.CREATED
    headers = {"Location": f"{FEEDBACK_PATH}/{accepted.id}", "Cache-Control": "no-store"}
    return Response(adapter(Receipt).dump_json(_receipt(aggregator, accepted)), status, headers, JSON)


class LogQuery(ListQuery):
    """Filters for the public log, and the page and format of the list."""

    agent: Annotated[str | None, Query(max_length=200, description="The rated agent, as 8453:247.")] = None
    client: Annotated[str | None, Query(max_length=42, description="The reviewer's address.")] = None
    task_ref: Annotated[str | None, Query(max_length=200, description="The payment, such as eip155:8453:0x….")] = None
    state: Annotated[State | None, Query(description="The state.")] = None

    def filter(self) -> dict[str, Any]:
        """Return the value to filter by for each column; None for any."""
        chain_id = agent_id = payment = None
        if self.agent is not None:
            parsed = GlobalAgentId.parse(self.agent).agent_id if "#" in self.agent else AgentId.parse(self.agent)
            if parsed.chain_id is None:
                raise InvalidArgumentError(f"agent {self.agent} has no chain: specify one, as in 8453:{self.agent}")
            chain_id, agent_id = parsed.chain_id, parsed.token_id
        if self.task_ref is not None:
            payment = bytes.fromhex(TransactionRef.parse(self.task_ref).transaction.removeprefix("0x"))
        client = None if self.client is None else checksummed(self.client)
        agent = {"chain_id": chain_id, "agent_id": agent_id}
        return {**agent, "client": client, "payment_transaction": payment, "state": self.state}


@router.get("/feedback", responses=list_of(LogEntry))
def list_sponsored_feedback(request: Request, query: Annotated[LogQuery, Query()]) -> Response:
    """Return the public log: all feedback that this service accepted, newest first."""
    chosen = query.filter()
    kind = f"{_LIST} {query.agent} {query.client} {query.task_ref} {query.state}"
    before = None if query.cursor is None else decode_cursor(kind, query.cursor, int)[0]
    page_of = service_of(request).read(list_feedback, chosen, before=before, limit=query.limit + 1)
    entries = tuple(map(LogEntry.of, page_of[: query.limit]))
    further = encode_cursor(kind, entries[-1].id) if len(page_of) > query.limit else None
    return answer_page(request, LogEntry, Page(entries, further), query.list_format)


@router.get("/feedback/{feedback_id}", responses=one_of(LogEntry, 404))
def read_sponsored_feedback(request: Request, feedback_id: int) -> Response:
    """Return one feedback entry from the log."""
    in_range = 0 < feedback_id < 1 << 63
    sponsored = service_of(request).read(read_feedback, feedback_id) if in_range else None
    return answer(request, LogEntry, LogEntry.of(existing(sponsored, "sponsored_feedback", feedback_id)))


@router.post(
    "/blind-ratings",
    status_code=HTTPStatus.ACCEPTED,
    responses={200: {"model": RelayedPair}, 202: {"model": RelayedPair}, **_PROBLEMS},
    openapi_extra={"requestBody": {"required": True, "content": _BODY}},
)
async def submit_blind_rating(request: Request) -> Response:
    """Accept one side's half (envelope and opening) of a pair of blind ratings. Both halves are sent on chain together.

    Returns 202 if the half is new, 200 if it was submitted before. Openings stay secret until they are sent on chain,
    and are then deleted.
    """
    accepted, is_new = await _take(request, _aggregator(request).relay)
    headers = {"Location": f"/v1/aggregator/blind-ratings/{accepted.id}", "Cache-Control": "no-store"}
    status = HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK
    return Response(adapter(RelayedPair).dump_json(accepted), status, headers, JSON)


@router.get("/blind-ratings/{pair_id}", responses=one_of(RelayedPair, 404))
async def read_blind_ratings(request: Request, pair_id: int) -> Response:
    """Return the state of a pair of blind ratings that this service relays. Openings are never included."""
    pair = await to_thread.run_sync(_aggregator(request).read_pair, pair_id) if 0 < pair_id < 1 << 63 else None
    return answer(request, RelayedPair, existing(pair, "blind_ratings", pair_id))


@router.get("/tally", responses=one_of(tuple[Tally, ...]))
def read_tally(request: Request) -> Response:
    """Count accepted and rejected feedback by value, in bands of ten, so that bias would be visible."""
    _aggregator(request).flush_refusals()
    return answer(request, tuple[Tally, ...], tuple(service_of(request).read(tally_feedback)))


@router.get("", responses=one_of(tuple[SponsoredTerms, ...]))
def read_terms(request: Request) -> Response:
    """Return the terms under which this service pays for feedback, for each chain."""
    aggregator = _aggregator(request)
    terms = tuple(
        SponsoredTerms(
            network=str(chain.network),
            identity_registry=str(chain.deployment.agent_registry),
            reputation_registry=f"{chain.network}:{chain.deployment.reputation}",
            account=chain.account,
            tokens={token: str(minimum) for token, minimum in chain.tokens.items()},
            confirmations=chain.confirmations,
            requires_bound_proof=chain.requires_bound_proof,
            requires_checked_file=chain.requires_checked_file,
            budget=str(chain.budget),
            spent_today=str(aggregator.spent_today(chain)),
        )
        for chain in aggregator.settings.chains
    )
    return answer(request, tuple[SponsoredTerms, ...], terms)


def _aggregator(request: Request) -> Aggregator:
    aggregator: Aggregator = request.app.state.aggregator
    return aggregator


async def _take(request: Request, submit: Callable[[bytes], tuple[Any, bool]]) -> tuple[Any, bool]:
    """Accept a message, and return its record and whether it is new."""
    work: NodeWork = request.app.state.aggregator_work
    try:
        return await work.run(submit, await request.body())
    except FeedbackRefusedError as refusal:
        headers = {} if refusal.retry_seconds is None else {"Retry-After": str(refusal.retry_seconds)}
        problem = ProblemError(refusal.status, refusal.code.value, str(refusal), headers=headers, **refusal.details)
        raise problem from None


def _receipt(aggregator: Aggregator, accepted: Sponsored) -> Receipt:
    chain = next(chain for chain in aggregator.settings.chains if chain.chain_id == accepted.chain_id)
    status = accepted.state.value
    if accepted.state is State.SENT:
        status = "queued" if accepted.transaction is None else "submitted"
    return Receipt(
        status=status,
        id=accepted.id,
        settlementRegistry=f"{chain.network}:{chain.deployment.reputation}",
        txRef=None if accepted.transaction is None else f"{chain.network}:{accepted.transaction}",
        feedbackURI=accepted.feedback_uri,
        proof=accepted.proof,
        file=accepted.file,
    )
