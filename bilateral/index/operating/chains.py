"""The progress of the indexed chains."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from bilateral.index.log import tables as schema
from bilateral.index.standing.standings import StandingsState, of_chain, standings_states


@dataclass(frozen=True, slots=True)
class ChainProgress:
    """The progress of one chain.

    Attributes:
        first_block: The first indexed block.
        block: The last indexed block: answers are of this block.
        block_time: Its time, Unix seconds.
        head: The head of the chain when the index last looked.
        lag: The blocks between the two.
        finalized: The last finalized block, if the node says.
        updated_at: The time of the last look, Unix seconds.
        reorganizations: The number of reorganisations that removed blocks.
        standings: The state of its standings: their block, age, and why the last analysis failed.
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
    """Return the progress of every chain, by chain id."""
    table, standings = schema.chain, standings_states(connection, chain_id)
    names = ("chain_id", "first_block", "block_number", "block_hash", "block_time")
    query = select(*table.c[*names, "head_number", "finalized_number", "updated_at", "reorganizations"])
    rows = connection.execute(of_chain(query, table, chain_id).order_by(table.c.chain_id))
    return tuple(
        ChainProgress(
            *(chain_id, first, block, f"0x{hash_.hex()}", block_time, head, max(0, head - block)),
            *(finalized, updated, reorgs, standings.get(chain_id, StandingsState())),
        )
        for chain_id, first, block, hash_, block_time, head, finalized, updated, reorgs in rows
    )
