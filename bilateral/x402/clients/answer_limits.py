"""Limits for the answers of servers: an answer may have no end, or come one byte a minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from threading import Thread
from typing import Final, TypeVar

from bilateral.core.errors import InvalidArgumentError
from bilateral.x402.proof.bodies import MAX_BODY
from bilateral.x402.proof.errors import ReputationExtensionError

T = TypeVar("T")

CHUNK: Final = 64 * 1024  # bytes of one read: the time of a read is checked as often


@dataclass(frozen=True)
class AnswerLimits:
    """The limits for one answer of a server.

    Attributes:
        bytes: The most bytes of its body, as sent and decoded. The default is the limit of our own servers.
        seconds: The longest time until it is complete. The default leaves room for a settlement on Ethereum.
    """

    bytes: int = MAX_BODY
    seconds: float = 120.0

    def __post_init__(self) -> None:
        """Check the limits."""
        if self.bytes <= 0 or self.seconds <= 0:
            raise InvalidArgumentError(f"the limits are {self.bytes} bytes and {self.seconds} s: both must be above 0")


class AnswerLimitError(ReputationExtensionError):
    """An answer exceeds a limit, and was not read to its end."""

    reason = "answer_limit"


class AnswerTimeoutError(AnswerLimitError):
    """An answer takes too long."""

    reason = "answer_timeout"


class Meter:
    """Counts the bytes and the seconds of one answer."""

    def __init__(self, limits: AnswerLimits) -> None:
        self._limits, self._size = limits, 0
        self._end = time.monotonic() + limits.seconds

    def count(self, piece: bytes) -> bytes:
        """Count a piece of the body, and return it."""
        self._size += len(piece)
        if self._size > self._limits.bytes:
            raise too_large(self._limits)
        if time.monotonic() > self._end:
            raise too_slow(self._limits)
        return piece


def too_large(limits: AnswerLimits) -> AnswerLimitError:
    """Return the error for an answer with too many bytes."""
    return AnswerLimitError(f"the answer exceeds {limits.bytes} bytes: raise the limit by AnswerLimits(bytes=…)")


def too_slow(limits: AnswerLimits) -> AnswerTimeoutError:
    """Return the error for an answer that takes too long."""
    return AnswerTimeoutError(f"the answer takes longer than {limits.seconds} s: see AnswerLimits(seconds=…)")


def within(limits: AnswerLimits, function: Callable[[], T], discard: Callable[[T], object]) -> T:
    """Run a function in a thread of its own, and wait for it within the limit of time.

    The timeouts of HTTP clients count from one piece to the next. So they never end if a server sends its headers byte
    by byte. The thread of such an answer is left behind, and ends with the connection.
    """
    future: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001  # the waiting thread raises it
            future.set_exception(error)

    Thread(target=run, name="x402-answer", daemon=True).start()
    try:
        return future.result(limits.seconds)
    except TimeoutError:
        if future.done():
            return future.result()
        future.add_done_callback(lambda late: None if late.exception() else discard(late.result()))
        raise too_slow(limits) from None
