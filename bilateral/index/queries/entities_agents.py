"""Rows of the entities of identity registries: agents, their registration files and their metadata."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import (
    BigInteger,
    Text,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
)

from bilateral.events import Approval, FeedbackRevoked, MetadataSet, NewFeedback, Registered, URIUpdated
from bilateral.index import schema
from bilateral.index.files import schema as files
from bilateral.index.files.reading import listed
from bilateral.index.queries.entities_rows import ENTITIES, Rows, lowered, parsed_agent, text_of
from bilateral.index.queries.entities_values import (
    Address,
    Blob,
    Entries,
    Flag,
    Id,
    String,
    Value,
    Whole,
    Wide,
    checksum_address,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import ColumnElement, FromClause

    from bilateral.index.queries.entities_rows import Scope

    Condition = ColumnElement[bool]

_ZERO_ADDRESS = "0x" + "00" * 20
_CID_START = 8
"""The position behind `ipfs://`."""


def agent_id_text(rows: FromClause, scope: Scope) -> ColumnElement[str]:
    """Return the id of the agent that rows are about."""
    return text_of(cast(rows.c.chain_id, Text), scope.dialect.whole(rows.c.agent_id))


def agent_finder(rows: FromClause) -> Callable[[Sequence[str]], Condition]:
    """Return a function that finds rows by the ids of their agents."""

    def find(ids: Sequence[str]) -> Condition:
        chains: dict[int, list[int]] = {}
        for text in ids:
            if (found := parsed_agent(text)) is not None:
                chains.setdefault(found[0], []).append(found[1])
        conditions = (and_(rows.c.chain_id == it, rows.c.agent_id.in_(of)) for it, of in chains.items())
        return or_(false(), *conditions)

    return find


def uri_type(uri: ColumnElement[str]) -> ColumnElement[str]:
    """Return the kind of a URI, as the public subgraph names it."""
    cid = or_(and_(uri.like("Qm%"), func.length(uri) == 46), and_(uri.like("baf%"), func.length(uri) >= 8))  # noqa: PLR2004
    gateways = ("gateway.pinata.cloud", "ipfs.io", "cloudflare-ipfs.com")
    hosts = ("w3s.link", "dweb.link", "gateway.pinata.cloud", "ipfs.io", "cloudflare-ipfs.com")
    gateway = or_(
        *(starts_with(uri, f"https://{host}/ipfs/") for host in gateways),
        *(uri.like(f"%.ipfs.{host}") for host in hosts),
    )
    return case(
        (starts_with(uri, "data:"), "data"),
        (or_(starts_with(uri, "ipfs://"), gateway, cid), "ipfs"),
        (starts_with(uri, "https://"), "https"),
        (starts_with(uri, "http://"), "http"),
        else_="unknown",
    )


def starts_with(text: ColumnElement[str], start: str) -> Condition:
    """Return true if a text begins with another one, in the same case."""
    return func.substr(text, 1, len(start)) == start


class AgentRows(Rows):
    """The rows of `Agent`."""

    entity: ClassVar = "Agent"
    sort_aliases: ClassVar = {"name": "registrationFile__name"}

    def __init__(self, scope: Scope) -> None:
        """See the class."""
        super().__init__(scope)
        self.source = self.agent = agent = schema.agent.alias()
        self.conditions = [scope.of("identity", agent.c.chain_id, agent.c.identity_registry)]
        self.key = (agent.c.chain_id, agent.c.identity_registry, agent.c.agent_id)
        self.block = agent.c.updated_block

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        """See `Rows.fields`."""
        it = self.agent.c
        return {
            "id": lambda: Id(agent_id_text(self.agent, self.scope), agent_finder(self.agent)),
            "chainId": lambda: Whole(it.chain_id),
            "agentId": lambda: Wide(it.agent_id),
            "agentURI": lambda: String(it.uri),
            "agentURIType": lambda: String(uri_type(it.uri)),
            "owner": lambda: Address(it.owner),
            "agentWallet": lambda: Address(it.wallet, is_nullable=True),
            "operators": self._operators,
            "createdAt": lambda: Whole(it.registered_at),
            "updatedAt": lambda: Whole(self._updated_at()),
            "totalFeedback": lambda: Whole(self._total_feedback()),
            "lastActivity": lambda: Whole(self._last_activity()),
        }

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        """See `Rows.links`."""
        return {"registrationFile": lambda: RegistrationFileRows(self.scope).of(self.agent)}

    @property
    def lists(self) -> Mapping[str, Callable[[], Rows]]:
        """See `Rows.lists`."""
        types = {"feedback": "Feedback", "validations": "Validation", "metadata": "AgentMetadata"}
        return {name: partial(self._listed, entity) for name, entity in types.items()}

    def _listed(self, entity: str) -> Rows:
        """Return the rows of an entity that are about the agent."""
        return ENTITIES[entity](self.scope).of(self.agent)

    def of(self, rows: FromClause) -> AgentRows:
        """Keep the agent that rows of a table are about."""
        self.conditions += [self.agent.c.chain_id == rows.c.chain_id, self.agent.c.agent_id == rows.c.agent_id]
        return self

    def order(self, name: str) -> list[ColumnElement[Any]] | None:
        """See `Rows.order`."""
        # The id of an agent begins with its chain.
        return (
            [self.scope.dialect.ordered(self.scope.dialect.whole(self.agent.c.agent_id))]
            if (name == "id" and self.scope.is_one_chain)
            else None
        )

    def _events(self, table: FromClause, kind: str) -> list[Condition]:
        """Return the conditions that events of a registry are about the agent."""
        return [
            self.scope.of(kind, table.c.chain_id, table.c.registry),
            table.c.chain_id == self.agent.c.chain_id,
            table.c.agent_id == self.agent.c.agent_id,
        ]

    def _latest(self, event: Any, kind: str) -> ColumnElement[int]:
        """Return the time of the last event of a type about the agent; 0 without one."""
        table = schema.EVENT_TABLES[event].alias()
        found = select(func.max(table.c.block_time)).where(*self._events(table, kind)).correlate(self.agent)
        return func.coalesce(found.scalar_subquery(), 0)

    def _last_activity(self) -> ColumnElement[int]:
        return self.scope.dialect.greatest(self.agent.c.registered_at, self._latest(NewFeedback, "reputation"))

    def _updated_at(self) -> ColumnElement[int]:
        events = ((NewFeedback, "reputation"), (FeedbackRevoked, "reputation"), (Approval, "identity"))
        return self.scope.dialect.greatest(self.agent.c.updated_at, *(self._latest(*it) for it in events))

    def _total_feedback(self) -> ColumnElement[int]:
        table = schema.summary.alias()
        found = (
            select(func.sum(table.c.count))
            .where(*self._events(table, "reputation"), table.c.side == "server")
            .correlate(self.agent)
        )
        return cast(func.coalesce(found.scalar_subquery(), 0), BigInteger)

    def _operators(self) -> Value:
        """Return the accounts that were ever approved for the agent, as the public subgraph keeps them."""
        table = schema.EVENT_TABLES[Approval].alias()
        about = [*self._events(table, "identity"), table.c.account != _ZERO_ADDRESS]
        page = (
            select(lowered(table.c.account).label("account"))
            .where(*about)
            .group_by(table.c.account)
            .order_by(func.min(table.c.block_number), func.min(table.c.log_index), table.c.account)
            .correlate(self.agent)
            .subquery()
        )
        shown = select(self.scope.dialect.json_list(page.c.account)).scalar_subquery()

        def has(entry: str, _: bool) -> Condition:  # an address has no case
            checksum = checksum_address(entry)
            if checksum is None:
                return false()
            return exists().where(*about, table.c.account == checksum).correlate(self.agent)

        def same(entries: Sequence[str]) -> Condition:
            return func.replace(cast(shown, Text), literal_column("' '"), literal_column("''")) == listed(
                [it.lower() for it in entries]
            ).replace(" ", "")

        return Entries(shown, has, same)


class RegistrationFileRows(Rows):
    """The rows of `AgentRegistrationFile`: the files behind the present URIs of agents, as far as they are loaded."""

    entity: ClassVar = "AgentRegistrationFile"

    def __init__(self, scope: Scope) -> None:
        """See the class."""
        super().__init__(scope)
        self.agent = agent = schema.agent.alias()
        self.named = named = files.file_reference.alias()
        self.file = file = files.file.alias()
        self.read = read = files.registration_file.alias()
        self.card = card = files.registration_card.alias()
        later = files.file_reference.alias()
        # A literal: SQLite uses a partial index only if the statement itself says its condition.
        kind: ColumnElement[str] = literal_column("'registration'")
        is_named = and_(
            named.c.chain_id == agent.c.chain_id,
            named.c.registry == agent.c.identity_registry,
            named.c.agent_id == agent.c.agent_id,
            named.c.kind == kind,
        )
        replaced = (
            exists()
            .where(
                later.c.chain_id == named.c.chain_id,
                later.c.registry == named.c.registry,
                later.c.agent_id == named.c.agent_id,
                later.c.kind == kind,
                tuple_(later.c.block_number, later.c.log_index) > tuple_(named.c.block_number, named.c.log_index),
            )
            .correlate(named)
        )
        self.source = (
            agent.join(named, is_named)
            .join(file, file.c.file_id == named.c.file_id)
            .join(read, read.c.content_hash == file.c.content_hash)
            .join(card, card.c.content_hash == file.c.content_hash)
        )
        self.conditions = [
            scope.of("identity", agent.c.chain_id, agent.c.identity_registry),
            ~replaced,
            file.c.uri == agent.c.uri,
            file.c.state == literal_column("'loaded'"),
        ]
        self.key = (named.c.chain_id, named.c.block_number, named.c.log_index)
        self.block = named.c.block_number

    def of(self, rows: FromClause) -> RegistrationFileRows:
        """Keep the file of the agent of a row."""
        pairs = zip(schema.agent.primary_key, schema.agent.primary_key, strict=True)
        self.conditions += [self.agent.c[it.name] == rows.c[of.name] for it, of in pairs]
        return self

    @property
    def aliases(self) -> Mapping[str, str]:
        """See `Rows.aliases`."""
        return {"x402support": "x402Support"}

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        """See `Rows.fields`."""
        read, card, agent = self.read.c, self.card.c, self.agent
        texts = {
            "name": read.name,
            "description": read.description,
            "image": read.image,
            "endpointsRawJson": card.services,
            "mcpEndpoint": card.mcp_endpoint,
            "mcpVersion": card.mcp_version,
            "a2aEndpoint": card.a2a_endpoint,
            "a2aVersion": card.a2a_version,
            "webEndpoint": card.web_endpoint,
            "oasfEndpoint": card.oasf_endpoint,
            "oasfVersion": card.oasf_version,
            "emailEndpoint": card.email_endpoint,
            "ens": card.ens,
            "did": card.did,
        }
        lists = {
            "supportedTrusts": ("trust", card.supported_trusts),
            "mcpTools": ("mcp_tool", card.mcp_tools),
            "mcpPrompts": ("mcp_prompt", card.mcp_prompts),
            "mcpResources": ("mcp_resource", card.mcp_resources),
            "a2aSkills": ("a2a_skill", card.a2a_skills),
            "oasfSkills": ("oasf_skill", card.oasf_skills),
            "oasfDomains": ("oasf_domain", card.oasf_domains),
        }
        return {
            "id": lambda: Id(self._id()),
            "cid": lambda: String(self._cid()),
            "agentId": lambda: Id(agent_id_text(agent, self.scope), agent_finder(agent)),
            "active": lambda: Flag(read.active, is_nullable=True),
            "x402Support": lambda: Flag(read.x402_support, is_nullable=True),
            "hasOASF": lambda: Flag(or_(card.oasf_skills != "[]", card.oasf_domains != "[]")),
            "agentWallet": lambda: Address(agent.c.wallet, is_nullable=True),
            "agentWalletChainId": lambda: Whole(
                case((agent.c.wallet.is_not(None), agent.c.chain_id)), is_nullable=True
            ),
            "createdAt": lambda: Whole(self._event("block_time")),
            **{name: _text_field(column) for name, column in texts.items()},
            **{name: self._list_field(kind, column) for name, (kind, column) in lists.items()},
        }

    def _list_field(self, kind: str, column: ColumnElement[str]) -> Callable[[], Value]:
        """Return a list of capabilities."""
        table = files.registration_capability

        def has(entry: str, folded: bool) -> Condition:  # see `Entries`
            found = table.alias()
            value: ColumnElement[Any] = found.c.value
            if folded:
                entry = entry.lower()
                value = self.scope.dialect.lower(value, entry)
            is_of_file = found.c.content_hash == self.card.c.content_hash
            return exists().where(is_of_file, found.c.kind == kind, value == entry).correlate(self.card)

        return lambda: Entries(self.scope.dialect.embedded(column), has, lambda it: column == listed(list(it)))

    def _event(self, name: str) -> ColumnElement[Any]:
        """Return a column of the event that named the file."""
        found = []
        for event in (Registered, URIUpdated):
            table, named = schema.EVENT_TABLES[event].alias(), self.named
            is_event = (table.c[it] == named.c[it] for it in ("chain_id", "block_number", "log_index"))
            found.append(select(table.c[name]).where(*is_event).correlate(named).scalar_subquery())
        return func.coalesce(*found)

    def _cid(self) -> Any:
        return file_cid(self.file.c.uri, self._transaction(), self.named.c.log_index)

    def _id(self) -> Any:
        return file_id(self.file.c.uri, self._transaction(), self.named.c.log_index)

    def _transaction(self) -> ColumnElement[str]:
        return self.scope.dialect.hexadecimal(self._event("transaction_hash"))


def file_cid(uri: ColumnElement[str], transaction: ColumnElement[str], log_index: ColumnElement[int]) -> Any:
    """Return the CID of a file, as the public subgraph has it: data URIs and web addresses are named by their event."""
    place = text_of(transaction, cast(log_index, Text))
    return case(
        (starts_with(uri, "ipfs://"), func.substr(uri, _CID_START)),
        (starts_with(uri, "data:"), literal("datauri:") + place),
        else_=literal("uri:") + place,
    )


def file_id(uri: ColumnElement[str], transaction: ColumnElement[str], log_index: ColumnElement[int]) -> Any:
    """Return the id of a file, as the public subgraph has it."""
    index = cast(log_index, Text)
    return case(
        (starts_with(uri, "ipfs://"), text_of(transaction, func.substr(uri, _CID_START))),
        (starts_with(uri, "data:"), text_of(transaction, literal("datauri"), index)),
        else_=text_of(transaction, literal("uri"), index),
    )


def _text_field(column: ColumnElement[str]) -> Callable[[], Value]:
    """Return a text that may be missing."""
    return lambda: String(column, is_nullable=True)


class MetadataRows(Rows):
    """The rows of `AgentMetadata`."""

    entity: ClassVar = "AgentMetadata"

    def __init__(self, scope: Scope) -> None:
        """See the class."""
        super().__init__(scope)
        self.source = self.metadata = metadata = schema.agent_metadata.alias()
        agents = AgentRows(scope).of(metadata)
        self.conditions = [
            scope.of("identity", metadata.c.chain_id, metadata.c.identity_registry),
            exists().where(*agents.conditions).correlate(metadata),
        ]
        self.key = tuple(metadata.c[it.name] for it in schema.agent_metadata.primary_key)

    def of(self, rows: FromClause) -> MetadataRows:
        """Keep the metadata of the agent of a row."""
        self.conditions += [self.metadata.c.chain_id == rows.c.chain_id, self.metadata.c.agent_id == rows.c.agent_id]
        return self

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        """See `Rows.fields`."""
        it = self.metadata.c
        return {
            "id": lambda: Id(text_of(agent_id_text(self.metadata, self.scope), it.metadata_key)),
            "key": lambda: String(it.metadata_key),
            "value": lambda: Blob(it.metadata_value),
            "updatedAt": lambda: Whole(self._updated_at()),
        }

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        """See `Rows.links`."""
        return {"agent": lambda: AgentRows(self.scope).of(self.metadata)}

    def _updated_at(self) -> ColumnElement[int]:
        """Return the time of the event that set the entry; 0 for a key that is too long to be told."""
        table, it = schema.EVENT_TABLES[MetadataSet].alias(), self.metadata.c
        found = select(func.max(table.c.block_time)).where(
            table.c.chain_id == it.chain_id,
            table.c.registry == it.identity_registry,
            table.c.agent_id == it.agent_id,
            table.c.metadata_key == it.metadata_key,
        )
        return func.coalesce(found.correlate(self.metadata).scalar_subquery(), 0)
