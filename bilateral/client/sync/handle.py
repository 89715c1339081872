# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.
"""The result of a write: a transaction, and ways to wait for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from bilateral.client.handle import TIMEOUT, SentTransaction
from bilateral.client.inputs import Signal
from bilateral.client.operations import confirmations as confirming
from bilateral.client.operations import replacements
from bilateral.client.operations.transactions import Sent
from bilateral.client.results import FeedbackEntry
from bilateral.client.state import ClientState
from bilateral.core.values.arguments import checked
from bilateral.node.running import Run

T = TypeVar("T")


class Handle(SentTransaction[T]):
    """A write of `Client`."""

    def __init__(self, run: Run, state: ClientState, sent: Sent[T] | None) -> None:
        super().__init__(sent)
        self._run = run
        self._state = state

    @checked
    def wait(self, timeout: float = TIMEOUT, *, confirmations: int = 1) -> T:
        """Wait for the transaction, and return its result, decoded from its events.

        You may call it again, also after an error: the transaction may still get into a block.

        Args:
            timeout: The longest wait, in seconds.
            confirmations: The number of blocks that must confirm it, its own included.

        Raises:
            TransactionPendingError: It does not have the confirmations yet, or the node did not say.
            TransactionDroppedError: It is in no block, and the node no longer knows it.
            TransactionReplacedError: A block has another transaction with its nonce.
            ContractRevertError: The registry reverted in the block, because something changed after the simulation.
            TransactionFailedError: It failed, and the node gives no reason.
            UnexpectedAnswerError: It succeeded, but the receipt or its events do not fit what was sent.
            NotSentError: Nothing was sent: the client only tries its writes (dry run).
        """
        result: T = self._run(confirming.wait(self._state, self._require_sent(), timeout, confirmations))
        return result

    def speed_up(self) -> Handle[T]:
        """Send the transaction again with higher fees: an eighth more, or what the node quotes now if that is more.

        Returns:
            A handle of the faster transaction, whose `wait` also accepts the slower one. This one if it is in a block.

        Raises:
            FeeLimitError: The fees exceed the client's limits.
            TransactionReplacedError: Another transaction with its nonce is in a block.
            NotSentError: Nothing was sent.
        """
        faster: Sent[T] = self._run(replacements.speed_up(self._state, self._require_sent()))
        return Handle(self._run, self._state, faster)

    def cancel(self) -> Handle[bool]:
        """Replace the transaction by an empty one with higher fees.

        Returns:
            A handle of the empty transaction. Its `wait` returns True once a block has it, and raises
            `TransactionReplacedError` if the cancelled transaction was faster.

        Raises:
            FeeLimitError: The fees exceed the client's limits.
            TransactionReplacedError: The transaction is in a block already.
            NotSentError: Nothing was sent.
        """
        empty: Sent[bool] = self._run(replacements.cancel(self._state, self._require_sent()))
        return Handle(self._run, self._state, empty)


@dataclass(frozen=True)
class SignalBatch:
    """The signals of one period.

    Attributes:
        handles: Those that were sent now, in the order of the missing signals.
        already_published: Those that the chain had already.
    """

    handles: tuple[Handle[FeedbackEntry], ...]
    already_published: tuple[Signal, ...]

    @checked
    def wait(self, timeout: float = TIMEOUT) -> list[FeedbackEntry]:
        """Wait for all that were sent.

        Args:
            timeout: The longest wait for each, in seconds.
        """
        return [handle.wait(timeout) for handle in self.handles]
