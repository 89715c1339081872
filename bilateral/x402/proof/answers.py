"""Paid answers, retained for clients that lost the connection before receiving them."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.x402.offers import decode_header

MAX_STORED_BODY: Final = 1024 * 1024
"""The maximum size in bytes of a retained body. For larger bodies, only the proof is retained."""

SECONDS: Final = 24 * 3600.0
"""How long a paid answer is retained, in seconds. A buyer that crashes is expected to be back within a day."""

PROOF_STATUS: Final = 410
"""The HTTP status of a response that contains only an answer's proof, because the body was not retained."""

PROOF_BODY: Final = b'{"error": "answer_not_kept"}'

_UNSETTLED: Final = (b":unsettled", b"")
"""Marks an answer as unsettled. The mark is stored as a header, with a name that no real header can have."""

_MIN_IDENTIFIER: Final = 16  # characters, as required by the extension `payment-identifier`


@dataclass(frozen=True)
class PaidAnswer:
    """An answer that was paid for.

    Attributes:
        request: The hash of the request: method, target and body.
        status: The HTTP status.
        headers: The headers, including the proof.
    """

    request: bytes
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def unsettled(self) -> PaidAnswer:
        """Return a copy of the answer, marked for delivery only once its payment is settled."""
        return replace(self, headers=(*self.headers, _UNSETTLED))

    @property
    def is_unsettled(self) -> bool:
        """True if the payment is not settled yet, as far as the server knows."""
        return _UNSETTLED in self.headers

    @property
    def sent_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers to send to the client."""
        return [header for header in self.headers if header != _UNSETTLED]

    @property
    def proof(self) -> PaidAnswer:
        """The answer without its body: status 410, and `PAYMENT-RESPONSE` with the proof. It must not be cached."""
        proof = [(name, value) for name, value in self.headers if name.lower() == b"payment-response"]
        headers = ((b"content-type", b"application/json"), (b"cache-control", b"no-store"), *proof)
        return replace(self, status=PROOF_STATUS, headers=headers, body=PROOF_BODY)


class PaidAnswers:
    """Paid answers in memory, within limits. Thread-safe. For several processes, use `StoredAnswers`.

    Args:
        max_bytes: The maximum total size of all bodies. The oldest answers are removed first.
        seconds: How long an answer is retained.
        clock: Returns monotonic seconds.
    """

    is_blocking = False
    """True if `keep` and `find` may block, so that async code must call them in a thread."""

    def __init__(
        self,
        max_bytes: int = 64 * MAX_STORED_BODY,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes, self._seconds, self._clock = max_bytes, seconds, clock
        self._stored: OrderedDict[bytes, tuple[PaidAnswer, float]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def stored_form(self, answer: PaidAnswer) -> PaidAnswer:
        """Return an answer as it is retained: only the proof if it is settled and its body exceeds 1 MiB."""
        is_whole = answer.is_unsettled or len(answer.body) <= min(MAX_STORED_BODY, self._max_bytes)
        return answer if is_whole else answer.proof

    def keep(self, payment: bytes, answer: PaidAnswer) -> None:
        """Retain an answer, or only the proof if the body exceeds 1 MiB."""
        answer = self.stored_form(answer)
        with self._lock:
            self._drop(payment)
            self._stored[payment] = answer, self._clock() + self._seconds
            self._bytes += size_of(answer)
            while self._bytes > self._max_bytes or self._stored[next(iter(self._stored))][1] <= self._clock():
                self._drop(next(iter(self._stored)))
                if not self._stored:
                    break

    def find(self, payment: bytes) -> PaidAnswer | None:
        """Return the answer that a payment bought, or None if there is none."""
        with self._lock:
            answer = self._stored.get(payment)
            if answer is None or answer[1] <= self._clock():
                self._drop(payment)
                return None
            return answer[0]

    def _drop(self, payment: bytes) -> None:
        dropped = self._stored.pop(payment, None)
        if dropped is not None:
            self._bytes -= size_of(dropped[0])


def payment_of(header: str) -> bytes | None:
    """Return the hash of a payment, or None if the client cannot use the payment to fetch the answer again.

    Fetching an answer again requires a payment with an identifier (x402 extension `payment-identifier`). The
    authorization becomes public on chain when the payment is settled, but only the client and the server know the
    identifier.
    """
    identifier: Any = decode_header(header)
    for name in ("extensions", "payment-identifier", "info", "id"):
        identifier = identifier.get(name) if isinstance(identifier, dict) else None
    if not isinstance(identifier, str) or len(identifier) < _MIN_IDENTIFIER:
        return None
    return keccak(header.encode())


def request_of(method: str, target: bytes, body: bytes) -> bytes:
    """Return the hash of a request: method, target with query, and body. It is internal, so any fast hash will do."""
    parts = (hashlib.sha256(part).digest() for part in (method.encode(), target, body))
    return hashlib.sha256(b"".join(parts)).digest()


def size_of(answer: PaidAnswer) -> int:
    """Return the approximate memory used by an answer."""
    return len(answer.body) + sum(len(name) + len(value) for name, value in answer.headers) + 256
