"""Proofs of payment claimed by feedback files, matched with the payments in the index."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import msgspec

from bilateral.core.identifiers import checksummed
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.payments.transfers import TOPICS, TRANSFER_TOPIC

_MOST_READ: Final = 100_000
"""The maximum number of untrusted transactions to read, about 50 MB. Beyond it, no account is accused."""


class _Log(msgspec.Struct):
    topics: list[str]


class _Receipt(msgspec.Struct, rename={"sender": "from"}):
    sender: str
    logs: list[_Log]


@dataclass(frozen=True, slots=True)
class Senders:
    """The accounts that spent money in a transaction.

    Attributes:
        caller: The account that sent the transaction, possibly to pay in native coins, which do not appear in logs.
        of_tokens: The sender of each token transfer; None if a transfer cannot be read.
    """

    caller: str
    of_tokens: tuple[str, ...] | None


class ClaimedTransactions:
    """Transactions that clients claim as payments although the index has no payment from these clients in them.

    The index contains only payments to agents in listed tokens. A claim may therefore refer to another payment in the
    transaction, which only the transaction's receipt shows.
    """

    def __init__(self) -> None:
        self._read: dict[str, Senders | None] = {}
        self._unread: dict[str, None] = {}

    def senders_in(self, transaction: str) -> Senders | None:
        """Return the accounts whose money a transaction moved. If unknown, queue it and return None."""
        if transaction not in self._read and len(self._read) + len(self._unread) < _MOST_READ:
            self._unread[transaction] = None
        return self._read.get(transaction)

    def read(self, endpoint: Endpoint, at_most: int) -> int:
        """Read the receipts of queued transactions, and return the number of receipts."""
        noted = list(islice(self._unread, at_most))
        if not noted:
            return 0
        receipts = endpoint.each("eth_getTransactionReceipt", [(hash_,) for hash_ in noted], _Receipt | None)  # type: ignore[arg-type]
        for transaction, receipt in zip(noted, receipts, strict=True):
            self._read[transaction] = None if receipt is None else _senders(receipt)
            del self._unread[transaction]
        return len(noted)


def _senders(receipt: _Receipt) -> Senders:
    transfers = [log.topics for log in receipt.logs if log.topics and log.topics[0].lower() == TRANSFER_TOPIC]
    is_readable = all(len(topics) >= TOPICS for topics in transfers)
    of_tokens = tuple(checksummed("0x" + topics[1][-40:]) for topics in transfers) if is_readable else None
    return Senders(checksummed(receipt.sender), of_tokens)


class Proofs:
    """Finds the payment that a feedback entry proves.

    A claim that the index cannot judge has no effect, because the index reads payments only in some tokens, clients may
    pay from another account than they rate with, and agents may share a wallet.

    Args:
        claims: The block, log and claimed transaction of each feedback entry whose file claims a transaction.
        transactions: A function that returns the accounts whose money a claimed transaction moved. If omitted, no
            account is accused of using someone else's payment as proof.
    """

    def __init__(
        self,
        claims: Iterable[Sequence[Any]],
        payments: Iterable[Sequence[Any]],
        accounts: Mapping[int, Collection[str]],
        transactions: ClaimedTransactions | None = None,
    ) -> None:
        self._claims = {(block, log): str(transaction).lower() for block, log, transaction in claims}
        self._accounts = accounts
        self._transactions = transactions or ClaimedTransactions()
        self._payments: dict[str, list[Sequence[Any]]] = {}
        self._related: dict[str, set[str]] = {}
        if not self._claims:
            return
        for payment in payments:
            self._payments.setdefault(payment[0].partition(":")[0], []).append(payment)
        for own in accounts.values():
            for account in own:
                self._related.setdefault(account, set()).update(own)

    def blocks(self) -> list[int]:
        """Return the blocks of feedback entries whose files claim a payment that is in the index."""
        return sorted({block for (block, _), claimed in self._claims.items() if claimed in self._payments})

    def of(self, block: int, log: int, client: str, agent_id: int) -> str | None:
        """Return the id of the payment that the feedback proves; None if the feedback proves no payment."""
        claimed = self._claims.get((block, log), "")
        payments = self._payments.get(claimed, [])
        if not payments:
            return None
        name, payer, payee, paid, *_ = max(
            payments, key=lambda payment: (payment[1] == client) + (payment[3] == agent_id)
        )
        if payer == client and paid == agent_id:
            return str(name)
        is_other_account = payer != client and payer in self._related.get(client, ())
        is_shared_wallet = paid != agent_id and payee in self._accounts.get(agent_id, ())
        if is_other_account or is_shared_wallet or not self._is_foreign(claimed, client, payments):
            return None
        return str(name)

    def _is_foreign(self, claimed: str, client: str, payments: Sequence[Sequence[Any]]) -> bool:
        """Return True if all payments that the client can have made in a transaction are indexed; False if unknown."""
        senders = self._transactions.senders_in(claimed)
        if senders is None or senders.of_tokens is None:
            return False
        own = {client, *self._related.get(client, ())}
        indexed = sum(payer in own for _, payer, *_ in payments)
        return senders.caller not in own and sum(sender in own for sender in senders.of_tokens) <= indexed
