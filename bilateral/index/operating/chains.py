"""The progress of the indexed chains."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from bilateral.core.values.standing import StandingsState
from bilateral.index.log import tables as schema
from bilateral.index.projections import progress_of


@dataclass(frozen=True, slots=True)
class ChainProgress:
    """One chain's progress.

    Attributes:
        first_block: The first indexed block.
        block: The last indexed block. Responses include events up to this block.
        block_time: The block time, in Unix seconds.
        head: The chain's head when the index last checked.
        lag: The number of blocks between `block` and `head`.
        finalized: The last finalized block; None if the node does not report it.
        updated_at: The time of the last check, in Unix seconds.
        reorganizations: The number of reorganisations that removed blocks.
        standings: The block and age of the chain's standings and, if the last analysis failed, the reason.
    """

    chain_id: int
    first_block: int
    block: int
    block_hash: str
    block_time: int
    head: int
    lag: int
    finalized: int | None
    updated_at: int
    reorganizations: int
    standings: StandingsState


def chains(connection: Connection, chain_id: int | None = None) -> tuple[ChainProgress, ...]:
    """Return every chain's progress, keyed by chain id."""
    table, figures = schema.chain, progress_of(connection, chain_id)
    names = ("chain_id", "first_block", "block_number", "block_hash", "block_time")
    query = select(*table.c[*names, "head_number", "finalized_number", "updated_at", "reorganizations"])
    if chain_id is not None:  # then no other chain's server is queried
        query = query.where(table.c.chain_id == chain_id)
    rows = connection.execute(query.order_by(table.c.chain_id))
    return tuple(
        ChainProgress(
            *(number, first, block, f"0x{hash_.hex()}", block_time, head, max(0, head - block)),
            *(finalized, updated, reorgs),
            standings=figures[number].get("standings", StandingsState()),
        )
        for number, first, block, hash_, block_time, head, finalized, updated, reorgs in rows
    )
