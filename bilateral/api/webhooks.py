"""Webhooks: subscriptions to changes in the feed, and signed deliveries that are retried."""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from socket import inet_aton, inet_ntoa
from typing import Any, Final

import httpx
import msgspec
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver, algorithms
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from bilateral.api.answers import adapter
from bilateral.core.errors import BilateralError, InvalidArgumentError, RefusedDocumentError
from bilateral.core.text import quoted
from bilateral.documents.addresses import is_public
from bilateral.documents.http import HttpSession, Limits, Network, host_of
from bilateral.index.changes.answers import FeedChange
from bilateral.index.changes.queries import FeedFilter, FeedPrunedError, last_cursor, last_step, parse_filter, read_feed
from bilateral.index.changes.webhooks import add_webhook, due_webhooks, give_lease_back, note_webhook, take_lease
from bilateral.index.log.database import snapshot
from bilateral.index.reading.registries import read_registries

_LOGGER: Final = logging.getLogger("bilateral.webhooks")

_LOOK_SECONDS: Final = 0.5
"""Seconds between polls for new changes."""

_RENEW_SECONDS: Final = 5.0
"""Seconds after which the lease is renewed: a sixth of its duration, because the database may be busy for a while."""

_THREADS: Final = 16
"""The maximum number of concurrent deliveries. A hanging receiver blocks a thread for ten seconds per attempt."""

_OF_OWNER: Final = 2
"""The maximum number of concurrent deliveries per owner, so that one owner's hanging receivers do not delay others."""

_LIMITS: Final = Limits(bytes=64 * 1024, seconds=10.0, redirects=0)
"""The limits for one delivery attempt and its response, whose content is ignored."""

_AT_ONCE: Final = 100
"""The maximum number of changes per delivery: at most about 600 kB."""

_READS: Final = 20
"""The number of reads without a match after which other subscriptions get a turn."""

_FIRST_WAIT: Final = 5
_LONGEST_WAIT: Final = 3_600
"""The wait after the first failure, and the longest wait, in seconds. Each further failure doubles the wait."""

_STOP_SECONDS: Final = 3 * 86_400
"""Seconds of continuous failure after which a subscription stops. A receiver may be down for a weekend."""

_NOTE_SECONDS: Final = 60.0
"""Seconds after which the cursor of a subscription without matches is stored, so a restart resumes there."""

_MOST_PROBLEM: Final = 300  # characters: the status and the first words show the cause


@dataclass
class _Position:
    """The position to which a subscription has read without a match since its stored cursor."""

    since: str
    cursor: str
    noted_at: float


@dataclass(frozen=True)
class _Batch:
    """The changes in one delivery."""

    items: tuple[FeedChange, ...]
    cursor: str


class Deliverer:
    """Delivers changes until it is stopped. A lease in the database lets only one process deliver at a time.

    Args:
        signer: Signs the requests.
        stop: The event that stops deliveries. Attempts in progress finish first, within ten seconds.
        network: The connection settings. By default, private addresses are rejected.
    """

    def __init__(self, engine: Engine, signer: Signer, stop: threading.Event, network: Network | None = None) -> None:
        self._engine = engine
        self._signer = signer
        self._stop = stop
        self._network = network or Network()
        self._holder = secrets.token_hex(16)
        self._busy: dict[str, str] = {}
        self._positions: dict[str, _Position] = {}
        self._renew_at = 0.0

    def run(self) -> None:
        """Deliver changes until the `stop` event is set."""
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="webhook") as threads:
            while not self._stop.is_set():
                try:
                    self._look(threads)
                except DBAPIError as problem:
                    _LOGGER.warning("webhooks=waiting problem=%r", str(problem.orig))
                self._stop.wait(_LOOK_SECONDS)
        try:
            with self._engine.begin() as connection:
                give_lease_back(connection, self._holder)
        except DBAPIError:
            return  # the lease expires by itself

    def _look(self, threads: ThreadPoolExecutor) -> None:
        """If this process has the lease, start the deliveries that are due."""
        now = int(time.time())
        if time.monotonic() >= self._renew_at:
            with self._engine.begin() as connection:
                has_lease = take_lease(connection, self._holder, now)
            if not has_lease:
                return
            self._renew_at = time.monotonic() + _RENEW_SECONDS
        # Copy this before reading rows: a delivery that ends in the meantime might be read as pending and sent again.
        busy = self._busy.copy()
        with snapshot(self._engine) as connection:
            rows, last = due_webhooks(connection, now), last_step(connection)
        of_owner = Counter(busy.values())
        for row in rows:
            position = self._positions.get(row.id)
            has_read = position is not None and position.since == row.since and position.cursor == str(last)
            if row.id in busy or of_owner[row.owner] >= _OF_OWNER or len(self._busy) >= _THREADS or has_read:
                continue
            self._busy[row.id] = row.owner
            of_owner[row.owner] += 1
            threads.submit(self._serve, row)

    def _serve(self, row: Any) -> None:
        try:
            batch = self._next(row)
            if batch is not None:
                self._send(row, batch)
        except FeedPrunedError as pruned:
            self._note(row, since=pruned.oldest, pending=None)
        except BilateralError as problem:  # an agent's registry was removed from the index, or a key does not fit
            self._fail(row, problem)
        except DBAPIError as problem:
            _LOGGER.warning("webhook=%s problem=%r", row.id, str(problem.orig))
        except Exception:
            _LOGGER.exception("webhook=%s", row.id)
            raise
        finally:
            del self._busy[row.id]

    def _next(self, row: Any) -> _Batch | None:
        """Return the next changes for a subscription; None if there are none yet."""
        position = self._positions.get(row.id)
        if position is None or position.since != row.since:
            position = self._positions[row.id] = _Position(row.since, row.since, time.monotonic())
        for _ in range(_READS):
            with snapshot(self._engine) as connection:
                page = read_feed(connection, position.cursor, stored_filter(connection, row.wanted), _AT_ONCE)
            if page.items:
                return _cut(page.items, row.pending) or _Batch(page.items, page.items[-1].id)
            position.cursor = page.cursor
            if page.is_end:
                break
        if position.cursor != row.since and time.monotonic() - position.noted_at > _NOTE_SECONDS:
            self._note(row, since=position.cursor)
        return None

    def _send(self, row: Any, batch: _Batch) -> None:
        """Attempt a delivery, and store its outcome. Its last change is stored first, so retries are identical."""
        if row.pending != batch.cursor and not self._note(row, pending=batch.cursor):
            return  # the subscription was removed, or another process was faster
        delivery = f"{row.id}/{row.since}"
        content = {"delivery": delivery, "webhook": row.id, "since": row.since, "cursor": batch.cursor}
        changes = msgspec.Raw(adapter(tuple[FeedChange, ...]).dump_json(batch.items))
        body = msgspec.json.encode({**content, "changes": changes})
        headers = self._signer.headers(row.url, body, delivery)
        with HttpSession(_LIMITS, self._network) as session:
            session.send("POST", row.url, content=body, headers=headers)
        progress = {"since": batch.cursor, "pending": None, "failures": 0, "failing_since": None, "problem": None}
        self._note(row, **progress, next_at=int(time.time()), delivered=row.delivered + 1)

    def _fail(self, row: Any, problem: BilateralError) -> None:
        now = int(time.time())
        since = now if row.failing_since is None else row.failing_since
        is_final = isinstance(problem, RefusedDocumentError) and problem.status == HTTPStatus.GONE
        delay = getattr(problem, "wait_seconds", None) or 0
        self._note(
            row,
            failures=row.failures + 1,
            failed=row.failed + 1,
            failing_since=since,
            next_at=now + min(_LONGEST_WAIT, max(_FIRST_WAIT << min(row.failures, 10), delay)),
            problem=str(problem)[:_MOST_PROBLEM],
            stopped_at=now if is_final or now - since > _STOP_SECONDS else None,
        )

    def _note(self, row: Any, **values: Any) -> bool:
        with self._engine.begin() as connection:
            return note_webhook(connection, row, **values)


def _cut(items: tuple[FeedChange, ...], pending: str | None) -> _Batch | None:
    """Return the changes up to and including a given change; None if that change is missing."""
    for number, change in enumerate(items, 1):
        if change.id == pending:
            return _Batch(items[:number], change.id)
    return None


TAG: Final = "bilateral-webhook"
"""The tag of the signatures. Receivers require it, so signatures made for other purposes are rejected."""

COVERED: Final = ("@method", "@target-uri", "content-type", "webhook-delivery")
"""The signed parts of a request, in addition to `content-digest`, which covers the body."""

_CURVE: Final = "Ed25519"


class Signer:
    """Signs requests with the operator's key.

    Args:
        key: The private key.

    Attributes:
        key_id: The key's thumbprint (RFC 7638), by which receivers identify the key.
    """

    def __init__(self, key: OKPKey) -> None:
        self.key_id = key.thumbprint()
        private: Any = key.private_key  # of the curve that `read_key` requires
        keys = MappingKeyResolver(private_keys={self.key_id: private}, public_keys={})
        self._signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=keys)

    def headers(self, url: str, body: bytes, delivery: str) -> dict[str, str]:
        """Return the headers of a signed POST request."""
        headers = {"Content-Type": "application/json", "Webhook-Delivery": delivery}
        request = httpx.Request("POST", url, headers=headers, content=body)
        self._signer.sign(
            request, key_id=self.key_id, label="webhook", tag=TAG, covered_component_ids=COVERED, body=body
        )
        signed = ("Content-Digest", "Signature-Input", "Signature")
        return {**headers, **{name: request.headers[name] for name in signed}}


def read_key(path: Path) -> OKPKey:
    """Read an Ed25519 private key from a PEM file that only its owner can read."""
    try:
        content = path.read_bytes()
        mode = path.stat().st_mode
    except OSError as problem:
        raise InvalidArgumentError(f"the key {path} cannot be read: {problem.strerror}") from None
    if os.name == "posix" and mode & 0o077:
        raise InvalidArgumentError(f"the key {path} is readable by other users: run `chmod 600 {path}`")
    unusable = InvalidArgumentError(
        f"{path} is not an Ed25519 private key in PEM format: create one with `bilateral webhooks new-key`"
    )
    try:
        key = OKPKey.import_key(content)
    except (JoseError, ValueError, TypeError):
        raise unusable from None
    if key.curve_name != _CURVE or not key.is_private:
        raise unusable
    return key


def write_key(path: Path) -> OKPKey:
    """Create an Ed25519 key, and write it to a file that only its owner can read."""
    key = OKPKey.generate_key(_CURVE)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key.as_pem(private=True))
    except OSError as problem:
        raise InvalidArgumentError(f"the key {path} cannot be written: {problem.strerror}") from None
    return key


_MOST_URL: Final = 2_000  # characters, as for a URI in a file
_MOST_OWNER: Final = 64  # the width of the column
_MOST_VALUES: Final = 20
"""The maximum number of values per filter, as in `/v1/changes`."""


def subscribe(  # noqa: PLR0913  # two have defaults
    connection: Connection,
    url: str,
    chosen: FeedFilter,
    *,
    owner: str,
    since: str | None = None,
    allow_private: bool = False,
) -> str:
    """Store a subscription, and return its id."""
    host, _ = host_of(url)
    if len(url) > _MOST_URL or "@" in url.partition("?")[0] or "#" in url:
        raise InvalidArgumentError(
            f"url: use at most {_MOST_URL:,} characters, without a user name, password or fragment"
        )
    if not allow_private and not url.lower().startswith("https://"):
        raise InvalidArgumentError(
            f"url: {quoted(url)} is not an https URL. Pass --allow-private to permit http within your own network"
        )
    if not allow_private and _is_private(host):
        raise InvalidArgumentError(
            f"url: {quoted(host)} is not a public address, so nothing would be delivered. Pass --allow-private, "
            "here and to `webhooks deliver`, to permit addresses within your own network"
        )
    if not 1 <= len(owner) <= _MOST_OWNER or not owner.isprintable():
        raise InvalidArgumentError(f"owner: use 1 to {_MOST_OWNER} printable characters")
    for name, values in (
        ("agent", chosen.agents),
        ("account", chosen.accounts),
        ("tag", chosen.tags),
        ("kind", chosen.kinds),
    ):
        if len(values) > _MOST_VALUES:
            raise InvalidArgumentError(
                f"{name}: {len(values)} values were passed, but at most {_MOST_VALUES} are allowed"
            )
    if since is not None:
        read_feed(connection, since, chosen, 1)
    return add_webhook(connection, owner, url, _stored(chosen), last_cursor(connection) if since is None else since)


def _is_private(host: str) -> bool:
    """Return True for a non-public address or a name of this machine. Other names are resolved at delivery."""
    name = host.strip("[]").rstrip(".").lower()
    try:
        return not is_public(name if ":" in name else inet_ntoa(inet_aton(name)))  # for example, 127.1 is 127.0.0.1
    except (OSError, ValueError):
        return name == "localhost" or name.endswith(".localhost")


def _stored(chosen: FeedFilter) -> str:
    """Return a filter as JSON. Agent ids include their registry, so they remain unambiguous."""
    values = {
        "agents": [key.global_id for key in chosen.agents],
        "accounts": chosen.accounts,
        "tags": chosen.tags,
        "kinds": chosen.kinds,
    }
    return json.dumps({name: value for name, value in values.items() if value})


def stored_filter(connection: Connection, text: str) -> FeedFilter:
    """Return a subscription's filter."""
    return parse_filter(read_registries(connection), **json.loads(text))
