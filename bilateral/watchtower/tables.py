"""The tables in the watchtower's own database. Values that are only read as a whole are JSON."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Column, Table

from bilateral.index.log.columns import optional, required

metadata: Final = sa.MetaData()


def _numbered(name: str, *parts: Any) -> Table:
    return Table(name, metadata, Column("number", sa.Integer, primary_key=True), *parts)


def _measured(name: str, time: str, *columns: Column[Any]) -> Table:
    """Return a table whose key begins with a time: rows are appended, and the oldest ones are deleted together."""
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
    numbers, counts = required(sa.Integer, "scheduled", "answered"), required(sa.JSON, "counts", "codes", "latencies")
    return _measured(name, "start", *numbers, *counts)


def _values(name: str) -> Table:
    return Table(name, metadata, Column("name", sa.Text, primary_key=True), *required(sa.JSON, "value"))


endpoint: Final = _numbered(  # rows of results are small: they name an endpoint by its number
    "endpoint",
    Column("endpoint_id", sa.LargeBinary(32), nullable=False, unique=True),
    *required(sa.JSON, "target", "condition"),
    *required(sa.Boolean, "is_listed"),  # False if no agent lists it any more
    *optional(sa.BigInteger, "probed_at"),  # the last probe that measured something
)
probe: Final = _measured(
    "probe",
    "round",
    *(*required(sa.String(8), "outcome"), *required(sa.String(24), "code")),
    *(*optional(sa.Integer, "ms"), *required(sa.BigInteger, "at")),
)
hour: Final = _totals("hour")
day: Final = _totals("day")

change: Final = _numbered(
    "change",
    *(*required(sa.LargeBinary(32), "endpoint_id"), *required(sa.String(32), "vantage")),
    *(*required(sa.BigInteger, "at"), *required(sa.String(16), "kind")),
    *(*optional(sa.JSON(none_as_null=True), "old", "new"), *optional(sa.String(24), "code")),
    sa.UniqueConstraint("endpoint_id", "vantage", "at", "kind"),  # a repeat is harmless
)
purchase: Final = _numbered(
    "purchase",
    *(*required(sa.Text, "agent"), *required(sa.LargeBinary(32), "endpoint_id")),
    *required(sa.BigInteger, "at", "micros"),  # of a dollar
    *optional(sa.String(16), "outcome"),  # None until the answer, or for ever after a crash
)
host: Final = _values("host")
setting: Final = _values("setting")
