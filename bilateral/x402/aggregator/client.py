"""Feedback through an aggregator: the client signs, and the aggregator pays for the gas.

Example:
    url = "https://feedback.example/v1/aggregator/feedback"
    sponsored = give_sponsored_feedback(client, verification, 95, signer, aggregator=url)
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeAlias, TypeVar

import httpx

from bilateral.client import AsyncClient, Client, FeedbackEntry, SignedFeedback, TransactionSigner
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError
from bilateral.core.text import printable, quoted
from bilateral.core.text.encoding import decode_object
from bilateral.x402.aggregator.messages import MAX_BODIES, Bodies, Submission
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.clients.feedback import Tags, client_signature_of, paid_feedback, refuse_second
from bilateral.x402.clients.purchase import Steps, make, make_async
from bilateral.x402.proof.errors import ReputationExtensionError
from bilateral.x402.proof.verdicts import Verification

Answer = TypeVar("Answer")

Reading: TypeAlias = Callable[[dict[str, Any], bool], Answer]
"""A function that parses a response's JSON object. Its second argument is True if the message was new."""

SECONDS: Final = 30.0
"""The maximum time to wait for an aggregator's response, in seconds."""

_MAX_ANSWER: Final = 64 * 1024  # bytes; a response has a few hundred

_STATES: Final = frozenset({"submitted", "queued", "included", "confirmed"})
_PROOFS: Final = frozenset({"bound", "unbound"})
_HASH: Final = re.compile("0x[0-9a-f]{64}")

_POLL_SECONDS: Final = 0.5
"""Seconds between reads of the registry: a quarter of the shortest common block time, which is two seconds."""


class AggregatorFailedError(ReputationExtensionError):
    """An aggregator was unreachable or sent an invalid response. The feedback may be queued; resending it is safe."""

    reason = "aggregator_failed"


class UnconfirmedFeedbackError(AggregatorFailedError):
    """An aggregator reported that it accepted feedback, but the feedback is not on chain.

    Attributes:
        sponsored: The aggregator's response. Anyone may send `sponsored.signed` to the registry.
    """

    reason = "feedback_unconfirmed"

    def __init__(self, sponsored: SponsoredFeedback, problem: str) -> None:
        super().__init__(
            f"the aggregator reports {sponsored.status!r}, but {problem}; "
            "check again later, or send the feedback yourself with submit_signed_feedback(error.sponsored.signed)"
        )
        self.sponsored = sponsored


@dataclass(frozen=True)
class SponsoredFeedback:
    """The response from an aggregator that accepted feedback. It is unverified unless `entry` is set.

    Attributes:
        status: `queued` if there is no transaction yet, otherwise `submitted`; `included` or `confirmed` only if the
            same feedback was sent earlier.
        id: The number of the feedback entry in the aggregator's log.
        transaction: The transaction's hash; None before a transaction exists.
        proof: `bound` if the agent's signature is proven to belong to this payment, otherwise `unbound`.
        is_new: False if the aggregator already had the same feedback.
        signed: The signed feedback. Anyone may send it to the registry if the aggregator does not.
        entry: The on-chain feedback entry, read from the client's own node; None if `confirm` was omitted.
    """

    status: str
    id: int
    transaction: str | None
    proof: str
    is_new: bool
    signed: SignedFeedback
    entry: FeedbackEntry | None = None


def give_sponsored_feedback(  # noqa: PLR0913  # as give_paid_feedback
    client: Client,
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags | None = None,
    *,
    aggregator: str,
    send_bodies: bool = False,
    accept_unread: bool = False,
    confirm: float | None = None,
    http: httpx.Client | None = None,
    **options: Any,
) -> SponsoredFeedback:
    """Give feedback on a paid answer through an aggregator, once per payment. See `give_paid_feedback`.

    Args:
        client: The SDK client for the chain. Its signer must be `signer`, and its account needs no ether.
        aggregator: The URL to post to. A server may declare an aggregator, but use one that you trust to be neutral.
        send_bodies: True to send the request and response bodies, at most 1 MiB in total. The aggregator does not
            publish them, but needs them to prove that the agent's signature belongs to this payment.
        confirm: How many seconds to wait for `client` to find the feedback in the registry. If omitted, the
            aggregator's response is trusted.
        http: The HTTP client. The default client accepts only https URLs and does not follow redirects.

    Raises:
        InvalidArgumentError: As for `paid_feedback`, or the URL is not https, or the bodies are unavailable or exceed 1
            MiB.
        DuplicateFeedbackError: This client has already given feedback for this payment.
        UnreadFeedbackError: Feedback that this client gave since the payment may be for it, but the file cannot be
            loaded.
        FeedbackRefusedError: The aggregator rejected the feedback. The error's `code` is the reason.
        AggregatorFailedError: The aggregator could not be reached, or its response was invalid.
        UnconfirmedFeedbackError: The feedback is not on chain after `confirm` seconds.
    """
    arguments = paid_feedback(verification, value, signer, tags, **options)
    bodies = _bodies_of(verification) if send_bodies else None
    make(refuse_second(client, verification, arguments, signer, accept_unread))
    signed = client.sign_feedback(**arguments)
    message = submission_of(verification, arguments, signed, bodies).to_object()
    sponsored = post(http, aggregator, message, partial(_sponsored, signed))
    return make(_confirm(client, sponsored, confirm, time.sleep))


async def give_sponsored_feedback_async(  # noqa: PLR0913  # as give_paid_feedback
    client: AsyncClient,
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags | None = None,
    *,
    aggregator: str,
    send_bodies: bool = False,
    accept_unread: bool = False,
    confirm: float | None = None,
    http: httpx.AsyncClient | None = None,
    **options: Any,
) -> SponsoredFeedback:
    """Give feedback on a paid answer through an aggregator without blocking. See `give_sponsored_feedback`."""
    arguments = paid_feedback(verification, value, signer, tags, **options)
    bodies = _bodies_of(verification) if send_bodies else None
    await make_async(refuse_second(client, verification, arguments, signer, accept_unread))
    signed = await client.sign_feedback(**arguments)
    message = submission_of(verification, arguments, signed, bodies).to_object()
    sponsored = await post_async(http, aggregator, message, partial(_sponsored, signed))
    return await make_async(_confirm(client, sponsored, confirm, asyncio.sleep))


def _confirm(
    client: Any, sponsored: SponsoredFeedback, seconds: float | None, sleep: Callable[[float], Any]
) -> Steps[SponsoredFeedback]:
    end, feedback = time.monotonic() + (seconds or 0), sponsored.signed.feedback
    place = feedback.agent_id, feedback.client_address, feedback.feedback_index - 1  # textual ids count from 0
    while seconds is not None and sponsored.entry is None:
        try:
            sponsored = _confirmed(sponsored, (yield client.get_feedback(*place, load_file=False)))
        except ContractRevertError:
            left = end - time.monotonic()
            if left <= 0:
                problem = f"the feedback is still not in the registry after {seconds} s"
                raise UnconfirmedFeedbackError(sponsored, problem) from None
            yield sleep(min(_POLL_SECONDS, left))
    return sponsored


def _confirmed(sponsored: SponsoredFeedback, entry: FeedbackEntry) -> SponsoredFeedback:
    signed = sponsored.signed.feedback
    expected = (signed.value, signed.value_decimals, signed.tag1, signed.tag2)
    is_same = expected == (entry.stored.value, entry.stored.decimals, entry.tag1, entry.tag2)
    if not is_same or (entry.event is not None and entry.event.hash != signed.feedback_hash):
        raise UnconfirmedFeedbackError(sponsored, f"{entry.id} in the registry is a different feedback entry")
    transaction = sponsored.transaction if entry.event is None else entry.event.transaction
    return replace(sponsored, entry=entry, transaction=transaction)


def submission_of(
    verification: Verification, arguments: dict[str, Any], signed: SignedFeedback, bodies: Bodies | None = None
) -> Submission:
    """Return the message to send to an aggregator.

    Args:
        verification: The answer's verification.
        arguments: The value returned by `paid_feedback`.
        signed: The value returned by `Client.sign_feedback` for these arguments.
        bodies: The bodies of the paid request and its response.
    """
    interaction, registration, file = verification.interaction, verification.registration, arguments["feedback_file"]
    if interaction is None or registration is None:
        raise InvalidArgumentError("feedback needs a verified payment and signature")
    registry = registration.agent.registry
    return Submission(
        agent=registration.agent,
        task_ref=interaction.task_ref,
        interaction_hash=interaction.interaction_hash,
        agent_signature=interaction.signature,
        reviewer=type(registry)(registry.chain, signed.feedback.client_address),
        reviewer_signature=client_signature_of(file),
        feedback=signed.feedback,
        signature=signed.signature,
        bodies=bodies,
        data_hash=interaction.data_hash,
    )


def _bodies_of(verification: Verification) -> Bodies:
    paid = verification.paid
    if paid is None or paid.response is None or paid.is_body_lost:
        raise InvalidArgumentError("the bodies of the paid request are not available: omit send_bodies")
    if (size := len(paid.request) + len(paid.response)) > MAX_BODIES:
        raise InvalidArgumentError(f"bodies of {size} bytes exceed the limit of {MAX_BODIES}: omit send_bodies")
    return Bodies(paid.request, paid.response)


def post(http: httpx.Client | None, url: str, message: dict[str, Any], read: Reading[Answer]) -> Answer:
    """Post a message to an aggregator, and read its response.

    Args:
        http: The HTTP client. The default client accepts only https URLs and does not follow redirects.
        read: A function that parses a successful response's JSON object. Its second argument is True if the message was
            new. It may raise KeyError, TypeError or ValueError.

    Raises:
        InvalidArgumentError: The URL is not https.
        FeedbackRefusedError: The aggregator rejected the message.
        AggregatorFailedError: The aggregator could not be reached, or the response is not from an aggregator.
    """
    with _reaching(url, http), httpx.Client(timeout=SECONDS) if http is None else nullcontext(http) as session:
        return _read(session.post(url, json=message), read)


async def post_async(
    http: httpx.AsyncClient | None, url: str, message: dict[str, Any], read: Reading[Answer]
) -> Answer:
    """Post a message to an aggregator without blocking. See `post`."""
    with _reaching(url, http):
        async with httpx.AsyncClient(timeout=SECONDS) if http is None else nullcontext(http) as session:
            return _read(await session.post(url, json=message), read)


@contextmanager
def _reaching(url: str, http: object) -> Iterator[None]:
    if http is None and not url.lower().startswith("https://"):
        problem = f"the aggregator {quoted(url)} is not an https URL: pass http=… to use it anyway"
        raise InvalidArgumentError(problem)
    try:
        yield
    except httpx.HTTPError as error:
        problem = f"the aggregator did not respond: {type(error).__name__}; send the feedback again"
        raise AggregatorFailedError(problem) from error


def _sponsored(signed: SignedFeedback, decoded: dict[str, Any], is_new: bool) -> SponsoredFeedback:
    reference = decoded["txRef"]
    transaction = None if reference is None else str(reference).rpartition(":")[2]
    if transaction is not None and not _HASH.fullmatch(transaction):
        raise ValueError(f"{quoted(str(reference))} is not a transaction hash")
    return SponsoredFeedback(
        status=word_among(decoded["status"], _STATES),
        id=int(decoded["id"]),
        transaction=transaction,
        proof=word_among(decoded["proof"], _PROOFS),
        is_new=is_new,
        signed=signed,
    )


def _read(response: httpx.Response, read: Reading[Answer]) -> Answer:
    try:
        decoded = decode_object(response.content[: _MAX_ANSWER + 1])
        if response.status_code in {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED}:
            return read(decoded, response.status_code != HTTPStatus.OK)
        code = Code(decoded["code"])
    except (MalformedDocumentError, KeyError, TypeError, ValueError) as error:
        problem = f"the aggregator's response ({response.status_code}) is invalid: {printable(repr(error)[:300])}"
        raise AggregatorFailedError(problem) from None
    problem = str(decoded.get("detail") or decoded.get("title") or code)
    raise FeedbackRefusedError(code, printable(problem[:1000]), details=decoded)


def word_among(word: Any, words: frozenset[str]) -> str:
    """Return a word from a response after checking that it is one of the expected words.

    Raises:
        ValueError: The word is not one of the expected words.
    """
    if not isinstance(word, str) or word not in words:
        raise ValueError(f"{quoted(str(word))} is not one of {', '.join(sorted(words))}")
    return word
