"""The root fields of a query, each with the SQL statement that returns its value."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from graphql import GraphQLError
from sqlalchemy import Connection, Row, select

from bilateral.api.graphql.rows import ChainRegistries
from bilateral.api.graphql.statements import Page, Selected, read_list, read_one
from bilateral.index.log import tables as schema


@dataclass(frozen=True)
class Root(ABC):
    """A root field.

    Attributes:
        key: The field's name in the response.
    """

    key: str

    def require_block(self, connection: Connection, chains: Sequence[ChainRegistries]) -> None:  # noqa: B027
        """Check that the index contains the block in the field's arguments."""

    @abstractmethod
    def answer(self, connection: Connection, chains: Sequence[ChainRegistries]) -> bytes:
        """Return the field's value as JSON."""


@dataclass(frozen=True)
class Constant(Root):
    """A root field whose value does not require the database."""

    value: Any

    def answer(self, connection: Connection, chains: Sequence[ChainRegistries]) -> bytes:  # noqa: ARG002  # see the base
        return msgspec.json.encode(self.value)


@dataclass(frozen=True)
class _AtBlock(Root):
    """A field with an optional block argument.

    Attributes:
        block: The argument: `number`, `number_gte` or `hash`.
    """

    block: Mapping[str, Any]

    def require_block(self, connection: Connection, chains: Sequence[ChainRegistries]) -> None:
        requested = {name: value for name, value in self.block.items() if value is not None}
        if not requested:
            return
        for chain in _heads(connection, chains):
            if chain.block_number < requested.get("number_gte", 0):
                raise GraphQLError(
                    f"the index of chain {chain.chain_id} has only reached block {chain.block_number}, so block "
                    f"{requested['number_gte']} is not available yet: try again later"
                )
            number, hash_ = requested.get("number", chain.block_number), requested.get("hash")
            indexed_hash = chain.block_hash.hex()
            if number != chain.block_number or (hash_ is not None and hash_.lower().removeprefix("0x") != indexed_hash):
                raise GraphQLError(
                    f"only the last indexed block can be queried (chain {chain.chain_id}, block {chain.block_number}): "
                    "omit `block`, or use `number_gte`"
                )


@dataclass(frozen=True)
class One(_AtBlock):
    """A root field that returns a single entity.

    Attributes:
        entity: The type of the entity.
        selection: The requested fields.
    """

    entity: str
    selection: tuple[Selected, ...]
    entity_id: str

    def answer(self, connection: Connection, chains: Sequence[ChainRegistries]) -> bytes:
        return read_one(connection, chains, self.entity, self.selection, self.entity_id)


@dataclass(frozen=True)
class Many(_AtBlock):
    """A root field that returns a list of entities.

    Attributes:
        entity: The type of the entities.
        selection: The requested fields.
        page: The requested page of the list.
    """

    entity: str
    selection: tuple[Selected, ...]
    page: Page

    def answer(self, connection: Connection, chains: Sequence[ChainRegistries]) -> bytes:
        return read_list(connection, chains, self.entity, self.selection, self.page)


@dataclass(frozen=True)
class Meta(_AtBlock):
    """The index's progress: that of the chain whose last indexed block is the oldest.

    Attributes:
        names: The requested fields by response name, each with its subfields.
    """

    names: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, connection: Connection, chains: Sequence[ChainRegistries]) -> bytes:
        heads = _heads(connection, chains)
        if not heads:
            return b"null"
        last = min(heads, key=lambda head: head.block_time)
        block = {
            "hash": f"0x{last.block_hash.hex()}",
            "number": last.block_number,
            "timestamp": last.block_time,
            "parentHash": None,
            "__typename": "_Block_",
        }
        deployment = "bilateral-" + "-".join(str(head.chain_id) for head in heads)
        meta = {"block": block, "deployment": deployment, "hasIndexingErrors": False, "__typename": "_Meta_"}
        return msgspec.json.encode(_picked(meta, self.names))


def _picked(values: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _picked(values[name], inner) if inner else values[name] for key, (name, inner) in names.items()}


def _heads(connection: Connection, chains: Sequence[ChainRegistries]) -> list[Row[Any]]:
    columns = schema.chain.c
    query = select(columns.chain_id, columns.block_number, columns.block_hash, columns.block_time)
    ordered = query.where(columns.chain_id.in_([chain.chain_id for chain in chains])).order_by(columns.chain_id)
    return list(connection.execute(ordered))
