"""Facts about endpoints, remembered so that a restart does not learn them again.

They are the numbers of blocks that endpoints give at once, which of them gave false answers, and from which block on
each delivered what no other one confirmed.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from bilateral.index.log import tables as schema
from bilateral.index.log.rows import Row, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from bilateral.index.chain.source import Source

_SECONDS_KEPT: Final = 24 * 3600
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
            known = {row.endpoint: row for row in rows}
        hosts = Counter(source.name for source in sources)
        for source in sources:
            alone = known.get(_UNCONFIRMED + source.key)
            source.alone_from = self._alone[source.key] = None if alone is None else alone.blocks
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
        """Store what was learnt about the endpoints since the last call."""
        now = int(time.time())
        new: dict[str, Row] = {}
        for source in self._sources:
            blocks, ceiling, learnt_at, _ = former = self._stored.get(source.key, (0, None, 0, None))
            if source.size.was_refused and (blocks, ceiling) != (source.size.blocks, source.size.ceiling):
                blocks, ceiling, learnt_at = source.size.blocks, source.size.ceiling, now
            lost_at = source.lost_logs_at
            if (blocks, ceiling, learnt_at, lost_at) != former:
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
        gone = [(self._chain_id, _UNCONFIRMED + key) for key, block in moved.items() if block is None]
        with self._engine.begin() as connection:
            rows_of(connection).replace(schema.endpoint_limit, rows)
            rows_of(connection).delete(schema.endpoint_limit, gone)
        self._stored |= new
        self._alone |= moved
