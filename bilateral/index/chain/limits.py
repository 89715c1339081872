"""Facts about endpoints, remembered so that a restart does not learn them again.

They are the numbers of blocks that endpoints give at once, and which of them left out logs.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from bilateral.index.store.rows import Row, rows_of
from bilateral.index.tables import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from bilateral.index.chain.source import Source

_SECONDS_KEPT: Final = 24 * 3600
"""Seconds after which a limit is learnt again: providers change them, by plan and by month."""


class Limits:
    """The learnt limits of one chain's endpoints, and their losses.

    Args:
        engine: The database.
        chain_id: The chain.
        sources: The endpoints.
    """

    def __init__(self, engine: Engine, chain_id: int, sources: Sequence[Source]) -> None:
        """See the class. Limits that were learnt less than a day ago are used.

        Former versions stored a row a host. It is used for the only endpoint of its host.
        """
        self._engine = engine
        self._chain_id = chain_id
        self._sources = sources
        self._stored: dict[str, Row] = {}
        now, table = int(time.time()), schema.endpoint_limit
        with engine.connect() as connection:
            rows = connection.execute(select(table).where(table.c.chain_id == chain_id))
            known = {row.endpoint: row for row in rows}
        hosts = Counter(source.name for source in sources)
        for source in sources:
            row = known.get(source.key) or (known.get(source.name) if hosts[source.name] == 1 else None)
            if row is None:
                continue
            is_fresh = row.learnt_at > now - _SECONDS_KEPT
            if is_fresh:
                source.size.resume(row.blocks, row.ceiling)
            source.lost_logs_at = row.lost_logs_at
            learnt_at = row.learnt_at if is_fresh else 0
            self._stored[source.key] = row.blocks, row.ceiling, learnt_at, row.lost_logs_at

    def store(self) -> None:
        """Store the limits that were learnt, and the losses that were seen, since the last call."""
        now = int(time.time())
        new: dict[str, Row] = {}
        for source in self._sources:
            blocks, ceiling, learnt_at, _ = former = self._stored.get(source.key, (0, None, 0, None))
            if source.size.was_refused and (blocks, ceiling) != (source.size.blocks, source.size.ceiling):
                blocks, ceiling, learnt_at = source.size.blocks, source.size.ceiling, now
            lost_at = source.lost_logs_at
            if (blocks, ceiling, learnt_at, lost_at) != former:
                new[source.key] = blocks, ceiling, learnt_at, lost_at
        if not new:
            return
        with self._engine.begin() as connection:
            rows = [(self._chain_id, key, *values) for key, values in new.items()]
            rows_of(connection).replace(schema.endpoint_limit, rows)
        self._stored |= new
