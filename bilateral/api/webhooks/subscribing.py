"""Subscriptions: who receives which changes."""

from __future__ import annotations

import json
from socket import inet_aton, inet_ntoa
from typing import Final

from sqlalchemy import Connection

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.documents.http import host_of
from bilateral.documents.public_addresses import is_public
from bilateral.index.changes.queries import FeedFilter, last_cursor, parse_filter, read_feed
from bilateral.index.changes.webhooks import add_webhook
from bilateral.index.reading.registries import read_registries

_MOST_URL: Final = 2_000  # characters, as of a URI in a file
_MOST_OWNER: Final = 64  # the width of the column
_MOST_VALUES: Final = 20
"""Values of one filter, as in `/v1/changes`."""


def subscribe(  # noqa: PLR0913  # two have defaults
    connection: Connection,
    url: str,
    wanted: FeedFilter,
    *,
    owner: str,
    since: str | None = None,
    allow_private: bool = False,
) -> str:
    """Store a subscription."""
    host, _ = host_of(url)
    if len(url) > _MOST_URL or "@" in url.partition("?")[0] or "#" in url:
        raise InvalidArgumentError(f"url: write at most {_MOST_URL:,} characters, without a user, password or fragment")
    if not allow_private and not url.lower().startswith("https://"):
        raise InvalidArgumentError(f"url: {quoted(url)} is not https. --allow-private permits http in your own network")
    if not allow_private and _is_private(host):
        raise InvalidArgumentError(
            f"url: {quoted(host)} is not a public address, so nothing would be delivered. --allow-private permits "
            "addresses of your own network; give it to `webhooks deliver`, too"
        )
    if not 1 <= len(owner) <= _MOST_OWNER or not owner.isprintable():
        raise InvalidArgumentError(f"owner: write 1 to {_MOST_OWNER} printable characters")
    for name, values in (
        ("agent", wanted.agents),
        ("account", wanted.accounts),
        ("tag", wanted.tags),
        ("kind", wanted.kinds),
    ):
        if len(values) > _MOST_VALUES:
            raise InvalidArgumentError(f"{name}: {len(values)} values are given, and {_MOST_VALUES} are allowed")
    if since is not None:
        read_feed(connection, since, wanted, 1)
    return add_webhook(connection, owner, url, _stored(wanted), last_cursor(connection) if since is None else since)


def _is_private(host: str) -> bool:
    """Return True for an address that is not public, and for names of this machine. Other names are looked up later."""
    name = host.strip("[]").rstrip(".").lower()
    try:
        return not is_public(name if ":" in name else inet_ntoa(inet_aton(name)))  # 127.1 is 127.0.0.1
    except (OSError, ValueError):
        return name == "localhost" or name.endswith(".localhost")


def _stored(wanted: FeedFilter) -> str:
    """Return a filter as JSON. Ids of agents name their registry, so that they never mean another one."""
    values = {
        "agents": [key.global_id for key in wanted.agents],
        "accounts": wanted.accounts,
        "tags": wanted.tags,
        "kinds": wanted.kinds,
    }
    return json.dumps({name: value for name, value in values.items() if value})


def stored_filter(connection: Connection, text: str) -> FeedFilter:
    """Return the filter of a subscription."""
    return parse_filter(read_registries(connection), **json.loads(text))
