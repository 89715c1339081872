"""The state that the operations of one client share, and the transaction of a write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from bilateral.client.inputs import TransactionSigner
from bilateral.core.contracts import Deployment, Registry
from bilateral.core.contracts.origin import Origin
from bilateral.core.errors import NotSentError
from bilateral.core.events import Event
from bilateral.documents import DataUriStore, Loader, Store
from bilateral.node.logs import RangeLimit

T = TypeVar("T")


@dataclass
class NonceMemory:
    """The nonce that a client used last, for nodes that do not yet count what another node just accepted.

    Attributes:
        next: The next nonce, as far as this client knows.
        updated_at: When that was determined, by the monotonic clock.
    """

    next: int = 0
    updated_at: float = float("-inf")


@dataclass
class ClientState:
    """The state that the operations of one client share.

    Attributes:
        requested: The deployment, or the name of a packaged one; None to find it by the node's chain id.
        pinned_chain: The chain that the caller specified; None to trust the node.
        signer: Signs transactions and messages; None for a client that only reads.
        store: The store of documents.
        loader: Loads documents.
        dry_run: True if writes are checked but not sent.
        is_collecting: True if writes are prepared and left to a batch, which sends them.
        poll_interval: Seconds between two checks whether a transaction is in a block.
        max_fee_per_gas: The largest fee per gas to sign, in wei; None for the default limits.
        max_cost: The largest cost of one transaction to sign, in wei; None for no limit.
        deployment: The deployment, once the node's chain id is known.
        nonces: The nonce used last.
        log_range: The observed limit on the range of blocks that the node accepts in a request for logs.
        checked: The addresses at which the expected registry was found.
        is_chain_announced: True once it has been logged for which chain the client signs, if only the node determines
            it.
        first_block: The block in which the identity registry was deployed; None until it is looked up.
    """

    requested: Deployment | Origin | None = None
    pinned_chain: int | None = None
    signer: TransactionSigner | None = None
    store: Store = field(default_factory=DataUriStore)
    loader: Loader = field(default_factory=Loader)
    dry_run: bool = False
    is_collecting: bool = False
    poll_interval: float = 1.0
    max_fee_per_gas: int | None = None
    max_cost: int | None = None
    deployment: Deployment | None = None
    nonces: NonceMemory = field(default_factory=NonceMemory)
    log_range: RangeLimit = field(default_factory=RangeLimit)
    checked: set[str] = field(default_factory=set)
    is_chain_announced: bool = False
    first_block: int | None = None


@dataclass(frozen=True)
class Sent(Generic[T]):
    """A transaction, sent or, in a dry run, only prepared.

    Attributes:
        registry: The registry that it calls.
        transaction: The transaction in the form of web3.py.
        gas: The node's estimate of the gas.
        decode: Builds the result from the registry's events.
        hash: Its hash; None if it was not sent.
        raw: The signed transaction; None if it was not signed.
        earlier: The hashes of the transactions that it replaces. They do the same.
        nonce: The signer's next nonce when it was prepared, according to the node.
    """

    registry: Registry
    transaction: dict[str, Any]
    gas: int
    decode: Callable[[Sequence[Event]], T]
    hash: str | None = None
    raw: bytes | None = None
    earlier: tuple[str, ...] = ()
    nonce: int = 0


TIMEOUT: Final = 120.0
"""Seconds to wait for a transaction by default: ten blocks of Ethereum."""


class SentTransaction(Generic[T]):
    """The transaction of a write."""

    def __init__(self, sent: Sent[T] | None) -> None:
        self._sent = sent

    def mark_sent(self, sent: Sent[T]) -> None:
        """Adopt the transaction that a batch sent."""
        self._sent = sent

    @property
    def hash(self) -> str | None:
        """The transaction's hash, 0x and 64 digits; None after a dry run, which sends nothing."""
        return None if self._sent is None else self._sent.hash

    @property
    def transaction(self) -> Mapping[str, Any]:
        """The transaction in the form of web3.py: `to`, `data`, `nonce`, `gas`, fees in wei, `chainId`."""
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
        if self._sent is None:
            raise NotSentError("the batch has not been sent yet")
        return self._sent

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.hash or 'not sent'}>"
