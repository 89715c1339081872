"""Payments in progress: one authorization pays for one run of the application."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import rfc8785
from eth_utils.crypto import keccak

from bilateral.core.identifiers.caip import is_foreign
from bilateral.solana.payments import message_key
from bilateral.x402.proof.errors import TooManyPaymentsError
from bilateral.x402.proof.payments import EIP_3009, signed_part

MAX_RESERVATIONS: Final = 100_000
"""Payments that are under way in one process: each takes some hundred bytes."""

MAX_SETTLED: Final = 250_000
"""The settled payments that are remembered, about 50 MB: those of two minutes at 2,000 requests a second.

A transaction whose chain names a recent block in it can be sent again for so long, until that block is too old.
"""
SECONDS: Final = 3600.0
"""The time after which a reservation ends. By then, the chain knows that the authorization was used."""

_WORD: Final = 32  # bytes of a word of the contract ABI


class Reservations:
    """Authorizations that a request is using or has used. Threads may share it.

    Only payments in progress count for the limit. A settled payment is remembered beside them, so that it is refused
    before the application runs. The oldest ones are forgotten first. A forgotten one buys nothing: the chain takes the
    nonce of EIP-3009 and Permit2 once. The facilitator sees that at verification, or its settlement fails.

    Args:
        limit: The number of payments in progress at most.
        seconds: The duration of a reservation.
        clock: Returns seconds that never go back.
        settled_limit: The number of settled payments to remember.
    """

    def __init__(
        self,
        limit: int = MAX_RESERVATIONS,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
        settled_limit: int = MAX_SETTLED,
    ) -> None:
        self._limit, self._seconds, self._clock, self._settled_limit = limit, seconds, clock, settled_limit
        self._in_progress: OrderedDict[bytes, tuple[object, float]] = OrderedDict()  # in order of their end
        self._settled: OrderedDict[bytes, float] = OrderedDict()  # too
        self._lock = threading.Lock()

    def take(self, key: bytes, holder: object) -> bool:
        """Reserve an authorization for a request.

        Args:
            key: The authorization, see `payment_key`.
            holder: The request's payment object. Only the same object can release it, or take it again: several
                extensions of one server reserve the payment of one request.

        Returns:
            False if another request has it, or has used it.

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
        """Release an authorization, if this request holds it."""
        with self._lock:
            if key in self._in_progress and self._in_progress[key][0] is holder:
                del self._in_progress[key]

    def settle(self, key: bytes, holder: object) -> None:
        """Mark an authorization as used, if this request holds it. It no longer counts for the limit."""
        with self._lock:
            if key in self._in_progress and self._in_progress[key][0] is holder:
                del self._in_progress[key]
                self._settled[key] = self._clock() + self._seconds
                while len(self._settled) > self._settled_limit:
                    self._settled.popitem(last=False)


def payment_key(network: str, asset: str, payload: dict[str, Any]) -> bytes:
    """Return a key for an authorization: equal for every copy of it, whatever else its message holds."""
    if is_foreign(network):
        return message_key(network, payload) or _whole_key(network, payload)  # signatures are not signed
    kind, signed = signed_part(payload)
    if signed is not None and "from" in signed and "nonce" in signed:
        account = str(signed["from"]).lower().removeprefix("0x")
        parts = (network, asset.lower(), account, _nonce(kind, str(signed["nonce"])))
        return keccak("\n".join(parts).encode(errors="replace"))
    return _whole_key(network, payload)


def _whole_key(network: str, payload: dict[str, Any]) -> bytes:
    try:
        return keccak(network.encode() + rfc8785.dumps(payload))
    except (rfc8785.CanonicalizationError, RecursionError):
        return keccak(network.encode() + repr(payload).encode(errors="replace"))


def _nonce(kind: str, text: str) -> str:
    """Return a nonce in one form. Facilitators read many: without 0x, with spaces, without zeros at the end."""
    try:
        if kind == EIP_3009:
            return bytes.fromhex(text.removeprefix("0x")).ljust(_WORD, b"\0").hex()
        return str(int(text, 0) if text.startswith("0x") else int(text))
    except ValueError:
        return text  # no facilitator reads it
