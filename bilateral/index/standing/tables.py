"""The trust analysis tables, which `docs/index.md` documents.

Each analysis replaces the rows of the previous analysis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger, contract_columns, optional, required

metadata: Final = sa.MetaData()


def _of_registries(name: str, *items: sa.schema.SchemaItem, key: Sequence[str] = ()) -> sa.Table:
    """Return a table whose rows belong to identity registries; `key` identifies a row within one registry."""
    primary_key = sa.PrimaryKeyConstraint("chain_id", "identity_registry", *key)
    return sa.Table(name, metadata, *contract_columns("identity_registry"), *items, primary_key)


standing: Final = _of_registries(
    "standing",
    *(*required(sa.String(6), "side"), *required(WideInteger, "agent_id")),
    sa.Column("status", sa.String(9), nullable=False),
    *optional(sa.Float(53), "rank", "rating"),
    *required(sa.Float(53), "lower_bound", "upper_bound", "effective_raters"),
    *required(sa.BigInteger, "raters", "payments"),
    sa.Column("paid", sa.Float(53), nullable=False),
    *optional(sa.BigInteger, "first_at", "last_at"),
    sa.Column("evidence_cost", sa.Float(53), nullable=False),
    sa.Column("reasons", sa.Text, nullable=False),
    key=("side", "agent_id"),
)
"""One row per agent and side. `rank` is the standing's lower bound; NULL for withheld agents."""
sa.Index(
    "standing_by_rank",
    *(standing.c.chain_id, standing.c.side, standing.c.rank.desc()),
    *(standing.c.identity_registry, standing.c.agent_id),
)
"""Contains the complete sort order of leaders, so that they are read without sorting."""

standing_refresh: Final = _of_registries(
    "standing_refresh",
    *optional(sa.BigInteger, "block_number", "made_at"),
    *(sa.Column("seconds", sa.Float(53)), sa.Column("problem", sa.Text), sa.Column("problem_at", sa.BigInteger)),
)
"""The last refresh of each registry's standings, and the reason if the last analysis failed (NULL if it succeeded)."""


class FundingState(StrEnum):
    """The outcomes of the search for an account's first inbound transfer."""

    FOUND = "found"
    """A transaction from another account sent native tokens to the account."""

    UNKNOWN = "unknown"
    """The account got native tokens without a transaction to it, from a contract or in the genesis block."""

    NONE = "none"
    """The account had no native tokens when it first acted in the registries."""


class Part(StrEnum):
    """The roles that an account can have in a finding."""

    ACTOR = "actor"
    """The account created rows on which the finding is based."""

    BENEFICIARY = "beneficiary"
    """The account benefits from the rows on which the finding is based, and evidence links the account to an actor."""

    SUBJECT = "subject"
    """The rows on which the finding is based are about the account. A finding does not count against its subjects."""


funding: Final = sa.Table(
    "funding",
    metadata,
    *(*required(sa.BigInteger, "chain_id"), *required(ADDRESS, "account")),
    sa.Column("state", sa.String(8), nullable=False),
    sa.Column("source", ADDRESS),
    sa.Column("amount", WideInteger),
    sa.Column("block_number", sa.BigInteger, nullable=False),
    sa.Column("block_time", sa.BigInteger),
    sa.Column("transaction_hash", HASH),
    sa.Column("seen_block", sa.BigInteger),
    sa.PrimaryKeyConstraint("chain_id", "account"),
)
sa.Index("funding_by_source", funding.c.chain_id, funding.c.source)


analysis: Final = _of_registries(
    "analysis",
    sa.Column("block_number", sa.BigInteger, nullable=False),
    *(*required(HASH, "block_hash"), *required(sa.Boolean, "is_exact")),
    *required(sa.BigInteger, "made_at", "agents", "opinions", "left_out", "accounts_without_funding"),
    *required(sa.Integer, "trusted_accounts", "reviewed_cases"),
    sa.Column("threshold", sa.Float(53), nullable=False),
    *optional(sa.BigInteger, "run", "seen_block", "first_run", "first_seen_block"),
)

suspicion: Final = _of_registries(
    "suspicion",
    sa.Column("account", ADDRESS, nullable=False),
    sa.Column("suspicion", sa.Float(53), nullable=False),
    sa.Column("cluster", sa.BigInteger),
    sa.Column("is_flagged", sa.Boolean, nullable=False),
    sa.Column("trust", sa.Float(53)),
    sa.Column("parts", sa.Text, nullable=False),
    key=("account",),
)

trust_score: Final = _of_registries(
    "trust_score",
    *(*required(sa.String(9), "side"), *required(sa.String(78), "subject")),
    *optional(sa.Float(53), "score", "low", "high", "lower_bound"),
    sa.Column("raters", sa.BigInteger, nullable=False),
    *required(sa.Float(53), "effective", "removed"),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("abstains", sa.Boolean, nullable=False),
    sa.Index("trust_score_by_lower_bound", "chain_id", "side", "lower_bound"),
    key=("side", "subject"),
)

finding: Final = _of_registries(
    "finding",
    *(*required(sa.String(60), "finding_id"), *required(sa.String(40), "detector")),
    *required(sa.Float(53), "q_value", "strength"),
    *required(sa.Text, "statistic", "sentence"),
    key=("finding_id",),
)

finding_member: Final = _of_registries(
    "finding_member",
    sa.Column("finding_id", sa.String(60), nullable=False),
    sa.Column("part", sa.String(11), nullable=False),
    sa.Column("account", ADDRESS, nullable=False),
    sa.Index("finding_member_by_account", "chain_id", "account"),
    key=("finding_id", "part", "account"),
)

finding_row: Final = _of_registries(
    "finding_row",
    *(*required(sa.String(60), "finding_id"), *required(sa.Integer, "position")),
    sa.Column("table_name", sa.String(40), nullable=False),
    sa.Column("block_number", sa.BigInteger, nullable=False),
    sa.Column("log_index", sa.Integer),
    sa.Column("transaction_hash", HASH),
    sa.Index("finding_row_by_block", "chain_id", "block_number"),
    key=("finding_id", "position"),
)

RESULT_TABLES: Final = (suspicion, trust_score, finding, finding_member, finding_row)
"""The tables in which an analysis replaces all rows of the analysed registry."""


def of_registry(table: Any, chain_id: int, identity: str) -> tuple[Any, ...]:
    """Return the conditions that rows belong to an identity registry."""
    return table.c.chain_id == chain_id, table.c.identity_registry == identity


@dataclass(frozen=True)
class AnalysisKey:
    """The key of an analysis.

    Attributes:
        identity_registry: The identity registry whose agents were analysed, in checksum form.
    """

    chain_id: int
    identity_registry: str

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that identify the analysis in every table."""
        return {"chain_id": self.chain_id, "identity_registry": self.identity_registry}

    def of(self, table: sa.Table) -> Any:
        """Return the condition for this analysis's rows in a table."""
        return sa.and_(*of_registry(table, self.chain_id, self.identity_registry))
