"""The tables of standings. Each refresh replaces the rows of one registry."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Float, Index, MetaData, PrimaryKeyConstraint, String, Table, Text

from bilateral.index.log.columns import WideInteger, contract_columns

metadata: Final = MetaData()

standing: Final = Table(
    "standing",
    metadata,
    *contract_columns("identity_registry"),
    Column("side", String(6), nullable=False),
    Column("agent_id", WideInteger, nullable=False),
    Column("status", String(9), nullable=False),
    Column("rank", Float(53)),
    Column("rating", Float(53)),
    Column("lower_bound", Float(53), nullable=False),
    Column("upper_bound", Float(53), nullable=False),
    Column("effective_raters", Float(53), nullable=False),
    Column("raters", BigInteger, nullable=False),
    Column("payments", BigInteger, nullable=False),
    Column("paid", Float(53), nullable=False),
    Column("first_at", BigInteger),
    Column("last_at", BigInteger),
    Column("evidence_cost", Float(53), nullable=False),
    Column("reasons", Text, nullable=False),
    PrimaryKeyConstraint("chain_id", "identity_registry", "side", "agent_id"),
)
"""One row an agent and side. `rank` is the lower bound, and NULL for those who are held back."""
Index(
    "standing_by_rank",
    *(standing.c.chain_id, standing.c.side, standing.c.rank.desc()),
    *(standing.c.identity_registry, standing.c.agent_id),
)
"""The order of leaders, whole, so that they are read without sorting."""

standing_refresh: Final = Table(
    "standing_refresh",
    metadata,
    *contract_columns("identity_registry"),
    Column("block_number", BigInteger),
    Column("made_at", BigInteger),
    Column("seconds", Float(53)),
    Column("problem", Text),
    Column("problem_at", BigInteger),
    PrimaryKeyConstraint("chain_id", "identity_registry"),
)
"""The last refresh of a registry's standings, and why the last analysis failed; NULL if it did not."""
