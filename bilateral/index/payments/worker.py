"""Follow the payments of one chain, behind its index."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.index.chain.checks import ENDPOINT_FAILURES
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.errors import ChainChangedError, CursorMovedError
from bilateral.index.payments.store import PaymentRange, PaymentStore
from bilateral.index.payments.transfers import TransferSource, unsure_senders, with_nonces

_LOGGER: Final = logging.getLogger("bilateral.index")


class PaymentFollower:
    """Follows the payments of one chain, one range of blocks after the other.

    Args:
        store: The chain's payments in the database.
        pool: The chain's endpoints.
        wait: Waits some seconds; returns False to give up.
    """

    def __init__(self, store: PaymentStore, pool: Pool, wait: Callable[[float], bool] | None = None) -> None:
        self._store = store
        self._pool = pool
        self._wait = wait
        self._sources: dict[str, TransferSource] = {}

    def step(self) -> bool:
        """Store the payments of the next range of blocks.

        Returns:
            False if payments are as far as the index; True if a range was stored, or the index must step first.

        Raises:
            NoEndpointError: No endpoint is usable now; try again later.
        """
        due = self._store.next_range()
        if due is None:
            return False
        while True:
            source = self._pool.choose()
            try:
                stored = self._read(self._transfer_source(source), due)
            except (CursorMovedError, ChainChangedError):
                return True  # the index must roll back first, or another worker was faster
            except ENDPOINT_FAILURES as problem:
                self._pool.bench(source, problem)
            else:
                self._pool.succeeded(source)
                _LOGGER.info("chain=%d payments=%d block=%d", self._store.chain_id, stored, due.last)
                return True

    def _transfer_source(self, source: Source) -> TransferSource:
        """Return the reader of the tokens' logs through an endpoint, which is made once."""
        if source.name not in self._sources:
            tokens = list(self._store.terms.tokens)
            self._sources[source.name] = TransferSource(source.endpoint, tokens, self._wait)
        return self._sources[source.name]

    def _read(self, source: TransferSource, due: PaymentRange) -> int:
        """Read and store the payments of a range. Its end must have the same hash before and after."""
        self._require_end(source, due)
        wallets, owners = self._store.accounts(due)
        paid = source.received(wallets, due.first, due.last)
        returned = source.sent({*wallets, *owners}, due.first, due.last)
        payers = {transfer.sender for transfer in paid if transfer.amount > 0}
        if payers:
            first, last = paid[0].block_number, paid[-1].block_number
            used = source.authorizations(payers, first, last)
            unsure = unsure_senders(paid, used)
            paid = with_nonces(paid, used, source.sent(unsure, first, last) if unsure else ())
        self._require_end(source, due)
        return self._store.append(due, paid, returned)

    def _require_end(self, source: TransferSource, due: PaymentRange) -> None:
        """Check that the last block of a range is still in the chain."""
        header = source.header(due.last)
        if header is None:
            raise MalformedNodeAnswerError(f"{source.name} lacks block {due.last}")
        if header.block.hash != due.hash:
            raise ChainChangedError(source.name, f"block {due.last} was replaced")
