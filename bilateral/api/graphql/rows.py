"""The rows of entities: the tables behind each GraphQL type, its fields, and its links to other types."""

# ruff: noqa: ARG002  # rows without an order of their own ignore the field

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from sqlalchemy import Text, and_, case, exists, false, func, literal, literal_column, null, or_
from sqlalchemy.sql import ColumnElement, FromClause

from bilateral.api.graphql.values import Condition, Value
from bilateral.core.contracts import Registry
from bilateral.index.agents.queries import feedback_registry
from bilateral.index.reading.json import EntityDialect
from bilateral.index.reading.registries import Registries

_LARGEST_CHAIN: Final = 2**63 - 1  # the largest BIGINT


@dataclass(frozen=True)
class ChainRegistries:
    """The registries of one chain whose events appear in entities.

    Attributes:
        identity: The identity registry.
        reputation: The registry of feedback that needs no authorisation; None if there is none.
        validation: The validation registry; None if there is none.
    """

    chain_id: int
    identity: str
    reputation: str | None
    validation: str | None


@dataclass(frozen=True)
class Scope:
    """The chains that a query covers, and the database engine.

    Attributes:
        dialect: The expressions for the database engine.
        chains: The chains, each with its registries.
    """

    dialect: EntityDialect
    chains: tuple[ChainRegistries, ...]

    def of(self, kind: str, chain_id: ColumnElement[Any], registry: ColumnElement[Any]) -> Condition:
        """Return the condition that rows belong to one of the chains and come from its registry of a given kind."""
        places = [(chain.chain_id, address) for chain in self.chains if (address := getattr(chain, kind)) is not None]
        return or_(false(), *(and_(chain_id == chain, registry == address) for chain, address in places))

    def registry(self, kind: str, chain_id: ColumnElement[Any]) -> ColumnElement[str]:
        """Return the registry's address on a row's chain, so that a database index can find the registry's events."""
        places = [(chain.chain_id, address) for chain in self.chains if (address := getattr(chain, kind)) is not None]
        if len(places) == 1:
            return literal(places[0][1])
        return case((chain_id.is_(None), null()), *((chain_id == chain, address) for chain, address in places))

    def same_chain(self, rows: FromClause, other_rows: FromClause) -> Condition:
        """Return the condition that rows share other rows' chain, using a constant if the query covers one chain.

        PostgreSQL prunes partitions only if a condition compares with a constant. Otherwise, it would open the
        partitions of all chains and, on a coordinator, connect to all servers.
        """
        return rows.c.chain_id == (self.chains[0].chain_id if self.is_one_chain else other_rows.c.chain_id)

    def has_chain(self, chain_id: int) -> bool:
        """Return True if the query covers a chain."""
        return any(chain.chain_id == chain_id for chain in self.chains)

    @property
    def is_one_chain(self) -> bool:
        """True if all rows belong to one chain, so that ordering them by block also orders them by time."""
        return len(self.chains) == 1


def chains_of(registries: Registries, chain_id: int | None = None) -> tuple[ChainRegistries, ...]:
    """Return the registries behind entities: each chain's canonical ones or, if those are not indexed, its oldest."""
    chain_registries = []
    for chain, registered in registries.by_chain.items():
        if chain_id not in (None, chain) or not any(registry.kind == Registry.IDENTITY for registry in registered):
            continue
        identity = registries.identity_of(chain)
        related = [
            (registry.kind, registry.address) for registry in registered if registry.identity_registry == identity
        ]
        validation = next((address for kind, address in related if kind == Registry.VALIDATION), None)
        chain_registries.append(ChainRegistries(chain, identity, feedback_registry(related), validation))
    return tuple(chain_registries)


class Rows(ABC):
    """The rows of one entity in a statement. Each instance uses new aliases of the entity's tables.

    Args:
        scope: The chains and the database engine.

    Attributes:
        source: The joined tables.
        conditions: The conditions that select the entity's rows, starting with the condition on chains.
        key: The columns that uniquely identify a row.
        block: The block in which a row last changed; None if there is no such block.
        sort_aliases: The field that each alias sorts by.
        parents: The links from these rows to their parent, which is the row whose list contains them.
    """

    entity: ClassVar[str]
    source: FromClause
    conditions: list[Condition]
    key: Sequence[ColumnElement[Any]]
    block: ColumnElement[int] | None = None
    sort_aliases: ClassVar[Mapping[str, str]] = {}

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.parents: dict[str, Callable[[], Rows]] = {}
        self._fields: Mapping[str, Callable[[], Value]] | None = None
        self._values: dict[str, Value] = {}
        self._children: dict[str, Rows] = {}

    def __init_subclass__(cls) -> None:
        """Register the class under the name of its entity, if it has one."""
        if "entity" in vars(cls):
            ENTITIES[cls.entity] = cls

    def _with_parent(self, kind: str, table: FromClause, parent: Rows, registry: str = "registry") -> list[Condition]:
        of_kind = self.scope.of(kind, table.c.chain_id, table.c[registry])
        return [of_kind, exists().where(*parent.conditions).correlate(table)]

    def _about_agent(self, kind: str, table: FromClause, rows: FromClause, registry: str = "registry") -> Self:
        address = self.scope.registry(kind, rows.c.chain_id)
        self.conditions += [table.c.chain_id == rows.c.chain_id, table.c[registry] == address]
        self.conditions += [table.c.agent_id == rows.c.agent_id]
        return self

    @abstractmethod
    def of(self, rows: FromClause) -> Rows:
        """Restrict these rows to those linked to another entity's row, and return them."""

    @property
    @abstractmethod
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        """The fields that have values, by name."""

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        """The fields that refer to one other entity, each with the rows to which this row refers."""
        return {}

    @property
    def lists(self) -> Mapping[str, Callable[[], Rows]]:
        """The fields that list other entities, each with the rows that refer to this row."""
        return {}

    @property
    def aliases(self) -> Mapping[str, str]:
        """The name of the field to which each alias refers."""
        return {}

    def value(self, name: str) -> Value:
        """Return a field's SQL expression."""
        if self._fields is None:
            self._fields = self.fields  # computed once, because a statement needs many of them
        name = self.aliases.get(name, name)
        if name not in self._values:
            self._values[name] = self._fields[name]()
        return self._values[name]

    def child(self, name: str) -> Rows:
        """Return the rows of a link or a list, for filters. They are cached."""
        if name not in self._children:
            self._children[name] = (self.links.get(name) or self.lists[name])()
        return self._children[name]

    def forget_child(self, name: str) -> None:
        """Discard the cached rows of a link or a list, so that the next filter gets rows of its own."""
        del self._children[name]

    def order(self, name: str) -> list[ColumnElement[Any]] | None:
        """Return the indexed columns that sort rows by a field; None to sort by the field's values."""
        return None


ENTITIES: Final[dict[str, type[Rows]]] = {}
"""The rows of each entity, by the name of its type."""


def text_of(*parts: ColumnElement[Any]) -> ColumnElement[str]:
    """Join the parts of an id with colons, in SQL."""
    joined: ColumnElement[Any] = parts[0]
    for part in parts[1:]:
        joined = joined + literal_column("':'", Text) + part
    return joined


def lowered(expression: ColumnElement[Any]) -> ColumnElement[str]:
    """Return an address in lower case."""
    return func.lower(expression, type_=Text)


def parsed_agent(text: str) -> tuple[int, int] | None:
    """Return the chain id and token id from an agent id such as `8453:247`; None for any other string."""
    chain, _, agent = text.partition(":")
    return (
        None if (number := _number(chain, _LARGEST_CHAIN)) is None or (of := _number(agent)) is None else (number, of)
    )


def parsed_feedback(text: str) -> tuple[int, int, str, int] | None:
    """Return the parts of a feedback id (chain, token, client, index); None for any other string."""
    parts = text.split(":")
    if len(parts) != 4 or parts[2] != parts[2].lower():  # noqa: PLR2004  # chain, agent, client, index
        return None
    agent, index = parsed_agent(f"{parts[0]}:{parts[1]}"), _number(parts[3])
    return None if agent is None or index is None else (*agent, parts[2], index)


def snake_case(name: str) -> str:
    """Return the name of the column for a field."""
    return re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name)


def _number(digits: str, largest: int = 2**256 - 1) -> int | None:
    """Parse digits without leading zeros as a number; return None for anything else."""
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 78 or (digits[0] == "0" and digits != "0"):  # noqa: PLR2004  # of 2**256
        return None
    number = int(digits)
    return number if number <= largest else None
