"""What it means that a node fails to take a transaction. Nodes say it in words of their own, with few codes."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from bilateral.errors import NodeError


class Refusal(Enum):
    """What a node says of a transaction that it was to take."""

    HAS_IT = auto()
    """It has it already."""
    PRICE_TOO_LOW_TO_REPLACE = auto()
    """It has another of the same nonce on its way."""
    NONCE_USED = auto()
    """A transaction of the same nonce is in a block, perhaps this one."""
    UNCLEAR = auto()
    """Nothing for certain."""
    INSUFFICIENT_FUNDS = auto()
    """The account cannot pay."""
    OTHER = auto()
    """It does not take it, for another reason."""

    @classmethod
    def of(cls, failure: Exception) -> Refusal:
        """What a failure to hand a transaction over means, as far as the node's words tell.

        Args:
            failure: The failure. One that is no answer of a node leaves everything open.
        """
        if not isinstance(failure, NodeError):
            return cls.UNCLEAR
        said = failure.node_message.lower()
        found = next((meaning for meaning, words in _WORDS.items() if re.search(words, said)), cls.OTHER)
        is_about_it = found in (cls.HAS_IT, cls.PRICE_TOO_LOW_TO_REPLACE, cls.NONCE_USED)
        return cls.UNCLEAR if failure.code in _UNCLEAR_CODES and not is_about_it else found


_WORDS: Final = {
    Refusal.HAS_IT: r"already ?(known|imported|exists|in (the )?(mem)?pool)|\bknown transaction|same hash",
    Refusal.PRICE_TOO_LOW_TO_REPLACE: r"replac|same nonce",
    Refusal.NONCE_USED: r"(?s)nonce.*low|^(?!.*(too high|gap)).*nonce",
    Refusal.UNCLEAR: r"time(d |-)?out|deadline exceeded|cancell?ed|internal error|gateway|upstream|connect|unavailable",
    Refusal.INSUFFICIENT_FUNDS: r"insufficient funds",
}
_UNCLEAR_CODES: Final = (-32603, -32002)  # an internal error; a resource that is not available, or not in time
