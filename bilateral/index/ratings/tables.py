"""The rating tables: summaries by agent, side and tag, and by counterpart."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Float, Index, MetaData, PrimaryKeyConstraint, Table

from bilateral.core.values.summaries import SEALED_SIDES
from bilateral.index.log.columns import BY_CHAIN, WideInteger, agent_columns, key_string, required

metadata: Final = MetaData()

DECIMALS: Final = 18
"""The maximum number of decimals of a feedback value that is included in summaries."""


summary: Final = Table(
    "summary",
    metadata,
    *agent_columns("registry"),
    Column("side", key_string(9), nullable=False),
    Column("tag", key_string(), nullable=False),
    *required(BigInteger, "count", "counterparts"),
    Column("value_sum", WideInteger, nullable=False),
    Column("share_sum", BigInteger, nullable=False),
    Column("mean", Float(53), nullable=False),
    Column("lower_bound", Float(53)),
    PrimaryKeyConstraint("chain_id", "registry", "agent_id", "side", "tag"),
    # Searches read only this index, which therefore includes the summary's other columns.
    Index(
        "summary_by_lower_bound",
        *("chain_id", "side", "tag", "lower_bound", "registry", "agent_id", "count", "counterparts", "mean"),
    ),
    sqlite_with_rowid=False,
    **BY_CHAIN,
)
counterpart: Final = Table(
    "counterpart",
    metadata,
    *agent_columns("registry"),
    Column("side", key_string(9), nullable=False),
    Column("tag", key_string(), nullable=False),
    Column("account", key_string(84), nullable=False),
    *required(BigInteger, "count", "share_sum"),
    Column("unit_sum", WideInteger, nullable=False),
    PrimaryKeyConstraint("chain_id", "registry", "agent_id", "side", "tag", "account"),
    sqlite_with_rowid=False,
    **BY_CHAIN,
)
SUMMARY_TABLES: Final = (summary, counterpart)
"""Tables that are computed from feedback and ratings."""


def is_plain(side: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a summary covers all ratings on a side, not only sealed ones."""
    return sa.and_(*(side != sa.literal_column(f"'{name}'") for name in sorted(SEALED_SIDES.values())))


def event_columns(columns: Any, *names: str) -> list[sa.ColumnElement[Any]]:
    """Return the given event columns, followed by the columns of the event's position."""
    return [columns[name] for name in (*names, "block_number", "log_index", "block_time", "transaction_hash")]


def place_values(block: int, log_index: int, time: int, transaction: bytes) -> tuple[Any, ...]:
    """Convert the position at the end of a row selected with `event_columns` to the form used in responses."""
    return block, log_index, time, f"0x{bytes(transaction).hex()}"
