"""The agent tables, which are derived from identity registry events."""

from typing import Final

from sqlalchemy import BigInteger, Column, Index, LargeBinary, MetaData, PrimaryKeyConstraint, Table, Text

from bilateral.index.log import columns

metadata: Final = MetaData()

agent: Final = Table(
    "agent",
    metadata,
    *columns.agent_columns("identity_registry"),
    Column("owner", columns.ADDRESS, nullable=False),
    Column("wallet", columns.ADDRESS),
    *columns.required(Text, "uri", "domain"),
    *columns.required(BigInteger, "registered_block", "registered_at", "updated_block", "updated_at"),
    PrimaryKeyConstraint("chain_id", "identity_registry", "agent_id"),
    Index("agent_by_owner", "chain_id", "owner"),
    Index("agent_by_wallet", "chain_id", "wallet"),
    Index("agent_by_change", "chain_id", "updated_at"),
    Index("agent_by_registration", "chain_id", "registered_at"),
    # SQLite rows are wide, because they contain URIs, but most searches only need the keys of agents.
    Index("agent_by_key", "chain_id", "identity_registry", "agent_id", unique=True).ddl_if(dialect="sqlite"),
    sqlite_with_rowid=False,
    **columns.BY_CHAIN,
)
agent_metadata: Final = Table(
    "agent_metadata",
    metadata,
    *columns.agent_columns("identity_registry"),
    Column("metadata_key", columns.key_string(), nullable=False),
    Column("metadata_value", LargeBinary, nullable=False),
    PrimaryKeyConstraint("chain_id", "identity_registry", "agent_id", "metadata_key"),
    sqlite_with_rowid=False,
    **columns.BY_CHAIN,
)
primary_agent: Final = Table(
    "primary_agent",
    metadata,
    *columns.contract_columns("identity_registry"),
    Column("account", columns.ADDRESS, nullable=False),
    Column("agent_id", columns.WideInteger, nullable=False),
    PrimaryKeyConstraint("chain_id", "identity_registry", "account"),
    sqlite_with_rowid=False,
    **columns.BY_CHAIN,
)
AGENT_TABLES: Final = (agent, agent_metadata, primary_agent)
"""Tables computed from identity registry events."""

agent_activity: Final = Table(
    "agent_activity",
    metadata,
    *columns.agent_columns("identity_registry"),
    Column("id_text", columns.key_string(78), nullable=False),
    *columns.required(BigInteger, "registered_at", "updated_at", "last_activity"),
    PrimaryKeyConstraint("chain_id", "identity_registry", "agent_id"),
    Index("agent_activity_by_id", "chain_id", "identity_registry", "id_text"),
    *(
        Index(f"agent_activity_by_{name}", "chain_id", "identity_registry", name, "id_text")
        for name in ("registered_at", "updated_at", "last_activity")
    ),
    sqlite_with_rowid=False,
)
"""The times when each agent was registered, last updated and last active, and the agent's id in decimal digits."""
