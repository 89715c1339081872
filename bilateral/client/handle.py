"""What a write returns at once: the transaction on its way, and how to wait for its result."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from bilateral.arguments import checked
from bilateral.client.core import transactions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bilateral.client.async_shell.base import AsyncShell
    from bilateral.client.core.transactions import Sent
    from bilateral.client.inputs import Signal
    from bilateral.client.results import FeedbackEntry
    from bilateral.client.shell.base import Shell

T = TypeVar("T")

TIMEOUT: Final = 120.0
"""Seconds to wait for a transaction unless told otherwise."""


class _Handle(Generic[T]):
    """What both kinds of handle show."""

    def __init__(self, sent: Sent[T]) -> None:
        """Show a transaction."""
        self._sent = sent

    @property
    def hash(self) -> str | None:
        """The transaction's hash, 0x and 64 digits; None if nothing was sent because the client only tries."""
        return self._sent.hash

    @property
    def transaction(self) -> Mapping[str, Any]:
        """The transaction as web3.py writes one: `to`, `data`, `nonce`, `gas`, fees in wei, `chainId`."""
        return MappingProxyType(self._sent.transaction)

    @property
    def gas(self) -> int:
        """The gas that the node estimates for it; the transaction's limit is somewhat higher."""
        return self._sent.gas

    @property
    def raw_transaction(self) -> bytes | None:
        """The signed transaction, which may be sent again to any node; None if nothing was signed."""
        return self._sent.raw

    def __repr__(self) -> str:
        """The hash, or that nothing was sent."""
        return f"<{type(self).__name__} {self.hash or 'not sent'}>"


class Handle(_Handle[T]):
    """A write of `Client`, on its way."""

    def __init__(self, shell: Shell, sent: Sent[T]) -> None:
        """Show a transaction, and know whom to wait with."""
        super().__init__(sent)
        self._shell = shell

    @checked
    def wait(self, timeout: float = TIMEOUT, *, confirmations: int = 1) -> T:
        """Wait for the transaction, and decode its result from its events.

        May be called again, also after an error: the transaction may still get into a block.

        Args:
            timeout: How long to wait, in seconds.
            confirmations: In how many blocks it must be, its own included.

        Raises:
            TransactionPendingError: It is in no block yet, or in too few, as far as is known: the node knows it, or did
                not say.
            TransactionDroppedError: It is in no block, and the node does not know it any more.
            TransactionReplacedError: Another transaction with its nonce is in a block.
            ContractRevertError: The registry refused after all; what it is based on changed in between.
            TransactionFailedError: It failed, and the node does not tell why.
            UnexpectedAnswerError: It succeeded, but the registry logged something else than it does.
            NotSentError: Nothing was sent because the client only tries.
        """
        return self._shell._run(transactions.wait(self._shell._session, self._sent, timeout, confirmations))


class AsyncHandle(_Handle[T]):
    """A write of `AsyncClient`, on its way."""

    def __init__(self, shell: AsyncShell, sent: Sent[T]) -> None:
        """Show a transaction, and know whom to wait with."""
        super().__init__(sent)
        self._shell = shell

    @checked
    async def wait(self, timeout: float = TIMEOUT, *, confirmations: int = 1) -> T:
        """Wait for the transaction, see `Handle.wait`."""
        return await self._shell._run(transactions.wait(self._shell._session, self._sent, timeout, confirmations))


@dataclass(frozen=True)
class SignalBatch:
    """The signals of one period.

    Attributes:
        handles: Those that were sent now, in the order of the signals that were missing.
        already_published: Those that the chain had already.
    """

    handles: tuple[Handle[FeedbackEntry], ...]
    already_published: tuple[Signal, ...]

    @checked
    def wait(self, timeout: float = TIMEOUT) -> list[FeedbackEntry]:
        """Wait for all that were sent, as `Handle.wait`.

        Args:
            timeout: How long to wait for each, in seconds.
        """
        return [handle.wait(timeout) for handle in self.handles]


@dataclass(frozen=True)
class AsyncSignalBatch:
    """The signals of one period, see `SignalBatch`."""

    handles: tuple[AsyncHandle[FeedbackEntry], ...]
    already_published: tuple[Signal, ...]

    @checked
    async def wait(self, timeout: float = TIMEOUT) -> list[FeedbackEntry]:
        """Wait for all that were sent, as `AsyncHandle.wait`."""
        return [await handle.wait(timeout) for handle in self.handles]
