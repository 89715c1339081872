"""The tables of the watchtower's own database."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Column, Table

from bilateral.index.measurements.values import Outcome

metadata: Final = sa.MetaData()

endpoint: Final = Table(
    "endpoint",
    metadata,
    Column("number", sa.Integer, primary_key=True),  # rows of results are small: they name an endpoint by its number
    Column("endpoint_id", sa.LargeBinary(32), nullable=False, unique=True),
    Column("protocol", sa.String(8), nullable=False),
    Column("url", sa.Text, nullable=False),
    Column("host", sa.Text, nullable=False),
    Column("is_paid", sa.Boolean, nullable=False),
    Column("method", sa.Text),
    Column("is_active", sa.Boolean, nullable=False),
    Column("is_listed", sa.Boolean, nullable=False),  # False if no agent lists it any more
    Column("state", sa.String(8)),
    Column("code", sa.String(24)),
    Column("since", sa.BigInteger),
    Column("failures", sa.Integer, nullable=False, default=0),
    Column("probed_at", sa.BigInteger),  # the last probe that measured something
    Column("milliseconds", sa.Integer),
    Column("round", sa.BigInteger),  # the last one
    Column("rounds", sa.Integer, nullable=False, default=1),  # from one probe to the next
    Column("next_at", sa.BigInteger),
    Column("deep_at", sa.BigInteger),
    Column("facts", sa.JSON(none_as_null=True)),  # of the last deep probe
    Column("drift", sa.JSON(none_as_null=True)),  # the memory of their comparison
    Column("memory", sa.JSON(none_as_null=True)),  # of the state machine
)

endpoint_agent: Final = Table(
    "endpoint_agent",
    metadata,
    Column("endpoint", sa.Integer, sa.ForeignKey(endpoint.c.number), primary_key=True),
    Column("agent", sa.Text, primary_key=True),
    sqlite_with_rowid=False,
)

# The round leads the keys, so rows are appended and the oldest are deleted together.
probe: Final = Table(
    "probe",
    metadata,
    Column("round", sa.BigInteger, primary_key=True, autoincrement=False),
    Column("endpoint", sa.Integer, primary_key=True, autoincrement=False),
    Column("vantage", sa.String(32), primary_key=True),
    Column("outcome", sa.String(8), nullable=False),
    Column("code", sa.String(24), nullable=False),
    Column("ms", sa.Integer),
    Column("at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


def _totals(name: str, *columns: Column[Any]) -> Table:
    counts = [Column(str(outcome), sa.Integer, nullable=False) for outcome in Outcome]
    return Table(
        name,
        metadata,
        Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
        Column("endpoint", sa.Integer, primary_key=True, autoincrement=False),
        Column("vantage", sa.String(32), primary_key=True),
        Column("scheduled", sa.Integer, nullable=False),
        Column("answered", sa.Integer, nullable=False),
        *counts,
        Column("histogram", sa.LargeBinary),
        *columns,
        sqlite_with_rowid=False,
    )


hour: Final = _totals("hour")
day: Final = _totals("day", Column("codes", sa.JSON))

change: Final = Table(
    "change",
    metadata,
    Column("number", sa.Integer, primary_key=True),
    Column("endpoint", sa.Integer, sa.ForeignKey(endpoint.c.number), nullable=False),
    Column("vantage", sa.String(32), nullable=False),
    Column("at", sa.BigInteger, nullable=False),
    Column("kind", sa.String(16), nullable=False),
    Column("old", sa.JSON(none_as_null=True)),
    Column("new", sa.JSON(none_as_null=True)),
    Column("code", sa.String(24)),
    sa.UniqueConstraint("endpoint", "vantage", "at", "kind"),  # a repeat is harmless
)

host: Final = Table(
    "host",
    metadata,
    Column("host", sa.Text, primary_key=True),
    Column("robots_at", sa.BigInteger),
    Column("robots", sa.Text, nullable=False, default=""),  # the lines of its robots.txt that are for watchtowers
    Column("pauses", sa.Integer, nullable=False, default=0),
    Column("closed_until", sa.BigInteger, nullable=False, default=0),
)

setting: Final = Table("setting", metadata, Column("name", sa.Text, primary_key=True), Column("value", sa.JSON))
