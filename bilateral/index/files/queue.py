"""The queue of files in the database, which any number of workers in any number of processes can share.

A worker leases a file by compare-and-set, so no other worker takes the file until the lease expires. The outcome is
stored only while the worker holds the lease, so a worker that was killed or too slow changes nothing. Each host has a
row that schedules fetches from the host and limits how many of them run concurrently.
"""

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, func, select, update

from bilateral.documents import Validators
from bilateral.index.files import rows as file_rows
from bilateral.index.files import tables as schema
from bilateral.index.files.loading import IPFS_HOST, Failed, Loaded, Outcome
from bilateral.index.files.observations import note_observations
from bilateral.index.files.tables import Kind, State
from bilateral.index.log.database import snapshot
from bilateral.index.log.dialects import insert_new

_MINUTE: Final = 60  # seconds
_HOUR: Final = 3_600  # seconds
_DAY: Final = 86_400  # seconds; Unix time ignores leap seconds

# A restart takes a minute; an outage takes hours.
_AFTER_FAILURES: Final = (_MINUTE, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 12 * _HOUR)
_DAILY_FAILURES: Final = 30
"""The number of failed daily retries after which retries become weekly, because the server is probably gone."""

_HOST_SECONDS: Final = 5
"""The first pause after a host fails, in seconds, which is enough for the host to restart."""

_MOST_HOST_SECONDS: Final = _HOUR
_LONGEST_WAIT: Final = _DAY
_MOST_PAUSE_DOUBLINGS: Final = 12
"""The number of doublings at which a pause reaches its maximum. More doublings would overflow."""


def retry_seconds(failures: int) -> int:
    """Return the number of seconds after which a file is retried."""
    if failures <= len(_AFTER_FAILURES):
        return _AFTER_FAILURES[max(failures, 1) - 1]
    return _DAY if failures <= _DAILY_FAILURES else 7 * _DAY


def refresh_seconds(kind: Kind, previous: int, *, is_changed: bool) -> int:
    """Return the number of seconds after which a mutable file is checked for changes."""
    least, most = (_HOUR, _DAY) if kind in (Kind.REGISTRATION, Kind.DOMAIN) else (_DAY, 30 * _DAY)
    return least if is_changed or not previous else min(2 * previous, most)


def waited(seconds: int | None) -> int:
    """Return the number of seconds for which a host is paused, as requested by the host, but at most a day."""
    return min(seconds or 0, _LONGEST_WAIT)


def spread(file_id: bytes, seconds: float) -> float:
    """Vary a duration by up to 10 %, differently for each file, so that not all files are due at the same time."""
    return seconds * (0.9 + file_id[0] / 1275)


LEASE_SECONDS: Final = 60.0
"""The length of a lease in seconds. The length doubles each time a worker fails to complete the file."""

_AT_ONCE: Final = 4
"""The maximum number of concurrent requests to one host. More would overload small servers."""

_AT_ONCE_IPFS: Final = 16
"""The maximum number of concurrent requests to the gateways. There are several, and most are slow."""

_MOST_DOUBLINGS: Final = 10
"""The maximum number of times that a lease doubles. A file that crashes its worker is retried every seventeen hours."""

_OUTDATED_SECONDS: Final = 86_400
"""The number of seconds until a file without current references is checked again."""

_TRIED_HOSTS: Final = 20
"""The number of hosts at which a worker looks for a due file, because other workers may be using the first ones."""


@dataclass(frozen=True)
class Lease:
    """A file that one worker may fetch.

    Attributes:
        expected_hash: The file's hash as stated on chain; None if there is none.
        host: The host from which the file is fetched.
        validators: The server's cache validators for the stored version.
        token: A random id of the lease.
    """

    file_id: bytes
    kind: Kind
    uri: str
    expected_hash: bytes | None
    host: str
    validators: Validators
    token: bytes


@dataclass(frozen=True)
class FileQueue:
    """The files that are due to be fetched.

    Attributes:
        lease_seconds: The length of a lease, which must exceed the time that a fetch may take.
    """

    engine: Engine
    lease_seconds: float = field(default=LEASE_SECONDS, kw_only=True)
    clock: Callable[[], float] = field(default=time.time, kw_only=True)

    def claim(self) -> Lease | None:
        """Lease a file that is due, and return the lease."""
        table = schema.file_host
        for _ in range(_TRIED_HOSTS):
            with self.engine.begin() as connection:
                due = select(table.c.host).where(table.c.next_at <= self.clock()).order_by(table.c.next_at).limit(1)
                # Skip hosts that other workers are examining.
                host = connection.execute(due.with_for_update(skip_locked=True)).scalar_one_or_none()
                if host is None:
                    return None
                lease = self._claim_from(connection, host)
            if lease is not None:
                return lease
        return None

    def complete(self, lease: Lease, outcome: Outcome) -> bool:
        """Store the outcome of a fetch, and schedule the file again."""
        now = self.clock()
        domains = file_rows.domain_files([(lease.kind, outcome)], now)
        with self.engine.begin() as connection:
            if domains:  # lock hosts in one order, so that two workers cannot deadlock
                file_rows.wake_hosts(connection, {lease.host, *(row["host"] for row in domains)}, now)
            host = self._locked_host(connection, lease.host)
            table = schema.file
            leased = select(table).where(table.c.file_id == lease.file_id, table.c.lease == lease.token)
            existing = connection.execute(leased.with_for_update()).one_or_none()
            if existing is None:  # the file is no longer leased to this worker
                return False
            insert_new(connection, schema.file, domains)
            if isinstance(outcome, Loaded):
                file_rows.store_contents(connection, [outcome])
            values = {**_changes(lease, existing, outcome, now), "lease": None, "attempts": 0}
            file_rows.set_file(connection, lease.file_id, values)
            if lease.kind is Kind.FEEDBACK and isinstance(outcome, Loaded):
                file_rows.find_payments(connection, lambda columns: columns.file_id == lease.file_id)
            if isinstance(outcome, Loaded) and existing.content_hash not in (None, outcome.content_hash):
                file_rows.delete_unused_content(connection, existing.content_hash)
            self._schedule_host(connection, host, outcome, now)
            note_observations(connection, [lease.file_id])
        return True

    def release(self, leases: Iterable[Lease]) -> None:
        """Release the leases of files that were not fetched, so that the files become due immediately."""
        now = self.clock()
        for lease in leases:
            with self.engine.begin() as connection:
                host = self._locked_host(connection, lease.host)
                values = {"lease": None, "attempts": 0, "next_at": now}
                if file_rows.set_file(connection, lease.file_id, values, lease.token) and host is not None:
                    self._set_host(connection, lease.host, max(now, host.closed_until))

    def seconds_to_next(self) -> float | None:
        """Return the number of seconds until a host is due; None if no file is scheduled."""
        with snapshot(self.engine) as connection:
            due = connection.execute(select(func.min(schema.file_host.c.next_at))).scalar_one_or_none()
        return None if due is None else max(0.0, due - self.clock())

    def _claim_from(self, connection: Connection, host: str) -> Lease | None:
        """Lease a host's longest-waiting file, if another concurrent request is allowed."""
        table, now, lease = schema.file, self.clock(), None
        leased = table.c.lease.is_not(None) & (table.c.next_at > now)
        busy = connection.execute(select(func.count()).where(table.c.host == host, leased)).scalar_one()
        limit = _AT_ONCE_IPFS if host == IPFS_HOST else _AT_ONCE
        if busy < limit:
            due = select(table).where(table.c.host == host, table.c.next_at <= now).order_by(table.c.next_at).limit(1)
            row = connection.execute(due).one_or_none()
            if row is not None and file_rows.is_outdated(connection, row.file_id):
                # The agent may return to this URI, and a reorganisation may restore the event that contains it.
                file_rows.set_file(connection, row.file_id, {"next_at": now + _OUTDATED_SECONDS, "lease": None})
            elif row is not None:
                lease = self._take(connection, row, now)
        if busy + (lease is not None) < limit:
            next_at = self._next_of(connection, host, now)
        else:  # its turn comes when a fetch finishes or a lease expires
            ends = select(func.min(table.c.next_at)).where(table.c.host == host, leased)
            next_at = connection.execute(ends).scalar_one()
        self._set_host(connection, host, next_at)
        return lease

    def _take(self, connection: Connection, row: Row[Any], now: float) -> Lease:
        token = secrets.token_bytes(16)
        seconds = self.lease_seconds * (1 << min(row.attempts, _MOST_DOUBLINGS))
        values = {"lease": token, "attempts": row.attempts + 1, "next_at": now + seconds}
        file_rows.set_file(connection, row.file_id, values)
        validators = Validators(row.etag, row.last_modified)
        expected = None if row.expected_hash is None else bytes(row.expected_hash)
        return Lease(bytes(row.file_id), Kind(row.kind), row.uri, expected, row.host, validators, token)

    def _locked_host(self, connection: Connection, host: str) -> Row[Any] | None:
        table = schema.file_host
        return connection.execute(select(table).where(table.c.host == host).with_for_update()).one_or_none()

    def _next_of(self, connection: Connection, host: str, now: float) -> float | None:
        """Return the time at which a host's first file is due, but no earlier than now; None if it has none."""
        table = schema.file
        first = connection.execute(select(func.min(table.c.next_at)).where(table.c.host == host)).scalar_one()
        return None if first is None else max(first, now)

    def _schedule_host(self, connection: Connection, host: Row[Any] | None, outcome: Outcome, now: float) -> None:
        if host is None:
            return
        failures, closed_until = 0, 0.0
        if isinstance(outcome, Failed) and outcome.is_of_host:
            failures = host.failures + 1
            pause = min(_HOST_SECONDS << min(failures - 1, _MOST_PAUSE_DOUBLINGS), _MOST_HOST_SECONDS)
            closed_until = now + max(pause, waited(outcome.wait_seconds))
        if (next_at := self._next_of(connection, host.host, now)) is not None:
            next_at = max(next_at, closed_until)
        self._set_host(connection, host.host, next_at, failures=failures, closed_until=closed_until)

    def _set_host(self, connection: Connection, host: str, next_at: float | None, **values: Any) -> None:
        table = schema.file_host
        connection.execute(update(table).where(table.c.host == host).values(next_at=next_at, **values))


def _changes(lease: Lease, existing: Row[Any], outcome: Outcome, now: float) -> dict[str, Any]:
    if isinstance(outcome, Failed) and outcome.is_own:  # extend the host's pause, and leave the file's record unchanged
        return {"next_at": now + spread(lease.file_id, retry_seconds(1))}
    if isinstance(outcome, Failed):
        failures = existing.failures + 1
        seconds = max(retry_seconds(failures), waited(outcome.wait_seconds))
        return {
            "state": State.FAILED if existing.content_hash is None else existing.state,
            "reason": outcome.reason,
            "problem": outcome.problem,
            "checked_at": int(now),
            "failures": failures,
            "next_at": None if outcome.is_final else now + spread(lease.file_id, seconds),
        }
    values: dict[str, Any] = {"checked_at": int(now)}
    is_changed = is_final = False
    if isinstance(outcome, Loaded):
        is_changed, is_final = outcome.content_hash != existing.content_hash, outcome.is_final
        values = file_rows.columns_of(outcome, int(now))
        if not is_changed:
            values["changed_at"] = existing.changed_at
    elif existing.state != State.MALFORMED:
        values |= {"reason": None, "problem": None}
    pause = refresh_seconds(lease.kind, existing.refresh_seconds, is_changed=is_changed)
    due = None if is_final else now + spread(lease.file_id, pause)
    return {**values, "failures": 0, "refresh_seconds": pause, "next_at": due}
