"""Payments in progress: one authorization pays for one run of the application."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

import rfc8785
from eth_utils.crypto import keccak

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_RESERVATIONS: Final = 100_000
SECONDS: Final = 3600.0
"""The time after which a reservation ends. By then, the chain knows that the authorization was used."""


class Reservations:
    """Authorizations that a request is using or has used. Threads may share it.

    Args:
        limit: The number of reservations at most.
        seconds: The duration of a reservation.
        clock: Returns seconds that never go back.
    """

    def __init__(
        self,
        limit: int = MAX_RESERVATIONS,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit, self._seconds, self._clock = limit, seconds, clock
        self._held: dict[bytes, tuple[object, float]] = {}
        self._lock = threading.Lock()

    def take(self, key: bytes, holder: object) -> bool:
        """Reserve an authorization for a request.

        Args:
            key: The authorization, see `payment_key`.
            holder: The request's payment object. Only the same object can release it, or take it again: several
                extensions of one server reserve the payment of one request.

        Returns:
            False if another request has it, or if there are too many reservations.
        """
        with self._lock:
            now = self._clock()
            for old in list(self._held):  # in order of their end, because all have one duration
                if self._held[old][1] > now:
                    break
                del self._held[old]
            if key in self._held:
                return self._held[key][0] is holder
            if len(self._held) >= self._limit:
                return False
            self._held[key] = holder, now + self._seconds
            return True

    def release(self, key: bytes, holder: object) -> None:
        """Release an authorization, if this request holds it."""
        with self._lock:
            if key in self._held and self._held[key][0] is holder:
                del self._held[key]


def payment_key(network: str, asset: str, payload: dict[str, Any]) -> bytes:
    """Return a key for an authorization: equal for every copy of it, whatever else its message holds.

    Args:
        network: The payment's network.
        asset: Its token.
        payload: `payload` of the payment payload, which a facilitator has verified.
    """
    for name in ("authorization", "permit2Authorization"):
        signed = payload.get(name)
        if isinstance(signed, dict) and "from" in signed and "nonce" in signed:
            parts = (network, asset, str(signed["from"]), str(signed["nonce"]))
            return keccak("\n".join(parts).lower().encode())
    try:
        return keccak(network.encode() + rfc8785.dumps(payload))
    except (rfc8785.CanonicalizationError, RecursionError):
        return keccak(network.encode() + repr(payload).encode(errors="replace"))
