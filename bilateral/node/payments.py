"""Read the payments in a transaction from the logs and the Permit2 settlement calls that a node reports."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from bilateral.core.errors import MalformedIdentifierError, NodeError
from bilateral.core.events.decoder import paired_nonces
from bilateral.core.identifiers import checksummed
from bilateral.core.payments import PaymentKind, ProxyCall, ReceiptLog, SignedPayment
from bilateral.core.payments.contracts import AUTHORIZATION_USED, TRANSFER
from bilateral.core.payments.settling import address_topic, inner_calls, is_settlement, proxy_call, settled_calls
from bilateral.core.payments.signed import WORD
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc

_TOPICS: Final = 3  # number of topics in a transfer event and in an authorization event

NOT_SETTLED: Final = "the transfer was made neither with an authorization (EIP-3009) nor by a Permit2 proxy"
NO_TRACE: Final = "another contract settled the payment, and no trace (callTracer) is available to verify it"


class PaidTransfer(NamedTuple):
    """A token transfer and the payment that caused it.

    Attributes:
        kind: The payment's kind; `plain` for a transfer without a payment; None if determining the kind requires a
            trace and the node has none.
        payment: The settled Permit2 payment, or the nonce of an EIP-3009 payment; None if there is none.
    """

    log: ReceiptLog
    kind: PaymentKind | None
    payment: SignedPayment | bytes | None = None

    @property
    def amount(self) -> int:
        """The amount in the token's smallest unit."""
        return int.from_bytes(self.log.data)


def read_transfers(
    transaction: str, receipt: Mapping[str, Any], payer: str, payee: str, *, traces: bool = True
) -> Operation[list[PaidTransfer]]:
    """Return a transaction's transfers from payer to payee, in order, each with the payer's payment behind it, if any.

    Args:
        traces: False to request no trace. The kind of payments that other contracts settled is then unknown.
    """
    logs = [receipt_log(record) for record in answers.records(receipt.get("logs"))]
    accounts = TRANSFER, address_topic(payer), address_topic(payee)
    of_payer = [log for log in logs if len(log.topics) == _TOPICS and log.topics[1] == accounts[1]]
    used = {(log.address, log.log_index): log.topics[2] for log in of_payer if log.topics[0] == AUTHORIZATION_USED}
    transfers = [log for log in of_payer if log.topics[0] == TRANSFER and len(log.data) == WORD]
    nonces = paired_nonces([(log.address, log.log_index) for log in transfers], used)
    ours = [log for log in transfers if log.topics == accounts]
    calls: list[ProxyCall] | None = []
    events = [log.log_index for log in logs if is_settlement(log)]
    if events and any((log.address, log.log_index) not in nonces for log in ours):
        calls = yield from settling_calls(transaction, len(events), traces=traces)
    settled = {transfer.log_index: call.payment for call, transfer in settled_calls(calls or (), logs)}
    paid = []
    for log in ours:
        nonce, payment = nonces.get((log.address, log.log_index)), settled.get(log.log_index)
        if nonce is not None:
            paid.append(PaidTransfer(log, PaymentKind.EIP3009, nonce))
        elif payment is not None:
            paid.append(PaidTransfer(log, payment.kind, payment))
        else:
            is_unclear = calls is None and log.log_index < events[-1]
            paid.append(PaidTransfer(log, None if is_unclear else PaymentKind.PLAIN))
    return paid


def settling_calls(transaction: str, events: int, *, traces: bool = True) -> Operation[list[ProxyCall] | None]:
    """Return a transaction's calls to the proxies; None if another contract made them and no trace is available."""
    sent = answers.record((yield Rpc("eth_getTransactionByHash", (transaction,))))
    call = proxy_call(sent.get("to"), answers.data(sent.get("input")))
    if call is not None and events == 1:
        return [call]
    if not traces:
        return None
    try:
        calls = inner_calls((yield Rpc("debug_traceTransaction", (transaction, {"tracer": "callTracer"}))))
    except (NodeError, ValueError):
        return None
    return calls if len(calls) == events else None


def receipt_log(record: Mapping[str, Any]) -> ReceiptLog:
    """Parse a log from a receipt."""
    topics = record.get("topics")
    try:
        account = checksummed(str(record.get("address")).lower())
    except MalformedIdentifierError:
        account = ""
    if not account or not isinstance(topics, list):
        answers.malformed("a log")
    data, index = answers.data(record.get("data")), answers.quantity(record.get("logIndex"))
    return ReceiptLog(index, account, tuple(map(answers.data, topics)), data)
