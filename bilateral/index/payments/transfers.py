"""Token transfers that are payments, as shown by token events and the calldata of calls to the Permit2 proxies."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from bilateral.core.errors import NODE_FAILURES, MalformedNodeAnswerError
from bilateral.core.events.decoder import paired_nonces, unsure_groups
from bilateral.core.identifiers import checksummed
from bilateral.core.payments import PaymentKind, ProxyCall, ReceiptLog, SignedPayment
from bilateral.core.payments.contracts import (
    AUTHORIZATION_USED,
    BATCH,
    CANONICAL,
    EXACT_PROXY,
    SETTLED,
    TRANSFER,
    UPTO_PROXY,
)
from bilateral.core.payments.settling import address_topic, inner_calls, is_settlement, proxy_call, settled_calls
from bilateral.core.payments.signed import WORD
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.logs import BlockLogs, LogEntry, address_of, bytes_of, hash_of
from bilateral.index.chain.source import Source
from bilateral.index.chain.transactions import Transaction, is_provable, read_transactions
from bilateral.index.errors import EndpointLiesError
from bilateral.index.log.dialects import in_parts
from bilateral.index.payments.terms import PaymentTerms

TRANSFER_TOPIC: Final = "0x" + TRANSFER.hex()
"""The first topic of a transfer event (ERC-20)."""

USED_TOPIC: Final = "0x" + AUTHORIZATION_USED.hex()
"""The first topic of the event for a used authorization (EIP-3009)."""

TOPICS: Final = 3
"""The number of topics in logs of either event."""

_ACCOUNTS: Final = 500
"""The number of accounts per request, which most public endpoints allow."""


Group: TypeAlias = tuple[int, bytes, str, str]
"""A block, transaction, token and account. They are the same for a transfer and for the use of its authorization."""

Authorizations: TypeAlias = Mapping[tuple[Group, int], bytes]
"""The nonces of authorizations, keyed by group and log index."""


class TokenTransfer(NamedTuple):
    """A transfer of a token.

    Attributes:
        log_index: The index of the transfer's log in the block.
        block_time: The time of the block, in Unix seconds.
        sender: The account that sent the tokens.
        receiver: The account that received the tokens.
        amount: The amount, in the token's smallest unit.
        nonce: The nonce of the payment that the transfer settled, or the channel's id if it settled a claim; None
            otherwise.
        kind: The kind of payment that the transfer settled.
        ceiling: The amount that the payer of a metered payment signed for.
    """

    block_number: int
    log_index: int
    block_hash: bytes
    block_time: int
    transaction_hash: bytes
    token: str
    sender: str
    receiver: str
    amount: int
    nonce: bytes | None = None
    kind: PaymentKind = PaymentKind.PLAIN
    ceiling: int | None = None

    @property
    def place(self) -> tuple[int, int]:
        """The transfer's block and log index."""
        return self.block_number, self.log_index

    @property
    def place_in_group(self) -> tuple[Group, int]:
        """The group that the transfer shares with its authorization, and the transfer's log index."""
        return (self.block_number, self.transaction_hash, self.token, self.sender), self.log_index

    def log(self) -> ReceiptLog:
        """Return the transfer's log."""
        topics = TRANSFER, address_topic(self.sender), address_topic(self.receiver)
        return ReceiptLog(self.log_index, self.token, topics, self.amount.to_bytes(WORD))


class FilteredSource(Source):
    """Logs that certain contracts emitted and that have certain topics, as reported by one endpoint.

    Args:
        contracts: The contracts, in checksum form.
        wait: Waits for the given number of seconds; returns False to give up.
    """

    def __init__(
        self, endpoint: Endpoint, contracts: Sequence[str], wait: Callable[[float], bool] | None = None
    ) -> None:
        super().__init__(endpoint, contracts, wait=wait)
        self._contracts = contracts
        self._filter: list[Any] = []

    def read(self, topics: list[Any], first: int, last: int) -> Iterator[BlockLogs]:
        """Yield the blocks in a range that contain matching logs."""
        self._filter = topics
        while first <= last:
            logs, end = self.logs(first, last)
            yield from logs
            first = end + 1

    def read_timed(self, topics: list[Any], first: int, last: int) -> list[BlockLogs]:
        """Return the blocks that `read` yields, with their times, after comparing each block with its header."""
        blocks = list(self.read(topics, first, last))
        for block, header in zip(blocks, self.headers_of([block.number for block in blocks]), strict=True):
            if block.hash != header.block.hash:
                raise EndpointLiesError(self.name, f"the logs for block {block.number} belong to a different block")
            block.time = header.block.time
        return blocks

    def _logs_at_once(self, first: int, last: int) -> list[BlockLogs]:
        query = {"address": list(self._contracts), "fromBlock": hex(first), "toBlock": hex(last)}
        entries = self.endpoint.request("eth_getLogs", ({**query, "topics": self._filter},), list[LogEntry])
        return self._grouped(entries, self._contracts, first, last)


class TransferSource(FilteredSource):
    """Token logs as reported by one endpoint.

    Args:
        tokens: The tokens, in checksum form.
        wait: Waits for the given number of seconds; returns False to give up.

    Attributes:
        proxies: The logs of the Permit2 proxies. Their number of blocks per request is determined separately.
        channels: The logs of the channel contract.
    """

    def __init__(self, endpoint: Endpoint, tokens: Sequence[str], wait: Callable[[float], bool] | None = None) -> None:
        super().__init__(endpoint, tokens, wait)
        self.proxies = FilteredSource(endpoint, [EXACT_PROXY, UPTO_PROXY], wait)
        self.channels = FilteredSource(endpoint, [BATCH], wait)

    def transfers(
        self, side: Literal["sender", "receiver"], accounts: Collection[str], first: int, last: int
    ) -> list[TokenTransfer]:
        """Return all transfers from or to the given accounts, in chain order."""
        topics: list[Any] = [[TRANSFER_TOPIC], *([None] if side == "receiver" else [])]
        transfers: dict[tuple[int, int], TokenTransfer] = {}
        for part in in_parts(sorted(accounts), _ACCOUNTS):
            for transfer in self._read_transfers([*topics, _topics(part)], first, last):
                if getattr(transfer, side) not in part:
                    raise EndpointLiesError(self.name, f"a returned transfer was not requested: {transfer.place}")
                transfers[transfer.place] = transfer
        return [transfers[place] for place in sorted(transfers)]

    def authorizations(self, accounts: Collection[str], first: int, last: int) -> Authorizations:
        """Return the authorizations that the given accounts' transfers used."""
        uses: dict[tuple[Group, int], bytes] = {}
        for part in in_parts(sorted(accounts), _ACCOUNTS):
            for block in self.read([[USED_TOPIC], _topics(part)], first, last):
                for index, entry in zip(block.indices, block.entries, strict=True):
                    if len(entry.topics) == TOPICS and entry.topics[0].lower() == USED_TOPIC:
                        log = block.number, hash_of(entry.transactionHash), address_of(entry.address)
                        uses[(*log, _account(entry.topics[1])), index] = bytes_of(entry.topics[2])
        return uses

    def _read_transfers(self, topics: list[Any], first: int, last: int) -> Iterator[TokenTransfer]:
        for block in self.read_timed(topics, first, last):
            for index, entry in zip(block.indices, block.entries, strict=True):
                # A token may emit other events under the same topic. Those of ERC-721 have four topics.
                if len(entry.topics) != TOPICS or entry.topics[0].lower() != TRANSFER_TOPIC:
                    continue
                data = bytes_of(entry.data)
                if len(data) != WORD:
                    raise MalformedNodeAnswerError(f"{self.name}: the transfer in log {index} has unexpected data")
                place = block.number, index, block.hash, block.time or 0, hash_of(entry.transactionHash)
                accounts = _account(entry.topics[1]), _account(entry.topics[2])
                yield TokenTransfer(*place, address_of(entry.address), *accounts, int.from_bytes(data))


def _topics(accounts: Sequence[str]) -> list[str]:
    return ["0x" + "00" * 12 + account[2:].lower() for account in accounts]


@lru_cache(maxsize=1 << 16)
def _account(topic: str) -> str:
    return checksummed("0x" + topic[-40:])


def unsure_senders(transfers: Iterable[TokenTransfer], used: Authorizations) -> set[str]:
    """Return the senders whose other transfers are also needed to match the given transfers with authorizations."""
    return {sender for *_, sender in unsure_groups((transfer.place_in_group for transfer in transfers), used)}


def with_nonces(
    transfers: Sequence[TokenTransfer], used: Authorizations, further: Iterable[TokenTransfer] = ()
) -> list[TokenTransfer]:
    """Return transfers with the nonces of their authorizations (see `paired_nonces`)."""
    nonces = paired_nonces({transfer.place_in_group for transfer in (*transfers, *further)}, used)
    return [
        transfer if nonce is None else transfer._replace(nonce=nonce, kind=PaymentKind.EIP3009)
        for transfer in transfers
        for nonce in (nonces.get(transfer.place_in_group),)
    ]


_TOPICS: Final = ["0x" + topic.hex() for topic in sorted(SETTLED)]

_TRACES: Final = 3
"""The number of failures after which a trace is abandoned. Anyone can create a transaction that no node can trace."""


class PermitReader:
    """Finds the Permit2 payments among token transfers.

    Args:
        terms: The payment terms. If they enable traces, the traces are searched for calls through other contracts.
    """

    def __init__(self, terms: PaymentTerms) -> None:
        self._terms = terms
        self._failures = Counter[bytes]()

    def mark(self, source: TransferSource, transfers: Sequence[TokenTransfer]) -> list[TokenTransfer]:
        """Return the transfers, marked with the Permit2 payments that they settled."""
        candidates: dict[bytes, list[TokenTransfer]] = defaultdict(list)
        for transfer in transfers:
            # Metered payments of a stablecoin's single unit count; less is not money. Each look-up that a stranger
            # causes costs the stranger a settlement of at least 50,000 gas, because the proxy's event must exist too.
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
            raise problem  # another endpoint may be able to trace it
        for hash_ in entries:
            del self._failures[hash_]
        return calls


def _settlements(
    proxies: FilteredSource, candidates: Mapping[bytes, Sequence[TokenTransfer]]
) -> dict[bytes, list[tuple[ReceiptLog, LogEntry]]]:
    # The events do not contain the accounts, so the events of the whole chain are returned.
    blocks = [transfers[0].block_number for transfers in candidates.values()]
    events: dict[bytes, list[tuple[ReceiptLog, LogEntry]]] = defaultdict(list)
    for block in proxies.read([_TOPICS], min(blocks), max(blocks)):
        for index, entry in zip(block.indices, block.entries, strict=True):
            hash_ = hash_of(entry.transactionHash)
            if hash_ not in candidates:
                continue
            if block.hash != candidates[hash_][0].block_hash:
                raise EndpointLiesError(proxies.name, f"the logs are from two blocks with the number {block.number}")
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
