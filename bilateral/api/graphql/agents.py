"""The rows of the entities in identity registries: agents and their metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, Text, and_, case, cast, false, func, literal_column, or_, select
from sqlalchemy.sql import ColumnElement, FromClause
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from bilateral.api.graphql import values
from bilateral.api.graphql.rows import ENTITIES, Rows, Scope, lowered, parsed_agent, text_of
from bilateral.api.graphql.values import Condition, Entries, Value, checksum_address
from bilateral.core.events import Approval, MetadataSet
from bilateral.core.identifiers.caip import ZERO_ADDRESS
from bilateral.core.values.standing import Side
from bilateral.index.agents import tables as agent_tables
from bilateral.index.agents.tables import agent_activity
from bilateral.index.files.reading import listed
from bilateral.index.log import tables as schema
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.reading.json import has_all
from bilateral.index.standing.tables import standing


def agent_id_text(rows: FromClause, scope: Scope) -> ColumnElement[str]:
    """Return an SQL expression for the id of each row's agent."""
    return text_of(cast(rows.c.chain_id, Text), scope.dialect.whole(rows.c.agent_id))


def agent_finder(rows: FromClause, scope: Scope) -> Callable[[Sequence[str]], Condition]:
    """Return a function that creates a condition on agent ids. Ids from other chains match nothing."""

    def find(ids: Sequence[str]) -> Condition:
        chains: dict[int, list[int]] = {}
        for text in ids:
            if (key := parsed_agent(text)) is not None and scope.has_chain(key[0]):
                chains.setdefault(key[0], []).append(key[1])
        conditions = (and_(rows.c.chain_id == chain_id, rows.c.agent_id.in_(of)) for chain_id, of in chains.items())
        return or_(false(), *conditions)

    return find


def uri_type(uri: ColumnElement[str]) -> ColumnElement[str]:
    """Return the kind of a URI, with the same name as in the public subgraph."""
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
    """Return an expression that is true if one string begins with another. The comparison is case-sensitive."""
    return func.substr(text, 1, len(start)) == start


class AgentRows(Rows):
    """The rows of `Agent`."""

    entity: ClassVar = "Agent"
    sort_aliases: ClassVar = {"name": "registrationFile__name"}

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.source = self.agent = agent = agent_tables.agent.alias()
        self._activity: FromClause | None = None
        self.conditions = [scope.of("identity", agent.c.chain_id, agent.c.identity_registry)]
        self.key = (agent.c.chain_id, agent.c.identity_registry, agent.c.agent_id)
        self.block = agent.c.updated_block

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns = self.agent.c
        return {
            "id": lambda: values.Id(agent_id_text(self.agent, self.scope), agent_finder(self.agent, self.scope)),
            "chainId": lambda: values.Whole(columns.chain_id),
            "agentId": lambda: values.Wide(columns.agent_id),
            "agentURI": lambda: values.String(columns.uri),
            "agentURIType": lambda: values.String(uri_type(columns.uri)),
            "owner": lambda: values.Address(columns.owner),
            "agentWallet": lambda: values.Address(columns.wallet, is_nullable=True),
            "operators": self._operators,
            "createdAt": lambda: values.Whole(self._times().registered_at),
            "updatedAt": lambda: values.Whole(self._times().updated_at),
            "totalFeedback": lambda: values.Whole(self._total_feedback()),
            "lastActivity": lambda: values.Whole(self._times().last_activity),
        }

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        return {
            "registrationFile": partial(self._listed, "AgentRegistrationFile"),
            "standing": partial(self._listed, "Standing"),
        }

    @property
    def lists(self) -> Mapping[str, Callable[[], Rows]]:
        types = {"feedback": "Feedback", "validations": "Validation", "metadata": "AgentMetadata"}
        return {name: partial(self._listed, entity) for name, entity in types.items()}

    def _listed(self, entity: str) -> Rows:
        return ENTITIES[entity](self.scope).of(self.agent)

    def of(self, rows: FromClause) -> AgentRows:
        """Restrict these rows to the agent that another table's row is about."""
        return self._about_agent("identity", self.agent, rows, "identity_registry")

    def order(self, name: str) -> list[ColumnElement[Any]] | None:
        if not self.scope.is_one_chain:
            return None
        # An agent's id begins with its chain.
        columns = {"id": "id_text", "createdAt": "registered_at", "updatedAt": "updated_at"}
        column = columns.get(name, "last_activity" if name == "lastActivity" else None)
        return None if column is None else [self._times()[column]]

    def _times(self) -> ReadOnlyColumnCollection[str, Any]:
        """Join the table of agents' times, which has one row per agent, and return its columns."""
        if self._activity is None:
            agent = self.agent
            self._activity = activity = agent_activity.alias()
            names = (column.name for column in agent_activity.primary_key)
            # The constants in the first condition apply to both tables, so either table's index may be used first.
            of_registry = self.scope.of("identity", activity.c.chain_id, activity.c.identity_registry)
            same = and_(of_registry, *(activity.c[name] == agent.c[name] for name in names))
            self.source = agent.join(activity, same)
        return self._activity.c

    def _events(self, table: FromClause, kind: str) -> list[Condition]:
        return [
            self.scope.same_chain(table, self.agent),
            table.c.registry == self.scope.registry(kind, self.agent.c.chain_id),
            table.c.agent_id == self.agent.c.agent_id,
        ]

    def _total_feedback(self) -> ColumnElement[int]:
        table = rating_tables.summary.alias()
        names_of = (
            select(func.sum(table.c.count))
            .where(*self._events(table, "reputation"), table.c.side == "server")
            .correlate(self.agent)
        )
        return cast(func.coalesce(names_of.scalar_subquery(), 0), BigInteger)

    def _operators(self) -> Value:
        table = schema.EVENT_TABLES[Approval].alias()
        about = [*self._events(table, "identity"), table.c.account != ZERO_ADDRESS]
        page = (
            select(lowered(table.c.account).label("account"))
            .where(*about)
            .group_by(table.c.account)
            .order_by(func.min(table.c.block_number), func.min(table.c.log_index), table.c.account)
            .correlate(self.agent)
            .subquery()
        )
        as_json = select(self.scope.dialect.json_list(page.c.account)).scalar_subquery()

        def has(entries: Sequence[str], _: bool) -> Condition:  # addresses are compared without case
            checksums = [checksum for entry in entries if (checksum := checksum_address(entry)) is not None]
            if len(checksums) < len(entries):
                return false()
            return has_all(self.scope.dialect.lower, table, table.c.account, checksums, *about)

        def same(entries: Sequence[str]) -> Condition:
            return func.replace(cast(as_json, Text), literal_column("' '"), literal_column("''")) == listed(
                [entry.lower() for entry in entries]
            ).replace(" ", "")

        return Entries(as_json, has, same)


class RowsOfAgents(Rows):
    """The rows of one table that are about registered agents and come from one kind of registry."""

    of_entity: ClassVar[Any]
    kind: ClassVar[str] = "identity"
    registry: ClassVar[str] = "identity_registry"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        table: FromClause = self.of_entity.alias()
        self.source = self.table = table
        self.conditions = self._with_parent(self.kind, table, AgentRows(scope).of(table), self.registry)
        self.key = tuple(table.c[column.name] for column in self.of_entity.primary_key)

    def of(self, rows: FromClause) -> Rows:
        """Restrict these rows to those about another row's agent."""
        self.parents["agent"] = lambda: AgentRows(self.scope).of(rows)
        return self._about_agent(self.kind, self.table, rows, self.registry)

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        return {"agent": lambda: AgentRows(self.scope).of(self.table)}


class MetadataRows(RowsOfAgents):
    """The rows of `AgentMetadata`."""

    entity: ClassVar = "AgentMetadata"
    of_entity: ClassVar = agent_tables.agent_metadata

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns = self.table.c
        return {
            "id": lambda: values.Id(text_of(agent_id_text(self.table, self.scope), columns.metadata_key)),
            "key": lambda: values.String(columns.metadata_key),
            "value": lambda: values.Blob(columns.metadata_value),
            "updatedAt": lambda: values.Whole(self._updated_at()),
        }

    def _updated_at(self) -> ColumnElement[int]:
        """Return the time of the event that set the entry; 0 for a key that is too long to look up."""
        table, columns = schema.EVENT_TABLES[MetadataSet].alias(), self.table.c
        latest = select(func.max(table.c.block_time)).where(
            self.scope.same_chain(table, self.table),
            table.c.registry == columns.identity_registry,
            table.c.agent_id == columns.agent_id,
            table.c.metadata_key == columns.metadata_key,
        )
        return func.coalesce(latest.correlate(self.table).scalar_subquery(), 0)


_DECIMALS: Final = 4
"""The number of decimals to which figures are rounded, because the last digits differ between databases."""


class StandingRows(RowsOfAgents):
    """The rows of `Standing`: one for each agent as a server, and another if the agent is rated as a client."""

    entity: ClassVar = "Standing"
    of_entity: ClassVar = standing

    def of(self, rows: FromClause) -> StandingRows:
        """Restrict these rows to the standing of another row's agent as a server."""
        return self.on(rows, Side.SERVER)

    def on(self, rows: FromClause, side: Side) -> StandingRows:
        """Restrict these rows to the standing of another row's agent on one side."""
        self._about_agent(self.kind, self.table, rows, self.registry)
        self.conditions += [self.table.c.side == literal_column(f"'{side}'")]
        return self

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns = self.table.c
        figures = {
            "lower": columns.lower_bound,
            "upper": columns.upper_bound,
            "effectiveRaters": columns.effective_raters,
            "paid": columns.paid,
            "evidenceCost": columns.evidence_cost,
        }
        return {
            "id": lambda: values.Id(text_of(agent_id_text(self.table, self.scope), columns.side), self._find),
            "side": lambda: values.String(columns.side),
            "status": lambda: values.String(columns.status),
            "raters": lambda: values.Whole(columns.raters),
            "payments": lambda: values.Whole(columns.payments),
            "reasons": lambda: values.String(columns.reasons),
            **{name: partial(_figure, column) for name, column in figures.items()},
        }

    def _find(self, ids: Sequence[str]) -> Condition:
        columns, conditions = self.table.c, []
        for text in ids:
            agent, _, side = text.rpartition(":")
            if (key := parsed_agent(agent)) is not None and self.scope.has_chain(key[0]):
                conditions.append(and_(columns.chain_id == key[0], columns.agent_id == key[1], columns.side == side))
        return or_(false(), *conditions)


def _figure(column: ColumnElement[float]) -> Value:
    units = cast(func.round(column * literal_column(str(10**_DECIMALS))), BigInteger)
    return values.FixedPoint(units, literal_column(str(_DECIMALS)))
