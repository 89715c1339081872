"""Failed settlements in a database, for a service with several processes. Needs the extra `index`.

    extension = Reputation8004ResourceServerExtension(key, failures=StoredFailures(url))

The database is SQLite or PostgreSQL. The table is created if it is missing.
"""

# ruff: noqa: E402  # imports come after the check of the extra

import json
from functools import partial
from typing import Any, Final

from bilateral.core.errors import require_modules

require_modules("index", "platformdirs", "sqlalchemy")

import sqlalchemy as sa
from pydantic import TypeAdapter

from bilateral.index.log.database import named_database_errors
from bilateral.index.log.dialects import insert_into
from bilateral.x402.server.exchange import Exchange
from bilateral.x402.server.failures import FailedSettlement, FailedSettlements
from bilateral.x402.server.stores import METADATA, opened

_FAILURE: Final = sa.Table(
    "x402_failed_settlement",
    METADATA,
    sa.Column("authorization_key", sa.LargeBinary(32), primary_key=True),
    sa.Column("payer", sa.String(255), nullable=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("record", sa.Text, nullable=False),
    sa.Index("x402_failed_settlement_payer", "payer", "time"),
    sa.Index("x402_failed_settlement_time", "time"),
)
_RECORD: Final = TypeAdapter(FailedSettlement)


class StoredFailures(FailedSettlements):
    """Failed settlements in a database. Processes and threads may share it.

    Args:
        url: The SQLAlchemy URL, `sqlite:///path` or `postgresql://…`.
        **options: As for `FailedSettlements`.
    """

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(**options)
        self._engine = opened(url)

    def add(self, failure: FailedSettlement) -> None:
        """Remember a failure. See `FailedSettlements.add`.

        Raises:
            DatabaseUnavailableError: The database cannot be written.
        """
        columns = _FAILURE.c
        values = {"authorization_key": failure.key, "payer": f"{failure.network}:{failure.payer}", "time": failure.at}
        values["record"] = _RECORD.dump_json(failure, exclude={"key"}).decode()
        is_old = (columns.authorization_key == failure.key) | (columns.time <= self._clock() - self._seconds)
        newest = sa.select(columns.authorization_key).order_by(columns.time.desc()).limit(self._limit)
        with named_database_errors(), self._engine.begin() as connection:
            connection.execute(sa.delete(_FAILURE).where(is_old))
            connection.execute(insert_into(connection, _FAILURE).values(values).on_conflict_do_nothing())
            connection.execute(sa.delete(_FAILURE).where(columns.authorization_key.not_in(newest)))

    def remove(self, key: bytes) -> None:
        """Forget a failure. See `FailedSettlements.remove`.

        Raises:
            DatabaseUnavailableError: The database cannot be written.
        """
        with named_database_errors(), self._engine.begin() as connection:
            connection.execute(sa.delete(_FAILURE).where(_FAILURE.c.authorization_key == key))

    def list(self, network: str, payer: str) -> list[FailedSettlement]:
        """Return a payer's failures, oldest first.

        Raises:
            DatabaseUnavailableError: The database cannot be read.
        """
        columns = _FAILURE.c
        of_payer = columns.payer == f"{network}:{payer}", columns.time > self._clock() - self._seconds
        statement = sa.select(columns.authorization_key, columns.record).where(*of_payer).order_by(columns.time)
        with named_database_errors(), self._engine.begin() as connection:
            rows = connection.execute(statement).all()
        return [_RECORD.validate_python({**json.loads(record), "key": bytes(key)}) for key, record in rows]

    def settled(self, key: bytes) -> None:
        """Forget the failure of a payment that is now settled, in a thread, so that no event loop waits for it."""
        self._afterwards.submit(Exchange(is_settled=True, afterwards=[partial(self.remove, key)]))

    def close(self) -> None:
        """Close the connections."""
        self._afterwards.close()
        self._engine.dispose()
