"""The watchtower's own database: SQLite embedded in the process, or PostgreSQL.

It is separate from the index's database, so that the index's follower never waits for a watchtower. Values that are
only read as a whole are JSON.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import platformdirs
import sqlalchemy as sa
from sqlalchemy import Column, Engine, Table, select

from bilateral.index.log.columns import optional, required
from bilateral.index.log.database import connect_engine, snapshot
from bilateral.index.log.dialects import insert_new, upsert
from bilateral.index.measurements.values import DAY, Change, Protocol, Target
from bilateral.watchtower.endpoints import Condition, Endpoint

PUBLISHED: Final = "published"
"""The setting that counts the transactions sent by `publish`."""

_HOST: Final = "host "
"""The prefix of the settings that contain the state of a host."""

_RETENTION_SECONDS: Final = 35 * DAY

OF_CHANGE: Final = ("at", "kind", "old", "new", "code")
"""The columns of a change that other watchtowers and evidence files contain."""

metadata: Final = sa.MetaData()


def _numbered(name: str, *parts: Any) -> Table:
    return Table(name, metadata, Column("number", sa.Integer, primary_key=True), *parts)


endpoint: Final = _numbered(
    "endpoint",
    Column("endpoint_id", sa.LargeBinary(32), nullable=False, unique=True),
    *required(sa.JSON, "target", "condition"),
    *required(sa.Boolean, "is_listed"),  # False if no agent lists it any more
    *optional(sa.BigInteger, "updated_at"),
)
hour: Final = Table(  # rows are small, and the oldest ones are stored together, so that they are deleted quickly
    "hour",
    metadata,
    Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
    Column("endpoint", sa.Integer, sa.ForeignKey(endpoint.c.number), primary_key=True, autoincrement=False),
    Column("vantage", sa.String(32), primary_key=True),
    *required(sa.JSON, "counts"),
    sqlite_with_rowid=False,
)
change: Final = _numbered(
    "change",
    *(*required(sa.LargeBinary(32), "endpoint_id"), *required(sa.String(32), "vantage")),
    *(*required(sa.BigInteger, "at"), *required(sa.String(16), "kind")),
    *(*optional(sa.JSON(none_as_null=True), "old", "new"), *optional(sa.String(24), "code")),
    sa.UniqueConstraint("endpoint_id", "vantage", "at", "kind"),  # a repeat is harmless
)
purchase: Final = _numbered(
    "purchase",
    *(*required(sa.Text, "agent"), *required(sa.LargeBinary(32), "endpoint_id")),
    *required(sa.BigInteger, "at", "micros"),  # millionths of a dollar
    *optional(sa.String(16), "outcome"),  # None until the response, and forever after a crash
)
_setting: Final = Table("setting", metadata, Column("name", sa.Text, primary_key=True), *required(sa.JSON, "value"))


@dataclass(frozen=True)
class Result:
    """The changes to the database that follow from a round's result.

    Attributes:
        number: The number of the endpoint.
        condition: The endpoint's condition after the round, with the counts of the hour.
        changes: The changes that the round's result confirms.
        host: The name and state of the endpoint's host, if the state changed.
    """

    number: int
    vantage: str
    at: int
    condition: Condition
    changes: Sequence[Change] = ()
    host: tuple[str, Mapping[str, Any]] | None = None


@dataclass
class Store:
    """A watchtower's database.

    Attributes:
        updates: The number of times that this process has stored the listed endpoints.
    """

    engine: Engine
    updates: int = 0

    def save(self, results: Sequence[Result]) -> None:
        """Store results in one transaction. Storing them again changes nothing, because they contain totals."""
        hours, conditions = [], []
        for result in results:
            start, counts = result.condition.hour
            if counts:
                hours.append({"start": start, "endpoint": result.number, "vantage": result.vantage, "counts": counts})
            conditions.append({"key": result.number, "updated_at": result.at, "condition": vars(result.condition)})
        changes = [{"vantage": result.vantage, **vars(entry)} for result in results for entry in result.changes]
        hosts = [{"name": _HOST + name, "value": value} for name, value in (row.host for row in results if row.host)]
        with self.engine.begin() as connection:
            upsert(connection, hour, hours)
            insert_new(connection, change, changes)
            upsert(connection, _setting, hosts)
            if conditions:
                connection.execute(sa.update(endpoint).where(endpoint.c.number == sa.bindparam("key")), conditions)

    def prune(self, now: float) -> None:
        """Delete the oldest hour if it is too old. Deleting a whole day at once would delay the writer."""
        is_oldest = hour.c.start == select(sa.func.min(hour.c.start)).scalar_subquery()
        with self.engine.begin() as connection:
            connection.execute(sa.delete(hour).where(is_oldest, hour.c.start < now - _RETENTION_SECONDS))

    def set_targets(self, targets: Iterable[Target]) -> None:
        """Store the currently listed endpoints, and mark all others as no longer listed."""
        rows = [
            {"endpoint_id": target.endpoint_id, "target": vars(target), "is_listed": True, "condition": {}}
            for target in targets
        ]
        with self.engine.begin() as connection:
            connection.execute(sa.update(endpoint).values(is_listed=False))
            upsert(connection, endpoint, rows, key=["endpoint_id"], replaced=("target", "is_listed"))
        self.updates += 1

    def endpoints(self, condition: sa.ColumnElement[bool] = endpoint.c.is_listed) -> list[Endpoint]:
        """Return the endpoints that meet a condition; by default, those currently listed."""
        rows = self._read(select(endpoint).where(condition).order_by(endpoint.c.number))
        return [Endpoint(row.number, _target(**row.target), Condition(**row.condition)) for row in rows]

    def last_stamp(self) -> int:
        """Return the time of the last result; 0 if there is none."""
        return self._read(select(sa.func.max(endpoint.c.updated_at)))[0][0] or 0

    def hours(self, first: int, end: int = 1 << 62) -> Iterator[tuple[int, bytes, str, Counter[str]]]:
        """Yield hours from `first` until before `end` (Unix time), in order: hour, endpoint id, vantage and counts."""
        columns = hour.c.start, endpoint.c.endpoint_id, hour.c.vantage, hour.c.counts
        query = select(*columns).join(endpoint).where(hour.c.start >= first, hour.c.start < end)
        with snapshot(self.engine) as connection:
            for *key, counts in connection.execute(query.order_by(hour.c.start, hour.c.endpoint)):
                yield *key, Counter(counts)

    def changes(self, *conditions: sa.ColumnElement[bool]) -> Sequence[sa.Row[Any]]:
        """Return the changes that meet conditions, in the order in which they were stored."""
        return self._read(select(change).where(*conditions).order_by(change.c.number))

    def hosts(self) -> dict[str, Any]:
        """Return the stored states of hosts by name."""
        rows = self._read(select(_setting).where(_setting.c.name.startswith(_HOST)))
        return {row.name.removeprefix(_HOST): row.value for row in rows}

    def setting(self, name: str) -> Any:
        """Return a value that persists between runs; None if there is none."""
        rows = self._read(select(_setting.c.value).where(_setting.c.name == name))
        return rows[0].value if rows else None

    def set_setting(self, name: str, value: Any) -> None:
        """Store a value for later runs."""
        with self.engine.begin() as connection:
            upsert(connection, _setting, [{"name": name, "value": value}])

    def _read(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        with snapshot(self.engine) as connection:
            return connection.execute(query).all()


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


def _target(protocol: str, agents: Sequence[str], **values: Any) -> Target:
    return Target(Protocol(protocol), agents=tuple(agents), **values)
