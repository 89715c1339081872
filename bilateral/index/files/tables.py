"""The file tables, which `docs/index-files.md` documents.

The file tables are separate from the tables in `bilateral.index.log.tables`, which contain on-chain data.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger, agent_columns, log_columns, optional, required

metadata: Final = sa.MetaData()


def _table(name: str, *parts: Any, **options: Any) -> sa.Table:
    return sa.Table(name, metadata, *parts, **options)


_UNIX_TIME: Final = sa.Float(53)
"""Unix seconds with a fraction, according to the worker's clock."""


class Kind(StrEnum):
    """The kinds of files, each with the events that refer to such files."""

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
    """`AgentRegistered` and `AgentUpdated`; the file is at the domain's `/.well-known/agent-registration.json`.

    Most of these files have no event: they are known because a registration file lists a service at the domain.
    """


class State(StrEnum):
    """The states of a file."""

    WAITING = "waiting"
    """The file has not been fetched yet."""

    LOADED = "loaded"
    """The file's content is stored and valid."""

    MALFORMED = "malformed"
    """The file's content is stored, but malformed."""

    FAILED = "failed"
    """The file has no content, because no fetch succeeded."""


file: Final = _table(
    "file",
    sa.Column("file_id", HASH, primary_key=True),
    sa.Column("kind", sa.String(12), nullable=False),
    sa.Column("uri", sa.Text, nullable=False),
    sa.Column("expected_hash", HASH),
    sa.Column("host", sa.String(300)),
    sa.Column("state", sa.String(9), nullable=False),
    sa.Column("content_hash", HASH),
    sa.Column("integrity", sa.String(7)),
    sa.Column("reason", sa.String(40)),
    *optional(sa.Text, "problem", "etag", "last_modified"),
    sa.Column("found_at", sa.BigInteger, nullable=False),
    *optional(sa.BigInteger, "checked_at", "changed_at"),
    *required(sa.Integer, "attempts", "failures", "refresh_seconds"),
    sa.Column("next_at", _UNIX_TIME),
    sa.Column("lease", sa.LargeBinary(16)),
)
sa.Index("file_by_host", file.c.host, file.c.next_at)
sa.Index("file_by_state", file.c.state)

IS_FROM_HOST: Final = sa.text(
    "kind IN ('domain', 'registration') AND substr(uri, 1, 8) = 'https://' AND content_hash IS NOT NULL"
)
"""The condition for files in which domains may list agents. Only queries that contain it can use the partial index."""

sa.Index("file_from_host", file.c.content_hash, sqlite_where=IS_FROM_HOST, postgresql_where=IS_FROM_HOST)
for _key, _other, _name in (("content_hash", "file_id", "content"), ("file_id", "content_hash", "id")):
    # Searches read no other column of a file, whose URI may fill a page.
    _index = sa.Index(f"file_by_{_name}", file.c[_key], postgresql_include=[_other, "state"])
    _index.ddl_if(dialect="postgresql")
    sa.Index(f"file_state_by_{_name}", *file.c[_key, _other, "state"]).ddl_if(dialect="sqlite")

file_host: Final = _table(
    "file_host",
    sa.Column("host", sa.String(300), primary_key=True),
    sa.Column("next_at", _UNIX_TIME),
    sa.Column("closed_until", _UNIX_TIME, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
)
sa.Index("file_host_by_time", file_host.c.next_at)

file_reference: Final = _table(
    "file_reference",
    *log_columns(),
    sa.Column("kind", sa.String(12), nullable=False),
    sa.Column("registry", ADDRESS, nullable=False),
    sa.Column("agent_id", WideInteger, nullable=False),
    sa.Column("file_id", HASH, sa.ForeignKey(file.c.file_id)),
    sa.PrimaryKeyConstraint("chain_id", "block_number", "log_index"),
)
sa.Index("file_reference_by_file", file_reference.c.file_id)
for _kind, _name in ((Kind.REGISTRATION, "file_reference_by_agent"), (Kind.DOMAIN, "file_reference_of_domain")):
    _is_of_kind = sa.text(f"kind = '{_kind}'")
    sa.Index(
        _name,
        *file_reference.c["chain_id", "registry", "agent_id", "block_number", "log_index"],
        sqlite_where=_is_of_kind,
        postgresql_where=_is_of_kind,
    )

file_scan: Final = _table(
    "file_scan",
    sa.Column("chain_id", sa.BigInteger, primary_key=True, autoincrement=False),
    *required(sa.BigInteger, "block_number", "generation"),
)

abandoned_file: Final = _table(
    "abandoned_file",
    sa.Column("file_id", HASH, primary_key=True),
    sa.Column("abandoned_at", sa.BigInteger, nullable=False),
)

file_sight: Final = _table(
    "file_sight",
    sa.Column("sight_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("file_id", HASH, nullable=False),
    sa.Column("seen_block", sa.BigInteger, nullable=False),
    sa.Column("state", sa.String(9), nullable=False),
    sa.Column("content_hash", HASH),
    sa.Column("integrity", sa.String(7)),
    sa.Column("reason", sa.String(40)),
    sa.Index("file_sight_by_file", "file_id", "chain_id", "seen_block"),
)

foreign_proof: Final = _table(
    "solana_proof",
    sa.Column("sight_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("identity_registry", ADDRESS, nullable=False),
    sa.Column("agent_id", WideInteger, nullable=False),
    sa.Column("solana_agent", sa.String(200), nullable=False),
    sa.Column("names_back", sa.Boolean, nullable=False),
    sa.Column("problem", sa.Text, nullable=False),
    sa.Column("checked_at", sa.BigInteger, nullable=False),
    sa.Index("solana_proof_by_agent", "chain_id", "identity_registry", "agent_id", "solana_agent", "sight_id"),
)
FOREIGN_AGENT: Final = foreign_proof.c.solana_agent

file_content: Final = _table(
    "file_content",
    sa.Column("content_hash", HASH, primary_key=True),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)


def content_column(*, is_key: bool = False, is_unique: bool = False) -> sa.Column[Any]:
    """Return the `content_hash` column for a table whose rows are deleted together with the content."""
    reference = sa.ForeignKey(file_content.c.content_hash, ondelete="CASCADE")
    return sa.Column("content_hash", HASH, reference, primary_key=is_key, nullable=False, unique=is_unique)


registration_file: Final = _table(
    "registration_file",
    content_column(is_key=True),
    *optional(sa.Text, "type", "name", "description", "image"),
    *optional(sa.Boolean, "active", "x402_support"),
    sa.Column("problems", sa.Text, nullable=False),
)

CAPABILITIES: Final = {
    "mcp": (
        ("mcp_tool", "mcpTools", "tools"),
        ("mcp_prompt", "mcpPrompts", "prompts"),
        ("mcp_resource", "mcpResources", "resources"),
    ),
    "a2a": (("a2a_skill", "a2aSkills", "skills"),),
    "oasf": (("oasf_skill", "skills"), ("oasf_domain", "domains")),
}
"""The capability lists of each kind of service: the kind of capability, and the list's possible field names."""

CARD_SERVICES: Final[Mapping[str, Mapping[str, str]]] = {
    **{kind: {part: f"{kind}_{part}" for part in ("endpoint", "version")} for kind in ("mcp", "a2a")},
    "web": {"endpoint": "web_endpoint"},
    "oasf": {part: f"oasf_{part}" for part in ("endpoint", "version")},
    "email": {"endpoint": "email_endpoint"},
    **{kind: {"endpoint": kind} for kind in ("ens", "did")},
}
"""The columns of `registration_card` for services, keyed by the kind of service and the service's field."""

CARD_LISTS: Final[Mapping[str, str]] = {
    "trust": "supported_trusts",
    **{kind: f"{kind}s" for lists in CAPABILITIES.values() for kind, *_ in lists},
}
"""The columns of `registration_card` for lists, keyed by the kind of capability."""

registration_card: Final = _table(
    "registration_card",
    content_column(is_key=True),
    *optional(sa.Text, *(name for names in CARD_SERVICES.values() for name in names.values())),
    *required(sa.Text, "services", *CARD_LISTS.values()),
)

registration_service: Final = _table(
    "registration_service",
    content_column(is_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(100), nullable=False),
    *optional(sa.Text, "endpoint", "version"),
    sa.Index("registration_service_by_name", "name"),
)

registration_capability: Final = _table(
    "registration_capability",
    content_column(),
    sa.Column("kind", sa.String(14), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("value", sa.String(200), nullable=False),
    sa.PrimaryKeyConstraint("content_hash", "kind", "position"),
    sa.Index("registration_capability_by_value", "kind", "value"),
)

registration_claim: Final = _table(
    "registration_claim",
    content_column(is_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("agent_registry", sa.String(200), nullable=False),
    sa.Column("agent_id", WideInteger),
    sa.Index("registration_claim_by_agent", "agent_registry", "agent_id"),
)

registration_domain: Final = _table(
    "registration_domain",
    content_column(is_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("host", sa.String(300), nullable=False),
    sa.Column("file_id", HASH, nullable=False),
    sa.Index("registration_domain_by_file", "file_id"),
)

feedback_file: Final = _table(
    "feedback_file",
    content_column(is_key=True),
    *optional(
        sa.Text,
        *("agent_registry", "agent_id", "client_address", "created_at", "value", "value_decimals"),
        *("tag1", "tag2", "endpoint", "text", "comment", "mcp_tool", "mcp_prompt", "mcp_resource"),
        *("a2a_skills", "a2a_context_id", "a2a_task_id", "oasf_skills", "oasf_domains"),
        *("payment_from", "payment_to", "payment_chain_id", "payment_transaction"),
        *("task_ref", "interaction_hash", "agent_signature", "client_signature"),
    ),
    sa.Column("problems", sa.Text, nullable=False),
)

agent_file: Final = _table(
    "agent_file",
    *agent_columns("identity_registry"),
    sa.Column("file_id", sa.LargeBinary(32), nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "identity_registry", "agent_id"),
    sqlite_with_rowid=False,
)
"""Each agent's current file, if the scan has found the file at the agent's current URI."""

IS_LOADED: Final = sa.and_(file.c.file_id == agent_file.c.file_id, file.c.state == State.LOADED)
IS_READ: Final = registration_file.c.content_hash == file.c.content_hash
READ_FILES: Final = agent_file.join(file, IS_LOADED).join(registration_file, IS_READ)
"""The loaded registration files of agents."""

payment_claim: Final = _table(
    "payment_claim",
    *log_columns(),
    sa.Column("registry", ADDRESS, nullable=False),
    sa.Column("agent_id", WideInteger, nullable=False),
    sa.Column("tag", sa.Text, nullable=False),
    sa.Column("account", ADDRESS, nullable=False),
    *required(sa.BigInteger, "share", "units"),
    *optional(ADDRESS, "payer", "payee"),
    sa.Column("is_bound", sa.Boolean, nullable=False),
    sa.Column("file_id", sa.LargeBinary(32), nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "block_number", "log_index"),
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
"""Views that join files with on-chain data, keyed by view name."""
