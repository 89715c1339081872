"""Paid messages between agents (A2A). The request and the response are message parts in canonical JSON.

The SDK has no A2A transport, and the specification does not cover A2A, so this package defines its own format. The
server verifies and settles the payment with the SDK inside `paid_exchange`:

    with paid_exchange(message["parts"]) as exchange:
        await server.verify_payment(payload, requirements, declared_extensions=declared)
        answer = …
        exchange.answer(answer["parts"])
        settled = await server.settle_payment(payload, requirements, declared_extensions=declared)
    answer["metadata"] = with_receipt(answer.get("metadata"), settled)

The client checks the proof with `verifier.verify(paid_message(payment, message["parts"], answer))`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from x402.schemas import SettleResponse

from bilateral.core.errors import InvalidArgumentError
from bilateral.x402.proof.errors import BodyTooLargeError
from bilateral.x402.proof.fields import MAX_BODY
from bilateral.x402.proof.profiles import message_parts
from bilateral.x402.proof.verdicts import PaidRequest
from bilateral.x402.server.exchange import CURRENT, Exchange

RECEIPTS: Final = "x402.payment.receipts"
"""The metadata key under which a message lists its settlements, oldest first (x402's A2A extension)."""


@dataclass
class MessageExchange(Exchange):
    """One paid message being processed by an agent.

    Attributes:
        limit: The maximum size of an answer in bytes of canonical JSON.
    """

    limit: int = MAX_BODY

    def answer(self, parts: Sequence[Any]) -> None:
        """Record the agent's answer. Without an answer, nothing is settled."""
        self.response = message_parts(parts, self.limit)


@contextmanager
def paid_exchange(parts: Sequence[Any], limit: int = MAX_BODY) -> Iterator[MessageExchange]:
    """Open a context in which the SDK's server verifies and settles one message's payment."""
    exchange = MessageExchange(message_parts(parts, limit), limit=limit)
    token = CURRENT.set(exchange)
    try:
        yield exchange
    finally:
        CURRENT.reset(token)


def with_receipt(metadata: Mapping[str, Any] | None, settlement: SettleResponse) -> dict[str, Any]:
    """Return an answer's metadata with an additional receipt, which contains the proof."""
    content = dict(metadata or {})
    earlier = content.get(RECEIPTS)
    receipt = settlement.model_dump(by_alias=True, exclude_none=True)
    return {**content, RECEIPTS: [*(earlier if isinstance(earlier, list) else []), receipt]}


def paid_message(payment: dict[str, Any], request: Sequence[Any], answer: Mapping[str, Any]) -> PaidRequest:
    """Assemble a paid message for `Verifier.verify`."""
    metadata, parts = answer.get("metadata"), answer.get("parts")
    receipts = metadata.get(RECEIPTS) if isinstance(metadata, dict) else None
    newest = receipts[-1] if isinstance(receipts, list) and receipts else None
    try:
        response = message_parts(parts) if isinstance(parts, list) else None
    except (InvalidArgumentError, BodyTooLargeError):
        response = None
    return PaidRequest(
        payment=payment,
        settlement=newest if isinstance(newest, dict) else None,
        request=message_parts(request),
        response=response,
        target="A2A message",
    )
