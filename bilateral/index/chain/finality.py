"""Protection of finalized blocks: no single endpoint has them removed."""

from __future__ import annotations

from sqlalchemy import select

from bilateral.index.chain.source import Source
from bilateral.index.errors import FinalizedBlockError
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Block
from bilateral.index.log.store import ChainStore


class Finality:
    """The finalized blocks of one chain, and the endpoints that contradict them.

    An endpoint that falls far behind, or whose data was lost, shows a shorter chain, and is believed by nobody else.

    Args:
        store: The chain's rows.
        is_trusting: True to believe any single endpoint, because an operator looked.
    """

    def __init__(self, store: ChainStore, *, is_trusting: bool = False) -> None:
        self._store = store
        self._is_trusting = is_trusting
        self._cursor: Block | None = None
        self._claims: dict[str, int] = {}

    def require_agreement(self, source: Source, cursor: Block, target: Block) -> None:
        """Refuse to remove finalized blocks before a second endpoint lacks them too."""
        finalized = self._finalized(cursor)
        if self._is_trusting or finalized is None or target.number >= finalized:
            return
        if cursor != self._cursor:
            self._cursor, self._claims = cursor, {}
        other_claims = [claimed for key, claimed in self._claims.items() if key != source.key]
        if any(claimed <= target.number for claimed in other_claims):
            return
        self._claims[source.key] = target.number
        raise FinalizedBlockError(source.name, target.number, finalized)

    def _finalized(self, cursor: Block) -> int | None:
        """Return the last indexed block that a node called finalized; None if none did."""
        table = schema.chain
        query = select(table.c.finalized_number).where(table.c.chain_id == self._store.chain_id)
        with self._store.engine.connect() as connection:
            number: int | None = connection.execute(query).scalar_one_or_none()
        return None if number is None else min(number, cursor.number)
