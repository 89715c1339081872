"""Rows of the entities of reputation registries: feedback, its files and its responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, FromClause, Text, and_, cast, exists, false, func, or_, select, tuple_

from bilateral.api.graphql import values
from bilateral.api.graphql.entities.agents import AgentRows, agent_id_text, uri_type
from bilateral.api.graphql.entities.files import file_cid, file_id, text_field
from bilateral.api.graphql.rows import Rows, Scope, lowered, parsed_feedback, snake_case, text_of
from bilateral.api.graphql.values import Condition, Entries, Value, checksum_address
from bilateral.core.events import FeedbackRevoked, NewFeedback, ResponseAppended
from bilateral.index.files import tables as files
from bilateral.index.files.reading import listed
from bilateral.index.log import tables as schema
from bilateral.index.ratings.blind import is_blind_feedback

_GIVEN = schema.EVENT_TABLES[NewFeedback]
_REVOKED = schema.EVENT_TABLES[FeedbackRevoked]
_RESPONSE = schema.EVENT_TABLES[ResponseAppended]
_TEXTS = (
    *("agentRegistry", "clientAddress", "text", "tag1", "tag2"),
    *("mcpTool", "mcpPrompt", "mcpResource", "a2aContextId", "a2aTaskId"),
)
_KEY = ("registry", "agent_id", "client_address", "feedback_index")


def _place(rows: FromClause) -> ColumnElement[Any]:
    """Return the place of an event in its chain. The sum keeps SQLite from walking through all later blocks by it."""
    return tuple_(rows.c.block_number + 0, rows.c.log_index)


def _same(scope: Scope, rows: FromClause, others: FromClause) -> list[Condition]:
    """Return the conditions that two events are about the same feedback."""
    return [scope.same_chain(rows, others), *(rows.c[name] == others.c[name] for name in _KEY)]


def feedback_id_text(rows: FromClause, scope: Scope) -> ColumnElement[str]:
    """Return the id of the feedback that rows are about."""
    return text_of(
        agent_id_text(rows, scope), lowered(rows.c.client_address), scope.dialect.whole(rows.c.feedback_index)
    )


def feedback_finder(rows: FromClause, scope: Scope) -> Callable[[Sequence[str]], Condition]:
    """Return a function that finds rows by the ids of their feedback. Ids of other chains find nothing."""

    def find(ids: Sequence[str]) -> Condition:
        chains: dict[int, list[tuple[int, str, int]]] = {}
        for text in ids:
            parsed = parsed_feedback(text)
            client = None if parsed is None else checksum_address(parsed[2])
            if parsed is not None and client is not None and scope.has_chain(parsed[0]):
                chains.setdefault(parsed[0], []).append((parsed[1], client, parsed[3]))
        # The agent alone first, so that an index serves; tuples with an integer of the wide type compare in pairs.
        return or_(
            false(),
            *(
                and_(
                    rows.c.chain_id == chain,
                    tuple_(rows.c.agent_id, rows.c.client_address, rows.c.feedback_index).in_(
                        scope.dialect.listed_keys(of)
                    ),
                )
                for chain, of in chains.items()
            ),
        )

    return find


class FeedbackRows(Rows):
    """The rows of `Feedback`: those of agents that are registered."""

    entity: ClassVar = "Feedback"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.source = self.given = feedback = _GIVEN.alias()
        self._is_of_agent = False
        self.conditions = self._with_parent("reputation", feedback, AgentRows(scope).of(feedback))
        self.key = tuple(feedback.c[column.name] for column in _GIVEN.primary_key)
        self.block = feedback.c.block_number

    def of(self, rows: FromClause) -> FeedbackRows:
        """See `Rows.of`: the row is an agent."""
        self._is_of_agent = True
        self.parents["agent"] = lambda: AgentRows(self.scope).of(rows)
        del self.conditions[1]  # the agent is registered
        return self._about_agent("reputation", self.given, rows)

    def of_response(self, rows: FromClause) -> FeedbackRows:
        """Keep the feedback that a response is about."""
        self.conditions += _same(self.scope, self.given, rows)
        return self

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns = self.given.c
        return {
            "id": lambda: values.Id(feedback_id_text(self.given, self.scope), feedback_finder(self.given, self.scope)),
            "clientAddress": lambda: values.Address(columns.client_address),
            "feedbackIndex": lambda: values.Wide(columns.feedback_index),
            "value": lambda: values.FixedPoint(columns.value, columns.value_decimals),
            "tag1": lambda: values.String(columns.tag1),
            "tag2": lambda: values.String(columns.tag2),
            "endpoint": lambda: values.String(columns.endpoint),
            "feedbackURI": lambda: values.String(columns.feedback_uri),
            "feedbackURIType": lambda: values.String(uri_type(columns.feedback_uri)),
            "feedbackHash": lambda: values.Blob(columns.feedback_hash),
            "isRevoked": lambda: values.Flag(self._is_revoked()),
            "isBlind": lambda: values.Flag(self._is_blind()),
            "createdAt": lambda: values.Whole(columns.block_time),
            "revokedAt": lambda: values.Whole(self._revoked_at(), is_nullable=True),
        }

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        return {
            "agent": lambda: AgentRows(self.scope).of(self.given),
            "feedbackFile": lambda: FeedbackFileRows(self.scope).of(self.given),
        }

    @property
    def lists(self) -> Mapping[str, Callable[[], Rows]]:
        return {"responses": lambda: ResponseRows(self.scope).of(self.given)}

    def order(self, name: str) -> list[ColumnElement[Any]] | None:
        feedback = self.given
        if name == "createdAt" and self.scope.is_one_chain:
            return [feedback.c.block_number, feedback.c.log_index]
        if name != "id" or not self._is_of_agent:
            return None
        # The feedback of one agent: the rest of the id sorts it.
        dialect, columns = self.scope.dialect, feedback.c
        return [
            dialect.ordered(element)
            for element in (lowered(columns.client_address), dialect.whole(columns.feedback_index))
        ]

    def _revoked(self) -> tuple[FromClause, list[Condition]]:
        """Return the revocations that revoke the feedback: later ones, before other feedback with its index."""
        feedback, revoked, again = self.given, _REVOKED.alias(), _GIVEN.alias()
        same = partial(_same, self.scope)
        between = and_(*same(again, feedback), _place(again) > _place(feedback), _place(again) < _place(revoked))
        return revoked, [
            *same(revoked, feedback),
            _place(revoked) > _place(feedback),
            ~exists().where(between).correlate(feedback, revoked),
        ]

    def _is_blind(self) -> Condition:
        chain = self.scope.chains[0].chain_id if self.scope.is_one_chain else None
        return is_blind_feedback(self.given, chain=chain)

    def _is_revoked(self) -> Condition:
        revoked, conditions = self._revoked()
        return exists().select_from(revoked).where(*conditions).correlate(self.given)

    def _revoked_at(self) -> ColumnElement[int]:
        revoked, conditions = self._revoked()
        earliest = select(func.min(revoked.c.block_time)).where(*conditions).correlate(self.given)
        return earliest.scalar_subquery()


class ResponseRows(Rows):
    """The rows of `FeedbackResponse`: those to feedback that is there."""

    entity: ClassVar = "FeedbackResponse"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.source = self.response = response = _RESPONSE.alias()
        self.conditions = self._with_parent("reputation", response, FeedbackRows(scope).of_response(response))
        self.key = tuple(response.c[column.name] for column in _RESPONSE.primary_key)
        self.block = response.c.block_number

    def of(self, rows: FromClause) -> ResponseRows:
        """Keep the responses to the feedback of a row."""
        self.parents["feedback"] = lambda: FeedbackRows(self.scope).of_response(rows)
        self.conditions += _same(self.scope, self.response, rows)
        return self

    @property
    def aliases(self) -> Mapping[str, str]:
        return {"responseURI": "responseUri"}

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns = self.response.c
        return {
            "id": lambda: values.Id(self._id()),
            "responder": lambda: values.Address(columns.responder),
            "responseUri": lambda: values.String(columns.response_uri),
            "responseHash": lambda: values.Blob(columns.response_hash),
            "createdAt": lambda: values.Whole(columns.block_time),
        }

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        return {"feedback": lambda: FeedbackRows(self.scope).of_response(self.response)}

    def order(self, name: str) -> list[ColumnElement[Any]] | None:
        is_by_block = name == "createdAt" and self.scope.is_one_chain
        return [self.response.c.block_number, self.response.c.log_index] if is_by_block else None

    def _id(self) -> ColumnElement[str]:
        transaction = self.scope.dialect.hexadecimal(self.response.c.transaction_hash)
        feedback = feedback_id_text(self.response, self.scope)
        return text_of(feedback, transaction, cast(self.response.c.log_index, Text))


class FeedbackFileRows(Rows):
    """The rows of `FeedbackFile`: the files of feedback, as far as they are loaded."""

    entity: ClassVar = "FeedbackFile"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.given = feedback = _GIVEN.alias()
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
        self.key = tuple(feedback.c[column.name] for column in _GIVEN.primary_key)
        self.block = feedback.c.block_number

    def of(self, rows: FromClause) -> FeedbackFileRows:
        """Keep the file of the feedback of a row."""
        self.conditions += [self.given.c[column.name] == rows.c[column.name] for column in _GIVEN.primary_key]
        return self

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        read, feedback, dialect = self.read.c, self.given.c, self.scope.dialect
        texts = {
            **{name: read[snake_case(name)] for name in _TEXTS},
            "createdAtIso": read.created_at,
            "proofOfPaymentFromAddress": read.payment_from,
            "proofOfPaymentToAddress": read.payment_to,
            "proofOfPaymentChainId": read.payment_chain_id,
            "proofOfPaymentTxHash": read.payment_transaction,
        }
        lists = {name: read[snake_case(name)] for name in ("a2aSkills", "oasfSkills", "oasfDomains")}
        transaction = dialect.hexadecimal(feedback.transaction_hash)
        return {
            "id": lambda: values.Id(file_id(self.file.c.uri, transaction, feedback.log_index)),
            "cid": lambda: values.String(file_cid(self.file.c.uri, transaction, feedback.log_index)),
            "feedbackId": lambda: values.Id(
                feedback_id_text(self.given, self.scope), feedback_finder(self.given, self.scope)
            ),
            "agentId": lambda: values.Whole(dialect.integer_in_text(read.agent_id), is_nullable=True),
            "valueRaw": lambda: values.Whole(dialect.integer_in_text(read.value), is_nullable=True),
            "valueDecimals": lambda: values.Whole(
                dialect.integer_in_text(read.value_decimals), is_nullable=True, is_text=False
            ),
            "createdAt": lambda: values.Whole(feedback.block_time),
            **{name: text_field(column) for name, column in texts.items()},
            **{name: self._list_field(column) for name, column in lists.items()},
        }

    def order(self, name: str) -> list[ColumnElement[Any]] | None:
        is_by_block = name == "createdAt" and self.scope.is_one_chain
        return [self.given.c.block_number, self.given.c.log_index] if is_by_block else None

    def _list_field(self, column: ColumnElement[str]) -> Callable[[], Value]:
        """Return a list that the file's row holds as JSON."""
        dialect, text = self.scope.dialect, func.coalesce(column, "[]")

        def has(entries: Sequence[str], folded: bool) -> Condition:  # see `Entries`
            return dialect.has_entries(text, entries, folded=folded)

        return lambda: Entries(dialect.embedded(text), has, lambda text_of: text == listed(list(text_of)))
