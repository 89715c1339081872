"""Classify rejections by nodes, each with its own wording and few error codes. No other module does this.

Deployment scripts also use this module, so it accepts plain messages, codes and HTTP statuses.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from http import HTTPStatus
from typing import Final

from bilateral.core.errors import NodeError


class Refusal(Enum):
    """A reason why a node did not accept a transaction."""

    HAS_IT = auto()
    """The node already has this transaction."""
    PRICE_TOO_LOW_TO_REPLACE = auto()
    """Another transaction with the same nonce is pending, and this transaction's fees are too low to replace it."""
    NONCE_USED = auto()
    """A transaction with the same nonce was mined. It may be this transaction."""
    UNCLEAR = auto()
    """The node may have accepted the transaction."""
    INSUFFICIENT_FUNDS = auto()
    """The account has insufficient funds."""
    OTHER = auto()
    """The node rejected the transaction for another reason."""

    @classmethod
    def of(cls, failure: Exception) -> Refusal:
        """Classify a failure to send a transaction."""
        return cls.of_words(failure.node_message, failure.code) if isinstance(failure, NodeError) else cls.UNCLEAR

    @classmethod
    def of_words(cls, message: str, code: int | None = None) -> Refusal:
        """Classify an error that a node returns for a transaction."""
        text = message.lower()
        refusals = next((refusal for refusal, words in _WORDS.items() if re.search(words, text)), cls.OTHER)
        is_clear = refusals in (cls.HAS_IT, cls.PRICE_TOO_LOW_TO_REPLACE, cls.NONCE_USED)
        return cls.UNCLEAR if code in _UNCLEAR_CODES and not is_clear else refusals


_WORDS: Final = {
    Refusal.HAS_IT: r"already ?(known|imported|exists|in (the )?(mem)?pool)|\bknown transaction|same hash",
    Refusal.PRICE_TOO_LOW_TO_REPLACE: r"replac|same nonce",
    Refusal.NONCE_USED: r"(?s)nonce.*low|^(?!.*(too high|gap)).*nonce",
    Refusal.UNCLEAR: r"time(d |-)?out|deadline exceeded|cancell?ed|internal error|gateway|upstream|connect|unavailable",
    Refusal.INSUFFICIENT_FUNDS: r"insufficient funds",
}
_UNCLEAR_CODES: Final = (-32603, -32002)  # internal error; resource unavailable or timed out

_RATE_LIMIT_CODES: Final = (HTTPStatus.TOO_MANY_REQUESTS, -32005, -32011, -32029)  # EIP-1474, and providers' own
_RATE_LIMIT_WORDS = re.compile(
    r"rate.?limit|requests? (per|limit)|too many requests|limit exceeded|over capacity|throttl|no backend is currently"
)
_TEMPORARY_STATUSES: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, *range(500, 600)})

_RESULTS = re.compile(r"results|logs|response size|block range|blocks range")
"""Wording about the size of a single response. It is checked first, because rate limits may use the same code and
wording."""


def is_temporary(message: str, code: int | None = None, status: int | None = None) -> bool:
    """Return whether the same request may succeed after a wait, as with a rate limit or a node that is down."""
    text = message.lower()
    if _RESULTS.search(text):
        return False
    if status in _TEMPORARY_STATUSES or code in _RATE_LIMIT_CODES:
        return True
    return bool(_RATE_LIMIT_WORDS.search(text))
