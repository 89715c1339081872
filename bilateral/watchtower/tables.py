"""The tables of the watchtower's own database. What is only read as a whole is JSON."""

from typing import Final

import sqlalchemy as sa
from sqlalchemy import Column, Table

metadata: Final = sa.MetaData()

endpoint: Final = Table(
    "endpoint",
    metadata,
    Column("number", sa.Integer, primary_key=True),  # rows of results are small: they name an endpoint by its number
    Column("endpoint_id", sa.LargeBinary(32), nullable=False, unique=True),
    Column("target", sa.JSON, nullable=False),
    Column("is_listed", sa.Boolean, nullable=False),  # False if no agent lists it any more
    Column("probed_at", sa.BigInteger),  # the last probe that measured something
    Column("condition", sa.JSON, nullable=False),
)


def _measured(name: str, time: str, *columns: Column[int] | Column[str] | Column[dict[str, int]]) -> Table:
    """Return a table whose key begins with a time: rows are appended, and the oldest are deleted together."""
    return Table(
        name,
        metadata,
        Column(time, sa.BigInteger, primary_key=True, autoincrement=False),
        Column("endpoint", sa.Integer, sa.ForeignKey(endpoint.c.number), primary_key=True, autoincrement=False),
        Column("vantage", sa.String(32), primary_key=True),
        *columns,
        sqlite_with_rowid=False,
    )


def _totals(name: str) -> Table:
    numbers = [Column(column, sa.Integer, nullable=False) for column in ("scheduled", "answered")]
    counts = [Column(column, sa.JSON, nullable=False) for column in ("counts", "codes", "latencies")]
    return _measured(name, "start", *numbers, *counts)


probe: Final = _measured(
    "probe",
    "round",
    Column("outcome", sa.String(8), nullable=False),
    Column("code", sa.String(24), nullable=False),
    Column("ms", sa.Integer),
    Column("at", sa.BigInteger, nullable=False),
)
hour: Final = _totals("hour")
day: Final = _totals("day")

change: Final = Table(
    "change",
    metadata,
    Column("number", sa.Integer, primary_key=True),
    Column("endpoint_id", sa.LargeBinary(32), nullable=False),
    Column("vantage", sa.String(32), nullable=False),
    Column("at", sa.BigInteger, nullable=False),
    Column("kind", sa.String(16), nullable=False),
    Column("old", sa.JSON(none_as_null=True)),
    Column("new", sa.JSON(none_as_null=True)),
    Column("code", sa.String(24)),
    sa.UniqueConstraint("endpoint_id", "vantage", "at", "kind"),  # a repeat is harmless
)


purchase: Final = Table(
    "purchase",
    metadata,
    Column("number", sa.Integer, primary_key=True),
    Column("agent", sa.Text, nullable=False),
    Column("endpoint_id", sa.LargeBinary(32), nullable=False),
    Column("at", sa.BigInteger, nullable=False),
    Column("micros", sa.BigInteger, nullable=False),  # of a dollar
    Column("outcome", sa.String(16)),  # None until the answer, or for ever after a crash
)


def _values(name: str) -> Table:
    return Table(name, metadata, Column("name", sa.Text, primary_key=True), Column("value", sa.JSON, nullable=False))


host: Final = _values("host")
setting: Final = _values("setting")
