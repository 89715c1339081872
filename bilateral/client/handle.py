"""The transaction that a write sent, as both kinds of handle show it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from bilateral.client.operations.transactions import Sent
from bilateral.core.errors import NotSentError

T = TypeVar("T")

TIMEOUT: Final = 120.0
"""Seconds to wait for a transaction by default: ten blocks of Ethereum."""


class SentTransaction(Generic[T]):
    """The transaction of a write."""

    def __init__(self, sent: Sent[T] | None) -> None:
        self._sent = sent

    def mark_sent(self, sent: Sent[T]) -> None:
        """Take the transaction that a batch sent."""
        self._sent = sent

    @property
    def hash(self) -> str | None:
        """The transaction's hash, 0x and 64 digits; None after a dry run, which sends nothing."""
        return None if self._sent is None else self._sent.hash

    @property
    def transaction(self) -> Mapping[str, Any]:
        """The transaction as web3.py writes one: `to`, `data`, `nonce`, `gas`, fees in wei, `chainId`."""
        return MappingProxyType(self._require_sent().transaction)

    @property
    def gas(self) -> int:
        """The node's estimate of the gas. The transaction's limit is somewhat higher."""
        return self._require_sent().gas

    @property
    def raw_transaction(self) -> bytes | None:
        """The signed transaction, which may be sent again to any node; None if nothing was signed."""
        return None if self._sent is None else self._sent.raw

    def _require_sent(self) -> Sent[T]:
        """Return the transaction."""
        if self._sent is None:
            raise NotSentError("the batch was not sent yet")
        return self._sent

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.hash or 'not sent'}>"
