"""One JSON-RPC endpoint: typed responses, limits on time and size, and readable error messages.

This module uses the SDK's connection but not its protocol layer (`bilateral.node.json_rpc`), which parses arbitrary
JSON and retries requests itself. The index handles each rejection itself and decodes logs directly into typed records,
which takes a tenth of the time.
"""

import hashlib
import threading
import time
from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from itertools import count
from typing import Any, Final, TypeVar

import msgspec

from bilateral.core.errors import MalformedNodeAnswerError, NodeError, NodeUnreachableError
from bilateral.node.http import Connection
from bilateral.node.json_rpc import Post, Reply

T = TypeVar("T")

_READABLE_ERRORS: Final = (400, 401, 402, 403, 408, 413, 422, 429, 503)
"""HTTP statuses whose bodies may contain a JSON-RPC error."""


class HeaderEntry(msgspec.Struct, gc=False):
    """A block header in JSON-RPC form, with only the fields that the index uses."""

    number: str | int
    hash: str
    parentHash: str  # noqa: N815  # the node's name
    timestamp: str | int
    # Nodes omit these hints or send them in many forms; the header's hash also covers them.
    logsBloom: Any = None  # noqa: N815
    receiptsRoot: Any = None  # noqa: N815
    transactions: Any = None
    sha3Uncles: Any = None  # noqa: N815
    miner: Any = None
    stateRoot: Any = None  # noqa: N815
    transactionsRoot: Any = None  # noqa: N815
    difficulty: Any = None
    gasLimit: Any = None  # noqa: N815
    gasUsed: Any = None  # noqa: N815
    extraData: Any = None  # noqa: N815
    mixHash: Any = None  # noqa: N815
    nonce: Any = None
    baseFeePerGas: Any = None  # noqa: N815
    withdrawalsRoot: Any = None  # noqa: N815
    blobGasUsed: Any = None  # noqa: N815
    excessBlobGas: Any = None  # noqa: N815
    parentBeaconBlockRoot: Any = None  # noqa: N815
    requestsHash: Any = None  # noqa: N815


class _RpcError(msgspec.Struct):
    """The error in a JSON-RPC response."""

    code: int | None = None
    message: Any = ""
    data: Any = None


class Endpoint:
    """A node's JSON-RPC API over HTTP.

    Args:
        url: The endpoint's URL. The URL may contain an API key, so only `name` is ever displayed.
        timeout: The total time limit for one request, in seconds.

    Attributes:
        name: The host, and the port if the URL contains one.
        key: The name and a short hash of the URL, which distinguish URLs with different API keys without revealing the
            keys.

    Raises:
        InvalidArgumentError: The URL is not an http(s) URL.
    """

    def __init__(self, url: str, timeout: float = 60.0) -> None:
        self._connection = Connection(url)
        self.name = self._connection.name
        self.key = f"{self.name}#{hashlib.sha256(url.encode()).hexdigest()[:8]}"
        self._timeout = timeout
        self._ids = count(1)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def request(self, method: str, parameters: Sequence[Any], kind: type[T]) -> T:
        """Call a method, and return its result."""
        message = self._message(method, parameters)
        reply = self._post(method, message)
        result: T = self._result(method, self._decode(method, reply, kind), message["id"], reply)
        return result

    def batch(self, method: str, calls: Sequence[Sequence[Any]], kind: type[T]) -> list[T]:
        """Call a method several times in one request, and return the results."""
        messages = [self._message(method, call) for call in calls]
        numbers = [message["id"] for message in messages]
        reply = self._post(method, messages)
        if reply.body[:16].lstrip()[:1] == b"{":  # a single error applies to all calls
            return [self._result(method, self._decode(method, reply, kind), numbers[0], reply)]
        answers = {answer.id: answer for answer in self._decode(method, reply, kind, is_batch=True)}
        if len(answers) != len(numbers) or not all(number in answers for number in numbers):
            raise MalformedNodeAnswerError(f"{self.name}: a batch of {method} returned ids that were not sent")
        return [self._result(method, answers[number], number, reply) for number in numbers]

    def each(self, method: str, calls: Sequence[Sequence[Any]], kind: type[T]) -> list[T]:
        """Call a method several times, in one batch or, if the endpoint rejects batches, in separate requests."""
        try:
            return self.batch(method, calls, kind)
        except (NodeError, MalformedNodeAnswerError):
            return [self.request(method, call, kind) for call in calls]

    def _message(self, method: str, parameters: Sequence[Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(parameters)}

    def _post(self, method: str, content: Any) -> Reply:
        return self._connection.post(Post(msgspec.json.encode(content), method, time.monotonic() + self._timeout))

    def _decode(self, method: str, reply: Reply, kind: Any, *, is_batch: bool = False) -> Any:
        if reply.status != HTTPStatus.OK and reply.status not in _READABLE_ERRORS:
            raise NodeUnreachableError(f"{self.name}: {method} failed with {reply.problem}", is_final=reply.is_redirect)
        try:
            return _decoder(kind, is_batch).decode(reply.body)
        except (msgspec.DecodeError, RecursionError) as problem:
            if reply.status in _READABLE_ERRORS:
                text = f"HTTP status {reply.status}: {reply.body[:300].decode(errors='replace')}"
                raise NodeError(method, reply.status, text, wait_seconds=reply.retry_after) from None
            raise MalformedNodeAnswerError(
                f"{self.name}: {method} returned a response in an unexpected format: {problem}"
            ) from None

    def _result(self, method: str, answer: Any, number: int, reply: Reply) -> Any:
        if answer.error is not None:
            error = answer.error
            raise NodeError(method, error.code, _text(error), error.data, wait_seconds=reply.retry_after)
        if answer.id != number:
            raise MalformedNodeAnswerError(f"{self.name}: {method} returned the id of a different request")
        if answer.result is msgspec.UNSET:
            raise MalformedNodeAnswerError(f"{self.name}: {method} returned no result")
        return answer.result


_BUILDING: Final = threading.RLock()
"""The lock for building msgspec types: a thread that uses a half-built type crashes the process with SIGSEGV."""


def _decoder(kind: Any, is_batch: bool) -> msgspec.json.Decoder[Any]:  # serves as a cache key
    """Return the decoder for responses with a given result type, fully built before any thread uses it."""
    with _BUILDING:
        return _built_decoder(kind, is_batch)


@cache
def _built_decoder(kind: Any, is_batch: bool) -> msgspec.json.Decoder[Any]:  # serves as a cache key
    if is_batch:
        return msgspec.json.Decoder(list[_built_decoder(kind, False).type])  # type: ignore[misc]
    fields = [
        ("id", int | str | None, None),
        ("result", kind | msgspec.UnsetType, msgspec.UNSET),
        ("error", _RpcError | None, None),
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Answer", fields))


def _text(error: _RpcError) -> str:
    """Return an error's text, starting with `data`, where some nodes put the helpful part."""
    data = error.data if isinstance(error.data, str) else ""
    if isinstance(error.data, dict | list):
        data = msgspec.json.encode(error.data).decode()
    return f"{data} {error.message}".strip()
