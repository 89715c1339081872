"""Many writes at once."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from bilateral.client.aio.agents import AsyncAgentMethods
from bilateral.client.aio.buyers import AsyncBuyerMethods
from bilateral.client.aio.feedback import AsyncFeedbackMethods
from bilateral.client.aio.handle import AsyncHandle
from bilateral.client.aio.ratings import AsyncRatingMethods
from bilateral.client.aio.runner import AsyncRunner
from bilateral.client.aio.signed import AsyncSignedMethods
from bilateral.client.aio.validation import AsyncValidationMethods
from bilateral.client.operations import transactions
from bilateral.client.operations.transactions import Sent
from bilateral.node.steps import Operation

T = TypeVar("T")


class AsyncWriteBatch(
    AsyncAgentMethods,
    AsyncFeedbackMethods,
    AsyncSignedMethods,
    AsyncRatingMethods,
    AsyncValidationMethods,
    AsyncBuyerMethods,
):
    """Writes that are prepared together and sent at once, see `AsyncClient.batch`. It reads like its client."""

    def __init__(self, client: AsyncRunner) -> None:
        self._client = client
        self.state = replace(client.state, is_collecting=True)
        self.runner = client.runner
        self._writes: list[Operation[Sent[Any]]] = []
        self._handles: list[AsyncHandle[Any]] = []

    async def __aenter__(self) -> Self:
        """Begin to collect writes."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Send the writes, unless an exception ends the context."""
        if kind is None:
            await self.send()

    async def close(self) -> None:
        """Forget the writes that were not sent. The client stays open."""
        self._writes, self._handles = [], []

    async def send(self) -> tuple[AsyncHandle[Any], ...]:
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

        await self._client.runner.run(transactions.send_all(self._client.state, writes, note))
        return tuple(handles)

    async def _write(self, operation: Operation[Sent[T]]) -> AsyncHandle[T]:
        """Keep a write, and return a handle without a transaction."""
        handle: AsyncHandle[T] = AsyncHandle(self._client.runner.run, self._client.state, None)
        self._writes.append(operation)
        self._handles.append(handle)
        return handle
