"""The numbers of blocks that endpoints give at once, remembered so that a restart does not learn them again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from bilateral.index import schema
from bilateral.index.rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from bilateral.index.source import Source

_SECONDS_KEPT: Final = 24 * 3600
"""Seconds after which a limit is learnt anew: providers change them, by plan and by month."""


class Limits:
    """The learnt limits of one chain's endpoints.

    Args:
        engine: The database.
        chain_id: The chain.
        sources: The endpoints.
    """

    def __init__(self, engine: Engine, chain_id: int, sources: Sequence[Source]) -> None:
        """See the class. Limits that were learnt less than a day ago are used."""
        self._engine = engine
        self._chain_id = chain_id
        self._sources = sources
        table = schema.endpoint_limit
        query = select(table.c.endpoint, table.c.blocks, table.c.ceiling).where(
            table.c.chain_id == chain_id, table.c.learnt_at > int(time.time()) - _SECONDS_KEPT
        )
        with engine.connect() as connection:
            known = {endpoint: (blocks, ceiling) for endpoint, blocks, ceiling in connection.execute(query)}
        self._stored = {source: known[source.name] for source in sources if source.name in known}
        for source, (blocks, ceiling) in self._stored.items():
            source.size.resume(blocks, ceiling)

    def store(self) -> None:
        """Store the limits that were learnt since the last call."""
        learnt = {it: (it.size.blocks, it.size.ceiling) for it in self._sources if it.size.was_refused}
        new = {source: size for source, size in learnt.items() if self._stored.get(source) != size}
        if not new:
            return
        now = int(time.time())
        by_name = {source.name: (self._chain_id, source.name, *size, now) for source, size in new.items()}
        with self._engine.begin() as connection:
            rows_of(connection).replace(schema.endpoint_limit, list(by_name.values()))
        self._stored |= new
