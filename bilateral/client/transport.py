"""Requests to a node through web3.py's providers, whose failures become errors of this package."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast
from urllib.parse import urlsplit

import aiohttp
import requests
from web3 import AsyncHTTPProvider, HTTPProvider
from web3.exceptions import Web3Exception
from web3.providers.rpc.utils import ExceptionRetryConfiguration

from bilateral.documents.encoding import decode_object
from bilateral.errors import (
    InvalidArgumentError,
    MalformedNodeAnswerError,
    NodeError,
    NodeTimeoutError,
    NodeUnreachableError,
)
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from web3.providers import AsyncBaseProvider, BaseProvider
    from web3.types import RPCEndpoint, RPCResponse

_RETRIES: Final = 3
_BACKOFF_SECONDS: Final = 0.2
_MAX_SECONDS: Final = 10**6
# Asked again, none of these does any harm. A transaction is sent once: what became of it is looked up, not guessed.
_REPEATABLE: Final = (
    "eth_blockNumber",
    "eth_call",
    "eth_chainId",
    "eth_estimateGas",
    "eth_feeHistory",
    "eth_gasPrice",
    "eth_getBalance",
    "eth_getBlockByNumber",
    "eth_getCode",
    "eth_getLogs",
    "eth_getTransactionByHash",
    "eth_getTransactionCount",
    "eth_getTransactionReceipt",
    "eth_maxPriorityFeePerGas",
)

_TOO_MUCH: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY)
"""With which nodes refuse a read that asks for more than they give at once. A part of it may be had."""


def _decoded(raw_response: bytes) -> RPCResponse:
    """An answer, decoded as carefully as a document: brackets in brackets could bring Python's parser down."""
    return cast("RPCResponse", decode_object(raw_response))


class _HttpProvider(HTTPProvider):
    """The provider of web3.py, with a decoder of our own."""

    decode_rpc_response = staticmethod(_decoded)


class _AsyncHttpProvider(AsyncHTTPProvider):
    """The provider of web3.py, with a decoder of our own."""

    decode_rpc_response = staticmethod(_decoded)


class Transport:
    """Asks a node, and blocks until it answers.

    Args:
        rpc: The URL of its JSON-RPC, or a provider of web3.py.
        timeout: Seconds to wait for the connection, and then each time for the next piece of an answer.
    """

    def __init__(self, rpc: str | BaseProvider, timeout: float) -> None:
        """See the class."""
        _require_usable(rpc, timeout)
        self._provider: BaseProvider = (
            _HttpProvider(
                rpc,
                request_kwargs={"timeout": timeout},
                exception_retry_configuration=_retry((requests.ConnectionError, requests.HTTPError)),
            )
            if isinstance(rpc, str)
            else rpc
        )
        self._is_ours = isinstance(rpc, str)

    def request(self, method: str, parameters: Sequence[Any]) -> Any:
        """Ask.

        Args:
            method: The method.
            parameters: Its parameters, in the form of JSON.

        Returns:
            The `result`.

        Raises:
            NodeError: The node answers with an error, or refuses a read with one of HTTP's that may mean too much.
            NodeUnreachableError: It cannot be reached, or answers with another HTTP error.
            NodeTimeoutError: It does not answer in time.
            MalformedNodeAnswerError: It answers with something else than JSON-RPC.
        """
        try:
            return _result(method, self._provider.make_request(cast("RPCEndpoint", method), list(parameters)))
        except _FAILURES as failure:
            _rethrow(method, failure)

    def close(self) -> None:
        """Close the connections, if they are its own."""
        if self._is_ours:
            manager = cast("HTTPProvider", self._provider)._request_session_manager  # it has no close
            for _, session in list(manager.session_cache.items()):
                session.close()


class AsyncTransport:
    """Asks a node without holding up the event loop, see `Transport`. The time-out is for the whole of an answer."""

    def __init__(self, rpc: str | AsyncBaseProvider, timeout: float) -> None:
        """See `Transport`."""
        _require_usable(rpc, timeout)
        self._provider: AsyncBaseProvider = (
            _AsyncHttpProvider(
                rpc,
                request_kwargs={"timeout": aiohttp.ClientTimeout(total=timeout)},
                exception_retry_configuration=_retry((aiohttp.ClientConnectionError, aiohttp.ClientResponseError)),
            )
            if isinstance(rpc, str)
            else rpc
        )
        self._is_ours = isinstance(rpc, str)

    async def request(self, method: str, parameters: Sequence[Any]) -> Any:
        """Ask, see `Transport.request`."""
        try:
            return _result(method, await self._provider.make_request(cast("RPCEndpoint", method), list(parameters)))
        except _FAILURES as failure:
            _rethrow(method, failure)

    async def close(self) -> None:
        """Close the connections, if they are its own."""
        if self._is_ours:
            await self._provider.disconnect()


_NO_JSON: Final = (ValueError, RecursionError, Web3Exception)
_FAILURES: Final = (OSError, aiohttp.ClientError, *_NO_JSON)


def _require_usable(rpc: object, timeout: float) -> None:
    """Refuse a URL that no node has, and a time-out that none can keep. The URL is not shown: it may hold a key.

    Raises:
        InvalidArgumentError: Either is refused.
    """
    if isinstance(rpc, str):
        try:
            url = urlsplit(rpc)
            is_usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        except ValueError:
            is_usable = False
        if not is_usable:
            raise InvalidArgumentError("rpc is not an http(s) URL, such as https://sepolia.base.org")
    require_duration("request_timeout", timeout)


def require_duration(name: str, seconds: float) -> None:
    """Refuse a number of seconds that nobody can wait for.

    Raises:
        InvalidArgumentError: It is none.
    """
    if not 0 < seconds < _MAX_SECONDS:
        raise InvalidArgumentError(f"{name} is a number of seconds, more than 0 and less than {_MAX_SECONDS}")


def _retry(errors: tuple[type[Exception], ...]) -> ExceptionRetryConfiguration:
    """How often to ask again, and after which failures. Time-outs are none: they have cost their time already."""
    return ExceptionRetryConfiguration(
        errors=errors, retries=_RETRIES, backoff_factor=_BACKOFF_SECONDS, method_allowlist=_REPEATABLE
    )


def _rethrow(method: str, failure: Exception) -> NoReturn:
    """Turn a failure of the provider into an error of this package. URLs, which may hold keys, are not repeated."""
    if isinstance(failure, (TimeoutError, requests.Timeout)):
        raise NodeTimeoutError(f"the node does not answer {method} in time") from None
    status = getattr(getattr(failure, "response", None), "status_code", None) or getattr(failure, "status", None)
    if status in _TOO_MUCH and method in _REPEATABLE:
        raise NodeError(method, None, f"HTTP status {status}") from None
    if status is not None:
        raise NodeUnreachableError(f"the node answers {method} with HTTP status {status}") from None
    if isinstance(failure, _NO_JSON):
        raise MalformedNodeAnswerError(f"the node answers {method} with something else than JSON-RPC") from None
    raise NodeUnreachableError(f"the node cannot be reached: {type(failure).__name__}") from None


def _result(method: str, answer: Any) -> Any:
    """The `result` of an answer in JSON-RPC."""
    if not isinstance(answer, dict) or ("result" not in answer and "error" not in answer):
        raise MalformedNodeAnswerError(f"the node answers {method} with something else than JSON-RPC")
    error = answer.get("error")
    if error is None:
        return answer.get("result")
    if isinstance(error, dict):
        code = error.get("code")
        raise NodeError(
            method, code if isinstance(code, int) else None, str(error.get("message", "")), error.get("data")
        )
    raise NodeError(method, None, error if isinstance(error, str) else quoted(str(error)))
