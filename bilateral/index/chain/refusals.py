"""The way on after an endpoint's refusal that no smaller range and no wait avoids."""

from __future__ import annotations

import re
from typing import Final

_ONE_BLOCK: Final = (
    "This one block is too much for it: add another --rpc-url, or use a plan of the provider that allows it"
)
_TOO_OFTEN: Final = "It allows fewer requests: wait, add another --rpc-url, or use a larger plan of the provider"
_UNKNOWN: Final = "These words are new to this program: add another --rpc-url, and report the words"
_ADVICE: Final = tuple(
    (re.compile(words, re.IGNORECASE), advice)
    for words, advice in (
        (
            "specify an address",
            "It gives logs on a dedicated plan only: add another --rpc-url, or the URL of such a plan",
        ),
        (
            "archive requests require",
            "It gives old blocks with a token only: put the token into --rpc-url, or add another --rpc-url",
        ),
        (
            r"filters\. the current limit",
            "It allows fewer addresses: name fewer --deployment, or add another --rpc-url",
        ),
        (
            r"error code: 1010|forbidden|http status 403",
            "The provider's front keeps this program out: add another --rpc-url, or ask the provider to let it in",
        ),
        (
            r"unauthorized|api.?key|must be authenticated|http status 40[12]",
            "It wants a key: put the provider's key into --rpc-url, or add another --rpc-url",
        ),
        ("method not found", "It gives no logs at all: add another --rpc-url"),
    )
)


def advice_on(text: str, *, is_rate: bool, is_one_block: bool) -> str:
    """Return a sentence that says what to change.

    Args:
        text: The endpoint's words.
        is_rate: True if the endpoint limits the rate.
        is_one_block: True if it refuses a single block for its size.
    """
    if is_rate:
        return _TOO_OFTEN
    known = next((advice for words, advice in _ADVICE if words.search(text)), None)
    return known or (_ONE_BLOCK if is_one_block else _UNKNOWN)
