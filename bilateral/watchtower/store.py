"""The watchtower's own database: SQLite embedded in the process, or PostgreSQL.

One writer adds results; readers take what they publish. Nothing here contends with the index's follower.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import platformdirs
import sqlalchemy as sa
from sqlalchemy import Connection, Engine, Table, select

from bilateral.core.identifiers import AgentId
from bilateral.index.log.database import connect_engine, snapshot
from bilateral.index.log.dialects import insert_into, insert_new
from bilateral.index.measurements.values import Change, Outcome, Protocol, Target
from bilateral.watchtower.endpoints import Condition, Endpoint
from bilateral.watchtower.tables import change, day, endpoint, host, hour, metadata, probe, setting
from bilateral.watchtower.totals import DAY, HOUR, Totals

PUBLISHED: Final = "published"
"""The setting that counts the transactions sent by `publish`."""

_PROBE: Final = tuple(column.name for column in probe.c)
_RETENTION: Final = ((probe, 7 * DAY, HOUR // 4), (hour, 35 * DAY, HOUR), (day, 730 * DAY, DAY))
"""How long rows are retained, and how many seconds' worth of rows are deleted together."""


@dataclass(frozen=True)
class Result:
    """The stored result of an endpoint's round.

    Attributes:
        endpoint: The number of the endpoint.
        round: The Unix time at which the round began: the same for all vantages with the same interval.
        scheduled: The number of probes that were due since the last result.
        condition: The endpoint's condition after the round; None to leave it unchanged.
        changes: The changes that it confirms.
        host: Its host's row, if that changed.
    """

    endpoint: int
    round: int
    vantage: str
    outcome: Outcome
    code: str
    ms: int | None
    at: int
    scheduled: int = 1
    condition: Condition | None = None
    changes: Sequence[Change] = ()
    host: Mapping[str, Any] | None = None

    @property
    def key(self) -> tuple[int, int, str]:
        """Its row's key."""
        return self.round, self.endpoint, self.vantage


@dataclass(frozen=True)
class Store:
    """A watchtower's database."""

    engine: Engine

    def save(self, results: Sequence[Result]) -> None:
        """Store results in one transaction. A result that is already stored counts only once."""
        unique = {result.key: result for result in results}
        rows = [{name: getattr(result, name) for name in _PROBE} for result in unique.values()]
        with self.engine.begin() as connection:
            insertion = insert_into(connection, probe).on_conflict_do_nothing().returning(*probe.primary_key)
            new = {tuple(key) for key in connection.execute(insertion, rows)}
            counted = [result for key, result in unique.items() if key in new]
            for table, seconds in ((hour, HOUR), (day, DAY)):
                _add_totals(connection, table, seconds, counted)
            changes = [{"vantage": result.vantage, **vars(entry)} for result in results for entry in result.changes]
            insert_new(connection, change, changes)
            upsert(connection, host, [result.host for result in results if result.host is not None])
            for result in results:
                if (condition := result.condition) is not None:
                    update = sa.update(endpoint).where(endpoint.c.number == result.endpoint)
                    connection.execute(update.values(probed_at=condition.probed_at, condition=vars(condition)))

    def prune(self, now: float) -> None:
        """Delete a few of the rows that are too old. Deleting a whole day at once would delay the writer."""
        for table, seconds, step in _RETENTION:
            time = _time(table)
            with self.engine.begin() as connection:
                oldest = connection.execute(select(sa.func.min(time))).scalar_one()
                if oldest is not None and oldest < now - seconds:
                    connection.execute(sa.delete(table).where(time < min(oldest + step, now - seconds)))

    def set_targets(self, targets: Iterable[Target]) -> None:
        """Store the currently listed endpoints, and mark all others as no longer listed."""
        rows = [
            {"endpoint_id": target.endpoint_id, "target": _stored(target), "is_listed": True, "condition": {}}
            for target in targets
        ]
        with self.engine.begin() as connection:
            connection.execute(sa.update(endpoint).values(is_listed=False))
            if rows:
                insertion = insert_into(connection, endpoint)
                listed = {name: insertion.excluded[name] for name in ("target", "is_listed")}
                connection.execute(insertion.on_conflict_do_update(index_elements=["endpoint_id"], set_=listed), rows)

    def endpoints(self, condition: sa.ColumnElement[bool] | None = None) -> list[Endpoint]:
        """Return the endpoints that meet a condition; without one, those currently listed."""
        chosen = endpoint.c.is_listed if condition is None else condition
        with snapshot(self.engine) as connection:
            rows = connection.execute(select(endpoint).where(chosen).order_by(endpoint.c.number))
            return [Endpoint(row.number, _target(**row.target), Condition(**row.condition)) for row in rows]

    def last_stamp(self) -> int:
        """Return the time of the last probe that measured something; 0 without one."""
        with snapshot(self.engine) as connection:
            return connection.execute(select(sa.func.max(endpoint.c.probed_at))).scalar_one() or 0

    def measured(self, table: Table, first: int, end: int) -> Iterator[sa.Row[Any]]:
        """Yield the rows of `probe`, `hour` or `day` from `first` until before `end` (Unix time), by time and endpoint.

        Each row also contains the id of its endpoint.
        """
        time = _time(table)
        query = select(table, endpoint.c.endpoint_id).join(endpoint).where(time >= first, time < end)
        with snapshot(self.engine) as connection:
            yield from connection.execute(query.order_by(time, table.c.endpoint))

    def changes(self, *conditions: sa.ColumnElement[bool]) -> list[sa.Row[Any]]:
        """Return the changes that meet conditions, in the order in which they were stored."""
        with snapshot(self.engine) as connection:
            return list(connection.execute(select(change).where(*conditions).order_by(change.c.number)))

    def hosts(self) -> dict[str, Any]:
        """Return the stored values of hosts by name."""
        with snapshot(self.engine) as connection:
            return {row.name: row.value for row in connection.execute(select(host))}

    def setting(self, name: str) -> Any:
        """Return a value that persists between runs; None if there is none."""
        with snapshot(self.engine) as connection:
            return connection.execute(select(setting.c.value).where(setting.c.name == name)).scalar_one_or_none()

    def set_setting(self, name: str, value: Any) -> None:
        """Store a value for later runs."""
        with self.engine.begin() as connection:
            upsert(connection, setting, [{"name": name, "value": value}])


def open_store(url: str | None = None, *, creates: bool = True) -> Store:
    """Open a watchtower's database, and create its tables if it has none.

    Args:
        url: The URL, as accepted by `bilateral.index.log.database.open_database`; if None, a file next to the default
            index.
        creates: False to reject a database that does not exist.

    Raises:
        InvalidArgumentError: The URL is malformed, or for another kind of database.
        DatabaseUnavailableError: The database cannot be opened, or does not exist and `creates` is False.
    """
    default = f"sqlite:///{platformdirs.user_data_path('bilateral') / 'watchtower.sqlite'}"
    engine = connect_engine(url or default, creates=creates)
    metadata.create_all(engine)
    return Store(engine)


def upsert(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, growing: str | None = None
) -> None:
    """Insert rows, or replace existing ones, or only those in which a column is less than the new value."""
    if rows:
        statement, key = insert_into(connection, table), [column.name for column in table.primary_key]
        values = {name: statement.excluded[name] for name in rows[0] if name not in key}
        where = None if growing is None else statement.excluded[growing] > table.c[growing]
        connection.execute(statement.on_conflict_do_update(index_elements=key, set_=values, where=where), list(rows))


def _time(table: Table) -> sa.ColumnElement[int]:
    """Return the first column in a table's key."""
    return next(iter(table.primary_key))


def _stored(target: Target) -> dict[str, Any]:
    return {**vars(target), "agents": [str(agent) for agent in target.agents]}


def _target(protocol: str, agents: Sequence[str], **values: Any) -> Target:
    return Target(Protocol(protocol), agents=tuple(map(AgentId.parse, agents)), **values)


def _add_totals(connection: Connection, table: Table, seconds: int, results: Sequence[Result]) -> None:
    totals: dict[tuple[int, int, str], Totals] = defaultdict(Totals)
    for result in results:
        start = result.at - result.at % seconds
        entry = totals[start, result.endpoint, result.vantage]
        entry.count(result.outcome, result.code, result.ms, result.scheduled)
    starts, numbers = ({key[place] for key in totals} for place in (0, 1))
    for row in connection.execute(select(table).where(table.c.start.in_(starts), table.c.endpoint.in_(numbers))):
        if (key := (row.start, row.endpoint, row.vantage)) in totals:
            totals[key].add(Totals.of(row))
    names = [column.name for column in table.primary_key]
    upsert(connection, table, [dict(zip(names, key, strict=True)) | vars(entry) for key, entry in totals.items()])
