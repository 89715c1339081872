"""The rows of agents' registration files and feedback files, and these files' ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from sqlalchemy import Text, and_, case, cast, exists, func, literal, literal_column, or_, select, tuple_
from sqlalchemy.sql import ColumnElement, FromClause

from bilateral.api.graphql.agents import AgentRows, agent_finder, agent_id_text, starts_with
from bilateral.api.graphql.feedback import NEW_FEEDBACK, feedback_finder, feedback_id_text
from bilateral.api.graphql.rows import Rows, Scope, snake_case, text_of
from bilateral.api.graphql.values import Address, Condition, Entries, Flag, Id, String, Value, Whole
from bilateral.core.events import Registered, URIUpdated
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.reading import listed
from bilateral.index.log import tables as schema
from bilateral.index.reading.json import has_all

_CARD_TEXTS: Final = (
    *("mcpEndpoint", "mcpVersion", "a2aEndpoint", "a2aVersion", "webEndpoint", "oasfEndpoint", "oasfVersion"),
    *("emailEndpoint", "ens", "did"),
)
_FEEDBACK_TEXTS: Final = (
    *("agentRegistry", "clientAddress", "text", "tag1", "tag2"),
    *("mcpTool", "mcpPrompt", "mcpResource", "a2aContextId", "a2aTaskId"),
)
_CARD_LISTS: Final = ("mcpTools", "mcpPrompts", "mcpResources", "a2aSkills", "oasfSkills", "oasfDomains")
_CID_START: Final = 8
"""The position after the prefix `ipfs://`."""


class RegistrationFileRows(Rows):
    """The rows of `AgentRegistrationFile`: the files loaded from agents' current URIs."""

    entity: ClassVar = "AgentRegistrationFile"

    def __init__(self, scope: Scope, agent: FromClause | None = None) -> None:
        super().__init__(scope)
        is_of_row = agent is not None
        self.agent = agent = agent_tables.agent.alias() if agent is None else agent
        self.reference = reference = files.file_reference.alias()
        self.file = file = files.file.alias()
        self.read = read = files.registration_file.alias()
        self.card = card = files.registration_card.alias()
        later = files.file_reference.alias()
        # Must be a literal, because SQLite uses a partial index only if the statement contains its condition.
        kind: ColumnElement[str] = literal_column("'registration'")
        is_reference = and_(
            reference.c.chain_id == agent.c.chain_id,
            scope.same_chain(reference, agent),
            reference.c.registry == agent.c.identity_registry,
            reference.c.agent_id == agent.c.agent_id,
            reference.c.kind == kind,
        )
        replaced = (
            exists()
            .where(
                scope.same_chain(later, reference),
                later.c.registry == reference.c.registry,
                later.c.agent_id == reference.c.agent_id,
                later.c.kind == kind,
                tuple_(later.c.block_number, later.c.log_index)
                > tuple_(reference.c.block_number, reference.c.log_index),
            )
            .correlate(reference)
        )
        self.source = (
            (reference if is_of_row else agent.join(reference, is_reference))
            .join(file, file.c.file_id == reference.c.file_id)
            .join(read, read.c.content_hash == file.c.content_hash)
            .join(card, card.c.content_hash == file.c.content_hash)
        )
        self.conditions = [
            scope.of("identity", agent.c.chain_id, agent.c.identity_registry),
            *([is_reference] if is_of_row else []),
            ~replaced,
            file.c.uri == agent.c.uri,
            file.c.state == literal_column("'loaded'"),
        ]
        self.key = (reference.c.chain_id, reference.c.block_number, reference.c.log_index)
        self.block = reference.c.block_number

    def of(self, rows: FromClause) -> RegistrationFileRows:
        """Restrict these rows to the file of another row's agent."""
        return RegistrationFileRows(self.scope, rows)

    @property
    def aliases(self) -> Mapping[str, str]:
        return {"x402support": "x402Support"}

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        read, card, agent = self.read.c, self.card.c, self.agent
        texts = {
            "name": read.name,
            "description": read.description,
            "image": read.image,
            "endpointsRawJson": card.services,
            **{name: card[snake_case(name)] for name in _CARD_TEXTS},
        }
        lists = {name: (snake_case(name).removesuffix("s"), card[snake_case(name)]) for name in _CARD_LISTS}
        lists["supportedTrusts"] = ("trust", card.supported_trusts)
        return {
            "id": lambda: Id(file_id(self.file.c.uri, self._transaction(), self.reference.c.log_index)),
            "cid": lambda: String(file_cid(self.file.c.uri, self._transaction(), self.reference.c.log_index)),
            "agentId": lambda: Id(agent_id_text(agent, self.scope), agent_finder(agent, self.scope)),
            "active": lambda: Flag(read.active, is_nullable=True),
            "x402Support": lambda: Flag(read.x402_support, is_nullable=True),
            "hasOASF": lambda: Flag(or_(card.oasf_skills != "[]", card.oasf_domains != "[]")),
            "agentWallet": lambda: Address(agent.c.wallet, is_nullable=True),
            "agentWalletChainId": lambda: Whole(
                case((agent.c.wallet.is_not(None), agent.c.chain_id)), is_nullable=True
            ),
            "createdAt": lambda: Whole(self._event("block_time")),
            **{name: text_field(column) for name, column in texts.items()},
            **{name: self._list_field(kind, column) for name, (kind, column) in lists.items()},
        }

    def _list_field(self, kind: str, column: ColumnElement[str]) -> Callable[[], Value]:
        table = files.registration_capability

        def has(entries: Sequence[str], folded: bool) -> Condition:  # see `Entries`
            part_rows = table.alias()
            is_of_file = part_rows.c.content_hash == self.card.c.content_hash, part_rows.c.kind == kind
            return has_all(self.scope.dialect.lower, part_rows, part_rows.c.value, entries, *is_of_file, folded=folded)

        return lambda: Entries(
            self.scope.dialect.embedded(column), has, lambda element: column == listed(list(element))
        )

    def _event(self, name: str) -> ColumnElement[Any]:
        queries = []
        for event in (Registered, URIUpdated):
            table, reference = schema.EVENT_TABLES[event].alias(), self.reference
            is_event = (table.c[name] == reference.c[name] for name in ("block_number", "log_index"))
            of_chain = self.scope.same_chain(table, reference)
            queries.append(select(table.c[name]).where(of_chain, *is_event).correlate(reference).scalar_subquery())
        return func.coalesce(*queries)

    def _transaction(self) -> ColumnElement[str]:
        return self.scope.dialect.hexadecimal(self._event("transaction_hash"), is_nullable=False)


def file_cid(uri: ColumnElement[str], transaction: ColumnElement[str], log_index: ColumnElement[int]) -> Any:
    """Return a file's CID. As in the public subgraph, data URIs and web addresses get an id from the event."""
    place = text_of(transaction, cast(log_index, Text))
    return case(
        (starts_with(uri, "ipfs://"), func.substr(uri, _CID_START)),
        (starts_with(uri, "data:"), literal("datauri:") + place),
        else_=literal("uri:") + place,
    )


def file_id(uri: ColumnElement[str], transaction: ColumnElement[str], log_index: ColumnElement[int]) -> Any:
    """Return a file's id as in the public subgraph."""
    index = cast(log_index, Text)
    return case(
        (starts_with(uri, "ipfs://"), text_of(transaction, func.substr(uri, _CID_START))),
        (starts_with(uri, "data:"), text_of(transaction, literal("datauri"), index)),
        else_=text_of(transaction, literal("uri"), index),
    )


def text_field(column: ColumnElement[str]) -> Callable[[], Value]:
    """Return a function that creates the values of a string field, which may be missing."""
    return lambda: String(column, is_nullable=True)


class FeedbackFileRows(Rows):
    """The rows of `FeedbackFile`: the loaded files of feedback."""

    entity: ClassVar = "FeedbackFile"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.feedback = feedback = NEW_FEEDBACK.alias()
        self.file, self.read = file, read = files.file.alias(), files.feedback_file.alias()
        reference = files.file_reference.alias()
        place = ("chain_id", "block_number", "log_index")
        self.source = (
            feedback.join(reference, and_(*(reference.c[name] == feedback.c[name] for name in place)))
            .join(file, file.c.file_id == reference.c.file_id)
            .join(read, read.c.content_hash == file.c.content_hash)
        )
        self.conditions = self._with_parent("reputation", feedback, AgentRows(scope).of(feedback))
        self.conditions += [file.c.state == "loaded"]
        self.key = tuple(feedback.c[column.name] for column in NEW_FEEDBACK.primary_key)
        self.block = feedback.c.block_number

    def of(self, rows: FromClause) -> FeedbackFileRows:
        """Restrict these rows to the file of another row's feedback."""
        self.conditions += [self.feedback.c[column.name] == rows.c[column.name] for column in NEW_FEEDBACK.primary_key]
        return self

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        read, feedback, dialect = self.read.c, self.feedback.c, self.scope.dialect
        texts = {
            **{name: read[snake_case(name)] for name in _FEEDBACK_TEXTS},
            "createdAtIso": read.created_at,
            "proofOfPaymentFromAddress": read.payment_from,
            "proofOfPaymentToAddress": read.payment_to,
            "proofOfPaymentChainId": read.payment_chain_id,
            "proofOfPaymentTxHash": read.payment_transaction,
        }
        lists = {name: read[snake_case(name)] for name in ("a2aSkills", "oasfSkills", "oasfDomains")}
        transaction = dialect.hexadecimal(feedback.transaction_hash)
        return {
            "id": lambda: Id(file_id(self.file.c.uri, transaction, feedback.log_index)),
            "cid": lambda: String(file_cid(self.file.c.uri, transaction, feedback.log_index)),
            "feedbackId": lambda: Id(
                feedback_id_text(self.feedback, self.scope), feedback_finder(self.feedback, self.scope)
            ),
            "agentId": lambda: Whole(dialect.integer_in_text(read.agent_id), is_nullable=True),
            "valueRaw": lambda: Whole(dialect.integer_in_text(read.value), is_nullable=True),
            "valueDecimals": lambda: Whole(
                dialect.integer_in_text(read.value_decimals), is_nullable=True, is_text=False
            ),
            "createdAt": lambda: Whole(feedback.block_time),
            **{name: text_field(column) for name, column in texts.items()},
            **{name: self._list_field(column) for name, column in lists.items()},
        }

    def order(self, name: str) -> list[ColumnElement[Any]] | None:
        is_by_block = name == "createdAt" and self.scope.is_one_chain
        return [self.feedback.c.block_number, self.feedback.c.log_index] if is_by_block else None

    def _list_field(self, column: ColumnElement[str]) -> Callable[[], Value]:
        dialect, text = self.scope.dialect, func.coalesce(column, "[]")

        def has(entries: Sequence[str], folded: bool) -> Condition:  # see `Entries`
            return dialect.has_entries(text, entries, folded=folded)

        return lambda: Entries(dialect.embedded(text), has, lambda text_of: text == listed(list(text_of)))
