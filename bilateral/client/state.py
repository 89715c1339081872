"""The state that the operations of one client share."""

from __future__ import annotations

from dataclasses import dataclass, field

from bilateral.client.inputs import TransactionSigner
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.origin import Origin
from bilateral.documents import DataUriStore, Loader, Store
from bilateral.node.logs import RangeLimit


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
class ClientState:
    """The state that the operations of one client share.

    Attributes:
        wanted: The deployment that the client was given, or the name of a packaged one; None to find it by the node's
            chain id.
        pinned_chain: The chain that the caller named; None to believe the node.
        signer: Signs transactions and messages; None for a client that only reads.
        store: The store of documents.
        loader: Loads documents.
        dry_run: True if writes are checked but not sent.
        is_collecting: True if writes are prepared and left to a batch, which sends them.
        poll_interval: Seconds between two questions whether a transaction is in a block.
        max_fee_per_gas: The largest fee per gas to sign, in wei; None for the default limits.
        max_cost: The largest cost of one transaction to sign, in wei; None for no limit.
        deployment: The deployment, once the node's chain id is known.
        nonces: The nonce used last.
        log_range: The learnt limit on the range of blocks that the node accepts in a request for logs.
        checked: The addresses at which the expected registry was found.
        is_chain_announced: True once the log says for which chain is signed, where the node alone named it.
        first_block: The block in which the identity registry appeared; None before somebody asked.
    """

    wanted: Deployment | Origin | None = None
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
