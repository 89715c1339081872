"""The rows of the entities in reputation and validation registries, and of `Protocol`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from sqlalchemy import Text, and_, case, cast, exists, false, func, literal, or_, select, tuple_
from sqlalchemy.sql import ColumnElement, FromClause

from bilateral.api.graphql import values
from bilateral.api.graphql.agents import RowsOfAgents, agent_id_text, uri_type
from bilateral.api.graphql.rows import ENTITIES, Rows, Scope, lowered, parsed_feedback, text_of
from bilateral.api.graphql.values import Address, Blob, Condition, Id, String, Value, Whole, checksum_address
from bilateral.core.events import FeedbackRevoked, NewFeedback, Registered, ResponseAppended
from bilateral.index.log import tables as schema
from bilateral.index.ratings.sealed import is_sealed_feedback
from bilateral.index.ratings.validations import VIEW

NEW_FEEDBACK = schema.EVENT_TABLES[NewFeedback]
FEEDBACK_REVOKED = schema.EVENT_TABLES[FeedbackRevoked]
_RESPONSE = schema.EVENT_TABLES[ResponseAppended]
_KEY = ("registry", "agent_id", "client_address", "feedback_index")


def _place(rows: FromClause) -> ColumnElement[Any]:
    """Return an event's position. Without `+ 0`, SQLite would use an index to scan all later blocks."""
    return tuple_(rows.c.block_number + 0, rows.c.log_index)


def _same(scope: Scope, rows: FromClause, other_rows: FromClause) -> list[Condition]:
    return [scope.same_chain(rows, other_rows), *(rows.c[name] == other_rows.c[name] for name in _KEY)]


def feedback_id_text(rows: FromClause, scope: Scope) -> ColumnElement[str]:
    """Return an SQL expression for the id of each row's feedback."""
    return text_of(
        agent_id_text(rows, scope), lowered(rows.c.client_address), scope.dialect.whole(rows.c.feedback_index)
    )


def feedback_finder(rows: FromClause, scope: Scope) -> Callable[[Sequence[str]], Condition]:
    """Return a function that creates a condition on feedback ids. Ids from other chains match nothing."""

    def find(ids: Sequence[str]) -> Condition:
        chains: dict[int, list[tuple[int, str, int]]] = {}
        for text in ids:
            parsed = parsed_feedback(text)
            client = None if parsed is None else checksum_address(parsed[2])
            if parsed is not None and client is not None and scope.has_chain(parsed[0]):
                chains.setdefault(parsed[0], []).append((parsed[1], client, parsed[3]))
        # Compare the agent alone first, so that an index can be used; tuples with a wide integer are compared pairwise.
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


class FeedbackRows(RowsOfAgents):
    """The rows of `Feedback`: feedback on registered agents."""

    entity: ClassVar = "Feedback"
    of_entity: ClassVar = NEW_FEEDBACK
    kind: ClassVar = "reputation"
    registry: ClassVar = "registry"
    _is_of_agent = False

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.block = self.table.c.block_number

    def of(self, rows: FromClause) -> Rows:
        """Restrict these rows to the feedback on another row's agent (see `Rows.of`)."""
        self._is_of_agent = True
        del self.conditions[1]  # not needed, because the agent is registered
        return super().of(rows)

    def of_response(self, rows: FromClause) -> FeedbackRows:
        """Restrict these rows to the feedback that a response is about."""
        self.conditions += _same(self.scope, self.table, rows)
        return self

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns = self.table.c
        return {
            "id": lambda: values.Id(feedback_id_text(self.table, self.scope), feedback_finder(self.table, self.scope)),
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
        return {**super().links, "feedbackFile": lambda: ENTITIES["FeedbackFile"](self.scope).of(self.table)}

    @property
    def lists(self) -> Mapping[str, Callable[[], Rows]]:
        return {"responses": lambda: ResponseRows(self.scope).of(self.table)}

    def order(self, name: str) -> list[ColumnElement[Any]] | None:
        feedback = self.table
        if name == "createdAt" and self.scope.is_one_chain:
            return [feedback.c.block_number, feedback.c.log_index]
        if name != "id" or not self._is_of_agent:
            return None
        # For feedback on one agent, sort by the rest of the id.
        dialect, columns = self.scope.dialect, feedback.c
        return [
            dialect.ordered(element)
            for element in (lowered(columns.client_address), dialect.whole(columns.feedback_index))
        ]

    def _revoked(self) -> tuple[FromClause, list[Condition]]:
        """Return the feedback's revocations: later ones that precede any new feedback with the same index."""
        feedback, revoked, again = self.table, FEEDBACK_REVOKED.alias(), NEW_FEEDBACK.alias()
        same = partial(_same, self.scope)
        between = and_(*same(again, feedback), _place(again) > _place(feedback), _place(again) < _place(revoked))
        return revoked, [
            *same(revoked, feedback),
            _place(revoked) > _place(feedback),
            ~exists().where(between).correlate(feedback, revoked),
        ]

    def _is_blind(self) -> Condition:
        chain = self.scope.chains[0].chain_id if self.scope.is_one_chain else None
        return is_sealed_feedback(self.table, chain=chain)

    def _is_revoked(self) -> Condition:
        revoked, conditions = self._revoked()
        return exists().select_from(revoked).where(*conditions).correlate(self.table)

    def _revoked_at(self) -> ColumnElement[int]:
        revoked, conditions = self._revoked()
        return select(func.min(revoked.c.block_time)).where(*conditions).correlate(self.table).scalar_subquery()


class ResponseRows(Rows):
    """The rows of `FeedbackResponse`: responses to existing feedback."""

    entity: ClassVar = "FeedbackResponse"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.source = self.response = response = _RESPONSE.alias()
        self.conditions = self._with_parent("reputation", response, FeedbackRows(scope).of_response(response))
        self.key = tuple(response.c[column.name] for column in _RESPONSE.primary_key)
        self.block = response.c.block_number

    def of(self, rows: FromClause) -> ResponseRows:
        """Restrict these rows to the responses to another row's feedback."""
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
        return text_of(feedback_id_text(self.response, self.scope), transaction, cast(self.response.c.log_index, Text))


class ValidationRows(RowsOfAgents):
    """The rows of `Validation`: requests from registered agents, with the latest response."""

    entity: ClassVar = "Validation"
    of_entity: ClassVar = VIEW
    kind: ClassVar = "validation"
    registry: ClassVar = "registry"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        request = self.table
        self.key = (request.c.chain_id, request.c.registry, request.c.request_hash)
        self.block = func.coalesce(request.c.answered_block, request.c.requested_block)

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns, dialect = self.table.c, self.scope.dialect
        status = case((columns.answered_block.is_(None), "PENDING"), else_="COMPLETED")
        return {
            "id": lambda: Id(dialect.hexadecimal(columns.request_hash), self._find),
            "validatorAddress": lambda: Address(columns.validator_address),
            "requestUri": lambda: String(columns.request_uri),
            "requestHash": lambda: Blob(columns.request_hash),
            "response": lambda: Whole(columns.response, is_nullable=True, is_text=False),
            "responseUri": lambda: String(columns.response_uri, is_nullable=True),
            "responseHash": lambda: Blob(columns.response_hash, is_nullable=True),
            "tag": lambda: String(columns.tag, is_nullable=True),
            "status": lambda: String(status),
            "createdAt": lambda: Whole(columns.requested_at),
            "updatedAt": lambda: Whole(func.coalesce(columns.answered_at, columns.requested_at)),
        }

    def _find(self, ids: Sequence[str]) -> Condition:
        hashes = []
        for text in ids:
            try:
                raw = bytes.fromhex(text.removeprefix("0x"))
            except ValueError:
                continue
            if text == f"0x{raw.hex()}":
                hashes.append(raw)
        return self.table.c.request_hash.in_(hashes)


class ProtocolRows(Rows):
    """The rows of `Protocol`: the chains, each with its registries."""

    entity: ClassVar = "Protocol"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.source = self.chain = chain = schema.chain.alias()
        self.conditions = [chain.c.chain_id.in_([scoped.chain_id for scoped in scope.chains])]
        self.key = (chain.c.chain_id,)
        self.block = chain.c.block_number

    def of(self, rows: FromClause) -> ProtocolRows:
        """Restrict these rows to the chain of another row."""
        self.conditions += [self.chain.c.chain_id == rows.c.chain_id]
        return self

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns = self.chain.c
        identifier = cast(columns.chain_id, Text)
        return {
            "id": lambda: Id(identifier),
            "chainId": lambda: Whole(columns.chain_id),
            "name": lambda: String(literal("eip155:", Text) + identifier),
            "identityRegistry": lambda: Address(self._address("identity")),
            "reputationRegistry": lambda: Address(self._address("reputation")),
            "validationRegistry": lambda: Address(self._address("validation")),
            "createdAt": lambda: Whole(self._created_at()),
            "updatedAt": lambda: Whole(columns.block_time),
        }

    def _address(self, kind: str) -> ColumnElement[str]:
        """Return the address of one of the chain's registries; the zero address if there is none."""
        zero = "0x" + "00" * 20
        places = [
            (self.chain.c.chain_id == scoped.chain_id, getattr(scoped, kind) or zero) for scoped in self.scope.chains
        ]
        return case(*places, else_=zero) if places else literal(zero)

    def _created_at(self) -> ColumnElement[int]:
        """Return the time of the chain's first registration; 0 if there is none."""
        events = schema.EVENT_TABLES[Registered].alias()
        first = (
            select(events.c.block_time)
            .where(self.scope.same_chain(events, self.chain))
            .order_by(events.c.block_number)
            .limit(1)
            .correlate(self.chain)
        )
        return func.coalesce(first.scalar_subquery(), 0)
