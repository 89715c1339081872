"""Find the sources of accounts' initial funds by searching a chain's history on archive nodes.

Once an account has received funds, its balance or its number of transactions stays above zero, because spending takes a
transaction. Bisection therefore finds the block of the initial funds, which shows where they came from.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import Engine, select

from bilateral.core.identifiers import checksummed
from bilateral.index.chain.checks import ENDPOINT_FAILURES
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.logs import amount, quantity, word
from bilateral.index.chain.pool import Pool
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import insert_new
from bilateral.index.standing.opinions import accounts_without_funding
from bilateral.index.standing.tables import AnalysisKey, FundingState, funding

_ACCOUNTS_AT_ONCE: Final = 40
"""The number of accounts to search for and store together. An interruption loses at most this many results."""


class _Transaction(msgspec.Struct, rename={"sender": "from"}):
    hash: str
    sender: str
    value: str
    to: str | None = None


class _FullBlock(msgspec.Struct):
    number: str
    timestamp: str
    transactions: list[_Transaction]


class _Receipt(msgspec.Struct):
    status: str


class FundingCollector:
    """Finds and stores the first inbound transfers of accounts that act in the registries.

    Each group of accounts is stored as soon as it is done, so a stopped collector continues where it left off.

    Args:
        pool: The chain's endpoints, which must be archive nodes.
        progress: Called with the number of accounts that have been processed so far and the total number of accounts.
    """

    def __init__(
        self, engine: Engine, key: AnalysisKey, pool: Pool, progress: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        self._engine = engine
        self._key = key
        self._pool = pool
        self._progress = progress

    def collect(self, at_most: int | None = None) -> int:
        """Find the first inbound transfer of each account for which none is stored."""
        with self._engine.connect().execution_options(bilateral_reader=True) as connection:
            waiting = list(accounts_without_funding(connection, self._key).items())[:at_most]
        for start in range(0, len(waiting), _ACCOUNTS_AT_ONCE):
            self._store(self._funding_rows(dict(waiting[start : start + _ACCOUNTS_AT_ONCE])))
            self._progress(min(start + _ACCOUNTS_AT_ONCE, len(waiting)), len(waiting))
        return len(waiting)

    def _funding_rows(self, accounts: Mapping[str, int]) -> list[dict[str, Any]]:
        while True:
            source = self._pool.choose()
            try:
                return _Search(source.endpoint).rows(accounts)
            except ENDPOINT_FAILURES as problem:
                self._pool.bench(source, problem)

    def _store(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Store rows, unless another process has already stored them."""
        chain = schema.chain
        with self._engine.begin() as connection:
            # Because of the lock, no block can be stored before this transaction ends, so the note's block is correct.
            head = select(chain.c.block_number).where(chain.c.chain_id == self._key.chain_id).with_for_update()
            existing = {"chain_id": self._key.chain_id, "seen_block": connection.execute(head).scalar_one()}
            insert_new(connection, funding, [{**existing, **row} for row in rows])


class _Search:
    """A search in past states and blocks from one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._blocks: dict[int, _FullBlock] = {}

    def rows(self, accounts: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return each account's row for the funding table."""
        low = {account: -1 for account, is_funded in self._had_funds(accounts).items() if is_funded}
        high = {account: accounts[account] for account in low}
        while open_ones := {
            account: (low[account] + high[account]) // 2 for account in low if high[account] - low[account] > 1
        }:
            for account, is_funded in self._had_funds(open_ones).items():
                (high if is_funded else low)[account] = open_ones[account]
        rows = [self._row(account, high[account]) for account in sorted(high, key=lambda account: high[account])]
        return rows + [
            {"account": account, "state": FundingState.NONE, "block_number": acted, **_NOTHING}
            for account, acted in accounts.items()
            if account not in high
        ]

    def _had_funds(self, at: Mapping[str, int]) -> dict[str, bool]:
        """Check whether each account had a balance, or had sent a transaction, as of a block."""
        calls = [(account, hex(block)) for account, block in at.items()]
        balances = self._endpoint.each("eth_getBalance", calls, str)
        counts = self._endpoint.each("eth_getTransactionCount", calls, str)
        return {
            account: amount(balance) > 0 or amount(count) > 0
            for account, balance, count in zip(at, balances, counts, strict=True)
        }

    def _row(self, account: str, number: int) -> dict[str, Any]:
        block = self._block(number)
        row = {"account": account, "block_number": number, "block_time": quantity(block.timestamp)}
        for transaction in block.transactions:
            if transaction.to is None or transaction.to.lower() != account.lower():
                continue
            if (value := amount(transaction.value)) > 0 and self._succeeded(transaction):
                hash_ = word(transaction.hash)
                source = checksummed(transaction.sender)
                return row | {"state": FundingState.FOUND, "source": source, "amount": value, "transaction_hash": hash_}
        holds = amount(self._endpoint.request("eth_getBalance", (account, hex(number)), str)) > 0
        state = FundingState.UNKNOWN if holds or number == 0 else FundingState.NONE
        return _NOTHING | row | {"state": state}

    def _succeeded(self, transaction: _Transaction) -> bool:
        """Check that a transaction succeeded, because a failed transaction does not transfer its value."""
        return quantity(self._endpoint.request("eth_getTransactionReceipt", (transaction.hash,), _Receipt).status) == 1

    def _block(self, number: int) -> _FullBlock:
        """Return a block with its transactions. The last block is cached, because accounts come in block order."""
        if number not in self._blocks:
            self._blocks = {number: self._endpoint.request("eth_getBlockByNumber", (hex(number), True), _FullBlock)}
        return self._blocks[number]


_NOTHING: Final = {"source": None, "amount": None, "block_time": None, "transaction_hash": None}
"""The values of the columns for an account whose source is unknown."""
