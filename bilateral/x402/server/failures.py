"""Payments that were verified, but not settled once the application had run: counted per buyer, published if proven.

    failures = FailedSettlements(on_failure=undo)
    extension = Reputation8004ResourceServerExtension(key, failures=failures)

`undo` is called with a `FailedSettlement`, in a thread, after the answer has been sent. The counts cover only this
seller. `bilateral.x402.server.stored_failures.StoredFailures` stores them in a database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.payments import InvalidPaymentError
from bilateral.core.values import FeedbackValue
from bilateral.core.values.failures import FailureCount, FailureReason
from bilateral.documents import prepare_feedback_file
from bilateral.x402.clients.feedback import Tags
from bilateral.x402.offers import decode_header
from bilateral.x402.proof.checking import VerifiedClient
from bilateral.x402.proof.errors import UnprovenFailureError
from bilateral.x402.proof.failures import FailedPayment, FailureProof, check_failure
from bilateral.x402.proof.payments import payer_of
from bilateral.x402.proof.verifier import Verifier
from bilateral.x402.server.exchange import CURRENT, Afterwards, Exchange, is_tool_call

logger = logging.getLogger("bilateral.x402")

PAYMENT_UNSETTLED: Final = Tags("x402-payment-unsettled", "proof-on-chain")
"""The tags for feedback about a client whose payment failed."""

MAX_FAILURES: Final = 10_000
"""The maximum number of failures to remember. Each takes about 2 KB, at most 8 KB."""

_MOST_CHARACTERS: Final = 8_192
"""The maximum size of a failure and its evidence, in characters. Buyers may send 32 KB, mostly unsigned."""

SECONDS: Final = 90 * 86_400.0
"""How long a failure is remembered."""

_TOOL_EXCHANGE: Final = "bilateral.x402.server.failures"

_ALLOWANCE: Final = FailureReason.INSUFFICIENT_ALLOWANCE
_BUYERS_ACTS: Final = {
    "insufficient_funds": FailureReason.INSUFFICIENT_BALANCE,  # the specification's code, which other SDKs use
    "invalid_exact_evm_insufficient_balance": FailureReason.INSUFFICIENT_BALANCE,
    "permit2_insufficient_balance": FailureReason.INSUFFICIENT_BALANCE,
    "permit2_allowance_required": _ALLOWANCE,
}
"""Facilitator codes for failures that the buyer caused. The seller chose the facilitator, and trusts its reports."""

_AMBIGUOUS: Final = frozenset(
    {
        *("transaction_failed", "invalid_upto_evm_transaction_failed"),
        *("invalid_exact_evm_transaction_simulation_failed", "invalid_transaction_state"),
        *("invalid_exact_evm_nonce_already_used", "permit2_invalid_nonce"),
    }
)
"""Codes of failures that the buyer, too little gas or someone else's settlement may have caused. The chain shows which.

All other codes, such as `settlement_pending` or `permit2_amount_mismatch`, do not show that the buyer caused the
failure.
"""
_POSSIBLE_ACTS: Final = _AMBIGUOUS | _BUYERS_ACTS.keys()


@dataclass(frozen=True)
class FailedSettlement:
    """A payment that was verified, but not settled after the application had run.

    Attributes:
        key: The authorization's key. See `payment_key`.
        network: The network (CAIP-2).
        at: The time, in Unix seconds.
        code: The facilitator's reason.
        reason: The buyer's act that caused the failure. None if the buyer did not cause it or the cause is unknown; the
            failure is then not counted.
        payment: The signed payment, with the fields `accepted` and `payload`.
        amount: The amount to be settled.
        method: The request's method; empty for tool calls and messages.
        target: The request's path and query.
        settlement: The facilitator's response; empty if unknown.
        proof: The chain states that prove the reason, or None.
    """

    key: bytes
    network: str
    payer: str
    at: float
    code: str
    payment: dict[str, Any]
    amount: int
    method: str = ""
    target: str = ""
    reason: FailureReason | None = None
    settlement: dict[str, Any] = field(default_factory=dict)
    proof: FailureProof | None = None

    @property
    def transaction(self) -> str:
        """The failed transaction, or an empty string if there is none."""
        return str(self.settlement.get("transaction") or "")

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence for `check_failure`.

        Raises:
            UnprovenFailureError: The chain does not prove the reason.
        """
        if self.proof is None or not self.payment:
            problem = "the payment was too large to store" if self.proof else f"the chain does not prove {self.code}"
            raise UnprovenFailureError("no_evidence", problem)
        states = {"block": self.proof.block, "payableBlock": self.proof.payable_block}
        answer = {"amount": str(self.amount), "settlement": self.settlement}
        return {**self.payment, **answer, "reason": self.proof.reason.value, **states}


class FailedSettlements:
    """A seller's failed settlements, in memory. Thread-safe. Both profiles can share one object.

    Args:
        on_failure: Called once after each failed settlement, no matter who caused it, so that the seller can undo its
            work. It is called in a thread, and its exceptions are logged.
        limit: The maximum number of failures to remember. The oldest are forgotten first.
        seconds: How long a failure is remembered, in seconds.
        clock: Returns the time in Unix seconds.
    """

    def __init__(
        self,
        *,
        on_failure: Callable[[FailedSettlement], object] | None = None,
        limit: int = MAX_FAILURES,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._on_failure, self._limit, self._seconds, self._clock = on_failure, limit, seconds, clock
        self._failures: OrderedDict[bytes, FailedSettlement] = OrderedDict()
        self._lock, self._afterwards = threading.Lock(), Afterwards()

    def add(self, failure: FailedSettlement) -> None:
        """Remember a failure. A later failure with the same authorization replaces it."""
        with self._lock:
            self._failures.pop(failure.key, None)
            self._failures[failure.key] = failure
            if len(self._failures) > self._limit:
                self._failures.popitem(last=False)

    def remove(self, key: bytes) -> None:
        """Forget a failure, because the payment was settled later."""
        with self._lock:
            self._failures.pop(key, None)

    def list(self, network: str, payer: str) -> list[FailedSettlement]:
        """Return a payer's failures, oldest first."""
        first = self._clock() - self._seconds
        with self._lock:
            while self._failures and next(iter(self._failures.values())).at <= first:
                self._failures.popitem(last=False)
            failures = [*self._failures.values()]
        return [failure for failure in failures if (failure.network, failure.payer) == (network, payer)]

    def count(self, network: str, payer: str) -> FailureCount:
        """Count a payer's failures."""
        failures = self.list(network, payer)
        reasons = Counter(failure.reason for failure in failures if failure.reason is not None)
        return FailureCount(len(failures), failures[-1].at if failures else None, dict(reasons))

    def note(self, context: Any, key: bytes, code: str, verifier: Verifier | None = None) -> None:
        """Record a failed or rejected settlement in an SDK hook. The work is done after the answer is sent.

        Only payments that the facilitator verified are recorded. A payment to be settled before the application runs is
        not verified, and if settlement fails, nothing has been served.
        """
        exchange, transport = CURRENT.get(), context.transport_context
        if is_tool_call(transport):
            exchange = transport.setdefault(_TOOL_EXCHANGE, Exchange(is_paid=True))
        if exchange is None or not exchange.is_paid or context.phase == "before-handler":
            return
        if self in exchange.after_failure:
            return  # the route declares both profiles
        exchange.after_failure[self] = partial(self._record, context, key, code, exchange, verifier)
        if not exchange.method:
            self._afterwards.submit(exchange)  # no adapter waits for the end of the answer

    def settled(self, key: bytes) -> None:
        """In an SDK hook, forget the failure of a payment that is now settled. No error is raised."""
        self.remove(key)

    def _record(self, context: Any, key: bytes, code: str, exchange: Exchange, verifier: Verifier | None) -> None:
        payload, terms = context.payment_payload, context.requirements
        payment = {"accepted": payload.accepted.model_dump(mode="json", by_alias=True), "payload": payload.payload}
        responses = (value for name, value in exchange.sent_headers if name.lower() == b"payment-response")
        settlement = decode_header(next(responses, b"").decode("latin-1")) or {}
        settlement.pop("extensions", None)
        amount = int(terms.amount) if terms.amount.isdecimal() else 0
        place = key, str(terms.network), payer_of(payload.payload) or "", self._clock()
        failure = FailedSettlement(*place, code, payment, amount, exchange.method, exchange.target, None, settlement)
        proof = None if verifier is None else _find_proof(failure, verifier)
        is_unclear = proof is None and code in _POSSIBLE_ACTS  # the seller may have been paid after all
        if is_unclear and verifier is not None and verifier.find_settlement(payment, seconds=0).is_paid:
            logger.warning("somebody else settled the payment by %s, so the payer did not receive its answer", place[2])
            return
        # A payment with a token permit (EIP-2612) needs no prior allowance, so a missing one is not the buyer's act.
        is_act = proof is not None and (proof.payable_block is not None or proof.reason is not _ALLOWANCE)
        reason = proof.reason if proof is not None and is_act else _BUYERS_ACTS.get(code)
        failure = replace(failure, reason=reason, proof=proof)
        try:
            if reason is not None and failure.payer:
                is_small = len(str(failure)) <= _MOST_CHARACTERS
                self.add(failure if is_small else replace(failure, payment={}, settlement={}, target=""))
        finally:
            if self._on_failure is not None:
                self._on_failure(failure)


def _find_proof(failure: FailedSettlement, verifier: Verifier) -> FailureProof | None:
    if failure.code not in _POSSIBLE_ACTS:
        return None
    payment = FailedPayment(**failure.payment, amount=failure.amount)
    try:
        return verifier.run_on(failure.network, payment.find_proof(failure.transaction))
    except (BilateralError, InvalidPaymentError, ValueError):
        logger.warning("the chain does not show why a settlement failed", exc_info=True)
        return None


def failed_settlement_feedback(
    verifier: Verifier, failure: FailedSettlement, standing: VerifiedClient, *, comment: str | None = None
) -> dict[str, Any]:
    """Return the arguments for `give_feedback` about a client agent whose payment failed. They include the evidence.

    Failures are published only in this way. The signed payment is published as well, which is safe once it has expired.

    Args:
        verifier: Reads the chain.
        failure: The failure, from `FailedSettlements.list`.
        standing: The client agent on whose behalf the payer acted, from `reputable_client`.
        comment: A comment for human readers.

    Raises:
        InvalidArgumentError: The payment was not made by the client's account.
        UnprovenFailureError: The chain does not prove the failure, or the payment may still be settled.
        BilateralError: The node failed.
    """
    if standing.payer.lower() != failure.payer.lower():
        raise InvalidArgumentError(
            f"the failed payment is from {failure.payer}, not from {standing.payer}, which acted for {standing.agent}"
        )
    evidence = failure.evidence
    check_failure(verifier, evidence, tokens=[failure.payment["accepted"]["asset"]])
    file = prepare_feedback_file(text=comment, failedSettlement=evidence)
    tags = PAYMENT_UNSETTLED._asdict()
    return {"agent_id": standing.agent, "value": FeedbackValue(0, 0), **tags, "feedback_file": file}
