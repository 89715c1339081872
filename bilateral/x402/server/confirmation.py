"""A facilitator client that trusts only the chain: it looks up each Solana settlement before the answer is sent.

    facilitator = confirm_settlement(HTTPFacilitatorClient(config), "https://api.mainnet-beta.solana.com", MAINNET)
    server = x402ResourceServer(facilitator)

The facilitator in version 2.25.0 of the x402 SDK reports success for a transaction that was included in a block but
failed: it waits for the confirmation, but does not check for an error. Without this client, a seller would serve such a
request without being paid.
"""

import inspect
import logging
import threading
import time
from collections import OrderedDict
from typing import Any, Final

from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse

from bilateral.core.errors import BilateralError
from bilateral.core.errors.solana import SolanaPaymentError, UnknownTransactionError
from bilateral.core.identifiers import ChainId
from bilateral.node.running import AsyncStepRunner, StepRunner
from bilateral.node.steps import Operation, Pause
from bilateral.node.transport import AsyncTransport, Transport
from bilateral.solana.nodes import SolanaNode
from bilateral.solana.payments import ExpectedPayment, find_payment
from bilateral.x402.server.exchange import payment_key

logger = logging.getLogger("bilateral.x402")

WAIT_SECONDS: Final = 20.0
"""The maximum time for a node to find a settled transaction, in seconds. Confirmation takes a second or two."""

_POLL_SECONDS: Final = 0.5
"""Seconds between reads of a transaction. A Solana slot takes 0.4 seconds."""

_MAX_PENDING: Final = 10_000
"""The maximum number of unconfirmed settlements to remember. The oldest is forgotten first."""

PENDING: Final = "settlement_pending"
FAILED: Final = "transaction_failed"


def confirm_settlement(
    facilitator: Any, provider: str, chain: str, *, seconds: float = WAIT_SECONDS, request_timeout: float = 30.0
) -> Any:
    """Return a facilitator client that queries a node for the outcome of each settlement on one Solana chain.

    Args:
        facilitator: The SDK's facilitator client, asynchronous or blocking.
        provider: The URL of a node.
        chain: The chain (CAIP-2). Settlements on other chains are passed through unchecked.
        seconds: The maximum time for the node to find a settled transaction, in seconds.
        request_timeout: The maximum time for one request to the node, in seconds.

    Returns:
        The client, for `x402ResourceServer` or `x402ResourceServerSync`.

    Raises:
        MalformedIdentifierError: The chain is malformed.
        InvalidArgumentError: The chain is not a Solana chain, or the URL is invalid.
    """
    node = SolanaNode(ChainId.parse(chain))
    if inspect.iscoroutinefunction(facilitator.settle):
        return AsyncConfirmingFacilitator(facilitator, node, seconds, AsyncTransport(provider, request_timeout))
    return ConfirmingFacilitator(facilitator, node, seconds, Transport(provider, request_timeout))


class _Confirming:
    """A facilitator client, the node that confirms its settlements, and the settlements that are still pending."""

    def __init__(self, facilitator: Any, node: SolanaNode, seconds: float, transport: Any) -> None:
        self._facilitator, self._node, self._seconds, self._transport = facilitator, node, seconds, transport
        self._pending: OrderedDict[bytes, SettleResponse] = OrderedDict()
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the facilitator client."""
        return getattr(self._facilitator, name)

    def _take_pending(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse | None:
        with self._lock:
            return self._pending.pop(_key(payload, requirements), None)

    def _outcome(
        self, payload: PaymentPayload, requirements: PaymentRequirements, settled: SettleResponse
    ) -> Operation[SettleResponse]:
        """Return the settlement if it failed, is on a different chain, or is confirmed; otherwise return a failure."""
        if not settled.success or str(requirements.network) != str(self._node.chain):
            return settled
        accepted = {"asset": requirements.asset, "payTo": requirements.pay_to, "amount": requirements.amount}
        end = time.monotonic() + self._seconds
        while True:
            try:
                expected = ExpectedPayment.of(accepted, payload.payload)
                yield from find_payment(self._node, expected, settled.transaction, 1)
            except UnknownTransactionError as error:
                problem = str(error)
            except SolanaPaymentError as error:
                logger.error("the facilitator reports a settlement that the chain refutes: %s", error)  # noqa: TRY400  # expected
                return _failure(settled, FAILED, str(error))
            except BilateralError as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                return settled
            if time.monotonic() >= end:
                logger.error("a settlement is not confirmed: %s", problem)
                with self._lock:
                    self._pending[_key(payload, requirements)] = settled
                    while len(self._pending) > _MAX_PENDING:
                        self._pending.popitem(last=False)
                return _failure(settled, PENDING, problem)
            yield Pause(_POLL_SECONDS)


class ConfirmingFacilitator(_Confirming):
    """A blocking facilitator client that confirms settlements. See `confirm_settlement`."""

    def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        """Settle a payment, and return the on-chain outcome."""
        settled = self._take_pending(payload, requirements) or self._facilitator.settle(payload, requirements)
        return StepRunner(self._transport).run(self._outcome(payload, requirements, settled))

    def close(self) -> None:
        """Close the connections to the node."""
        self._transport.close()


class AsyncConfirmingFacilitator(_Confirming):
    """An asynchronous facilitator client that confirms settlements. See `confirm_settlement`."""

    async def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        """Settle a payment, and return the on-chain outcome."""
        settled = self._take_pending(payload, requirements) or await self._facilitator.settle(payload, requirements)
        return await AsyncStepRunner(self._transport).run(self._outcome(payload, requirements, settled))

    async def close(self) -> None:
        """Close the connections to the node."""
        await self._transport.close()


def _failure(settled: SettleResponse, reason: str, problem: str) -> SettleResponse:
    return settled.model_copy(update={"success": False, "error_reason": reason, "error_message": problem})


def _key(payload: PaymentPayload, requirements: PaymentRequirements) -> bytes:
    return payment_key(str(requirements.network), requirements.asset, payload.payload)
