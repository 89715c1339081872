"""The terms under which transfers count as payments, for one chain."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import checksummed
from bilateral.core.payments import PROVABLE, PaymentKind

MICROS: Final = 6
"""The number of decimals in stored volumes, which are amounts in millionths of a dollar."""

_RETURNS: Final = "owners"
"""The rule that defines which sellers' transfers are returns. Payments stored under an older rule are read again."""

_KINDS: Final = [kind for kind in PaymentKind if kind in PROVABLE or kind is PaymentKind.CHANNEL]
"""The kinds of payments that count. Payments that were stored when fewer kinds counted are read again."""

_MOST_DECIMALS: Final = 18  # as for ether; stablecoins have 6 or 18
_MOST_CONFIRMATIONS: Final = 64  # two Ethereum epochs, after which a block is final


@dataclass(frozen=True)
class PaymentTerms:
    """The terms under which transfers count as payments.

    Attributes:
        tokens: The number of decimals of each token that is worth a dollar, keyed by the token's address.
        confirmations: The number of blocks that must confirm a payment, including the payment's own block.
        counts_plain: True if transfers without an authorization also count as payments. Anyone can send such transfers
            to themselves for less gas, so they are excluded by default.
        traces: True if Permit2 payments that a contract settles for others also count as payments. Each endpoint must
            support `debug_traceTransaction`, whose traces cannot be proven.
    """

    tokens: Mapping[str, int] = field(default_factory=dict)
    confirmations: int = 1
    counts_plain: bool = False
    traces: bool = False

    def __post_init__(self) -> None:
        """Check the terms, and convert addresses to checksum form."""
        if not self.tokens:
            raise InvalidArgumentError("tokens is empty: list the tokens that count as payments")
        try:
            tokens = {checksummed(address): decimals for address, decimals in self.tokens.items()}
        except MalformedIdentifierError as problem:
            raise InvalidArgumentError(f"a token's address is invalid: {problem}") from None
        object.__setattr__(self, "tokens", tokens)
        for address, decimals in tokens.items():
            if not 0 <= decimals <= _MOST_DECIMALS:
                raise InvalidArgumentError(f"token {address} has {decimals} decimals, out of range 0..{_MOST_DECIMALS}")
        if not 1 <= self.confirmations <= _MOST_CONFIRMATIONS:
            raise InvalidArgumentError(f"confirmations {self.confirmations} is out of range 1..{_MOST_CONFIRMATIONS}")

    @property
    def text(self) -> str:
        """The terms on which stored payments depend, as text. If the text changes, payments are read again."""
        rules: dict[str, Any] = {"kinds": _KINDS, "plain": self.counts_plain, "traces": self.traces}
        return json.dumps({**rules, "returns": _RETURNS, "tokens": dict(sorted(self.tokens.items()))})

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the terms under which payments were stored."""
        stored = json.loads(text)
        return cls(stored["tokens"], counts_plain=stored["plain"], traces=stored.get("traces", False))

    def micros(self, token: str, amount: int) -> int:
        """Return an amount in millionths of a dollar, rounded down."""
        return min(int(amount * 10**MICROS // 10 ** self.tokens[token]), 2**63 - 1)
