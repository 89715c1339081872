"""The watchtower's own database: SQLite embedded in the process, or PostgreSQL.

One writer adds results; readers take what they publish. Nothing here contends with the follower of the index.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import platformdirs
import sqlalchemy as sa
from sqlalchemy import Connection, Engine, Table, select

from bilateral.core.identifiers import AgentId
from bilateral.index.log.database import connect_engine, snapshot
from bilateral.index.log.dialects import insert_into, insert_new
from bilateral.index.measurements.values import Change, Current, Outcome, Protocol, Target
from bilateral.watchtower.tables import change, day, endpoint, endpoint_agent, host, hour, metadata, probe, setting
from bilateral.watchtower.totals import DAY, HOUR, Totals, add_histograms, histogram_of, packed, unpacked


@dataclass(frozen=True)
class Result:
    """The result of a round of an endpoint, as it is stored.

    Attributes:
        number: The number of the endpoint.
        round: The Unix time at which the round began: equal for all vantages of one interval.
        scheduled: The probes that were due since the last result.
        values: Columns of the endpoint that change with it.
        changes: The changes that it confirms.
    """

    number: int
    round: int
    vantage: str
    outcome: Outcome
    code: str
    ms: int | None
    at: int
    scheduled: int = 1
    values: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[Change] = ()


@dataclass(frozen=True)
class StoredProbe:
    """A probe as it was stored. `round` is the Unix time at which its round began."""

    endpoint_id: bytes
    round: int
    vantage: str
    outcome: Outcome
    code: str
    ms: int | None
    at: int


@dataclass(frozen=True)
class Store:
    """The database of a watchtower."""

    engine: Engine

    def save(self, results: Sequence[Result], hosts: Sequence[dict[str, Any]] = ()) -> None:
        """Store results, and rows of hosts, in one transaction. A result that is there already counts once."""
        with self.engine.begin() as connection:
            for row in hosts:
                _upsert(connection, host, ("host",), [row])
            keys = select(probe.c.round, probe.c.endpoint, probe.c.vantage).where(
                probe.c.round.in_({result.round for result in results}),
                probe.c.endpoint.in_({result.number for result in results}),
            )
            stored = {tuple(row) for row in connection.execute(keys)}
            new: list[Result] = []
            for result in results:
                key = (result.round, result.number, result.vantage)
                if key not in stored:
                    stored.add(key)
                    new.append(result)
            insert_new(connection, probe, [_row(result) for result in new])
            for table, seconds in ((hour, HOUR), (day, DAY)):
                _add_totals(connection, table, seconds, new)
            changes = [
                _change_row(result.number, result.vantage, entry) for result in results for entry in result.changes
            ]
            insert_new(connection, change, changes)
            groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
            for result in results:
                if result.values:
                    groups.setdefault(tuple(result.values), []).append({"_number": result.number, **result.values})
            for names, rows in groups.items():
                update = sa.update(endpoint).where(endpoint.c.number == sa.bindparam("_number"))
                connection.execute(update.values({name: sa.bindparam(name) for name in names}), rows)

    def prune(self, now: int) -> None:
        """Delete a few of the rows that are too old. A whole day at once would make the writer wait."""
        tables = (
            (probe, probe.c.round, 7 * DAY, HOUR // 4),
            (hour, hour.c.start, 35 * DAY, HOUR),
            (day, day.c.start, 730 * DAY, DAY),
        )
        for table, column, seconds, step in tables:
            with self.engine.begin() as connection:
                oldest = connection.execute(select(sa.func.min(column))).scalar_one()
                if oldest is not None and oldest < now - seconds:
                    end = min(oldest + step, now - seconds)
                    connection.execute(sa.delete(table).where(column < end))

    def set_targets(self, targets: Iterable[Target]) -> None:
        """Store the endpoints that are listed now, and mark all others as no longer listed."""
        listed = {target.endpoint_id: target for target in targets}
        with self.engine.begin() as connection:
            rows = [
                {"endpoint_id": key, "is_listed": True, "failures": 0, "rounds": 1, **_target_values(target)}
                for key, target in listed.items()
            ]
            insert_new(connection, endpoint, rows)
            numbers: dict[bytes, int] = {
                bytes(row.endpoint_id): row.number
                for row in connection.execute(select(endpoint.c.endpoint_id, endpoint.c.number))
            }
            connection.execute(sa.update(endpoint).values(is_listed=False))
            by_number = endpoint.c.number == sa.bindparam("_number")
            values = [{"_number": numbers[row.pop("endpoint_id")], **row} for row in rows]
            names = ("is_listed", "is_paid", "method", "is_active")
            if values:
                update = sa.update(endpoint).where(by_number).values({name: sa.bindparam(name) for name in names})
                connection.execute(update, [{name: row[name] for name in ("_number", *names)} for row in values])
            connection.execute(sa.delete(endpoint_agent))
            agents = [
                {"endpoint": numbers[key], "agent": str(agent)}
                for key, target in listed.items()
                for agent in target.agents
            ]
            insert_new(connection, endpoint_agent, agents)

    def agents(self) -> dict[bytes, list[AgentId]]:
        """Return the agents that list each endpoint."""
        query = select(endpoint.c.endpoint_id, endpoint_agent.c.agent).join(endpoint_agent)
        agents: dict[bytes, list[AgentId]] = {}
        with snapshot(self.engine) as connection:
            for row in connection.execute(query.order_by(endpoint_agent.c.agent)):
                agents.setdefault(bytes(row.endpoint_id), []).append(AgentId.parse(row.agent))
        return agents

    def listed(self) -> list[sa.Row[Any]]:
        """Return the rows of the endpoints that are listed now."""
        with snapshot(self.engine) as connection:
            return list(connection.execute(select(endpoint).where(endpoint.c.is_listed)))

    def hosts(self) -> dict[str, sa.Row[Any]]:
        """Return the rows of hosts by their names."""
        with snapshot(self.engine) as connection:
            return {row.host: row for row in connection.execute(select(host))}

    def last_stamp(self) -> int:
        """Return the time of the last probe that measured something; 0 without one."""
        with snapshot(self.engine) as connection:
            return connection.execute(select(sa.func.max(endpoint.c.probed_at))).scalar_one() or 0

    def targets(self) -> list[Target]:
        """Return the endpoints that are listed now."""
        agents = self.agents()
        return [target_of(row, agents.get(bytes(row.endpoint_id), ())) for row in self.listed()]

    def currents(self, vantage: str, since: int = 0) -> list[Current]:
        """Return the state of each endpoint that was probed since a time."""
        query = select(endpoint).where(endpoint.c.probed_at >= since)
        with snapshot(self.engine) as connection:
            return [
                Current(
                    bytes(row.endpoint_id),
                    vantage,
                    None if row.state is None else Outcome(row.state),
                    row.code,
                    row.since,
                    row.probed_at,
                    row.failures,
                    row.milliseconds,
                )
                for row in connection.execute(query)
            ]

    def facts(self) -> dict[bytes, dict[str, Any]]:
        """Return the facts of the last deep probe of each endpoint."""
        query = select(endpoint.c.endpoint_id, endpoint.c.facts).where(endpoint.c.facts.is_not(None))
        with snapshot(self.engine) as connection:
            return {bytes(row.endpoint_id): row.facts for row in connection.execute(query)}

    def hours(self, first: int, end: int) -> Iterator[Totals]:
        """Yield the totals of the hours that begin from `first` to before `end`, in Unix time."""
        return self._read_totals(hour, first, end)

    def days(self, first: int, end: int) -> Iterator[Totals]:
        """Yield the totals of the days that begin from `first` to before `end`, in Unix time."""
        return self._read_totals(day, first, end)

    def probes(self, first: int, end: int) -> Iterator[StoredProbe]:
        """Yield the probes of the rounds from `first` to before `end`, in Unix time. They are kept for seven days."""
        query = select(probe, endpoint.c.endpoint_id).join(endpoint, endpoint.c.number == probe.c.endpoint)
        query = query.where(probe.c.round >= first, probe.c.round < end).order_by(probe.c.round, probe.c.endpoint)
        with snapshot(self.engine) as connection:
            for row in connection.execute(query):
                key = bytes(row.endpoint_id)
                yield StoredProbe(key, row.round, row.vantage, Outcome(row.outcome), row.code, row.ms, row.at)

    def changes(self, first: int, end: int) -> list[tuple[str, Change]]:
        """Return the vantages and changes from `first` to before `end`, in Unix time."""
        return [entry[1:] for entry in self.numbered_changes(change.c.at >= first, change.c.at < end)]

    def numbered_changes(self, *conditions: sa.ColumnElement[bool]) -> list[tuple[int, str, Change]]:
        """Return the changes that meet conditions, with their numbers and vantages, in order."""
        query = select(change, endpoint.c.endpoint_id).join(endpoint).where(*conditions).order_by(change.c.number)
        with snapshot(self.engine) as connection:
            return [
                (row.number, row.vantage, Change(bytes(row.endpoint_id), row.at, row.kind, row.old, row.new, row.code))
                for row in connection.execute(query)
            ]

    def setting(self, name: str) -> Any:
        """Return a value that the watchtower keeps from run to run; None if there is none."""
        with snapshot(self.engine) as connection:
            return connection.execute(select(setting.c.value).where(setting.c.name == name)).scalar_one_or_none()

    def set_setting(self, name: str, value: Any) -> None:
        """Keep a value from run to run."""
        with self.engine.begin() as connection:
            _upsert(connection, setting, ("name",), [{"name": name, "value": value}])

    def _read_totals(self, table: Table, first: int, end: int) -> Iterator[Totals]:
        query = select(table, endpoint.c.endpoint_id).join(endpoint, endpoint.c.number == table.c.endpoint)
        query = query.where(table.c.start >= first, table.c.start < end).order_by(table.c.start, table.c.endpoint)
        with snapshot(self.engine) as connection:
            for row in connection.execute(query):
                yield _totals_of(row, bytes(row.endpoint_id))


def open_store(url: str | None = None, *, creates: bool = True) -> Store:
    """Open the database of a watchtower, and create its tables if it has none.

    Args:
        url: The URL, as `bilateral.index.log.database.open_database` takes it; a file beside the default index if None.
        creates: False to refuse a database that does not exist.

    Raises:
        InvalidArgumentError: The URL is malformed, or of another database.
        DatabaseUnavailableError: The database cannot be opened, or does not exist and `creates` is False.
    """
    default = f"sqlite:///{platformdirs.user_data_path('bilateral') / 'watchtower.sqlite'}"
    engine = connect_engine(url or default, creates=creates)
    metadata.create_all(engine)
    return Store(engine)


def target_of(row: sa.Row[Any], agents: Sequence[AgentId] = ()) -> Target:
    """Return the endpoint of a row."""
    values = (row.host, tuple(agents), row.is_paid, row.method, row.is_active)
    return Target(Protocol(row.protocol), row.url, *values)


def _target_values(target: Target) -> dict[str, Any]:
    names = ("url", "host", "is_paid", "method", "is_active")
    return {"protocol": str(target.protocol), **{name: getattr(target, name) for name in names}}


def _row(result: Result) -> dict[str, Any]:
    names = ("round", "vantage", "code", "ms", "at")
    values = {name: getattr(result, name) for name in names}
    return {"endpoint": result.number, "outcome": str(result.outcome), **values}


def _change_row(number: int, vantage: str, entry: Change) -> dict[str, Any]:
    values = {name: getattr(entry, name) for name in ("at", "kind", "old", "new", "code")}
    return {"endpoint": number, "vantage": vantage, **values}


def _add_totals(connection: Connection, table: Table, seconds: int, results: Sequence[Result]) -> None:
    groups: dict[tuple[int, int, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.at - result.at % seconds, result.number, result.vantage), []).append(result)
    if not groups:
        return
    query = select(table).where(
        table.c.start.in_({key[0] for key in groups}), table.c.endpoint.in_({key[1] for key in groups})
    )
    stored = {(row.start, row.endpoint, row.vantage): row for row in connection.execute(query)}
    rows = [_totals_row(key, stored.get(key), group, "codes" in table.c) for key, group in groups.items()]
    _upsert(connection, table, TOTALS_KEY, rows)


def _totals_row(
    key: tuple[int, int, str], row: sa.Row[Any] | None, results: Sequence[Result], has_codes: bool
) -> dict[str, Any]:
    """Return the row of totals with more results."""
    before = _totals_of(row, b"") if row is not None else Totals(b"", key[2], key[0], 0, 0, {})
    timed = [result for result in results if result.ms is not None and result.outcome not in _UNCOUNTED]
    latencies = histogram_of(result.ms for result in timed if result.ms is not None)
    histogram = add_histograms(before.histogram, latencies)
    outcomes = [result.outcome for result in results]
    codes = {"codes": sorted({*before.codes, *(result.code for result in results)})} if has_codes else {}
    return {
        **dict(zip(TOTALS_KEY, key, strict=True)),
        "scheduled": before.scheduled + sum(result.scheduled for result in results),
        "answered": before.answered + len(timed),
        **{str(outcome): before.counts.get(outcome, 0) + outcomes.count(outcome) for outcome in Outcome},
        "histogram": packed(histogram) or None,
        **codes,
    }


TOTALS_KEY: Final = ("start", "endpoint", "vantage")
_UNCOUNTED: Final = frozenset({Outcome.UNKNOWN, Outcome.UNFIT})


def _totals_of(row: sa.Row[Any], endpoint_id: bytes) -> Totals:
    counts = {outcome: getattr(row, outcome) for outcome in Outcome if getattr(row, outcome)}
    histogram, codes = unpacked(row.histogram), tuple(getattr(row, "codes", None) or ())
    return Totals(endpoint_id, row.vantage, row.start, row.scheduled, row.answered, counts, histogram, codes)


def _upsert(connection: Connection, table: Table, keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    statement = insert_into(connection, table)
    values = {column.name: statement.excluded[column.name] for column in table.c if column.name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values), list(rows))
