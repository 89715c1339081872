"""Feedback through an aggregator: the client signs, and the aggregator pays the gas.

url = "https://feedback.example/v1/aggregator/feedback"
sponsored = give_sponsored_feedback(client, verification, 95, signer, aggregator=url)
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import httpx

from bilateral.encoding import decode_object
from bilateral.errors import InvalidArgumentError, MalformedDocumentError
from bilateral.text import quoted
from bilateral.x402.aggregator.messages import MAX_BODIES, Bodies, Submission
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.errors import ReputationExtensionError
from bilateral.x402.feedback import paid_feedback, refuse_duplicate, search_for
from bilateral.x402.feedback_files import client_signature_of

if TYPE_CHECKING:
    from bilateral.client import AsyncClient, Client, SignedFeedback, TransactionSigner
    from bilateral.x402.feedback_files import Tags
    from bilateral.x402.verdicts import Verification

_SECONDS: Final = 30.0
_MAX_ANSWER: Final = 64 * 1024


class AggregatorFailedError(ReputationExtensionError):
    """An aggregator cannot be reached, or does not answer as one. The feedback may be queued: send it again."""

    reason = "aggregator_failed"


@dataclass(frozen=True)
class SponsoredFeedback:
    """The answer of an aggregator that took a feedback.

    Attributes:
        status: `submitted`, or `queued` if it has no transaction yet; `included` and `confirmed` for earlier feedback.
        id: The number of the feedback in the aggregator's log.
        transaction: The transaction's hash; None if there is none yet.
        proof: `bound` or `unbound`.
        is_new: False if the aggregator had the same feedback before.
        signed: The signed feedback. Anybody may send it to the registry, if the aggregator does not.
    """

    status: str
    id: int
    transaction: str | None
    proof: str
    is_new: bool
    signed: SignedFeedback


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
    http: httpx.Client | None = None,
    **options: Any,
) -> SponsoredFeedback:
    """Give feedback on a paid answer through an aggregator, once a payment.

    Args:
        client: The SDK's client of the chain, whose signer is `signer`. It needs no ether.
        verification: As `paid_feedback`.
        value: As `paid_feedback`.
        signer: As `paid_feedback`.
        tags: As `paid_feedback`.
        aggregator: The URL to post to. A server may declare one; choose one that you trust to be neutral.
        send_bodies: True to send the bodies of the paid request, 1 MiB in all. With them the aggregator can prove that
            the agent's signature is of this payment. They are not published.
        accept_unread: As `give_paid_feedback`.
        http: The HTTP client; by default one that takes https only, and follows no redirects.
        **options: As `paid_feedback`.

    Raises:
        InvalidArgumentError: As `paid_feedback`, or the URL is not https, or the bodies are not known or exceed 1 MiB.
        DuplicateFeedbackError: This client has given feedback for this payment.
        UnreadFeedbackError: This client has given feedback since the payment whose file cannot be loaded.
        FeedbackRefusedError: The aggregator refuses the feedback. Its `code` says why.
        AggregatorFailedError: The aggregator cannot be reached, or does not answer as one.
    """
    arguments = paid_feedback(verification, value, signer, tags, **options)
    bodies = _bodies_of(verification) if send_bodies else None
    given = client.search_feedback(arguments["agent_id"], **search_for(signer))
    refuse_duplicate(verification, arguments, given, accept_unread=accept_unread)
    signed = client.sign_feedback(**arguments)
    message = submission_of(verification, arguments, signed, bodies).to_object()
    if http is not None:
        return _sent(lambda: http.post(aggregator, json=message), signed)
    with httpx.Client(timeout=_SECONDS) as plain:
        return _sent(lambda: plain.post(_https(aggregator), json=message), signed)


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
    http: httpx.AsyncClient | None = None,
    **options: Any,
) -> SponsoredFeedback:
    """Give feedback on a paid answer through an aggregator without blocking. See `give_sponsored_feedback`."""
    arguments = paid_feedback(verification, value, signer, tags, **options)
    bodies = _bodies_of(verification) if send_bodies else None
    given = await client.search_feedback(arguments["agent_id"], **search_for(signer))
    refuse_duplicate(verification, arguments, given, accept_unread=accept_unread)
    signed = await client.sign_feedback(**arguments)
    message = submission_of(verification, arguments, signed, bodies).to_object()
    try:
        if http is not None:
            return _read(await http.post(aggregator, json=message), signed)
        async with httpx.AsyncClient(timeout=_SECONDS) as plain:
            return _read(await plain.post(_https(aggregator), json=message), signed)
    except httpx.HTTPError as error:
        raise _unreachable(error) from error


def submission_of(
    verification: Verification, arguments: dict[str, Any], signed: SignedFeedback, bodies: Bodies | None = None
) -> Submission:
    """Return the message for an aggregator.

    Args:
        verification: The verification of the answer.
        arguments: The result of `paid_feedback`.
        signed: The result of `Client.sign_feedback` with these arguments.
        bodies: The bodies of the paid request.
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
    """Return the bodies of a paid request.

    Raises:
        InvalidArgumentError: They are not known, or too large.
    """
    paid = verification.paid
    if paid is None or paid.response is None or paid.is_body_lost:
        raise InvalidArgumentError("the bodies of the paid request are not known: leave send_bodies out")
    if (size := len(paid.request) + len(paid.response)) > MAX_BODIES:
        raise InvalidArgumentError(f"bodies of {size} bytes exceed the limit of {MAX_BODIES}: leave send_bodies out")
    return Bodies(paid.request, paid.response)


def _sent(post: Any, signed: SignedFeedback) -> SponsoredFeedback:
    """Send a message, and read the answer."""
    try:
        return _read(post(), signed)
    except httpx.HTTPError as error:
        raise _unreachable(error) from error


def _unreachable(error: httpx.HTTPError) -> AggregatorFailedError:
    """Return the error for an aggregator that does not answer."""
    return AggregatorFailedError(f"the aggregator does not answer: {type(error).__name__}; send the feedback again")


def _https(url: str) -> str:
    """Check a URL.

    Raises:
        InvalidArgumentError: It is not https.
    """
    if not url.lower().startswith("https://"):
        raise InvalidArgumentError(
            f"the aggregator {quoted(url)} is not an https URL: pass http=… to use it all the same"
        )
    return url


def _read(response: httpx.Response, signed: SignedFeedback) -> SponsoredFeedback:
    """Read an answer.

    Raises:
        FeedbackRefusedError: The aggregator refuses the feedback.
        AggregatorFailedError: The answer is not that of an aggregator.
    """
    try:
        found = decode_object(response.content[: _MAX_ANSWER + 1])
        if response.status_code in {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED}:
            reference = found["txRef"]
            return SponsoredFeedback(
                status=str(found["status"]),
                id=int(found["id"]),
                transaction=None if reference is None else str(reference).rpartition(":")[2],
                proof=str(found["proof"]),
                is_new=response.status_code != HTTPStatus.OK,
                signed=signed,
            )
        code = Code(found["code"])
    except (MalformedDocumentError, KeyError, TypeError, ValueError) as error:
        problem = f"the aggregator answers {response.status_code}, and not as one: {error!r}"
        raise AggregatorFailedError(problem) from None
    problem = str(found.get("detail") or found.get("title") or code)
    raise FeedbackRefusedError(code, problem[:1000], details=found)
