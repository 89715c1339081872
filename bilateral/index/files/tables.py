"""The tables of files. `docs/index-files.md` is their dictionary.

Their statements are those of migration 0002. They stand apart from the tables of `bilateral.index.log.tables`, which
hold what chains say.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    and_,
    text,
)

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger, agent_columns, log_columns

metadata: Final = MetaData()

_MOMENT: Final = Float(53)
"""Unix seconds with a fraction, by the clock of a worker's machine."""


class Kind(StrEnum):
    """The kinds of files, by the event that names them."""

    REGISTRATION = "registration"
    """`Registered` and `URIUpdated`."""

    FEEDBACK = "feedback"
    """`NewFeedback`, open or authorised."""

    RESPONSE = "response"
    """`ResponseAppended`."""

    REQUEST = "request"
    """`ValidationRequest`."""

    VALIDATION = "validation"
    """`ValidationResponse`."""

    DOMAIN = "domain"
    """`AgentRegistered` and `AgentUpdated`, by the domain (`/.well-known/agent-registration.json`).

    Most have no event: a registration file has a service at the domain.
    """


class State(StrEnum):
    """The states of a file."""

    WAITING = "waiting"
    """It was not fetched yet."""

    LOADED = "loaded"
    """Its content is stored and read."""

    MALFORMED = "malformed"
    """Its content is stored, but is not of its format."""

    FAILED = "failed"
    """It has no content: no fetch succeeded."""


file: Final = Table(
    "file",
    metadata,
    Column("file_id", HASH, primary_key=True),
    Column("kind", String(12), nullable=False),
    Column("uri", Text, nullable=False),
    Column("expected_hash", HASH),
    Column("host", String(300)),
    Column("state", String(9), nullable=False),
    Column("content_hash", HASH),
    Column("integrity", String(7)),
    Column("reason", String(40)),
    Column("problem", Text),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("found_at", BigInteger, nullable=False),
    Column("checked_at", BigInteger),
    Column("changed_at", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("refresh_seconds", Integer, nullable=False),
    Column("next_at", _MOMENT),
    Column("lease", LargeBinary(16)),
)
Index("file_by_host", file.c.host, file.c.next_at)
Index("file_by_content", file.c.content_hash, postgresql_include=["file_id", "state"])
Index("file_by_state", file.c.state)

IS_FROM_HOST: Final = text(
    "kind IN ('domain', 'registration') AND substr(uri, 1, 8) = 'https://' AND content_hash IS NOT NULL"
)
"""The condition on the files by which a domain may name agents. Engines use its index if a statement repeats it."""

FILE_FROM_HOST: Final = Index(
    "file_from_host", file.c.content_hash, sqlite_where=IS_FROM_HOST, postgresql_where=IS_FROM_HOST
)
Index("file_by_id", file.c.file_id, postgresql_include=["content_hash", "state"]).ddl_if(dialect="postgresql")

file_host: Final = Table(
    "file_host",
    metadata,
    Column("host", String(300), primary_key=True),
    Column("next_at", _MOMENT),
    Column("closed_until", _MOMENT, nullable=False),
    Column("failures", Integer, nullable=False),
)
Index("file_host_by_time", file_host.c.next_at)

file_reference: Final = Table(
    "file_reference",
    metadata,
    *log_columns(),
    Column("kind", String(12), nullable=False),
    Column("registry", ADDRESS, nullable=False),
    Column("agent_id", WideInteger, nullable=False),
    Column("file_id", HASH, ForeignKey(file.c.file_id)),
    PrimaryKeyConstraint("chain_id", "block_number", "log_index"),
)
Index("file_reference_by_file", file_reference.c.file_id)
for _kind, _name in ((Kind.REGISTRATION, "file_reference_by_agent"), (Kind.DOMAIN, "file_reference_of_domain")):
    _is_of_kind = text(f"kind = '{_kind}'")
    Index(
        _name,
        *(file_reference.c[name] for name in ("chain_id", "registry", "agent_id", "block_number", "log_index")),
        sqlite_where=_is_of_kind,
        postgresql_where=_is_of_kind,
    )

file_scan: Final = Table(
    "file_scan",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("block_number", BigInteger, nullable=False),
    Column("generation", BigInteger, nullable=False),
)

abandoned_file: Final = Table(
    "abandoned_file",
    metadata,
    Column("file_id", HASH, primary_key=True),
    Column("abandoned_at", BigInteger, nullable=False),
)

file_sight: Final = Table(
    "file_sight",
    metadata,
    Column("sight_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("file_id", HASH, nullable=False),
    Column("seen_block", BigInteger, nullable=False),
    Column("state", String(9), nullable=False),
    Column("content_hash", HASH),
    Column("integrity", String(7)),
    Column("reason", String(40)),
    Index("file_sight_by_file", "file_id", "chain_id", "seen_block"),
)

solana_proof: Final = Table(
    "solana_proof",
    metadata,
    Column("sight_id", BigInteger, primary_key=True, autoincrement=False),
    Column("chain_id", BigInteger, nullable=False),
    Column("identity_registry", ADDRESS, nullable=False),
    Column("agent_id", WideInteger, nullable=False),
    Column("solana_agent", String(200), nullable=False),
    Column("names_back", Boolean, nullable=False),
    Column("problem", Text, nullable=False),
    Column("checked_at", BigInteger, nullable=False),
    Index("solana_proof_by_agent", "chain_id", "identity_registry", "agent_id", "solana_agent", "sight_id"),
)

file_content: Final = Table(
    "file_content",
    metadata,
    Column("content_hash", HASH, primary_key=True),
    Column("size", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)


def content_column(*, is_key: bool = False, is_unique: bool = False) -> Column[Any]:
    """Return the column of a table whose rows vanish with their content."""
    reference = ForeignKey(file_content.c.content_hash, ondelete="CASCADE")
    return Column("content_hash", HASH, reference, primary_key=is_key, nullable=False, unique=is_unique)


registration_file: Final = Table(
    "registration_file",
    metadata,
    content_column(is_key=True),
    Column("type", Text),
    Column("name", Text),
    Column("description", Text),
    Column("image", Text),
    Column("active", Boolean),
    Column("x402_support", Boolean),
    Column("problems", Text, nullable=False),
)

registration_card: Final = Table(
    "registration_card",
    metadata,
    content_column(is_key=True),
    *(
        Column(name, Text)
        for name in (
            *("mcp_endpoint", "mcp_version", "a2a_endpoint", "a2a_version", "web_endpoint", "oasf_endpoint"),
            *("oasf_version", "email_endpoint", "ens", "did"),
        )
    ),
    *(
        Column(name, Text, nullable=False)
        for name in (
            *("services", "supported_trusts", "mcp_tools", "mcp_prompts", "mcp_resources", "a2a_skills"),
            *("oasf_skills", "oasf_domains"),
        )
    ),
)

registration_service: Final = Table(
    "registration_service",
    metadata,
    content_column(),
    Column("position", Integer, nullable=False),
    Column("name", String(100), nullable=False),
    Column("endpoint", Text),
    Column("version", Text),
    PrimaryKeyConstraint("content_hash", "position"),
    Index("registration_service_by_name", "name"),
)

registration_capability: Final = Table(
    "registration_capability",
    metadata,
    content_column(),
    Column("kind", String(14), nullable=False),
    Column("position", Integer, nullable=False),
    Column("value", String(200), nullable=False),
    PrimaryKeyConstraint("content_hash", "kind", "position"),
    Index("registration_capability_by_value", "kind", "value"),
)

registration_claim: Final = Table(
    "registration_claim",
    metadata,
    content_column(),
    Column("position", Integer, nullable=False),
    Column("agent_registry", String(200), nullable=False),
    Column("agent_id", WideInteger),
    PrimaryKeyConstraint("content_hash", "position"),
    Index("registration_claim_by_agent", "agent_registry", "agent_id"),
)

registration_domain: Final = Table(
    "registration_domain",
    metadata,
    content_column(),
    Column("position", Integer, nullable=False),
    Column("host", String(300), nullable=False),
    Column("file_id", HASH, nullable=False),
    PrimaryKeyConstraint("content_hash", "position"),
    Index("registration_domain_by_file", "file_id"),
)

feedback_file: Final = Table(
    "feedback_file",
    metadata,
    content_column(is_key=True),
    *(
        Column(name, Text)
        for name in (
            *("agent_registry", "agent_id", "client_address", "created_at", "value", "value_decimals"),
            *("tag1", "tag2", "endpoint", "text", "comment", "mcp_tool", "mcp_prompt", "mcp_resource"),
            *("a2a_skills", "a2a_context_id", "a2a_task_id", "oasf_skills", "oasf_domains"),
            *("payment_from", "payment_to", "payment_chain_id", "payment_transaction"),
            *("task_ref", "interaction_hash", "agent_signature", "client_signature"),
        )
    ),
    Column("problems", Text, nullable=False),
)

agent_file: Final = Table(
    "agent_file",
    metadata,
    *agent_columns("identity_registry"),
    Column("file_id", LargeBinary(32), nullable=False),
    PrimaryKeyConstraint("chain_id", "identity_registry", "agent_id"),
    sqlite_with_rowid=False,
)
"""The current file of each agent, if its URI of now was found."""

IS_LOADED: Final = and_(file.c.file_id == agent_file.c.file_id, file.c.state == State.LOADED)
IS_READ: Final = registration_file.c.content_hash == file.c.content_hash
READ_FILES: Final = agent_file.join(file, IS_LOADED).join(registration_file, IS_READ)
"""The loaded registration files of agents."""

payment_claim: Final = Table(
    "payment_claim",
    metadata,
    *log_columns(),
    Column("registry", ADDRESS, nullable=False),
    Column("agent_id", WideInteger, nullable=False),
    Column("tag", Text, nullable=False),
    Column("account", ADDRESS, nullable=False),
    Column("share", BigInteger, nullable=False),
    Column("units", BigInteger, nullable=False),
    Column("payer", ADDRESS),
    Column("payee", ADDRESS),
    Column("is_bound", Boolean, nullable=False),
    Column("file_id", LargeBinary(32), nullable=False),
    PrimaryKeyConstraint("chain_id", "block_number", "log_index"),
)

VIEWS: Final[Mapping[str, str]] = {
    "referenced_file": """
        SELECT named.chain_id, named.block_number, named.log_index, named.kind, named.registry, named.agent_id,
               named.file_id, found.uri, found.expected_hash, found.state, found.content_hash, found.integrity,
               found.reason, found.problem, found.failures, found.found_at, found.checked_at, found.changed_at
        FROM file_reference named JOIN file found ON found.file_id = named.file_id
    """,
    "agent_registration": """
        SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, found.uri,
               found.state, found.integrity, found.reason, found.problem, found.checked_at, found.changed_at,
               read.content_hash, read.type, read.name, read.description, read.image, read.active,
               read.x402_support,
               EXISTS (
                 SELECT 1 FROM registration_claim claim
                 WHERE claim.content_hash = read.content_hash AND claim.agent_id = agent.agent_id
                   AND claim.agent_registry = 'eip155:' || agent.chain_id || ':' || agent.identity_registry
               ) AS is_confirmed
        FROM agent
        JOIN file_reference named
          ON named.chain_id = agent.chain_id AND named.registry = agent.identity_registry
         AND named.agent_id = agent.agent_id AND named.kind = 'registration'
         AND NOT EXISTS (
           SELECT 1 FROM file_reference later
           WHERE later.chain_id = named.chain_id AND later.registry = named.registry
             AND later.agent_id = named.agent_id AND later.kind = 'registration'
             AND (later.block_number, later.log_index) > (named.block_number, named.log_index))
        JOIN file found ON found.file_id = named.file_id AND found.uri = agent.uri
        LEFT JOIN registration_file read ON read.content_hash = found.content_hash AND found.state = 'loaded'
    """,
}
"""Files beside the chain's own statements, by the name of the view."""
