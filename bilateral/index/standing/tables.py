"""The tables of trust analysis. `docs/index.md` is their dictionary.

Their statements are those of migration 0005. Each analysis replaces the rows of the one before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger, contract_columns

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


class FundingState(StrEnum):
    """The outcomes of the search for an account's first inbound transfer."""

    FOUND = "found"
    """A transaction of another account sent it native tokens."""

    UNKNOWN = "unknown"
    """It held native tokens, but no transaction of their block names it: a contract or the genesis block paid it."""

    NONE = "none"
    """It held no native tokens when it acted in the registries first."""


class Part(StrEnum):
    """The parts that an account has in a finding."""

    ACTOR = "actor"
    """It wrote rows of the finding."""

    BENEFICIARY = "beneficiary"
    """It gains by them, and evidence ties it to an actor."""

    SUBJECT = "subject"
    """The rows are about it. A finding never counts against a subject."""


funding: Final = Table(
    "funding",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("account", ADDRESS, nullable=False),
    Column("state", String(8), nullable=False),
    Column("source", ADDRESS),
    Column("amount", WideInteger),
    Column("block_number", BigInteger, nullable=False),
    Column("block_time", BigInteger),
    Column("transaction_hash", HASH),
    Column("seen_block", BigInteger),
    PrimaryKeyConstraint("chain_id", "account"),
)
Index("funding_by_source", funding.c.chain_id, funding.c.source)


analysis: Final = Table(
    "analysis",
    metadata,
    *contract_columns("identity_registry"),
    Column("block_number", BigInteger, nullable=False),
    Column("block_hash", HASH, nullable=False),
    Column("is_exact", Boolean, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("agents", BigInteger, nullable=False),
    Column("opinions", BigInteger, nullable=False),
    Column("left_out", BigInteger, nullable=False),
    Column("accounts_without_funding", BigInteger, nullable=False),
    Column("trusted_accounts", Integer, nullable=False),
    Column("reviewed_cases", Integer, nullable=False),
    Column("threshold", Float(53), nullable=False),
    Column("run", BigInteger),
    Column("seen_block", BigInteger),
    Column("first_run", BigInteger),
    Column("first_seen_block", BigInteger),
    PrimaryKeyConstraint("chain_id", "identity_registry"),
)

suspicion: Final = Table(
    "suspicion",
    metadata,
    *contract_columns("identity_registry"),
    Column("account", ADDRESS, nullable=False),
    Column("suspicion", Float(53), nullable=False),
    Column("cluster", BigInteger),
    Column("is_flagged", Boolean, nullable=False),
    Column("trust", Float(53)),
    Column("parts", Text, nullable=False),
    PrimaryKeyConstraint("chain_id", "identity_registry", "account"),
)

trust_score: Final = Table(
    "trust_score",
    metadata,
    *contract_columns("identity_registry"),
    Column("side", String(9), nullable=False),
    Column("subject", String(78), nullable=False),
    Column("score", Float(53)),
    Column("low", Float(53)),
    Column("high", Float(53)),
    Column("lower_bound", Float(53)),
    Column("raters", BigInteger, nullable=False),
    Column("effective", Float(53), nullable=False),
    Column("removed", Float(53), nullable=False),
    Column("status", String(20), nullable=False),
    Column("abstains", Boolean, nullable=False),
    PrimaryKeyConstraint("chain_id", "identity_registry", "side", "subject"),
    Index("trust_score_by_lower_bound", "chain_id", "side", "lower_bound"),
)

finding: Final = Table(
    "finding",
    metadata,
    *contract_columns("identity_registry"),
    Column("finding_id", String(60), nullable=False),
    Column("detector", String(40), nullable=False),
    Column("q_value", Float(53), nullable=False),
    Column("strength", Float(53), nullable=False),
    Column("statistic", Text, nullable=False),
    Column("sentence", Text, nullable=False),
    PrimaryKeyConstraint("chain_id", "identity_registry", "finding_id"),
)

finding_member: Final = Table(
    "finding_member",
    metadata,
    *contract_columns("identity_registry"),
    Column("finding_id", String(60), nullable=False),
    Column("part", String(11), nullable=False),
    Column("account", ADDRESS, nullable=False),
    PrimaryKeyConstraint("chain_id", "identity_registry", "finding_id", "part", "account"),
    Index("finding_member_by_account", "chain_id", "account"),
)

finding_row: Final = Table(
    "finding_row",
    metadata,
    *contract_columns("identity_registry"),
    Column("finding_id", String(60), nullable=False),
    Column("position", Integer, nullable=False),
    Column("table_name", String(40), nullable=False),
    Column("block_number", BigInteger, nullable=False),
    Column("log_index", Integer),
    Column("transaction_hash", HASH),
    PrimaryKeyConstraint("chain_id", "identity_registry", "finding_id", "position"),
    Index("finding_row_by_block", "chain_id", "block_number"),
)

RESULT_TABLES: Final = (suspicion, trust_score, finding, finding_member, finding_row)
"""Tables of which an analysis replaces all rows of its registry."""


@dataclass(frozen=True)
class AnalysisKey:
    """The name of an analysis.

    Attributes:
        identity_registry: The identity registry whose agents were analysed, in checksum form.
    """

    chain_id: int
    identity_registry: str

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that name the analysis in every table."""
        return {"chain_id": self.chain_id, "identity_registry": self.identity_registry}

    def of(self, table: Table) -> Any:
        """Return the condition for the rows of this analysis in a table."""
        return (table.c.chain_id == self.chain_id) & (table.c.identity_registry == self.identity_registry)
