"""The events that become feedback and ratings of an analysis: their queries, and the columns that they are kept in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, overload

import pyarrow as pa
from sqlalchemy import Connection, text

from bilateral.index.log.columns import python_integer
from bilateral.index.standing.tables import AnalysisKey

Place: TypeAlias = tuple[str, int, int | None, bytes | None]
"""The event that a row was made from: table, block number, log index and transaction hash."""

LARGEST_ID: Final = 2**63 - 1
"""The largest id of an agent that an Arrow table of 64-bit integers holds."""

_AT_ONCE: Final = 50_000
"""The rows that are Python's objects at a time: some 30 MB."""

_MOST_CHUNKS: Final = 64
"""The parts of a column from which they are joined: each refresh adds one, and each costs some microseconds a look."""

_PLACE: Final = {"event": pa.string(), "block": pa.int64(), "log": pa.int64(), "hash": pa.binary()}
"""The columns of the event that a row was made from."""


@dataclass(frozen=True)
class Events:
    """A kind of rows that events only add to.

    Attributes:
        query: Its query, with the condition `{later}`. The last three columns are block number, log index and hash.
        tables: The tables of its events. Their rows are counted, to see that none came among those that are kept.
        ended_by: The table of events that end one of its rows; None without one.
        columns: The types of its columns, without those of the place.
        convert: Makes the columns of a row, and the name of its event; None for a row with an id of an agent that is
            too large.
    """

    query: str
    tables: tuple[str, ...]
    ended_by: str | None
    columns: Mapping[str, pa.DataType]
    convert: Callable[[Sequence[Any]], tuple[Any, ...] | None]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the kept rows."""
        return pa.schema([*self.columns.items(), *_PLACE.items()])


class KeptEvents:
    """The rows of a kind of events, of one chain and identity registry."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._mark: tuple[int, ...] = ()
        self._last = -1
        self._rows = events.schema.empty_table()
        self.too_large = 0  # rows that are left out for the id of their agent

    def read(self, connection: Connection, values: Mapping[str, Any]) -> pa.Table:
        """Return all rows as of the last indexed block, by block and log. Rows that still hold are not read again.

        They are read again after a reorganisation, an end of one of them, or an insert among them, such as the
        backfill of an added registry.
        """
        head, reorganizations, registries = connection.execute(text(_HEAD), values).one()
        ended = _count(connection, self._events.ended_by, values["chain_id"], head) if self._events.ended_by else 0
        if self._mark != (reorganizations, registries, ended, *self._counts(connection, values, self._last)):
            self._last, self._rows, self.too_large = -1, self._events.schema.empty_table(), 0
        later, too_large = self._later(connection, {**values, "last": self._last})
        mark = (reorganizations, registries, ended, *self._counts(connection, values, head))
        self._rows = pa.concat_tables([self._rows, *later])
        if self._rows.column(0).num_chunks > _MOST_CHUNKS:
            self._rows = self._rows.combine_chunks()
        self._last, self._mark, self.too_large = head, mark, self.too_large + too_large
        return self._rows

    def _later(self, connection: Connection, values: Mapping[str, Any]) -> tuple[list[pa.Table], int]:
        """Read the rows after the last block that is kept, some thousands at once, and count those left out."""
        query = self._events.query.format(later="block_number > :last")
        parts, too_large = [], 0
        for rows in connection.execute(text(query), values).partitions(_AT_ONCE):
            converted = [columns for row in rows if (columns := self._events.convert(row)) is not None]
            too_large += len(rows) - len(converted)
            if converted:
                parts.append(self._table(converted))
        return parts, too_large

    def _table(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        schema = self._events.schema
        cells = zip(zip(*rows, strict=True), schema.types, strict=True)
        return pa.table([pa.array(column, kind) for column, kind in cells], schema=schema)

    def _counts(self, connection: Connection, values: Mapping[str, Any], last: int) -> list[int]:
        return [_count(connection, table, values["chain_id"], last) for table in self._events.tables]


class Places(Sequence[Place]):
    """The events that rows were made from. A million of them take 70 MB, and three times as much as tuples."""

    def __init__(self, rows: pa.Table) -> None:
        self._columns = [rows[name] for name in _PLACE]

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, position: int) -> Place: ...
    @overload
    def __getitem__(self, position: slice) -> list[Place]: ...
    def __getitem__(self, position: int | slice) -> Place | list[Place]:
        if isinstance(position, slice):
            return [self[at] for at in range(*position.indices(len(self)))]
        event, block, log, hash_ = (column[position].as_py() for column in self._columns)
        return event, block, log, hash_


_HEAD: Final = """
    SELECT block_number, reorganizations, (
      SELECT count(*) FROM registry WHERE chain_id = :chain_id AND identity_registry = :identity)
    FROM chain WHERE chain_id = :chain_id
"""


COUNT: Final = """
    SELECT count(*) FROM {table} WHERE chain_id IN (:chain_id, :chain_id) AND block_number <= :last GROUP BY chain_id
"""
"""Counts the events of all registries of a chain: an index answers that alone.

The group lets a chain's server count its own events, see `bilateral.index.reading.statistics.count_by_day`.
"""


def _count(connection: Connection, table: str, chain_id: int, last: int) -> int:
    """Count the events of a table up to a block."""
    return connection.execute(text(COUNT.format(table=table)), {"chain_id": chain_id, "last": last}).scalar() or 0


NOBODY: Final = "0x" + "00" * 20
"""The account that agents come from and go to if nobody has them, and that an approval names to end another."""

OF_REGISTRY: Final = (
    "registry IN (SELECT address FROM registry WHERE chain_id = :chain_id AND identity_registry = :identity)"
)
"""The condition that a row of events is of a registry that belongs to the identity registry."""

_WITHOUT_FUNDING: Final = f"""
    SELECT account, coalesce(min(acted), min(received)) FROM (
      SELECT from_address AS account, block_number AS acted, block_number AS received FROM transfer
       WHERE chain_id = :chain_id AND registry = :identity AND from_address <> :nobody
      UNION ALL
      SELECT to_address, CASE WHEN from_address = :nobody THEN block_number END, block_number FROM transfer
       WHERE chain_id = :chain_id AND registry = :identity AND to_address <> :nobody
      UNION ALL
      SELECT wallet, registered_block, registered_block FROM agent
       WHERE chain_id = :chain_id AND identity_registry = :identity AND wallet IS NOT NULL
      UNION ALL
      SELECT client_address, block_number, block_number
        FROM new_feedback WHERE chain_id = :chain_id AND {OF_REGISTRY}
      UNION ALL
      SELECT client_address, block_number, block_number
        FROM new_authorized_feedback WHERE chain_id = :chain_id AND {OF_REGISTRY}
      UNION ALL
      SELECT validator_address, block_number, block_number
        FROM validation_response WHERE chain_id = :chain_id AND {OF_REGISTRY}
    ) acting
    WHERE NOT EXISTS (
      SELECT 1 FROM funding WHERE funding.chain_id = :chain_id AND funding.account = acting.account)
    GROUP BY account ORDER BY 2, 1
"""  # noqa: S608  # constants only


def accounts_without_funding(connection: Connection, key: AnalysisKey) -> dict[str, int]:
    """Return the accounts whose first inbound transfer was not looked for yet, and the block in which each acted first.

    An account acts by registering an agent or giving one away, as an agent's wallet, or by giving feedback or
    validating. Anybody can give it an agent, so the block of such a gift counts only if it did nothing else.
    """
    values = {"chain_id": key.chain_id, "identity": key.identity_registry, "nobody": NOBODY}
    return {account: int(block) for account, block in connection.execute(text(_WITHOUT_FUNDING), values)}


_FEEDBACK: Final = {
    "client": pa.string(),
    "agent_id": pa.int64(),
    "value": pa.float64(),
    "tag": pa.string(),
    "ts": pa.float64(),
}


def _feedback(row: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the columns of a feedback, of either kind of registry."""
    event, client, agent_id, value, decimals, tag, time, block, log, hash_ = row
    agent = python_integer(agent_id)
    if agent > LARGEST_ID:
        return None
    amount = python_integer(value) / 10 ** int(decimals)
    return client, agent, amount, _text_of(tag), float(time), event, block, log, bytes(hash_)


def _rating(row: Sequence[Any]) -> tuple[Any, ...] | None:
    side, agent_id, server_id, rating, is_blind, time, block, log, hash_ = row
    agent, server = python_integer(agent_id), python_integer(server_id)
    if max(agent, server) > LARGEST_ID:
        return None
    return side, agent, server, float(rating), bool(is_blind), float(time), f"{side}_rated", block, log, bytes(hash_)


def _text_of(tag: str | bytes | memoryview) -> str:
    """Return a tag as text: authorised feedback fills it up with zeros to 32 bytes."""
    if isinstance(tag, str):
        return tag
    return bytes(tag).rstrip(b"\0").decode(errors="replace")


FEEDBACK: Final = Events(
    f"""
    SELECT 'new_feedback', client_address, agent_id, value, value_decimals, tag1, block_time, block_number, log_index,
           transaction_hash
    FROM feedback WHERE chain_id = :chain_id AND {OF_REGISTRY} AND NOT is_revoked AND {{later}}
    ORDER BY block_number, log_index
    """,  # noqa: S608  # constants only
    tables=("new_feedback",),
    ended_by="feedback_revoked",
    columns=_FEEDBACK,
    convert=_feedback,
)
AUTHORIZED_FEEDBACK: Final = Events(
    f"""
    SELECT 'new_authorized_feedback', client_address, agent_id, score, 0, tag1, block_time, block_number, log_index,
           transaction_hash
    FROM new_authorized_feedback WHERE chain_id = :chain_id AND {OF_REGISTRY} AND {{later}}
    ORDER BY block_number, log_index
    """,  # noqa: S608
    tables=("new_authorized_feedback",),
    ended_by=None,
    columns=_FEEDBACK,
    convert=_feedback,
)
RATINGS: Final = Events(
    f"""
    SELECT side, agent_id, server_id, rating, is_blind, block_time, block_number, log_index, transaction_hash
    FROM rating WHERE chain_id = :chain_id AND {OF_REGISTRY} AND {{later}} ORDER BY block_number, log_index
    """,  # noqa: S608
    tables=("client_rated", "validator_rated"),
    ended_by=None,
    columns={
        "kind": pa.string(),
        "agent_id": pa.int64(),
        "server_id": pa.int64(),
        "rating": pa.float64(),
        "blind": pa.bool_(),
        "ts": pa.float64(),
    },
    convert=_rating,
)
