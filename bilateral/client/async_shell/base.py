"""What runs the operations of `AsyncClient`: the event loop goes on while a step is done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self, TypeVar

from web3.providers import AsyncBaseProvider

from bilateral.arguments import checked_class
from bilateral.client.core import chain
from bilateral.client.handle import AsyncHandle, AsyncSignalBatch
from bilateral.client.inputs import TransactionSigner
from bilateral.client.session import Session
from bilateral.client.steps import Blocking, Exclusive, Pause, Rpc
from bilateral.client.transport import AsyncTransport, require_duration
from bilateral.contracts import Deployment
from bilateral.documents import DataUriStore, Loader, Store

if TYPE_CHECKING:
    from types import TracebackType

    from bilateral.client.core.signals import Published
    from bilateral.client.core.transactions import Sent
    from bilateral.client.steps import Operation, Step

T = TypeVar("T")


@checked_class
class AsyncShell:
    """Runs operations without holding up the event loop. See `AsyncClient` for the arguments."""

    def __init__(  # noqa: PLR0913  # settings, all but one with a default
        self,
        rpc: str | AsyncBaseProvider,
        *,
        signer: TransactionSigner | None = None,
        deployment: Deployment | None = None,
        store: Store | None = None,
        loader: Loader | None = None,
        dry_run: bool = False,
        request_timeout: float = 30.0,
        poll_interval: float = 1.0,
    ) -> None:
        """See `AsyncClient`. Nothing is asked of the node yet."""
        require_duration("poll_interval", poll_interval)
        self._session = Session(
            given=deployment,
            signer=signer,
            store=store or DataUriStore(),
            loader=loader or Loader(),
            dry_run=dry_run,
            poll_interval=poll_interval,
        )
        self._transport = AsyncTransport(rpc, request_timeout)
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Use it as a context, to close its connections at the end."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close its connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections to the node."""
        await self._transport.close()

    @property
    def address(self) -> str | None:
        """The signer's address; None for a client that only reads."""
        return chain.address_of(self._session)

    async def get_deployment(self) -> Deployment:
        """Where the registries are that this client uses, see `Client.get_deployment`."""
        return await self._run(chain.connect(self._session))

    async def _run(self, operation: Operation[T]) -> T:
        """Run an operation to its end."""
        try:
            step = next(operation)
            while True:
                try:
                    answer = await self._perform(step)
                except BaseException as error:  # noqa: BLE001  # the operation decides what becomes of it
                    step = operation.throw(error)
                else:
                    step = operation.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _write(self, operation: Operation[Sent[T]]) -> AsyncHandle[T]:
        """Run an operation that sends a transaction."""
        return AsyncHandle(self, await self._run(operation))

    async def _write_signals(self, operation: Operation[Published]) -> AsyncSignalBatch:
        """Run the operation that publishes signals."""
        published = await self._run(operation)
        return AsyncSignalBatch(tuple(AsyncHandle(self, sent) for sent in published.sent), published.already)

    async def _perform(self, step: Step) -> Any:
        """Do one step."""
        match step:
            case Rpc(method, parameters):
                return await self._transport.request(method, parameters)
            case Blocking(function):
                return await asyncio.to_thread(function)
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case Exclusive(operation):
                async with self._lock:
                    return await self._run(operation)
