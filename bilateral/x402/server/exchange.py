"""A paid request being processed by a server: its decoded bodies, its proof and its authorization.

One authorization pays for one run of the application.
"""

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, Final, Self

import rfc8785
from eth_utils.crypto import keccak
from x402.schemas import SettleResponse

from bilateral.core.identifiers.caip import is_foreign
from bilateral.core.payments import authorization_identity
from bilateral.solana.payments import message_key
from bilateral.x402.proof.answers import PaidAnswer, request_of
from bilateral.x402.proof.errors import BodyTooLargeError, ReputationExtensionError, TooManyPaymentsError
from bilateral.x402.proof.fields import SLOW_BYTES
from bilateral.x402.proof.profiles import tool_request, tool_response

logger = logging.getLogger("bilateral.x402")

MCP_RESULT: Final = "result"

_AFTERWARDS_THREADS: Final = 4
"""The number of threads for work that follows an answer, such as ratings, so that it cannot use up all threads."""


class Refusal(Exception):  # noqa: N818  # an answer, not an error
    """A rejected request: the response is a status and a reason instead of an answer.

    Attributes:
        status: The HTTP status.
        body: The JSON body, `{"error": reason}`.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.body = status, json.dumps({"error": reason}).encode()

    @classmethod
    def of(cls, error: ReputationExtensionError) -> Self:
        """Return the rejection of a request whose body cannot be read."""
        return cls(413 if isinstance(error, BodyTooLargeError) else 415, error.reason)


@dataclass
class Exchange:
    """A paid request that a server is processing, with its bodies, its proof and its authorization.

    Attributes:
        request: The request's body, decoded.
        response: The response's body, decoded; None until the application has responded.
        target: The request's path and query.
        method: The request's method.
        raw_target: The request's path and query as bytes, which identify the request.
        is_paid: True once the payment has been verified, or settled before the application runs.
        settlement: The settlement, if it is made before the application runs.
        declarations: The server's declarations for this request, keyed by extension key, if the settlement is made
            before the application runs.
        is_signed: True once the statement is signed.
        is_on_loop: True if the request is served on an event loop, which slow work must not block.
        is_settled: True once the payment is settled.
        is_free: True if nothing was charged for the answer.
        is_unused: True if the chain showed, before the application ran, that the Permit2 authorization was unused.
        afterwards: Work to do once the answer is sent, if the payment is settled by then.
        after_failure: Work to do once the answer is sent, if settlement failed permanently; keyed by the object that
            added the work.
        sent_headers: The headers of the answer that was sent.
        abandonments: Functions that mark the payment as used if the request was cancelled, because the payment's
            outcome is then unknown.
        closings: The `close` functions of WSGI responses, to be called once the answer is sent.
        captured: The status, headers and body of the application's answer.
        is_unsettled: True if the settlement failed but may still succeed.
        unsettled: The answer to an earlier request with the same payment, if settlement failed at that time.
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
    is_free: bool = False
    is_unused: bool = False
    afterwards: list[Callable[[], object]] = field(default_factory=list)
    after_failure: dict[object, Callable[[], object]] = field(default_factory=dict)
    sent_headers: tuple[tuple[bytes, bytes], ...] = ()
    abandonments: list[Callable[[], None]] = field(default_factory=list)
    closings: list[Callable[[], None]] = field(default_factory=list)
    captured: tuple[int, tuple[tuple[bytes, bytes], ...], bytes] | None = None
    is_unsettled: bool = False
    unsettled: PaidAnswer | None = None

    @property
    def identity(self) -> bytes:
        """The request's hash. A payment can fetch only the answer to the request with the same hash."""
        return request_of(self.method, self.raw_target, self.request)

    @property
    def is_large(self) -> bool:
        """True if hashing the bodies takes a long time."""
        return len(self.request) + len(self.response or b"") >= SLOW_BYTES

    @property
    def work_afterwards(self) -> list[Callable[[], object]]:
        """The work to do once the answer is sent."""
        return self.afterwards if self.is_settled else list(self.after_failure.values())

    def run_afterwards(self) -> None:
        """Run the work that follows the answer. Failures are only logged, because the client already has its answer."""
        for work in self.work_afterwards:
            try:
                work()
            except Exception:
                logger.exception("a task that followed a paid answer failed")


class Afterwards:
    """Runs the work that follows paid answers, in a few dedicated threads, because ratings wait for receipts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, exchange: Exchange) -> Future[None]:
        """Start an exchange's work, or queue it."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(_AFTERWARDS_THREADS, "x402-afterwards")
            return self._executor.submit(copy_context().run, exchange.run_afterwards)

    def close(self) -> None:
        """Stop the threads once their work is done. Later work starts new threads."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)


CURRENT: Final[ContextVar[Exchange | None]] = ContextVar("bilateral_x402_exchange", default=None)
"""The exchange of the request being processed in this context; None outside this package's adapters."""


def is_tool_call(transport: Any) -> bool:
    """Return whether a hook's transport context belongs to an MCP tool call."""
    return isinstance(transport, dict) and "toolName" in transport and "arguments" in transport


def exchange_of(transport: Any, limit: int) -> Exchange | None:
    """Return the exchange for which an SDK hook runs."""
    if not is_tool_call(transport):
        return CURRENT.get()
    exchange = Exchange(request=tool_request(transport["toolName"], transport["arguments"], limit))
    result = transport.get(MCP_RESULT)
    if result is not None:
        exchange.response = tool_response(result.content, result.structured_content, limit)
    return exchange


MAX_RESERVATIONS: Final = 100_000
"""The maximum number of payments in progress per process. Each takes a few hundred bytes."""

MAX_SETTLED: Final = 250_000
"""How many settled payments to remember: those of two minutes at 2,000 requests per second, about 50 MB.

On chains such as Solana, a transaction refers to a recent block, and can be sent again until that block is too old.
"""
SECONDS: Final = 3600.0
"""The time after which a reservation expires, in seconds. By then, the chain shows that the authorization was used."""


class Reservations:
    """Authorizations that requests are using or have used. Thread-safe.

    Only payments in progress count towards the limit. Settled payments are remembered separately, so that their reuse
    is rejected before the application runs; the oldest are forgotten first. A forgotten payment cannot move money a
    second time, because the chain accepts each nonce only once. However, if a payment was settled for a zero amount
    (`upto`), its nonce is unused, so the forgotten payment may run the application again until its deadline.

    Args:
        limit: The maximum number of payments in progress.
        seconds: How long a reservation lasts.
        clock: Returns monotonic seconds.
        settled_limit: The number of settled payments to remember.
    """

    is_shared = False
    """True if all processes share the reservations, so a payment that someone else settled buys only one answer."""

    def __init__(
        self,
        limit: int = MAX_RESERVATIONS,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
        settled_limit: int = MAX_SETTLED,
    ) -> None:
        self._limit, self._seconds, self._clock, self._settled_limit = limit, seconds, clock, settled_limit
        self._in_progress: OrderedDict[bytes, tuple[object, float]] = OrderedDict()  # in order of expiry
        self._settled: OrderedDict[bytes, float] = OrderedDict()  # in order of expiry
        self._pending: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: bytes, holder: object) -> bool:
        """Reserve an authorization for a request.

        Args:
            key: The authorization's key. See `payment_key`.
            holder: The request's payment object. Only this object can release the authorization, or reserve it again,
                as a server with several extensions does for one request.

        Returns:
            False if a different request has reserved or used the authorization.

        Raises:
            TooManyPaymentsError: Too many payments are in progress.
        """
        with self._lock:
            now = self._clock()
            while self._in_progress and next(iter(self._in_progress.values()))[1] <= now:
                self._in_progress.popitem(last=False)
            while self._settled and next(iter(self._settled.values())) <= now:
                self._settled.popitem(last=False)
            if key in self._in_progress:
                return self._in_progress[key][0] is holder
            if key in self._settled:
                return False
            if len(self._in_progress) >= self._limit:
                raise TooManyPaymentsError(self._limit)
            self._in_progress[key] = holder, now + self._seconds
            return True

    def release(self, key: bytes, holder: object) -> None:
        """Release an authorization, if this request has reserved it."""
        with self._lock:
            if key in self._in_progress and self._in_progress[key][0] is holder:
                del self._in_progress[key]

    def settle(self, key: bytes, holder: object) -> None:
        """Mark an authorization as used, if this request has reserved it. It no longer counts towards the limit."""
        with self._lock:
            if key in self._in_progress and self._in_progress[key][0] is holder:
                del self._in_progress[key]
                self._settled[key] = self._clock() + self._seconds
                while len(self._settled) > self._settled_limit:
                    self._settled.popitem(last=False)

    def set_pending(self, key: bytes, amount: str) -> None:
        """Remember, in this process, the amount of a pending settlement."""
        with self._lock:
            self._pending[key] = amount
            while len(self._pending) > self._limit:
                self._pending.popitem(last=False)

    def pending_amount(self, key: bytes) -> str | None:
        """Return the amount of a pending settlement, or None if there is none."""
        with self._lock:
            return self._pending.get(key)


def payment_key(network: str, asset: str, payload: dict[str, Any]) -> bytes:
    """Return a key that is the same for every copy of an authorization, whatever else the message contains."""
    if is_foreign(network):
        return message_key(network, payload) or _whole_key(network, payload)  # signatures are not signed
    identity = authorization_identity(network, asset, payload)
    if identity is None:
        return _whole_key(network, payload)
    return keccak("\n".join(identity).encode(errors="replace"))


def _whole_key(network: str, payload: dict[str, Any]) -> bytes:
    try:
        return keccak(network.encode() + rfc8785.dumps(payload))
    except (rfc8785.CanonicalizationError, RecursionError):
        return keccak(network.encode() + repr(payload).encode(errors="replace"))
