"""The events that an analysis reads as feedback and ratings: their queries, and the columns that cache them."""

# ruff: noqa: S608  # these statements are made of constants; values are parameters

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, text

from bilateral.index.log.columns import python_integer
from bilateral.index.log.dialects import dialect_of
from bilateral.index.standing.tables import AnalysisKey
from bilateral.trust.tables.arrays import contained, distinct_keys, lexical_order, pairs
from bilateral.trust.tables.schema import COLUMNS, SEALED

Place: TypeAlias = tuple[str, int, int | None, bytes | None]
"""The event from which a row was derived, given by table, block number, log index and transaction hash."""

LARGEST_ID: Final = 2**63 - 1
"""The largest agent id that fits into an Arrow column of 64-bit integers."""

_AT_ONCE: Final = 2_000
"""The number of rows that exist as Python objects at a time: about 1 MB, which stays in the processor's cache."""

_MOST_CHUNKS: Final = 64
"""The number of chunks at which a column is merged. Each refresh adds a chunk, and each chunk slows down reads."""

_PLACE: Final = {"event": pa.string(), "block": pa.int64(), "log": pa.int64(), "hash": pa.binary()}
"""The columns of the event from which a row was derived."""


@dataclass(frozen=True)
class Events:
    """A kind of row that is added by an event and never changes.

    Attributes:
        values: The values that the query selects, followed by each event's time and position. Agent ids come first.
        source: The table or view that the query reads, with the conditions on its rows.
        tables: The tables of the events. Their rows are counted to detect rows inserted among those already cached.
        ended: The view, with conditions, of the rows that later events invalidated; None if no events do that.
        columns: The types of the columns, without the position columns.
        convert: A function that converts the query's values and the times to values for `columns` and names of events.
    """

    values: str
    source: str
    tables: tuple[str, ...]
    ended: str | None
    columns: Mapping[str, pa.DataType]
    convert: Callable[[Sequence[Sequence[Any]], pa.Array], Sequence[Any]]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the cached rows."""
        return pa.schema([*self.columns.items(), *_PLACE.items()])

    def query(self, *, is_scan: bool) -> str:
        """Return the query for the rows after a block, in any order. SQLite reads most rows faster without an index."""
        return (
            f"SELECT {self.values}, block_time, block_number, log_index, transaction_hash FROM {self.source} "
            f"AND {'+' * is_scan}chain_id = :chain_id AND {OF_REGISTRY} AND block_number > :last"
        )


class CachedEvents:
    """The rows of one kind of event on one chain and identity registry, each of which is read only once."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._mark: tuple[int, ...] = ()
        self._last = -1
        self._rows = events.schema.empty_table()
        self.too_large = 0  # rows that are skipped because their agent's id is too large

    def read(self, connection: Connection, values: Mapping[str, Any]) -> pa.Table:
        """Return all rows as of the last indexed block, in order of block and log. Valid cached rows are not reread.

        Cached rows are read again after a reorganisation, or if rows were inserted among them, for example when a newly
        added registry was backfilled.
        """
        head, reorganizations, registries = connection.execute(text(_HEAD), values).one()
        if self._mark != (reorganizations, registries, *self._counts(connection, values, self._last)):
            self._last, self._rows, self.too_large = -1, self._events.schema.empty_table(), 0
        later, too_large = self._later(connection, {**values, "last": self._last})
        self._rows = pa.concat_tables([self._rows, later])
        if self._rows.column(0).num_chunks > _MOST_CHUNKS:
            self._rows = self._rows.combine_chunks()
        self._last, self.too_large = head, self.too_large + too_large
        self._mark = (reorganizations, registries, *self._counts(connection, values, head))
        return self._valid(connection, values)

    def _later(self, connection: Connection, values: Mapping[str, Any]) -> tuple[pa.Table, int]:
        """Read the rows after the last cached block, thousands at a time, and count the skipped rows."""
        is_scan = self._last < 0 and not dialect_of(connection).has_server
        is_scan = is_scan and len(connection.execute(text("SELECT 1 FROM chain")).all()) == 1
        parts = [self._events.schema.empty_table()]
        cursor = cursor_of(connection, self._events.query(is_scan=is_scan), values)
        while rows := cursor.fetchmany(_AT_ONCE):
            *columns, time, block, log, hash_ = zip(*rows, strict=True)
            arrays = [*self._events.convert(columns, pa.array(time, pa.float64())), block, log, hash_]
            parts.append(_table(arrays, self._events.schema))
        every = pa.concat_tables(parts)
        later = every.filter(pc.is_valid(every["agent_id"])) if every["agent_id"].null_count else every
        places = pairs(later["block"].to_numpy(), later["log"].to_numpy(), 2**31)  # log indexes have 32 bits
        return later if (places[1:] > places[:-1]).all() else later.take(lexical_order(places)), len(every) - len(later)

    def _valid(self, connection: Connection, values: Mapping[str, Any]) -> pa.Table:
        """Return the cached rows that no later event has invalidated."""
        if self._events.ended is None:
            return self._rows
        query = f"SELECT block_number, log_index FROM {self._events.ended} AND chain_id = :chain_id AND {OF_REGISTRY}"
        ended = np.array(cursor_of(connection, query, values).fetchall(), np.int64).reshape(-1, 2)
        block, log = (self._rows[name].to_numpy() for name in ("block", "log"))
        size = int(max(log.max(initial=0), ended[:, 1].max(initial=0))) + 1
        keys = distinct_keys(pairs(ended[:, 0], ended[:, 1], size))
        return self._rows.filter(pa.array(~contained(pairs(block, log, size), keys)))

    def _counts(self, connection: Connection, values: Mapping[str, Any], last: int) -> list[int]:
        rows = {"chain_id": values["chain_id"], "last": last}
        return [connection.execute(text(COUNT.format(table=name)), rows).scalar() or 0 for name in self._events.tables]


def cursor_of(connection: Connection, query: str, values: Mapping[str, Any]) -> Any:
    """Run a query, and return the driver's cursor, whose plain tuples are faster than SQLAlchemy's rows."""
    return connection.execute(text(query), values).cursor


def table_of(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as an Arrow table."""
    return _table(list(zip(*rows, strict=True)) or [()] * len(schema), schema)


def _table(columns: Iterable[Any], schema: pa.Schema) -> pa.Table:
    """Return columns as an Arrow table. Some columns may already be Arrow arrays."""
    return pa.table([pa.array(*column) for column in zip(columns, schema.types, strict=True)], schema=schema)


class Places(Sequence[Place]):
    """The events from which rows were derived. A million of them take 70 MB, a third of what tuples would take."""

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
"""The query that counts a table's events on a chain. It reads only a database index.

The grouping makes a chain's server count the events itself (see `bilateral.index.reading.statistics.count_by_day`).
"""


NOBODY: Final = "0x" + "00" * 20
"""The zero address, which stands for "no owner" and, when an approval is revoked, for "no operator"."""

OF_REGISTRY: Final = (
    "registry IN (SELECT address FROM registry WHERE chain_id = :chain_id AND identity_registry = :identity)"
)
"""The condition that an event was emitted by a registry that belongs to the identity registry."""

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
"""The account behind each action, the block if it acted, and the block in which it acted or received an agent."""

_WITHOUT_FUNDING: Final = f"""
    SELECT account, coalesce(min(acted), min(received))
    FROM ({" UNION ALL ".join(f"SELECT {columns} FROM {rows} AND chain_id = :chain_id" for columns, rows in _ACTIONS)})
      acting
    WHERE NOT EXISTS (
      SELECT 1 FROM funding WHERE funding.chain_id = :chain_id AND funding.account = acting.account)
    GROUP BY account ORDER BY 2, 1
"""


def accounts_without_funding(connection: Connection, key: AnalysisKey) -> dict[str, int]:
    """Return accounts whose first inbound transfer has not been searched for, and the block in which each first acted.

    An account acts when it registers or transfers an agent, becomes an agent's wallet, gives feedback or validates.
    Anyone can transfer an agent to an account, so such a block is used only if the account did nothing else.
    """
    values = {"chain_id": key.chain_id, "identity": key.identity_registry, "nobody": NOBODY}
    return {account: int(block) for account, block in connection.execute(text(_WITHOUT_FUNDING), values)}


_ID: Final = "CASE WHEN {0} <= 9223372036854775807 THEN CAST({0} AS BIGINT) END"
"""An agent id, or NULL if it is too large for the tables: SQLite stores large ids as text, which sorts last."""

_EXACT: Final = f"value BETWEEN -{2**53} AND {2**53} AND value_decimals <= 22"
"""The condition that floats represent both a value and its divisor (a power of ten), so that the quotient is exact."""

_POWERS: Final = np.array([float(10**decimals) for decimals in range(23)])


def _feedback(columns: Sequence[Sequence[Any]], time: pa.Array) -> Sequence[Any]:
    agent, client, value, decimals, other, tag = columns
    exact = np.array(pa.array(value, pa.float64()).to_numpy(zero_copy_only=False))
    amounts = exact / _POWERS[np.minimum(np.array(decimals, np.int64), len(_POWERS) - 1)]
    for row in np.flatnonzero(np.isnan(exact)).tolist():
        amounts[row] = python_integer(other[row]) / 10 ** int(decimals[row])
    return client, agent, amounts, tag, time, pa.repeat("new_feedback", len(agent))


def _authorized(columns: Sequence[Sequence[Any]], time: pa.Array) -> Sequence[Any]:
    agent, client, score, tag = columns
    tags = pa.array(tag, pa.binary()).dictionary_encode()  # padded with zeros to 32 bytes
    texts = [text.rstrip(b"\0").decode(errors="replace") for text in tags.dictionary.to_pylist()]
    event = pa.repeat("new_authorized_feedback", len(agent))
    return client, agent, pa.array(score, pa.float64()), pa.array(texts, pa.string()).take(tags.indices), time, event


def _rating(columns: Sequence[Sequence[Any]], time: pa.Array) -> Sequence[Any]:
    agent, server, side, rating, is_blind = columns
    sides, servers = pa.array(side, pa.string()), pa.array(server, pa.int64())
    agents = pc.if_else(pc.is_valid(servers), pa.array(agent, pa.int64()), pa.scalar(None, pa.int64()))
    events = pc.binary_join_element_wise(sides, "rated", "_")
    return sides, agents, servers, pa.array(rating, pa.float64()), list(map(bool, is_blind)), time, events


_FEEDBACK: Final = {name: COLUMNS["feedback"][name] for name in ("client", "agent_id", "value", "tag", "ts")}

_SUBJECT: Final = "registry, agent_id, client_address, feedback_index"
_OF_REVOKED: Final = f"({_SUBJECT}) IN (SELECT {_SUBJECT} FROM feedback_revoked WHERE chain_id = :chain_id)"
"""With this condition, SQLite looks feedback up by the whole index. `coalesce` prevents that it starts from revocations
and reads all feedback on their agents."""

FEEDBACK: Final = Events(
    f"{_ID.format('agent_id')}, client_address, CASE WHEN {_EXACT} THEN CAST(value AS BIGINT) END, value_decimals, "
    f"CASE WHEN NOT ({_EXACT}) THEN value END, tag1",
    "new_feedback WHERE TRUE",
    tables=("new_feedback",),
    ended=f"feedback WHERE coalesce(is_revoked, FALSE) AND {_OF_REVOKED}",
    columns=_FEEDBACK,
    convert=_feedback,
)
AUTHORIZED_FEEDBACK: Final = Events(
    f"{_ID.format('agent_id')}, client_address, score, tag1",
    "new_authorized_feedback WHERE TRUE",
    tables=("new_authorized_feedback",),
    ended=None,
    columns=_FEEDBACK,
    convert=_authorized,
)
RATINGS: Final = Events(
    f"{_ID.format('agent_id')}, {_ID.format('server_id')}, side, rating, is_blind",
    "rating WHERE TRUE",
    tables=("client_rated", "validator_rated"),
    ended=None,
    columns={"kind": pa.string(), "agent_id": pa.int64(), "server_id": pa.int64(), "rating": pa.float64()}
    | {SEALED: pa.bool_(), "ts": pa.float64()},
    convert=_rating,
)
