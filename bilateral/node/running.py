"""Runners, which perform each step of an operation through a transport and pass its result back to the operation.

`StepRunner` blocks; `AsyncStepRunner` does not. Clients and verifiers share these runners.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from bilateral.core.errors import InvalidArgumentError
from bilateral.node.steps import Batch, Blocking, Exclusive, Operation, Pause, Rpc, Step, run, run_async
from bilateral.node.transport import AsyncTransport, Transport

T = TypeVar("T")

Run: TypeAlias = Callable[[Operation[Any]], Any]
"""A function that runs an operation to completion."""

AsyncRun: TypeAlias = Callable[[Operation[Any]], Awaitable[Any]]
"""A function that runs an operation to completion without blocking the event loop."""


class StepRunner:
    """Runs operations in the calling thread. Thread-safe.

    Args:
        transport: Sends the requests to the node; None if the operations do not use a node.
    """

    def __init__(self, transport: Transport | None) -> None:
        self._transport, self._lock = transport, threading.Lock()

    def run(self, operation: Operation[T]) -> T:
        """Run an operation to completion, and return its result."""
        return run(operation, self._perform)

    def _perform(self, step: Step) -> Any:
        match step:
            case Rpc(method, parameters):
                return _node(self._transport).request(method, parameters)
            case Batch(requests):
                return _node(self._transport).batch(requests)
            case Blocking(function):
                return function()
            case Pause(seconds):
                time.sleep(seconds)
                return None
            case Exclusive(operation):
                with self._lock:
                    return self.run(operation)


class AsyncStepRunner:
    """Runs operations without blocking the event loop. Tasks of one event loop may share it.

    Args:
        transport: Sends the requests to the node; None if the operations do not use a node.
    """

    def __init__(self, transport: AsyncTransport | None) -> None:
        self._transport, self._lock = transport, asyncio.Lock()

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to completion, and return its result."""
        return await run_async(operation, self._perform)

    async def _perform(self, step: Step) -> Any:
        match step:
            case Rpc(method, parameters):
                return await _node(self._transport).request(method, parameters)
            case Batch(requests):
                return await _node(self._transport).batch(requests)
            case Blocking(function):
                return await asyncio.to_thread(function)
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case Exclusive(operation):
                async with self._lock:
                    return await self.run(operation)


def _node(transport: T | None) -> T:
    if transport is None:
        raise InvalidArgumentError(
            "the operation needs a node, but its runner has none: create the runner with a transport"
        )
    return transport
