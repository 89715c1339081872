"""Rows of the entities of validation registries, and of the deployments themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from sqlalchemy import ColumnElement, FromClause, Text, case, cast, func, literal, select

from bilateral.api.graphql.entities.agents import AgentRows
from bilateral.api.graphql.rows import Rows, Scope
from bilateral.api.graphql.values import Address, Blob, Condition, Id, String, Value, Whole
from bilateral.core.events import Registered
from bilateral.index.log import tables as schema
from bilateral.index.ratings.validations import VIEW


class ValidationRows(Rows):
    """The rows of `Validation`: the requests of agents that are registered, with their last answer."""

    entity: ClassVar = "Validation"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.source = self.request = request = VIEW.alias()
        self.conditions = self._with_parent("validation", request, AgentRows(scope).of(request))
        self.key = (request.c.chain_id, request.c.registry, request.c.request_hash)
        self.block = func.coalesce(request.c.answered_block, request.c.requested_block)

    def of(self, rows: FromClause) -> ValidationRows:
        """Keep the validations of the agent of a row."""
        self.parents["agent"] = lambda: AgentRows(self.scope).of(rows)
        return self._about_agent("validation", self.request, rows)

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns, dialect = self.request.c, self.scope.dialect
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

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        return {"agent": lambda: AgentRows(self.scope).of(self.request)}

    def _find(self, ids: Sequence[str]) -> Condition:
        """Return the condition that the request has one of some hashes."""
        hashes = []
        for text in ids:
            try:
                raw = bytes.fromhex(text.removeprefix("0x"))
            except ValueError:
                continue
            if text == f"0x{raw.hex()}":
                hashes.append(raw)
        return self.request.c.request_hash.in_(hashes)


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
        """Keep the chain of a row."""
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
        """Return the address of a registry of the chain; the zero address without one."""
        zero = "0x" + "00" * 20
        places = [
            (self.chain.c.chain_id == scoped.chain_id, getattr(scoped, kind) or zero) for scoped in self.scope.chains
        ]
        return case(*places, else_=zero) if places else literal(zero)

    def _created_at(self) -> ColumnElement[int]:
        """Return the time of the chain's first registration; 0 before it."""
        events = schema.EVENT_TABLES[Registered].alias()
        first = (
            select(events.c.block_time)
            .where(self.scope.same_chain(events, self.chain))
            .order_by(events.c.block_number)
            .limit(1)
            .correlate(self.chain)
        )
        return func.coalesce(first.scalar_subquery(), 0)
