"""Facts about endpoints, remembered so that a restart does not learn them again.

They are the numbers of blocks that endpoints give at once, which of them gave false answers, and from which block on
each delivered what no other one confirmed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Engine, select

from bilateral.index.chain.source import Source
from bilateral.index.log import tables as schema
from bilateral.index.log.rows import Row, rows_of

_FRESH_SECONDS: Final = 24 * 3600
"""Seconds after which a limit is learnt again: providers change them, by plan and by month."""


_UNCONFIRMED: Final = "unconfirmed from "
"""The beginning of the name of a second row of an endpoint, whose `blocks` is `Source.alone_from`."""


class Limits:
    """The learnt limits of one chain's endpoints, and their losses.

    Args:
        sources: The endpoints.
    """

    def __init__(self, engine: Engine, chain_id: int, sources: Sequence[Source]) -> None:
        self._engine = engine
        self._chain_id = chain_id
        self._sources = sources
        self._stored: dict[str, Row] = {}
        self._alone: dict[str, int | None] = {}
        now, table = int(time.time()), schema.endpoint_limit
        with engine.connect() as connection:
            rows = connection.execute(select(table).where(table.c.chain_id == chain_id))
            by_key = {row.endpoint: row for row in rows}
        for source in sources:
            alone = by_key.get(_UNCONFIRMED + source.key)
            source.alone_from = self._alone[source.key] = None if alone is None else alone.blocks
            row = by_key.get(source.key)
            if row is None:
                continue
            is_fresh = row.learnt_at > now - _FRESH_SECONDS
            if is_fresh:
                source.size.resume(row.blocks, row.ceiling)
            source.lost_logs_at = row.lost_logs_at
            learnt_at = row.learnt_at if is_fresh else 0
            self._stored[source.key] = row.blocks, row.ceiling, learnt_at, row.lost_logs_at

    def store(self) -> None:
        """Store what was learnt about the endpoints since the last call."""
        now = int(time.time())
        new: dict[str, Row] = {}
        for source in self._sources:
            blocks, ceiling, learnt_at, _ = stored = self._stored.get(source.key, (0, None, 0, None))
            if source.size.was_refused and (blocks, ceiling) != (source.size.blocks, source.size.ceiling):
                blocks, ceiling, learnt_at = source.size.blocks, source.size.ceiling, now
            lost_at = source.lost_logs_at
            if (blocks, ceiling, learnt_at, lost_at) != stored:
                new[source.key] = blocks, ceiling, learnt_at, lost_at
        alone = {source.key: source.alone_from for source in self._sources}
        moved = {key: block for key, block in alone.items() if block != self._alone.get(key)}
        if not new and not moved:
            return
        rows = [(self._chain_id, key, *values) for key, values in new.items()]
        rows += [
            (self._chain_id, _UNCONFIRMED + key, block, None, now, None)
            for key, block in moved.items()
            if block is not None
        ]
        removed = [(self._chain_id, _UNCONFIRMED + key) for key, block in moved.items() if block is None]
        with self._engine.begin() as connection:
            rows_of(connection).replace(schema.endpoint_limit, rows)
            rows_of(connection).delete(schema.endpoint_limit, removed)
        self._stored |= new
        self._alone |= moved
