"""Requests to a node: through this package's own HTTP connections, or through a provider that the user created."""

import asyncio
import time
from collections.abc import Awaitable, Generator, Sequence
from typing import Any, Final, NoReturn, Protocol

from bilateral.core import errors
from bilateral.node.http import AsyncConnection, Connection
from bilateral.node.json_rpc import JsonRpc, Post, result_of
from bilateral.node.steps import Pause, Rpc, run, run_async

_MAX_SECONDS: Final = 10**6  # eleven days; a larger number is probably in the wrong unit


class Provider(Protocol):
    """A connection to a node that the user created, such as a provider from web3.py."""

    def make_request(self, method: Any, params: Any, /) -> Any:
        """Send a request, and return the JSON-RPC response: a mapping with `result` or `error`."""


class AsyncProvider(Protocol):
    """An asynchronous connection to a node that the user created. See `Provider`."""

    def make_request(self, method: Any, params: Any, /) -> Awaitable[Any]:
        """Send a request, and return the JSON-RPC response: a mapping with `result` or `error`."""


class Transport:
    """Sends requests to a node, and blocks until it responds.

    Args:
        rpc: The URL of the node's JSON-RPC endpoint, or a provider.
        timeout: The timeout for a request, including its retries, in seconds. A provider has its own timeouts.

    Raises:
        InvalidArgumentError: The URL or the number of seconds is invalid.
    """

    def __init__(self, rpc: str | Provider, timeout: float) -> None:
        self._rpc = _conversation(rpc, timeout)
        self._connection = Connection(rpc) if isinstance(rpc, str) else None
        self._provider = None if isinstance(rpc, str) else rpc

    def request(self, method: str, parameters: Sequence[Any]) -> Any:
        """Send a request.

        Returns:
            The `result`.
        """
        return run(self._rpc.request(method, parameters), self._perform)

    def batch(self, requests: Sequence[Rpc]) -> list[Any]:
        """Send several requests together, or individually if the transport is a provider or the node rejects batches.

        Returns:
            For each request, either its result, or the `NodeError` or `MalformedNodeAnswerError` that occurred.
        """
        return run(self._rpc.batch(requests), self._perform)

    def close(self) -> None:
        """Close the connections. A provider remains open."""
        if self._connection is not None:
            self._connection.close()

    def _perform(self, step: Post | Pause | Rpc) -> Any:
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        if isinstance(step, Post):
            assert self._connection is not None  # noqa: S101  # only JsonRpc posts
            return self._connection.post(step)
        assert self._provider is not None  # noqa: S101  # only _OfProvider asks so
        return self._provider.make_request(step.method, list(step.parameters))


class AsyncTransport:
    """Sends requests to a node without blocking the event loop. See `Transport`."""

    def __init__(self, rpc: str | AsyncProvider, timeout: float) -> None:
        self._rpc = _conversation(rpc, timeout)
        self._connection = AsyncConnection(rpc) if isinstance(rpc, str) else None
        self._provider = None if isinstance(rpc, str) else rpc

    async def request(self, method: str, parameters: Sequence[Any]) -> Any:
        """Send a request. See `Transport.request`."""
        return await run_async(self._rpc.request(method, parameters), self._perform)

    async def batch(self, requests: Sequence[Rpc]) -> list[Any]:
        """Send several requests together. See `Transport.batch`."""
        return await run_async(self._rpc.batch(requests), self._perform)

    async def close(self) -> None:
        """Close the connections. A provider remains open."""
        if self._connection is not None:
            await self._connection.close()

    async def _perform(self, step: Post | Pause | Rpc) -> Any:
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        if isinstance(step, Post):
            assert self._connection is not None  # noqa: S101  # only JsonRpc posts
            return await self._connection.post(step)
        assert self._provider is not None  # noqa: S101  # only _OfProvider asks so
        return await self._provider.make_request(step.method, list(step.parameters))


class _OfProvider:
    """A session with a provider. The provider does its own retries, and accepts one request at a time."""

    def request(self, method: str, parameters: Sequence[Any]) -> Generator[Rpc, Any, Any]:
        """Send a request."""
        try:
            return result_of(method, (yield Rpc(method, tuple(parameters))))
        except errors.BilateralError:
            raise
        except Exception as failure:  # noqa: BLE001  # each provider has exceptions of its own
            _rethrow(method, failure)

    def batch(self, requests: Sequence[Rpc]) -> Generator[Rpc, Any, list[Any]]:
        """Send requests individually."""
        results: list[Any] = []
        for request in requests:
            try:
                results.append((yield from self.request(request.method, request.parameters)))
            except (errors.NodeError, errors.MalformedNodeAnswerError) as error:
                results.append(error)
        return results


def _conversation(rpc: object, timeout: float) -> JsonRpc | _OfProvider:
    require_duration("request_timeout", timeout)
    return JsonRpc(timeout) if isinstance(rpc, str) else _OfProvider()


def require_duration(name: str, seconds: float) -> None:
    """Check that a number of seconds is valid."""
    if not 0 < seconds < _MAX_SECONDS:
        raise errors.InvalidArgumentError(f"{name} must be a number of seconds above 0 and below {_MAX_SECONDS}")


def _rethrow(method: str, failure: Exception) -> NoReturn:
    """Raise this package's error for a provider's exception. Omit its text, which may contain a URL with a key."""
    if isinstance(failure, TimeoutError) or "Timeout" in type(failure).__name__:
        raise errors.NodeTimeoutError(f"the node did not respond to {method} in time") from None
    status = getattr(getattr(failure, "response", None), "status_code", None) or getattr(failure, "status", None)
    if status is not None:
        raise errors.NodeUnreachableError(f"the node responded to {method} with HTTP status {status}") from None
    if isinstance(failure, ValueError):
        raise errors.MalformedNodeAnswerError(f"the node's response to {method} is not JSON-RPC") from None
    raise errors.NodeUnreachableError(f"the node cannot be reached: {type(failure).__name__}") from None
