"""What the operations of one client share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bilateral.documents import DataUriStore, Loader

if TYPE_CHECKING:
    from bilateral.client.inputs import TransactionSigner
    from bilateral.contracts import Deployment
    from bilateral.documents import Store


@dataclass
class NonceMemory:
    """The nonce that a client used last, for nodes that do not yet count what another node took a moment ago.

    Attributes:
        next: The next nonce as far as is known here.
        known_at: When that was learnt, by the monotonic clock.
    """

    next: int = 0
    known_at: float = float("-inf")


@dataclass
class Session:
    """What the operations of one client share.

    Attributes:
        given: The deployment that the client was given; None to find it by the node's chain id.
        signer: Signs transactions and messages; None for a client that only reads.
        store: Where documents are put.
        loader: Loads documents.
        dry_run: Whether writes are checked but not sent.
        poll_interval: Seconds between two questions whether a transaction is in a block.
        deployment: The deployment, once the node's chain id is known.
        nonces: The nonce used last.
        with_code: The addresses at which there is known to be a contract.
    """

    given: Deployment | None = None
    signer: TransactionSigner | None = None
    store: Store = field(default_factory=DataUriStore)
    loader: Loader = field(default_factory=Loader)
    dry_run: bool = False
    poll_interval: float = 1.0
    deployment: Deployment | None = None
    nonces: NonceMemory = field(default_factory=NonceMemory)
    with_code: set[str] = field(default_factory=set)
