"""What runs the operations of `Client`: it blocks until each step is done."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

from web3.providers import BaseProvider

from bilateral.arguments import checked_class
from bilateral.client.core import chain
from bilateral.client.handle import Handle, SignalBatch
from bilateral.client.inputs import TransactionSigner
from bilateral.client.session import Session
from bilateral.client.steps import Blocking, Exclusive, Pause, Rpc
from bilateral.client.transport import Transport, require_duration
from bilateral.contracts import Deployment
from bilateral.documents import DataUriStore, Loader, Store

if TYPE_CHECKING:
    from types import TracebackType

    from bilateral.client.core.signals import Published
    from bilateral.client.core.transactions import Sent
    from bilateral.client.steps import Operation, Step

T = TypeVar("T")


@checked_class
class Shell:
    """Runs operations, and blocks until they are done. See `Client` for the arguments."""

    def __init__(  # noqa: PLR0913  # settings, all but one with a default
        self,
        rpc: str | BaseProvider,
        *,
        signer: TransactionSigner | None = None,
        deployment: Deployment | None = None,
        store: Store | None = None,
        loader: Loader | None = None,
        dry_run: bool = False,
        request_timeout: float = 30.0,
        poll_interval: float = 1.0,
    ) -> None:
        """See `Client`. Nothing is asked of the node yet."""
        require_duration("poll_interval", poll_interval)
        self._session = Session(
            given=deployment,
            signer=signer,
            store=store or DataUriStore(),
            loader=loader or Loader(),
            dry_run=dry_run,
            poll_interval=poll_interval,
        )
        self._transport = Transport(rpc, request_timeout)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Use it as a context, to close its connections at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close its connections."""
        self.close()

    def close(self) -> None:
        """Close the connections to the node."""
        self._transport.close()

    @property
    def address(self) -> str | None:
        """The signer's address; None for a client that only reads."""
        return chain.address_of(self._session)

    def get_deployment(self) -> Deployment:
        """Where the registries are that this client uses.

        Raises:
            UnknownDeploymentError: None was given, and there is no packaged record for the node's chain.
            WrongChainError: The node is of another chain than the deployment.
        """
        return self._run(chain.connect(self._session))

    def _run(self, operation: Operation[T]) -> T:
        """Run an operation to its end."""
        try:
            step = next(operation)
            while True:
                try:
                    answer = self._perform(step)
                except BaseException as error:  # noqa: BLE001  # the operation decides what becomes of it
                    step = operation.throw(error)
                else:
                    step = operation.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def _write(self, operation: Operation[Sent[T]]) -> Handle[T]:
        """Run an operation that sends a transaction."""
        return Handle(self, self._run(operation))

    def _write_signals(self, operation: Operation[Published]) -> SignalBatch:
        """Run the operation that publishes signals."""
        published = self._run(operation)
        return SignalBatch(tuple(Handle(self, sent) for sent in published.sent), published.already)

    def _perform(self, step: Step) -> Any:
        """Do one step."""
        match step:
            case Rpc(method, parameters):
                return self._transport.request(method, parameters)
            case Blocking(function):
                return function()
            case Pause(seconds):
                return time.sleep(seconds)
            case Exclusive(operation):
                with self._lock:
                    return self._run(operation)
