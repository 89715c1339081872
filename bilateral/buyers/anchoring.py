"""Stores all buyers' states and posts the root of their Merkle tree on chain. It is safe to rerun after a crash.

An epoch's states are stored in one transaction before their root is sent. A later run finds these states and sends the
same root. The registry accepts each epoch only once, so the root from an interrupted run is never posted twice.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Engine, Table, delete, insert, select
from sqlalchemy.exc import IntegrityError

from bilateral.buyers.anchors import StateTree, path_of
from bilateral.buyers.policies import policy_of
from bilateral.buyers.records import Standing, read_cursors, read_standing
from bilateral.buyers.score import half_up, score_of, tier_of
from bilateral.buyers.tables import buyer_anchor, buyer_state, buyer_tree
from bilateral.client import Client
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import BuyerState, BuyerTier, policy_hash
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log.database import snapshot
from bilateral.index.log.rows import rows_of
from bilateral.index.payments.tables import payment

Epoch = tuple[int, str, int]
"""A registry's chain and address, and an epoch's number."""

_EPOCH: Final = ("chain_id", "registry", "epoch")

_RETAINED_EPOCHS: Final = 2
"""How many of the latest epochs to retain. Readers use the older one until the newer one's root is indexed."""


def anchor_states(engine: Engine, client: Client, policies: Sequence[str], *, now: int | None = None) -> int:
    """Store the states of all buyers on all chains in the index, and post the root of their tree."""
    deployment = client.get_deployment()
    chain_id, registry = deployment.chain_id, deployment.address_of(Registry.BUYERS)
    epoch = client.get_next_epoch()
    created_at = int(time.time()) if now is None else now
    key = chain_id, registry, epoch
    root = _stored_root(engine, key) or _prepare(engine, key, policies, created_at)
    try:
        client.anchor_root(epoch, root).wait()
    except ContractRevertError:
        # The transaction of an interrupted run, or of another process, may have been mined meanwhile.
        if client.get_root(epoch) != root:
            raise
    with engine.begin() as connection:
        forget_trees(connection, (chain_id, registry, epoch - _RETAINED_EPOCHS))
    return epoch


def states_of(connection: Connection, policies: Sequence[str], now: int) -> Iterator[tuple[str, BuyerState]]:
    """Compute each buyer's state under each scoring policy."""
    chosen = [policy_of(name) for name in policies]
    for chain_id, block in read_cursors(connection).items():
        query = select(payment.c.payer).where(payment.c.chain_id == chain_id).distinct().order_by(payment.c.payer)
        for buyer in connection.execute(query).scalars().all():
            for policy in chosen:
                standing = read_standing(connection, chain_id, buyer, policy, now, block)
                if standing.weighed.metrics.payments:
                    yield policy.name, state_of(standing)


def state_of(standing: Standing) -> BuyerState:
    """Return the state for a leaf. The sum of votes in it is rounded, but the score and tier use the exact sum."""
    weighed, metrics = standing.weighed, standing.weighed.metrics
    votes = Fraction(metrics.feedback_sum)
    return BuyerState(
        standing.buyer,
        standing.chain_id,
        score_of(metrics),
        tier_of(metrics),
        metrics.payments,
        metrics.volume,
        weighed.first_at or 0,
        weighed.last_at or 0,
        metrics.reviews,
        metrics.review_sum,
        metrics.feedback_sellers,
        half_up(votes.numerator, votes.denominator),
        metrics.disputes,
        policy_hash(standing.policy.name),
        max(standing.block or 0, 0),
    )


def _stored_root(engine: Engine, epoch: Epoch) -> bytes | None:
    with engine.connect() as connection:
        query = select(buyer_anchor.c.root).where(*_of_epoch(buyer_anchor, epoch))
        root = connection.execute(query).scalar_one_or_none()
    return None if root is None else bytes(root)


def _prepare(engine: Engine, epoch: Epoch, policies: Sequence[str], now: int) -> bytes:
    """Compute and store an epoch's states and their tree, and return its root."""
    place = dict(zip(_EPOCH, epoch, strict=True))
    with snapshot(engine) as connection:
        states = list(states_of(connection, policies, now))
    if not states:
        raise InvalidArgumentError("no payments by buyers are indexed yet: let the index read payments first")
    try:
        with engine.begin() as connection:
            root = store_tree(connection, epoch, states)
            connection.execute(insert(buyer_anchor).values(**place, root=root, made_at=now, states=len(states)))
    except IntegrityError:
        stored = _stored_root(engine, epoch)  # another process was faster: its states count
        if stored is None:
            raise
        return stored
    return root


NODES_IN_PART: Final = 32
"""The number of tree nodes per row. It makes rows of 1 KiB; PostgreSQL moves values out of rows above 2 KiB."""

_NODE: Final = 32  # bytes of a node: an element of a field of 254 bits
_ROWS_AT_ONCE: Final = 10_000
"""The number of rows per insert, because a tree's rows, possibly millions, should not all be in memory at once."""


@dataclass(frozen=True)
class ProvenState:
    """A buyer's state, and the proof that the epoch's tree contains the state.

    Attributes:
        proof: The sibling hashes, from the leaf up.
    """

    state: BuyerState
    proof: tuple[bytes, ...]


def store_tree(connection: Connection, epoch: Epoch, states: Sequence[tuple[str, BuyerState]]) -> bytes:
    """Store an epoch's states, and the nodes of their tree."""
    tree, rows = StateTree(state for _, state in states), rows_of(connection)
    for start in range(0, len(states), _ROWS_AT_ONCE):
        part = states[start : start + _ROWS_AT_ONCE]
        rows.insert(buyer_state, [_row(epoch, policy, state, tree.node_of(state)) for policy, state in part])
    nodes = tree.nodes
    parts = [
        (*epoch, start // NODES_IN_PART, b"".join(nodes[start : start + NODES_IN_PART]))
        for start in range(0, len(nodes), NODES_IN_PART)
    ]
    rows.insert(buyer_tree, parts)
    return tree.root


def read_proof(  # the parts of a state's name
    connection: Connection, epoch: Epoch, buyer: str, chain_id: int, policy: str
) -> ProvenState | None:
    """Read a buyer's state with its proof, reading only one state row and the nodes on one path."""
    table = buyer_state.c
    of_buyer = table.buyer == buyer, table.payments_chain_id == chain_id, table.policy == policy
    query = select(buyer_state).where(*_of_epoch(buyer_state, epoch), *of_buyer, table.node.is_not(None))
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    path = path_of(row.node)
    nodes = _read_nodes(connection, epoch, path)
    return ProvenState(_state(row), tuple(nodes[node] for node in path))


def forget_trees(connection: Connection, epoch: Epoch) -> None:
    """Remove the states and trees of an epoch and of all earlier epochs."""
    for table in (buyer_state, buyer_tree):
        *is_registry, _ = _of_epoch(table, epoch)
        connection.execute(delete(table).where(*is_registry, table.c.epoch <= epoch[2]))


def _read_nodes(connection: Connection, epoch: Epoch, nodes: Sequence[int]) -> dict[int, bytes]:
    table = buyer_tree.c
    numbers = sorted({node // NODES_IN_PART for node in nodes})
    query = select(table.part, table.nodes).where(*_of_epoch(buyer_tree, epoch), table.part.in_(numbers))
    parts = {part: bytes(stored) for part, stored in connection.execute(query)}
    starts = {node: node % NODES_IN_PART * _NODE for node in nodes}
    return {node: parts[node // NODES_IN_PART][start : start + _NODE] for node, start in starts.items()}


def _of_epoch(table: Table, epoch: Epoch) -> tuple[ColumnElement[bool], ...]:
    return tuple(table.c[name] == value for name, value in zip(_EPOCH, epoch, strict=True))


def _row(epoch: Epoch, policy: str, state: BuyerState, node: int) -> tuple[Any, ...]:
    buyer, chain_id, score, tier, *counts, _, block_number = vars(state).values()
    return (*epoch, buyer, chain_id, policy, score, tier.level, *counts, block_number, node)


def _state(row: Any) -> BuyerState:
    buyer, chain_id, policy, score, tier, *counts, block_number, _ = row[len(_EPOCH) :]
    level = BuyerTier.of_level(tier)
    values: list[Any] = [buyer, chain_id, score, level, *map(int, counts), policy_hash(policy), block_number]
    return BuyerState(*values)
