"""The standing projection. A reorganisation removes findings together with their blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, delete, select, update

from bilateral.index.log.projection import Projection, Removal
from bilateral.index.standing import tables as schema
from bilateral.index.standing.queries import standings_states
from bilateral.index.standing.tables import of_registry

if TYPE_CHECKING:
    from bilateral.index.standing.worker import StandingsProcess


class Standing(Projection):
    """Standings, findings and sources of funds, which analyses store."""

    name = "standing"
    tables = tuple(schema.metadata.tables.values())

    def undo(self, removal: Removal) -> Iterator[None]:
        yield
        connection, chain_id, block = removal.connection, removal.chain_id, removal.target.number
        analysis, rows, funding = schema.analysis, schema.finding_row, schema.funding
        # Findings with rows in removed blocks are deleted, and so are sources of funds. Scores remain until the next
        # analysis; `is_exact` shows that they may be based on removed rows.
        is_later = (analysis.c.chain_id == chain_id) & (analysis.c.block_number > block)
        if connection.execute(update(analysis).where(is_later).values(is_exact=False)).rowcount:
            removed = select(rows.c.identity_registry, rows.c.finding_id).distinct()
            removed = removed.where(rows.c.chain_id == chain_id, rows.c.block_number > block)
            for identity, finding_id in connection.execute(removed).all():
                for table in (schema.finding, schema.finding_member, rows):
                    of_finding = *of_registry(table, chain_id, identity), table.c.finding_id == finding_id
                    connection.execute(delete(table).where(*of_finding))
        # An analysis that was stored at a removed block counts from the block after the last remaining one, because
        # responses at that block did not use it. A source of funds still counts from the block after that of its note.
        for column, last in (
            (analysis.c.seen_block, block + 1),
            (analysis.c.first_seen_block, block + 1),
            (funding.c.seen_block, block),
        ):
            later = (column.table.c.chain_id == chain_id) & (column > block)
            connection.execute(update(column.table).where(later).values({column.name: last}))
        connection.execute(delete(funding).where(funding.c.chain_id == chain_id, funding.c.block_number > block))
        yield

    def progress(self, connection: Connection, chain_id: int | None) -> Mapping[int, Mapping[str, Any]]:
        return {chain: {"standings": state} for chain, state in standings_states(connection, chain_id).items()}

    def background(self, engine: Engine, rpc_urls: Sequence[Sequence[str]]) -> StandingsProcess:
        from bilateral.index.standing.worker import StandingsProcess  # noqa: PLC0415  # slow to import

        return StandingsProcess(engine, rpc_urls)
