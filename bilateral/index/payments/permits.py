"""Payments by Permit2: the transfers that calls of the proxies made, proven by the calldata of their transactions."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bilateral.core.errors import NODE_FAILURES, MalformedNodeAnswerError
from bilateral.core.payments import PaymentKind, ProxyCall, ReceiptLog, SignedPayment
from bilateral.core.payments.contracts import CANONICAL, SETTLED
from bilateral.core.payments.settling import inner_calls, is_settlement, proxy_call, settled_calls
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.logs import LogEntry, address_of, bytes_of, hash_of
from bilateral.index.chain.transactions import Transaction, is_provable, read_transactions
from bilateral.index.errors import EndpointLiesError
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.payments.transfers import FilteredSource, TokenTransfer, TransferSource

_TOPICS: Final = ["0x" + topic.hex() for topic in sorted(SETTLED)]

_TRACES: Final = 3
"""The failures after which the trace of a transaction is given up: anybody can make one that no node can trace."""


class PermitReader:
    """Finds the payments by Permit2 among transfers.

    Args:
        terms: The terms of payments. Calls through other contracts are looked for in traces if they say so.
    """

    def __init__(self, terms: PaymentTerms) -> None:
        self._terms = terms
        self._failures = Counter[bytes]()

    def mark(self, source: TransferSource, transfers: Sequence[TokenTransfer]) -> list[TokenTransfer]:
        """Return transfers with the payments by Permit2 that they settled."""
        candidates: dict[bytes, list[TokenTransfer]] = defaultdict(list)
        for transfer in transfers:
            # Metered payments may be of a unit of a stablecoin, and count. Less is no money, and each look-up that a
            # stranger causes costs him a settlement of 50,000 gas at least, as the proxy's event must be there too.
            is_money = self._terms.micros(transfer.token, transfer.amount) > 0
            if transfer.nonce is None and is_money and transfer.sender not in CANONICAL:
                candidates[transfer.transaction_hash].append(transfer)
        if not candidates:
            return list(transfers)
        settlements = _settlements(source.proxies, candidates)
        entries = read_transactions(source.endpoint, [events[0][1] for events in settlements.values()])
        calls = self._calls(source.endpoint, dict(zip(settlements, entries, strict=True)))
        paid: dict[tuple[int, int], SignedPayment] = {}
        for hash_, existing in calls.items():
            logs = [log for log, _ in settlements[hash_]] + [transfer.log() for transfer in candidates[hash_]]
            for call, log in settled_calls(existing, sorted(logs)):
                paid[candidates[hash_][0].block_number, log.log_index] = call.payment
        return [_marked(transfer, paid.get(transfer.place)) for transfer in transfers]

    def _calls(self, endpoint: Endpoint, entries: Mapping[bytes, Transaction]) -> dict[bytes, list[ProxyCall]]:
        calls: dict[bytes, list[ProxyCall]] = {}
        problem: Exception | None = None
        for hash_, entry in entries.items():
            call = proxy_call(entry.get("to"), bytes_of(entry["input"])) if is_provable(entry) else None
            calls[hash_] = [] if call is None else [call]
            if call is None and self._terms.traces and self._failures[hash_] < _TRACES:
                try:
                    calls[hash_] = _traced(endpoint, entry["hash"])
                except NODE_FAILURES as failure:
                    self._failures[hash_] += 1
                    problem = failure
        if problem is not None:
            raise problem  # another endpoint may be able to
        for hash_ in entries:
            del self._failures[hash_]
        return calls


def _settlements(
    proxies: FilteredSource, candidates: Mapping[bytes, Sequence[TokenTransfer]]
) -> dict[bytes, list[tuple[ReceiptLog, LogEntry]]]:
    # The events name nobody, so those of the whole chain come.
    blocks = [transfers[0].block_number for transfers in candidates.values()]
    events: dict[bytes, list[tuple[ReceiptLog, LogEntry]]] = defaultdict(list)
    for block in proxies.read([_TOPICS], min(blocks), max(blocks)):
        for index, entry in zip(block.indices, block.entries, strict=True):
            hash_ = hash_of(entry.transactionHash)
            if hash_ not in candidates:
                continue
            if block.hash != candidates[hash_][0].block_hash:
                raise EndpointLiesError(proxies.name, f"it returned logs of two blocks with the number {block.number}")
            log = ReceiptLog(index, address_of(entry.address), tuple(map(bytes_of, entry.topics)), bytes_of(entry.data))
            if is_settlement(log):
                events[hash_].append((log, entry))
    return events


def _traced(endpoint: Endpoint, hash_: str) -> list[ProxyCall]:
    trace: Any = endpoint.request("debug_traceTransaction", (hash_, {"tracer": "callTracer"}), dict[str, Any])
    try:
        return inner_calls(trace)
    except ValueError as problem:
        raise MalformedNodeAnswerError(f"{endpoint.name}: {problem}") from None


def _marked(transfer: TokenTransfer, signed: SignedPayment | None) -> TokenTransfer:
    if signed is None:
        return transfer
    ceiling = signed.amount if signed.kind is PaymentKind.PERMIT2_UPTO else None
    return transfer._replace(nonce=signed.nonce, kind=signed.kind, ceiling=ceiling)
