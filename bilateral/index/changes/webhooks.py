"""Webhook subscriptions in the database."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, case, delete, func, insert, or_, select, update

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.index.changes.tables import webhook, webhook_lease
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.rows import rows_of

MOST_OF_OWNER: Final = 20
"""The maximum number of subscriptions per owner. Each one costs a read for every step, plus retries in an outage."""

MOST: Final = 1_000
"""The maximum number of subscriptions per index."""

LEASE_SECONDS: Final = 30
"""The number of seconds after which another process takes over delivery if the delivering process has stopped."""

_LOCK: Final = (8004 << 48) - 3
"""The key of the lock that protects the number of subscriptions. `cursor_locks` uses other keys."""


@dataclass(frozen=True)
class WebhookFigures:
    """Statistics on all webhooks.

    Attributes:
        active: The number of webhooks whose last delivery was accepted.
        failing: The number of webhooks that are being retried.
        stopped: The number of webhooks that were abandoned.
        delivered: The number of accepted deliveries.
        failed: The number of failed attempts.
        failing_seconds: The number of seconds for which the longest-failing webhook has been failing.
    """

    active: int
    failing: int
    stopped: int
    delivered: int
    failed: int
    failing_seconds: int


def add_webhook(connection: Connection, owner: str, url: str, filter_json: str, since: str) -> str:
    """Store a subscription, and return its id."""
    dialect_of(connection).lock(connection, _LOCK)
    of_owner = func.coalesce(func.sum(case((webhook.c.owner == owner, 1), else_=0)), 0)
    total, count = connection.execute(select(func.count(), of_owner).select_from(webhook)).one()
    if count >= MOST_OF_OWNER:
        raise InvalidArgumentError(
            f"{quoted(owner)} has {count} webhooks, but at most {MOST_OF_OWNER} are allowed: "
            "remove one or use a different owner"
        )
    if total >= MOST:
        raise InvalidArgumentError(f"the index has {total} webhooks, but at most {MOST} are allowed: remove one")
    webhook_id, now = f"wh_{secrets.token_hex(16)}", int(time.time())
    values = {"id": webhook_id, "owner": owner, "url": url, "wanted": filter_json, "since": since}
    counts = {"created_at": now, "next_at": now, "failures": 0, "delivered": 0, "failed": 0}
    connection.execute(insert(webhook).values(**values, **counts))
    return webhook_id


def remove_webhook(connection: Connection, webhook_id: str) -> bool:
    """Remove a subscription, and return True if it existed. A delivery in progress may still arrive."""
    return connection.execute(delete(webhook).where(webhook.c.id == webhook_id)).rowcount > 0


def stored_webhooks(connection: Connection, owner: str | None = None) -> Sequence[Any]:
    """Return the rows of all subscriptions, or only an owner's."""
    query = select(webhook).order_by(webhook.c.created_at, webhook.c.id)
    return connection.execute(query if owner is None else query.where(webhook.c.owner == owner)).all()


def due_webhooks(connection: Connection, now: int) -> Sequence[Any]:
    """Return the subscriptions that are due for delivery at the given time, longest-waiting first."""
    query = select(webhook).where(webhook.c.stopped_at.is_(None), webhook.c.next_at <= now)
    return connection.execute(query.order_by(webhook.c.next_at, webhook.c.id)).all()


def note_webhook(connection: Connection, row: Any, **values: Any) -> bool:
    """Update a subscription. Return False if its cursor moved after the row was read, or if it was removed."""
    same = (webhook.c.id == row.id) & (webhook.c.since == row.since)
    return connection.execute(update(webhook).where(same).values(**values)).rowcount > 0


def take_lease(connection: Connection, holder: str, now: int) -> bool:
    """Acquire or renew the lease for delivery. Return False if another process holds it."""
    lease, until = webhook_lease.c, now + LEASE_SECONDS
    if rows_of(connection).insert_if_absent(webhook_lease, {"id": 1, "holder": holder, "until": until}):
        return True
    is_free = or_(lease.holder == holder, lease.until < now)
    return connection.execute(update(webhook_lease).where(is_free).values(holder=holder, until=until)).rowcount > 0


def give_lease_back(connection: Connection, holder: str) -> None:
    """Release the lease, so that another process can deliver immediately."""
    connection.execute(delete(webhook_lease).where(webhook_lease.c.holder == holder))


def webhook_figures(connection: Connection) -> WebhookFigures:
    """Return statistics on all webhooks."""
    rows = stored_webhooks(connection)
    going = [row for row in rows if row.stopped_at is None]
    failing = sum(row.failures > 0 for row in going)
    failing_since = [row.failing_since for row in going if row.failing_since is not None]
    return WebhookFigures(
        len(going) - failing,
        failing,
        len(rows) - len(going),
        sum(row.delivered for row in rows),
        sum(row.failed for row in rows),
        max(0, int(time.time()) - min(failing_since)) if failing_since else 0,
    )
