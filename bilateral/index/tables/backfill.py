"""The table of ranges of blocks that helpers read for the worker of a chain."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, PrimaryKeyConstraint, String, Table

from bilateral.index.log.columns import HASH

metadata: Final = MetaData()

backfill_range: Final = Table(
    "backfill_range",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("first_block", BigInteger, nullable=False),
    Column("last_block", BigInteger, nullable=False),
    Column("holder", String(32), nullable=False),
    Column("edition", String(64), nullable=False),
    Column("lease_until", BigInteger, nullable=False),
    Column("before_hash", HASH),
    Column("event_count", Integer),
    Column("content", LargeBinary),
    PrimaryKeyConstraint("chain_id", "first_block"),
)
"""One row a range after the cursor: claimed by a helper while `content` is NULL, then filled.

`edition` names the registries and the version of the tables that the rows in `content` are made for. `before_hash` is
the hash of the block before the range. The worker of the chain deletes a row once its blocks are stored.
"""
