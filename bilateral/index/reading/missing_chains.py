"""Track which of a coordinator's shards are not responding, so that visits can skip them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from sqlalchemy import URL, Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from bilateral.index.errors import ChainServerFailedError, DatabaseUnavailableError, MissingChainError
from bilateral.index.log.database import unavailable
from bilateral.index.log.places import DOWN, LENIENT, MISSING, REACHABLE, has_reachable

_LOGGER: Final = logging.getLogger("bilateral.api.database")

_LOOK_SECONDS: Final = 1.0
"""Seconds between checks while a shard is not responding, the same as for replicas."""

_LOOK_MILLISECONDS: Final = 3_000
"""The time limit for a check, which exceeds the coordinator's two-second limit for connecting to a shard."""

MISSING_FIGURE: Final = ("chain_missing", "1 while the chain's shard is not responding.")
"""The name and help text of the metric, which has one value per chain."""

NO_ANSWER: Final = "no shard is responding"
"""The reason why an index is not ready while a chain's server is not responding."""

_PREPARE: Final = text(
    "SELECT set_config('search_path', CAST(:path AS text), true), set_config(CAST(:of_down AS text), :down, true), "
    "set_config(CAST(:of_lenient AS text), :lenient, true), set_config('plan_cache_mode', 'force_custom_plan', true)"
)
"""The settings for a visit. They prevent cached plans, which may be for a different set of shards."""

_IS_LENIENT: Final = ContextVar("is_lenient", default=False)
"""True while visits skip the rows of chains whose shard is not responding."""


@contextmanager
def without_missing_chains() -> Iterator[None]:
    """Let visits in the context skip rows on unavailable shards. Otherwise, visits that need such rows fail."""
    token = _IS_LENIENT.set(True)
    try:
        yield
    finally:
        _IS_LENIENT.reset(token)


class ChainServers:
    """The shards from which a coordinator reads chains.

    Attributes:
        down: The names of the shards that did not respond at the last check.
        missing: The chains on these shards.
    """

    def __init__(self, url: URL, path: str) -> None:
        self.down: frozenset[str] = frozenset()
        self.missing: frozenset[int] = frozenset()
        self._path = f"{REACHABLE}, {path}"
        self._engine = create_engine(url, poolclass=NullPool)  # an old connection would not see that a shard is back
        self._checked_at = 0.0
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @classmethod
    def of(cls, connection: Connection) -> ChainServers | None:
        """Return a database's shards; None if the database is not a coordinator."""
        if not has_reachable(connection):
            return None
        path = connection.execute(text("SELECT current_setting('search_path')")).scalar_one()
        return cls(connection.engine.url, path)

    def prepare(self, connection: Connection) -> None:
        """Restrict a visit to the shards that respond. See `without_missing_chains`."""
        if self.down:
            settings = {"of_down": DOWN, "down": ",".join(sorted(self.down)), "of_lenient": LENIENT}
            lenient = "on" if _IS_LENIENT.get() else "off"
            connection.execute(_PREPARE, {"path": self._path, "lenient": lenient, **settings})

    def failure(self, problem: DBAPIError, failure: DatabaseUnavailableError) -> DatabaseUnavailableError:
        """Check which shards respond, and return the error to raise for a failed visit."""
        driver_error: Any = problem.orig
        if getattr(driver_error, "sqlstate", None) == MISSING:
            return MissingChainError(int(driver_error.diag.message_detail))
        failed_at = time.monotonic()
        with self._lock:
            if self._checked_at < failed_at and not self._look():
                return failure
        if self.down:
            self.recheck()
        return ChainServerFailedError(str(failure))

    def recheck(self) -> None:
        """Check all shards in the background, and repeat this every second while one of them is not responding."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._look_again, name="shards", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop the checks."""
        self._is_over.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _look_again(self) -> None:
        while True:
            with self._lock:
                self._look()
            if not self.down or self._is_over.wait(_LOOK_SECONDS):
                return

    def _look(self) -> bool:
        """Find the shards that are not responding; return False if the coordinator itself is not responding."""
        try:
            with self._engine.connect() as connection:
                shards = connection.execute(text(f"SELECT number, name, chains FROM {REACHABLE}.server")).all()  # noqa: S608
        except DBAPIError:
            return False
        with ThreadPoolExecutor(len(shards)) as threads:
            problems = list(threads.map(self._problem, [shard.number for shard in shards]))
        failing = {shard.name: problem for shard, problem in zip(shards, problems, strict=True) if problem is not None}
        for name in sorted(failing.keys() - self.down):
            _LOGGER.warning("the shard %s is excluded from reads: %s", name, failing[name])
        for name in sorted(self.down - failing.keys()):
            _LOGGER.warning("the shard %s responds again", name)
        self.missing = frozenset(chain_id for shard in shards if shard.name in failing for chain_id in shard.chains)
        self.down = frozenset(failing)
        self._checked_at = time.monotonic()
        return True

    def _problem(self, number: int) -> str | None:
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql(f"SET LOCAL statement_timeout = {_LOOK_MILLISECONDS}")
                connection.exec_driver_sql(f"SELECT FROM {REACHABLE}.look_{number:d}")
        except DBAPIError as problem:
            return str(unavailable(problem))
        return None
