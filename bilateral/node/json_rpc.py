"""JSON-RPC over any connection: requests, batches, retries, and validation of the node's responses.

This module does no I/O. It yields the bytes to post, so that blocking and asynchronous connections can share the code.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from typing import Any, Final, TypeAlias, TypeVar

from bilateral.core.errors import (
    BilateralError,
    MalformedNodeAnswerError,
    NodeError,
    NodeTimeoutError,
    NodeUnreachableError,
)
from bilateral.core.text import quoted
from bilateral.core.text.encoding import is_shallow
from bilateral.node.refusals import is_temporary
from bilateral.node.steps import Pause, Rpc

T = TypeVar("T")

RETRIES: Final = 3
"""The number of retries after a temporary failure."""

_BACKOFF_SECONDS: Final = 0.2
"""The pause before the first retry. It doubles each time, so three retries take at most two seconds."""

_BATCH_SIZES: Final = (100, 10, 1)
"""The batch sizes to try, in requests per batch. If a node rejects one size, the next one is tried."""

REPEATABLE: Final = frozenset(
    {
        *("eth_blockNumber", "eth_chainId", "eth_getBlockByNumber", "eth_getBlockReceipts", "eth_getLogs"),
        *("eth_call", "eth_estimateGas", "eth_getBalance", "eth_getCode", "eth_getTransactionCount"),
        *("eth_feeHistory", "eth_gasPrice", "eth_maxPriorityFeePerGas"),
        *("eth_getTransactionByHash", "eth_getTransactionReceipt"),
        *("getAccountInfo", "getMinimumBalanceForRentExemption", "getMultipleAccounts", "getTokenLargestAccounts"),
        *("getBlockTime", "getBlocksWithLimit", "getFirstAvailableBlock", "getGenesisHash", "getSlot"),
        *("getLatestBlockhash", "isBlockhashValid", "simulateTransaction"),
        *("getSignatureStatuses", "getSignaturesForAddress", "getTransaction"),
    }
)
"""The methods that are safe to retry, on all kinds of chains. Transactions are not resent: after a failure, they are
looked up."""

_TOO_LARGE: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY)
"""HTTP statuses which mean that a request is too large and should be split."""


@dataclass(frozen=True)
class Post:
    """Bytes to post to the node. The result is a `Reply`.

    Attributes:
        body: The bytes.
        method: The JSON-RPC method, for messages.
        deadline: The time, on the monotonic clock, by which the reply must be complete.
    """

    body: bytes
    method: str
    deadline: float


@dataclass(frozen=True)
class Reply:
    """A node's HTTP reply.

    Attributes:
        status: The HTTP status.
        body: The decompressed body.
        retry_after: The value of the Retry-After header, in seconds; None if missing.
        location: The origin of a redirect's target, such as `https://host`; empty if there is no redirect. The path is
            omitted, because it may contain a key.
    """

    status: int
    body: bytes
    retry_after: float | None = None
    location: str = ""

    @property
    def problem(self) -> str:
        """A description of the HTTP status, including the new origin if the node's URL has moved."""
        if not self.is_redirect:
            return f"HTTP status {self.status}"
        to = f" to {self.location}" if self.location else ""
        return f"a redirect{to} (HTTP status {self.status}), which is not followed: use the URL that it leads to"

    @property
    def is_redirect(self) -> bool:
        """True if the URL has moved, so that retrying does not help."""
        return HTTPStatus.MULTIPLE_CHOICES <= self.status < HTTPStatus.BAD_REQUEST


Exchange: TypeAlias = Generator[Post | Pause, Any, T]


@dataclass
class JsonRpc:
    """A JSON-RPC session with one node.

    Attributes:
        timeout: The timeout for a request, including its retries, in seconds.
        batch_sizes: The batch sizes that the node has not rejected, largest first.
    """

    timeout: float
    batch_sizes: list[int] = field(default_factory=lambda: list(_BATCH_SIZES))
    _ids: count[int] = field(default_factory=lambda: count(1))

    def request(self, method: str, parameters: Sequence[Any]) -> Exchange[Any]:
        """Send a request, and retry after temporary failures."""
        id_ = next(self._ids)
        body = _encode(_message(id_, method, parameters))
        reply = yield from self._post(method, body, is_repeatable=method in REPEATABLE)
        _require_status(method, reply, is_read=method in REPEATABLE)
        return result_of(method, _decode(method, reply.body), id_)

    def batch(self, requests: Sequence[Rpc]) -> Exchange[list[Any]]:
        """Send requests in batches, or individually if the node rejects batches."""
        reply: list[Any] = []
        while len(reply) < len(requests):
            part = requests[len(reply) : len(reply) + self.batch_sizes[0]]
            if len(part) > 1:
                answers = yield from self._batch(part)
                if answers is None:
                    self.batch_sizes.pop(0)
                else:
                    reply += answers
                continue
            reply.append((yield from self._alone(part[0])))
        return reply

    def _alone(self, request: Rpc) -> Exchange[Any]:
        """Send a single request. Return its result, or an error that concerns only this request."""
        try:
            return (yield from self.request(request.method, request.parameters))
        except (NodeError, MalformedNodeAnswerError) as error:
            return error

    def _batch(self, requests: Sequence[Rpc]) -> Exchange[list[Any] | None]:
        ids = [next(self._ids) for _ in requests]
        pairs = zip(ids, requests, strict=True)
        body = _encode([_message(id_, request.method, request.parameters) for id_, request in pairs])
        is_repeatable = all(request.method in REPEATABLE for request in requests)
        reply = yield from self._post("a batch", body, is_repeatable=is_repeatable)
        if reply.status in _TEMPORARY_GATEWAYS:
            _require_status("a batch", reply, is_read=False)
        try:
            answers = _decode("a batch", reply.body)
        except MalformedNodeAnswerError:
            return None
        if reply.status != HTTPStatus.OK or not isinstance(answers, list):
            return None
        by_id = {
            answer["id"]: answer for answer in answers if isinstance(answer, dict) and type(answer.get("id")) is int
        }
        values: list[Any] = []
        for id_, request in zip(ids, requests, strict=True):
            try:
                values.append(result_of(request.method, by_id.get(id_), id_))
            except (NodeError, MalformedNodeAnswerError) as error:
                values.append((yield from self._again(request, error)))
        return values

    def _again(self, request: Rpc, error: BilateralError) -> Exchange[Any]:
        """Resend a request from a batch after a rate limit or a missing response. Return its result or error."""
        is_worth_it = not isinstance(error, NodeError) or is_temporary(error.node_message, error.code)
        if request.method not in REPEATABLE or not is_worth_it:
            return error
        return (yield from self._alone(request))

    def _post(self, method: str, body: bytes, *, is_repeatable: bool) -> Exchange[Reply]:
        """Post bytes. Retry after temporary failures, unless the wait would exceed the deadline."""
        deadline = time.monotonic() + self.timeout
        for attempt in range(RETRIES + 1):
            wait = _BACKOFF_SECONDS * 2**attempt * random.uniform(1.0, 1.25)  # noqa: S311  # spreads retries
            try:
                reply: Reply = yield Post(body, method, deadline)
            except NodeTimeoutError:
                raise
            except NodeUnreachableError:
                if not is_repeatable or attempt == RETRIES or time.monotonic() + wait >= deadline:
                    raise
            else:
                wait = max(wait, reply.retry_after or 0.0)
                is_last = attempt == RETRIES or time.monotonic() + wait >= deadline
                if is_last or not _may_retry(reply, is_repeatable=is_repeatable):
                    return reply
            yield Pause(wait)
        raise AssertionError


_TEMPORARY_GATEWAYS: Final = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)


def _may_retry(reply: Reply, *, is_repeatable: bool) -> bool:
    """Return whether a reply temporarily rejects a request that is safe to retry."""
    if reply.status == HTTPStatus.TOO_MANY_REQUESTS:  # sent before the node reads a transaction
        return True
    if not is_repeatable:
        return False
    if reply.status == HTTPStatus.OK:
        error = _error_in(reply.body)
        return error is not None and is_temporary(*error)
    return is_temporary("", status=reply.status)


def _error_in(body: bytes) -> tuple[str, int | None] | None:
    """Return the message and code if a body is a single JSON-RPC error; None otherwise."""
    if b'"error"' not in body[:4096]:
        return None
    try:
        answer = json.loads(body) if len(body) < 1 << 16 else None  # larger bodies are not errors
    except (ValueError, RecursionError):
        return None
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return (error, None) if isinstance(error, str) else None
    code = error.get("code")
    return str(error.get("message", "")), code if type(code) is int else None


def result_of(method: str, answer: Any, id_: int | None = None) -> Any:
    """Return the `result` from a JSON-RPC response."""
    if not isinstance(answer, Mapping) or ("result" not in answer and "error" not in answer):
        raise MalformedNodeAnswerError(f"the node's response to {method} is not JSON-RPC")
    error, answered = answer.get("error"), answer.get("id")
    is_ours = type(answered) is int and answered == id_
    if id_ is not None and not is_ours and not (error is not None and answered is None):
        raise MalformedNodeAnswerError(f"the node's response to {method} has the id of a different request")
    if error is None:
        return answer.get("result")
    if isinstance(error, Mapping):
        code = error.get("code")
        raise NodeError(
            method, code if isinstance(code, int) else None, str(error.get("message", "")), error.get("data")
        )
    raise NodeError(method, None, error if isinstance(error, str) else quoted(str(error)))


def _require_status(method: str, reply: Reply, *, is_read: bool) -> None:
    """Raise the error for an HTTP error status. A JSON-RPC error in the body takes precedence over the status."""
    if reply.status == HTTPStatus.OK:
        return
    error = _error_in(reply.body)
    if error is not None:
        result_of(method, json.loads(reply.body))
    if is_read and reply.status in _TOO_LARGE:
        raise NodeError(method, None, f"HTTP status {reply.status}")
    raise NodeUnreachableError(f"the node responded to {method} with {reply.problem}", is_final=reply.is_redirect)


def _message(id_: int, method: str, parameters: Sequence[Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": list(parameters)}


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _decode(method: str, body: bytes) -> Any:
    try:
        text = body.decode()
        if is_shallow(text):
            return json.loads(text)
    except (ValueError, RecursionError):
        pass
    raise MalformedNodeAnswerError(f"the node's response to {method} is not JSON-RPC")
