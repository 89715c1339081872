"""Permit2 settlements: the calls to the proxies, and the transfers that they made.

The proxies' events contain no accounts, and Permit2 logs nothing. A payment is therefore proven by its transaction's
calldata or, if another contract called the proxy, by a trace. All relevant 32-byte words of the calldata are at fixed
positions, so every program interprets them in the same way. Extra bytes at the end of the calldata are ignored.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from bilateral.core.identifiers import checksummed
from bilateral.core.payments.contracts import EXACT_PROXY, SETTLED, TRANSFER, UPTO_PROXY
from bilateral.core.payments.kinds import PaymentKind
from bilateral.core.payments.signed import WORD, SignedPayment

_SELECTOR: Final = 4  # bytes
_PERMIT: Final = 5  # words of the token's permit (EIP-2612), with which the arguments of `settleWithPermit` begin

_FUNCTIONS: Final = {
    (EXACT_PROXY.lower(), "13cd3b53"): (PaymentKind.PERMIT2_EXACT, 0),
    (EXACT_PROXY.lower(), "fa340378"): (PaymentKind.PERMIT2_EXACT, _PERMIT),
    (UPTO_PROXY.lower(), "ff11e7b4"): (PaymentKind.PERMIT2_UPTO, 0),
    (UPTO_PROXY.lower(), "016c1748"): (PaymentKind.PERMIT2_UPTO, _PERMIT),
}
"""For each proxy's `settle` and `settleWithPermit`, the payment's kind and the number of 32-byte words before the
payment."""

_WORDS: Final = {PaymentKind.PERMIT2_EXACT: 7, PaymentKind.PERMIT2_UPTO: 9}
_MOST_FRAMES: Final = 10_000
"""The maximum number of calls to read from a trace. A transaction with 30 million gas can make fewer calls to a
proxy."""


class ReceiptLog(NamedTuple):
    """A log from a transaction.

    Attributes:
        log_index: The log's position in the block.
        address: The contract, in checksum form.
    """

    log_index: int
    address: str
    topics: tuple[bytes, ...]
    data: bytes


class ProxyCall(NamedTuple):
    """A call that settles a Permit2 payment.

    Attributes:
        payment: The payment. Its kind is `permit2-exact` or `permit2-upto`.
        amount: The amount to be transferred. If the token charges a fee, the payee receives less.
    """

    payment: SignedPayment
    amount: int


def proxy_call(to: str | None, data: bytes) -> ProxyCall | None:
    """Return the payment that a call settles; None if the call does not settle a payment through a proxy."""
    function = _FUNCTIONS.get(((to or "").lower(), data[:_SELECTOR].hex()))
    if function is None:
        return None
    kind, skipped = function
    start = _SELECTOR + skipped * WORD
    words = [data[start + place * WORD :][:WORD] for place in range(_WORDS[kind])]
    if len(words[-1]) < WORD:
        return None
    token, ceiling, nonce, deadline, *rest = words
    amount = rest.pop(0) if kind is PaymentKind.PERMIT2_UPTO else ceiling
    *accounts, valid_after = token, *rest
    if any(any(account[: WORD - 20]) for account in accounts):
        return None  # the proxy reverts
    asset, owner, payee, *facilitator = (checksummed("0x" + account[-20:].hex()) for account in accounts)
    terms = int.from_bytes(ceiling), nonce, int.from_bytes(valid_after), int.from_bytes(deadline)
    return ProxyCall(SignedPayment(kind, asset, owner, payee, *terms, *facilitator), int.from_bytes(amount))


def inner_calls(trace: Any) -> list[ProxyCall]:
    """Return the payments settled by a transaction's calls, in the order of the proxies' events.

    A proxy logs its event at the end of a call, so inner calls come first. Calls that failed, or were made within a
    failed call, settled nothing.

    Raises:
        ValueError: The response is not a trace.
    """
    calls: list[ProxyCall] = []
    frames: list[tuple[Any, bool]] = [(trace, False)]
    read = 0
    while frames:
        frame, is_after = frames.pop()
        if not isinstance(frame, Mapping) or not isinstance(frame.get("calls", []), list):
            raise ValueError("the trace contains a call that is not an object")  # noqa: TRY004  # malformed data
        if is_after:
            call = proxy_call(str(frame.get("to")), bytes.fromhex(str(frame.get("input"))[2:]))
            calls += [call] if call is not None and str(frame.get("type")).upper() == "CALL" else []
        elif not frame.get("error"):
            read += 1
            if read > _MOST_FRAMES:
                raise ValueError(f"the trace has more than {_MOST_FRAMES} calls")
            frames.append((frame, True))
            frames += [(inner, False) for inner in reversed(frame.get("calls", []))]
    return calls


def settled_calls(calls: Sequence[ProxyCall], logs: Sequence[ReceiptLog]) -> Iterator[tuple[ProxyCall, ReceiptLog]]:
    """Pair each payment with the transfer that it made. A transfer belongs to at most one payment.

    Yields:
        Each payment with its transfer. A payment whose transfer is not among the logs is left out. If the number of
        settlement events differs from the number of calls, some calls are missing, and no payments are yielded.
    """
    if sum(is_settlement(log) for log in logs) != len(calls):
        return
    transfers: list[ReceiptLog] = []
    left = iter(calls)
    for log in logs:
        if is_settlement(log):
            call = next(left)
            parties = TRANSFER, address_topic(call.payment.payer), address_topic(call.payment.payee)
            for transfer in reversed(transfers):
                moved = int.from_bytes(transfer.data)
                if transfer.address == call.payment.asset and transfer.topics == parties and 0 < moved <= call.amount:
                    transfers.remove(transfer)
                    yield call, transfer
                    break
        elif log.topics[:1] == (TRANSFER,) and len(log.data) == WORD:
            transfers.append(log)


def is_settlement(log: ReceiptLog) -> bool:
    """Return True if a log is a settlement event from one of the proxies."""
    is_event = len(log.topics) == 1 and log.topics[0] in SETTLED and not log.data
    return is_event and log.address in {EXACT_PROXY, UPTO_PROXY}


def address_topic(address: str) -> bytes:
    """Return an address as a topic."""
    return bytes.fromhex(address[2:]).rjust(WORD, b"\0")
