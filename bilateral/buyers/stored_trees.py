"""The trees of anchored states in the database: written once an epoch, and read one path at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, delete, select

from bilateral.buyers.anchors import StateTree, path_of
from bilateral.core.contracts.buyer_terms import BuyerState, BuyerTier, policy_hash
from bilateral.index.log.rows import rows_of
from bilateral.index.payments.tables import buyer_anchor, buyer_state, buyer_tree

NODES_IN_PART: Final = 32
"""The nodes in one row: a row of 1 KiB, which PostgreSQL does not move into another table as it does from 2 KiB on."""

_NODE: Final = 32  # bytes of a node: an element of a field of 254 bits
_ROWS_AT_ONCE: Final = 10_000
"""Rows of one insert: a tree may have millions, and they need not all be in memory."""

Epoch = tuple[int, str, int]
"""The chain and the address of a registry, and the number of an epoch."""


@dataclass(frozen=True)
class ProvenState:
    """A state, and the proof that it is in the tree of its epoch.

    Attributes:
        proof: The sibling hashes, from the leaf up.
    """

    state: BuyerState
    proof: tuple[bytes, ...]


def store_tree(connection: Connection, epoch: Epoch, states: Sequence[tuple[str, BuyerState]]) -> bytes:
    """Store the states of an epoch, and the nodes of their tree.

    Args:
        connection: The connection, in a transaction.
        states: Pairs of a policy's name and a state.

    Returns:
        The root of the tree.
    """
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
    """Read the state of a buyer with its proof: one row of states, and the nodes of one path.

    Args:
        buyer: The buyer, in checksum form.
        chain_id: The chain of its payments.
        policy: The name of the scoring policy.

    Returns:
        The state; None if the epoch has none of the buyer, or its tree is not stored.
    """
    table = buyer_state.c
    named = table.buyer == buyer, table.payments_chain_id == chain_id, table.policy == policy
    query = select(buyer_state).where(*_of_epoch(buyer_state, epoch), *named, table.node.is_not(None))
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    path = path_of(row.node)
    nodes = _read_nodes(connection, epoch, path)
    return ProvenState(_state(row), tuple(nodes[node] for node in path))


def forget_trees(connection: Connection, epoch: Epoch) -> None:
    """Remove the states and trees of an epoch and of all before it.

    Args:
        connection: The connection, in a transaction.
        epoch: The last epoch to forget.
    """
    for table in (buyer_state, buyer_tree):
        is_old = table.c.chain_id == epoch[0], table.c.registry == epoch[1], table.c.epoch <= epoch[2]
        connection.execute(delete(table).where(*is_old))


def read_root(connection: Connection, epoch: Epoch) -> bytes | None:
    """Return the root that was stored for an epoch; None without one."""
    root = connection.execute(select(buyer_anchor.c.root).where(*_of_epoch(buyer_anchor, epoch))).scalar_one_or_none()
    return None if root is None else bytes(root)


def _read_nodes(connection: Connection, epoch: Epoch, nodes: Sequence[int]) -> dict[int, bytes]:
    """Return the hashes of some nodes."""
    table = buyer_tree.c
    wanted = sorted({node // NODES_IN_PART for node in nodes})
    query = select(table.part, table.nodes).where(*_of_epoch(buyer_tree, epoch), table.part.in_(wanted))
    parts = {part: bytes(stored) for part, stored in connection.execute(query)}
    siblings = {}
    for node in nodes:
        start = node % NODES_IN_PART * _NODE
        siblings[node] = parts[node // NODES_IN_PART][start : start + _NODE]
    return siblings


def _of_epoch(table: Table, epoch: Epoch) -> tuple[ColumnElement[bool], ...]:
    """Return the condition that a row is of an epoch."""
    return tuple(table.c[name] == value for name, value in zip(("chain_id", "registry", "epoch"), epoch, strict=True))


def _row(epoch: Epoch, policy: str, state: BuyerState, node: int) -> tuple[Any, ...]:
    """Return the row of a state, in the order of the columns."""
    return (
        *epoch,
        state.buyer,
        state.chain_id,
        policy,
        state.score,
        state.tier.level,
        state.payments,
        state.volume,
        state.first_payment_at,
        state.last_payment_at,
        state.reviews,
        state.review_sum,
        state.feedback_sellers,
        state.feedback_sum,
        state.disputes,
        state.block_number,
        node,
    )


def _state(row: Any) -> BuyerState:
    return BuyerState(
        row.buyer,
        row.payments_chain_id,
        row.score,
        BuyerTier.of_level(row.tier),
        row.payments,
        int(row.volume),
        row.first_payment_at,
        row.last_payment_at,
        row.reviews,
        row.review_sum,
        row.feedback_sellers,
        row.feedback_sum,
        row.disputes,
        policy_hash(row.policy),
        row.block_number,
    )
