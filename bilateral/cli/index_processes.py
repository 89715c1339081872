"""Settings, database, log and signals of the commands that work on an index."""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from bilateral.core.errors import require_modules
from bilateral.core.text.log_lines import safe_handler

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Engine

    from bilateral.cli.invocation import Invocation
    from bilateral.index.operating.databases import Shard
    from bilateral.index.operating.status import ChainStatus

_PACKAGES: Final = ("alembic", "libipld", "msgspec", "platformdirs", "prometheus_client", "psycopg", "sqlalchemy")
"""The packages of the extra, by the names under which they are imported."""

SIGNAL_EXIT: Final = 128
"""The exit code of a command that a signal ended, less the signal's number."""


@contextmanager
def open_index(url: str | None, *, creates: bool = False) -> Iterator[Engine]:
    """Open the database of an index, and name its errors.

    Args:
        url: The SQLAlchemy URL; the default database if None.
        creates: True to make a database that does not exist.
    """
    from bilateral.index.log.database import named_database_errors, open_database  # noqa: PLC0415  # slow to import

    with named_database_errors():
        engine = open_database(url, creates=creates)
        try:
            yield engine
        finally:
            engine.dispose()


@contextmanager
def monitored_index(
    engine: Engine,
    host: str,
    port: int | None,
    shards: Mapping[str, Shard] | None = None,
    *,
    needs_analysis: bool = True,
) -> Iterator[None]:
    """Answer monitors meanwhile, if a port is named."""
    if port is None:
        yield
        return
    from bilateral.index.operating.monitoring import monitored  # noqa: PLC0415  # slow to import

    with monitored(engine, host, port, shards, needs_analysis=needs_analysis) as actual:
        logging.getLogger("bilateral.index").info("metrics=http://%s:%d/metrics", host, actual)
        yield


def show_status(invocation: Invocation, engine: Engine) -> None:
    """Show the status of all chains."""
    from bilateral.index.operating.status import chain_statuses  # noqa: PLC0415  # slow to import

    show_statuses(invocation, chain_statuses(engine))


def show_statuses(invocation: Invocation, statuses: Sequence[ChainStatus]) -> None:
    """Show the status of chains."""

    def column(name: str) -> Any:
        return lambda value: getattr(value, name)

    names = (
        *("chain_id", "block", "head", "lag", "finalized", "event_rows"),
        *("reorganizations", "last_reorganization_at", "last_reorganization_depth", "endpoint", "problem"),
    )
    files = ("files_waiting", "files_loaded", "files_malformed", "files_failed")
    columns = {name.replace("_", " "): column(name) for name in (*names, *files)}
    columns["standings"] = lambda value: value.standings.lack or f"of block {value.standings.block}"
    for name in ("ranges_claimed", "ranges_filled"):  # most chains have no helpers, and empty columns are left out
        columns[name.replace("_", " ")] = lambda value, name=name: getattr(value, name) or None
    invocation.output.results(statuses, columns)


def ended_by_signals() -> tuple[threading.Event, list[int]]:
    """Return an event that SIGINT and SIGTERM set from now on, and the signals that came."""
    stop, signals = threading.Event(), list[int]()

    def end(number: int, _: object) -> None:
        signals.append(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):  # before the imports, which an exception would break off
        signal.signal(number, end)
    return stop, signals


def log_steps() -> None:
    """Write one line a step to standard error."""
    logger = logging.getLogger("bilateral.index")
    logger.addHandler(safe_handler())
    logger.setLevel(logging.INFO)
    logger.propagate = False


def require_extra() -> None:
    """Check that the packages of the extra are installed.

    Raises:
        MissingExtraError: They are not.
    """
    require_modules("index", *_PACKAGES)
