"""Keeps the standings of an index current: analyses again when rows arrive, and continues when an analysis fails."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, Engine, func, select, update
from sqlalchemy.exc import DBAPIError

from bilateral.core.errors import BilateralError
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.errors import NoEndpointError
from bilateral.index.log import tables as schema
from bilateral.index.log.database import is_lost, is_transient, snapshot
from bilateral.index.payments import tables as payments
from bilateral.index.standing import tables as analysis
from bilateral.index.standing.analysis import Analyst
from bilateral.index.standing.funding import FundingCollector
from bilateral.index.standing.projection import note_problem
from bilateral.index.standing.queries import identity_registries
from bilateral.index.standing.tables import AnalysisKey, standing_refresh

_LOGGER: Final = logging.getLogger("bilateral.index")

PAUSE: Final = 1.0
"""The seconds between two looks for new rows."""

LEAST_PAUSE: Final = 10.0
"""The least seconds between the end of a registry's refresh and its next one. The pause is at least as long as the
refresh took, so a large index leaves half of the time for others."""

_CONFIRM_SECONDS: Final = 60.0
"""The seconds after which standings without new rows are confirmed as of the last block. They are stale after 600."""

_RETRY_SECONDS: Final = 30.0
"""The seconds after which an analysis that failed is tried again if no rows came meanwhile."""

_ACCOUNTS: Final = 200
"""The accounts whose first funds are looked for in one refresh, so that a slow node does not hold it up for long."""

_COUNTED: Final = (payments.payment, payments.payment_return, analysis.funding)


class Refresher:
    """Keeps the standings of all identity registries of an index current.

    Args:
        urls: The URLs of nodes by chain. They are asked for the first funds of accounts.
        only_followed: True to leave out chains without URLs: other processes follow and analyse them.
    """

    def __init__(
        self,
        engine: Engine,
        urls: Mapping[int, Sequence[str]] | None = None,
        make: Callable[[Engine, AnalysisKey], Analyst] = Analyst,
        *,
        only_followed: bool = False,
    ) -> None:
        self._engine = engine
        self._urls = dict(urls or {})
        self._make = make
        self._only_followed = only_followed
        self._analysts: dict[AnalysisKey, Analyst] = {}
        self._marks: dict[AnalysisKey, tuple[int, ...]] = {}
        self._failed: dict[AnalysisKey, float] = {}
        self._due: dict[AnalysisKey, float] = {}
        self._confirmed: dict[AnalysisKey, float] = {}
        self._pools: dict[int, Pool] = {}

    def add_nodes(self, urls: Mapping[int, Sequence[str]]) -> None:
        """Add the URLs of nodes, by chain."""
        self._urls.update(urls)

    def run(self, stop: threading.Event) -> None:
        """Refresh until an event is set. A database that fails for a while is waited for."""
        while not stop.is_set():
            try:
                self.refresh(is_paced=True)
            except DBAPIError as problem:
                if not (is_lost(problem) or is_transient(problem)):
                    raise
                _LOGGER.warning("standings=wait problem=%r", str(problem.orig))
            stop.wait(PAUSE)

    def refresh(self, *, is_paced: bool = False) -> bool:
        """Refresh the standings of each registry that has new rows. Return True if one had any."""
        with snapshot(self._engine) as connection:
            keys = [
                key for key in identity_registries(connection) if not self._only_followed or key.chain_id in self._urls
            ]
            states = {key: (_block(connection, key), _mark(connection, key)) for key in keys}
        is_changed = False
        for key, (block, mark) in states.items():
            began = time.monotonic()
            waits = began - self._failed.get(key, -_RETRY_SECONDS) < _RETRY_SECONDS
            if mark == self._marks.get(key) and (waits or key not in self._failed):
                self._confirm(key, block)
                continue
            if is_paced and began < self._due.get(key, began):
                continue
            is_changed = True
            if self._find_funds(key) < _ACCOUNTS:  # else more accounts wait, and the next look continues with them
                with snapshot(self._engine) as connection:
                    self._marks[key] = _mark(connection, key)  # of before the analysis, which may miss later rows
            self._refresh(key)
            self._confirmed[key] = ended = time.monotonic()
            self._due[key] = ended + max(LEAST_PAUSE, ended - began)
        return is_changed

    def _confirm(self, key: AnalysisKey, block: int) -> None:
        """Note that no row came up to a block, so the standings are those of this block and this time, too."""
        now = time.monotonic()
        if key in self._failed or now - self._confirmed.get(key, now) < _CONFIRM_SECONDS:
            return
        self._confirmed[key] = now
        current = update(standing_refresh).where(key.of(standing_refresh), standing_refresh.c.block_number <= block)
        with self._engine.begin() as connection:
            connection.execute(current.values(block_number=block, made_at=int(time.time())))

    def _refresh(self, key: AnalysisKey) -> None:
        """Analyse a registry. If that fails, the last standings stay, and the reason is noted."""
        began = time.monotonic()
        analyst = self._analysts.setdefault(key, self._make(self._engine, key))
        try:
            analyst.analyse()
        except DBAPIError:
            self._marks.pop(key, None)
            raise
        except Exception as problem:  # noqa: BLE001  # whatever fails in an analysis must not stop the index
            self._analysts.pop(key)  # its state may be half of two
            self._failed[key] = time.monotonic()
            _LOGGER.warning("chain=%d standings=failed problem=%r", key.chain_id, str(problem))
            with self._engine.begin() as connection:
                note_problem(connection, key, f"{type(problem).__name__}: {problem}")
            return
        self._failed.pop(key, None)
        if self._read_claimed(key, analyst):
            self._marks.pop(key, None)  # the next look judges claims by what was just read
        _LOGGER.info("chain=%d standings=analysis seconds=%.1f", key.chain_id, time.monotonic() - began)

    def _find_funds(self, key: AnalysisKey) -> int:
        """Look for the first funds of new accounts, and return their number.

        Nodes without old states do not know them, and nothing waits for that.
        """
        urls = self._urls.get(key.chain_id)
        if not urls:
            return 0
        if key.chain_id not in self._pools:
            self._pools[key.chain_id] = Pool(key.chain_id, [Source(Endpoint(url), ()) for url in urls])
        try:
            return FundingCollector(self._engine, key, self._pools[key.chain_id]).collect(_ACCOUNTS)
        except NoEndpointError as problem:
            _LOGGER.info("chain=%d funds=unknown problem=%r", key.chain_id, str(problem))
            return 0

    def _read_claimed(self, key: AnalysisKey, analyst: Analyst) -> int:
        """Read transactions that clients claim as proofs, and return their number. Nothing waits for that."""
        pool = self._pools.get(key.chain_id)
        try:
            return 0 if pool is None else analyst.claimed.read(pool.choose().endpoint, _ACCOUNTS)
        except BilateralError as problem:
            _LOGGER.info("chain=%d claims=unknown problem=%r", key.chain_id, str(problem))
            return 0


def _block(connection: Connection, key: AnalysisKey) -> int:
    query = select(schema.chain.c.block_number).where(schema.chain.c.chain_id == key.chain_id)
    return int(connection.execute(query).scalar_one())


def _mark(connection: Connection, key: AnalysisKey) -> tuple[int, ...]:
    """Return figures that change with the rows that standings rest on."""
    chain = schema.chain
    query = select(chain.c.event_rows, chain.c.reorganizations).where(chain.c.chain_id == key.chain_id)
    counts = [
        connection.execute(select(func.count()).select_from(table).where(table.c.chain_id == key.chain_id)).scalar_one()
        for table in _COUNTED
    ]
    return (*connection.execute(query).one(), *counts)
