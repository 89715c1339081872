"""Anchor the states of all buyers: store them, then post their root. Safe to repeat after a crash at any point.

The states of an epoch are stored before its root is sent, in one transaction. A later run finds them and sends the same
root. The registry takes each epoch once, so that the root of an interrupted run is not doubled.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import IntegrityError

from bilateral.buyers.policies import policy_of
from bilateral.buyers.records import Standing, read_cursors, read_standing
from bilateral.buyers.score import half_up, score_of, tier_of
from bilateral.buyers.stored_trees import Epoch, forget_trees, read_root, store_tree
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import BuyerState, policy_hash
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log.database import snapshot
from bilateral.index.payments.tables import buyer_anchor, payment

if TYPE_CHECKING:
    from bilateral.client import Client

_KEPT_EPOCHS: Final = 2
"""The last epochs whose states are kept. Readers ask for the older one until the newer one is indexed."""


def anchor_states(engine: Engine, client: Client, policies: Sequence[str], *, now: int | None = None) -> int:
    """Store the states of all buyers of all chains in the index, and post their root.

    Args:
        client: A client whose signer is the anchorer.
        policies: The scoring policies; each gives every buyer a state.
        now: The time of the states, in Unix seconds; the present one if left out.

    Returns:
        The epoch.

    Raises:
        InvalidArgumentError: A policy is unknown, or no buyer has paid yet.
        ContractRevertError: The signer is not the anchorer, or somebody else posted another root of the epoch.
    """
    deployment = client.get_deployment()
    chain_id, registry = deployment.chain_id, deployment.address_of(Registry.BUYERS)
    epoch = client.get_next_epoch()
    made_at = int(time.time()) if now is None else now
    key = chain_id, registry, epoch
    root = _stored_root(engine, key) or _prepare(engine, key, policies, made_at)
    try:
        client.anchor_root(epoch, root).wait()
    except ContractRevertError:
        # The transaction of an interrupted run, or of another process, may have been mined meanwhile.
        if client.get_root(epoch) != root:
            raise
    with engine.begin() as connection:
        forget_trees(connection, (chain_id, registry, epoch - _KEPT_EPOCHS))
    return epoch


def states_of(connection: Connection, policies: Sequence[str], now: int) -> Iterator[tuple[str, BuyerState]]:
    """Compute the state of each buyer by each policy.

    Args:
        connection: The database, in a transaction that sees one state of it.
        now: The time up to which ages count, in Unix seconds.

    Returns:
        Pairs of a policy's name and a state. Buyers without a payment that counts are left out.
    """
    chosen = [policy_of(name) for name in policies]
    for chain_id, block in read_cursors(connection).items():
        query = select(payment.c.payer).where(payment.c.chain_id == chain_id).distinct().order_by(payment.c.payer)
        for buyer in connection.execute(query).scalars().all():
            for policy in chosen:
                standing = read_standing(connection, chain_id, buyer, policy, now, block)
                if standing.weighed.metrics.payments:
                    yield policy.name, state_of(standing)


def state_of(standing: Standing) -> BuyerState:
    """Return the state that a leaf commits to. The sum of votes is rounded there; score and tier are of the exact one.

    Args:
        standing: The buyer.
    """
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
    """Return the root that an interrupted run stored for an epoch."""
    with engine.connect() as connection:
        return read_root(connection, epoch)


def _prepare(engine: Engine, epoch: Epoch, policies: Sequence[str], now: int) -> bytes:
    """Compute and store the states of an epoch and their tree, and return its root."""
    place = dict(zip(("chain_id", "registry", "epoch"), epoch, strict=True))
    with snapshot(engine) as connection:
        states = list(states_of(connection, policies, now))
    if not states:
        raise InvalidArgumentError("no buyer has paid yet: let the index read payments first")
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
