# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.
"""Many writes at once."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from bilateral.client.operations import transactions
from bilateral.client.operations.transactions import Sent
from bilateral.client.sync.agents import AgentMethods
from bilateral.client.sync.buyers import BuyerMethods
from bilateral.client.sync.feedback import FeedbackMethods
from bilateral.client.sync.handle import Handle
from bilateral.client.sync.ratings import RatingMethods
from bilateral.client.sync.runner import Runner
from bilateral.client.sync.signed import SignedMethods
from bilateral.client.sync.validation import ValidationMethods
from bilateral.node.steps import Operation

T = TypeVar("T")


class WriteBatch(
    AgentMethods,
    FeedbackMethods,
    SignedMethods,
    RatingMethods,
    ValidationMethods,
    BuyerMethods,
):
    """Writes that are prepared together and sent at once, see `Client.batch`. It reads like its client."""

    def __init__(self, client: Runner) -> None:
        self._client = client
        self.state = replace(client.state, is_collecting=True)
        self.runner = client.runner
        self._writes: list[Operation[Sent[Any]]] = []
        self._handles: list[Handle[Any]] = []

    def __enter__(self) -> Self:
        """Begin to collect writes."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Send the writes, unless an exception ends the context."""
        if kind is None:
            self.send()

    def close(self) -> None:
        """Forget the writes that were not sent. The client stays open."""
        self._writes, self._handles = [], []

    def send(self) -> tuple[Handle[Any], ...]:
        """Simulate the writes against the chain as it is now, sign them, and send them in order.

        Returns:
            The handles of the writes, in order.

        Raises:
            ContractRevertError: A registry would revert one of them. Nothing was sent.
            InsufficientFundsError: The signer cannot pay for all. Nothing was sent.
            FeeLimitError: One exceeds the client's limits. Nothing was sent.
            BatchInterruptedError: Sending stopped in the middle. Handles with a hash were sent.
        """
        writes, handles = self._writes, self._handles
        self._writes, self._handles = [], []

        def note(position: int, sent: Sent[Any]) -> None:
            handles[position].mark_sent(sent)

        self._client.runner.run(transactions.send_all(self._client.state, writes, note))
        return tuple(handles)

    def _write(self, operation: Operation[Sent[T]]) -> Handle[T]:
        """Keep a write, and return a handle without a transaction."""
        handle: Handle[T] = Handle(self._client.runner.run, self._client.state, None)
        self._writes.append(operation)
        self._handles.append(handle)
        return handle
