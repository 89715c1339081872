"""One paid request on its way through a server: its bodies as the application sees them, and its proof."""

import json
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, Final, Self

from x402.schemas import SettleResponse

from bilateral.x402.proof.answers import PaidAnswer, request_of
from bilateral.x402.proof.bodies import SLOW_BYTES
from bilateral.x402.proof.errors import BodyTooLargeError, ReputationExtensionError
from bilateral.x402.proof.interactions import tool_request, tool_response

logger = logging.getLogger("bilateral.x402")

MCP_RESULT: Final = "result"

_AFTERWARDS_THREADS: Final = 4
"""Threads for work after an answer, such as feedback: it must not take all threads of a client."""


class Refusal(Exception):  # noqa: N818  # an answer, not an error
    """A request that is answered with a status and a reason instead of being served.

    Attributes:
        status: The HTTP status.
        body: The JSON body, `{"error": reason}`.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.body = status, json.dumps({"error": reason}).encode()

    @classmethod
    def of(cls, error: ReputationExtensionError) -> Self:
        """Return the refusal of a request whose body cannot be read."""
        return cls(413 if isinstance(error, BodyTooLargeError) else 415, error.reason)


@dataclass
class Exchange:
    """One paid request.

    Attributes:
        request: The request's body, decoded.
        response: The response's body, decoded; None until the application has answered.
        target: The request's path and query.
        method: The request's method.
        raw_target: The request's path and query, as its identity has them.
        is_paid: True once the payment was verified, or settled before the application runs.
        settlement: The settlement, if it came before the application runs.
        declarations: The server's declarations for this request by key, if the settlement came first.
        is_signed: True once there is a signed statement.
        is_on_loop: True if an event loop serves the request, which slow work must not block.
        is_settled: True once the payment is settled.
        afterwards: Work for the time after the answer was sent, if the payment is settled then.
        abandonments: Marks the payment as used, for a request that was cancelled: nobody knows how it ends.
        closings: Work of a WSGI application for the time after the answer was sent.
        captured: Status, headers and body of the application's answer.
        is_unsettled: True if the settlement failed, and may still succeed.
        unsettled: The answer to an earlier request with the same payment, whose settlement failed then.
    """

    request: bytes = b""
    response: bytes | None = None
    target: str = ""
    method: str = ""
    raw_target: bytes = b""
    is_paid: bool = False
    settlement: SettleResponse | None = None
    declarations: dict[str, Any] = field(default_factory=dict)
    is_signed: bool = False
    is_on_loop: bool = False
    is_settled: bool = False
    afterwards: list[Callable[[], object]] = field(default_factory=list)
    abandonments: list[Callable[[], None]] = field(default_factory=list)
    closings: list[Callable[[], None]] = field(default_factory=list)
    captured: tuple[int, tuple[tuple[bytes, bytes], ...], bytes] | None = None
    is_unsettled: bool = False
    unsettled: PaidAnswer | None = None

    @property
    def identity(self) -> bytes:
        """The hash of the request: a payment fetches the answer to this request alone."""
        return request_of(self.method, self.raw_target, self.request)

    @property
    def is_large(self) -> bool:
        """True if its bodies take long to hash."""
        return len(self.request) + len(self.response or b"") >= SLOW_BYTES

    def run_afterwards(self) -> None:
        """Do the work for the time after the answer was sent. Failures are logged: the client has its answer."""
        for work in self.afterwards if self.is_settled else ():
            try:
                work()
            except Exception:
                logger.exception("work after a paid answer failed")


class Afterwards:
    """Does the work for the time after paid answers, in a few threads of its own: a rating waits for its receipt."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, exchange: Exchange) -> Future[None]:
        """Begin the work of an exchange, or queue it."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(_AFTERWARDS_THREADS, "x402-afterwards")
            return self._executor.submit(copy_context().run, exchange.run_afterwards)

    def close(self) -> None:
        """End the threads once their work is done. Later work starts new ones."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)


CURRENT: Final[ContextVar[Exchange | None]] = ContextVar("bilateral_x402_exchange", default=None)
"""The exchange of the request that runs in this context; None outside our adapters."""


def is_tool_call(transport: Any) -> bool:
    """Tell whether a hook's transport context is that of an MCP tool call."""
    return isinstance(transport, dict) and "toolName" in transport and "arguments" in transport


def exchange_of(transport: Any, limit: int) -> Exchange | None:
    """Return the exchange that a hook of the SDK runs for."""
    if not is_tool_call(transport):
        return CURRENT.get()
    exchange = Exchange(request=tool_request(transport["toolName"], transport["arguments"], limit))
    result = transport.get(MCP_RESULT)
    if result is not None:
        exchange.response = tool_response(result.content, result.structured_content, limit)
    return exchange
