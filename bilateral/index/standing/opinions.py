"""The events that become an analysis's feedback and ratings: their queries, and the columns that cache them."""

# ruff: noqa: S608  # these statements are made of constants; values are parameters

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
from sqlalchemy import Connection, text

from bilateral.index.log.columns import python_integer
from bilateral.index.standing.tables import AnalysisKey
from bilateral.trust.tables.schema import COLUMNS, SEALED

Place: TypeAlias = tuple[str, int, int | None, bytes | None]
"""The event from which a row was derived: table, block number, log index and transaction hash."""

LARGEST_ID: Final = 2**63 - 1
"""The largest agent id that fits into an Arrow column of 64-bit integers."""

_AT_ONCE: Final = 50_000
"""The number of rows that exist as Python objects at one time, which take about 30 MB."""

_MOST_CHUNKS: Final = 64
"""The number of chunks at which a column is merged. Each refresh adds a chunk, and each chunk slows down reads."""

_PLACE: Final = {"event": pa.string(), "block": pa.int64(), "log": pa.int64(), "hash": pa.binary()}
"""The columns of the event from which a row was derived."""


@dataclass(frozen=True)
class Events:
    """A kind of row that events add but do not change.

    Attributes:
        values: The values that its query selects, before the time and position of each event.
        source: The table or view that it reads, with the conditions on its rows.
        tables: The tables of its events. Their rows are counted, to detect insertions among the cached rows.
        ended_by: The table of events that end one of its rows; None if there is none.
        columns: The types of its columns, except for the position columns.
        convert: Returns the columns of a row, and the name of its event; None for a row whose agent id is too large.
    """

    values: str
    source: str
    tables: tuple[str, ...]
    ended_by: str | None
    columns: Mapping[str, pa.DataType]
    convert: Callable[[Sequence[Any]], tuple[Any, ...] | None]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the cached rows."""
        return pa.schema([*self.columns.items(), *_PLACE.items()])

    @property
    def query(self) -> str:
        """The query for the rows after a block. The last three columns are block number, log index and hash."""
        return (
            f"SELECT {self.values}, block_time, block_number, log_index, transaction_hash FROM {self.source} "
            f"AND chain_id = :chain_id AND {OF_REGISTRY} AND block_number > :last ORDER BY block_number, log_index"
        )


class CachedEvents:
    """The rows of one kind of event for one chain and identity registry, which are read only once."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._mark: tuple[int, ...] = ()
        self._last = -1
        self._rows = events.schema.empty_table()
        self.too_large = 0  # rows that are left out for the id of their agent

    def read(self, connection: Connection, values: Mapping[str, Any]) -> pa.Table:
        """Return all rows as of the last indexed block, by block and log. Rows that are still valid are not reread.

        They are read again after a reorganisation, when one of them is ended, or when rows are inserted among them, for
        example to backfill an added registry.
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
        """Read the rows after the last cached block, thousands at a time, and count the rows left out."""
        parts, too_large = [], 0
        for rows in connection.execute(text(self._events.query), values).partitions(_AT_ONCE):
            converted = [columns for row in rows if (columns := self._events.convert(row)) is not None]
            too_large += len(rows) - len(converted)
            if converted:
                parts.append(table_of(converted, self._events.schema))
        return parts, too_large

    def _counts(self, connection: Connection, values: Mapping[str, Any], last: int) -> list[int]:
        return [_count(connection, table, values["chain_id"], last) for table in self._events.tables]


def table_of(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as an Arrow table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table([pa.array(*column) for column in zip(columns, schema.types, strict=True)], schema=schema)


class Places(Sequence[Place]):
    """The events from which rows were derived. A million of them take 70 MB, a third of the size of tuples."""

    def __init__(self, rows: pa.Table) -> None:
        self._columns = [rows[name] for name in _PLACE]

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, position: Any) -> Any:
        return tuple(column[position].as_py() for column in self._columns)


_HEAD: Final = """
    SELECT block_number, reorganizations, (
      SELECT count(*) FROM registry WHERE chain_id = :chain_id AND identity_registry = :identity)
    FROM chain WHERE chain_id = :chain_id
"""


COUNT: Final = """
    SELECT count(*) FROM {table} WHERE chain_id IN (:chain_id, :chain_id) AND block_number <= :last GROUP BY chain_id
"""
"""The query that counts the events from all registries on a chain, using only an index.

The grouping lets a chain's server count its own events (see `bilateral.index.reading.statistics.count_by_day`).
"""


def _count(connection: Connection, table: str, chain_id: int, last: int) -> int:
    return connection.execute(text(COUNT.format(table=table)), {"chain_id": chain_id, "last": last}).scalar() or 0


NOBODY: Final = "0x" + "00" * 20
"""The account that stands for no owner, and for no operator when an approval is revoked."""

OF_REGISTRY: Final = (
    "registry IN (SELECT address FROM registry WHERE chain_id = :chain_id AND identity_registry = :identity)"
)
"""The condition that an event row is from a registry that belongs to the identity registry."""

_ACTIONS: Final = (
    (
        "from_address AS account, block_number AS acted, block_number AS received",
        "transfer WHERE registry = :identity AND from_address <> :nobody",
    ),
    (
        "to_address, CASE WHEN from_address = :nobody THEN block_number END, block_number",
        "transfer WHERE registry = :identity AND to_address <> :nobody",
    ),
    ("wallet, registered_block, registered_block", "agent WHERE identity_registry = :identity AND wallet IS NOT NULL"),
    ("client_address, block_number, block_number", f"new_feedback WHERE {OF_REGISTRY}"),
    ("client_address, block_number, block_number", f"new_authorized_feedback WHERE {OF_REGISTRY}"),
    ("validator_address, block_number, block_number", f"validation_response WHERE {OF_REGISTRY}"),
)
"""The account behind each action, with the block in which it acted or the one in which it only received an agent."""

_WITHOUT_FUNDING: Final = f"""
    SELECT account, coalesce(min(acted), min(received))
    FROM ({" UNION ALL ".join(f"SELECT {columns} FROM {rows} AND chain_id = :chain_id" for columns, rows in _ACTIONS)})
      acting
    WHERE NOT EXISTS (
      SELECT 1 FROM funding WHERE funding.chain_id = :chain_id AND funding.account = acting.account)
    GROUP BY account ORDER BY 2, 1
"""


def accounts_without_funding(connection: Connection, key: AnalysisKey) -> dict[str, int]:
    """Return accounts whose first inbound transfer has not been looked up yet, and the block in which each first acted.

    An account acts when it registers or gives away an agent, becomes an agent's wallet, gives feedback or validates.
    Anyone can transfer an agent to it, so the block of such a transfer counts only if the account did nothing else.
    """
    values = {"chain_id": key.chain_id, "identity": key.identity_registry, "nobody": NOBODY}
    return {account: int(block) for account, block in connection.execute(text(_WITHOUT_FUNDING), values)}


def _feedback(row: Sequence[Any]) -> tuple[Any, ...] | None:
    event, client, agent_id, value, decimals, tag, time, block, log, hash_ = row
    agent = python_integer(agent_id)
    if agent > LARGEST_ID:
        return None
    if not isinstance(tag, str):  # authorised feedback fills it up with zeros to 32 bytes
        tag = bytes(tag).rstrip(b"\0").decode(errors="replace")
    amount = python_integer(value) / 10 ** int(decimals)
    return client, agent, amount, tag, float(time), event, block, log, bytes(hash_)


def _rating(row: Sequence[Any]) -> tuple[Any, ...] | None:
    side, agent_id, server_id, rating, is_blind, time, block, log, hash_ = row
    agent, server = python_integer(agent_id), python_integer(server_id)
    if max(agent, server) > LARGEST_ID:
        return None
    return side, agent, server, float(rating), bool(is_blind), float(time), f"{side}_rated", block, log, bytes(hash_)


_FEEDBACK: Final = {name: COLUMNS["feedback"][name] for name in ("client", "agent_id", "value", "tag", "ts")}

FEEDBACK: Final = Events(
    "'new_feedback', client_address, agent_id, value, value_decimals, tag1",
    "feedback WHERE NOT is_revoked",
    tables=("new_feedback",),
    ended_by="feedback_revoked",
    columns=_FEEDBACK,
    convert=_feedback,
)
AUTHORIZED_FEEDBACK: Final = Events(
    "'new_authorized_feedback', client_address, agent_id, score, 0, tag1",
    "new_authorized_feedback WHERE TRUE",
    tables=("new_authorized_feedback",),
    ended_by=None,
    columns=_FEEDBACK,
    convert=_feedback,
)
RATINGS: Final = Events(
    "side, agent_id, server_id, rating, is_blind",
    "rating WHERE TRUE",
    tables=("client_rated", "validator_rated"),
    ended_by=None,
    columns={"kind": pa.string(), "agent_id": pa.int64(), "server_id": pa.int64(), "rating": pa.float64()}
    | {SEALED: pa.bool_(), "ts": pa.float64()},
    convert=_rating,
)
