"""A record of used tier proofs in a database that all of a seller's processes share. Requires the extra `index`.

The database is SQLite or PostgreSQL. The table is created if it is missing.
"""

from typing import Final

from bilateral.core.errors import require_modules

require_modules("index", "platformdirs", "sqlalchemy")

from sqlalchemy import BigInteger, Column, Index, LargeBinary, MetaData, String, Table, delete, select  # noqa: E402  # after the check

from bilateral.index.log.database import connect_engine, named_database_errors, snapshot  # noqa: E402
from bilateral.index.log.dialects import insert_new  # noqa: E402

_METADATA: Final = MetaData()

_USED: Final = Table(
    "tier_nullifier",
    _METADATA,
    Column("nullifier", LargeBinary(32), primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("holder", String(42), nullable=False),
    Index("tier_nullifier_epoch", "epoch"),
)


class StoredNullifiers:
    """Recent nullifiers (ids of used proofs) in a database that processes and threads may share. They survive restarts.

    Args:
        url: The SQLAlchemy URL, `sqlite:///path` or `postgresql://…`.

    Raises:
        InvalidArgumentError: The URL is malformed, or the database is not supported.
        DatabaseUnavailableError: The database cannot be opened.
    """

    def __init__(self, url: str) -> None:
        self._engine = connect_engine(url)
        with named_database_errors():
            _METADATA.create_all(self._engine)

    def holder_of(self, nullifier: int) -> str | None:
        """See `Nullifiers`."""
        query = select(_USED.c.holder).where(_USED.c.nullifier == nullifier.to_bytes(32))
        with named_database_errors(), snapshot(self._engine) as connection:
            return connection.execute(query).scalar_one_or_none()

    def take(self, nullifier: int, epoch: int, holder: str) -> str:
        """See `Nullifiers`."""
        key = nullifier.to_bytes(32)
        with named_database_errors(), self._engine.begin() as connection:
            # Proofs from yesterday are still valid, so yesterday's nullifiers are retained.
            connection.execute(delete(_USED).where(_USED.c.epoch < epoch - 1))
            insert_new(connection, _USED, [{"nullifier": key, "epoch": epoch, "holder": holder}])
            noted: str = connection.execute(select(_USED.c.holder).where(_USED.c.nullifier == key)).scalar_one()
        return noted

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()
