"""`bilateral watch …`: changes to agents and accounts, as the index records them."""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from bilateral.cli.index_options import Database, require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, flag, make_group, optional
from bilateral.core.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from bilateral.index.changes.answers import FeedChange
    from bilateral.index.changes.queries import FeedFilter

app = make_group("watch")

_SECONDS: Final = 30.0
"""The time limit for a read in seconds: fifteen times a service's limit, because a command has a single user."""

_PAUSE: Final = 1.0
"""Seconds between two polls for changes."""


@dataclass(frozen=True, kw_only=True)
class ChangeOptions:
    """The kinds of changes to report."""

    kinds: list[str] | None = optional("KIND", "Only changes of this kind; may be repeated.", "--kind")
    tags: list[str] | None = optional("TAG", "Only changes with this tag; may be repeated.", "--tag")

    def filter(self, connection: Connection, agents: Iterable[str], accounts: Iterable[str]) -> FeedFilter:
        """Return a filter for changes to the given agents and accounts, or to all."""
        from bilateral.index.changes.queries import parse_filter  # noqa: PLC0415  # slow to import
        from bilateral.index.reading.registries import read_registries  # noqa: PLC0415

        return parse_filter(read_registries(connection), agents, accounts, self.tags or (), self.kinds or ())


@dataclass(frozen=True, kw_only=True)
class WatchOptions(ChangeOptions):
    """The options for the changes to watch, and for the point from which to start."""

    since: str | None = optional(
        "CURSOR", "Print changes after the one with this id, or all for 0. By default, only new changes are printed."
    )
    once: bool = flag("--once", "Stop at the end of the feed instead of waiting for more changes.")
    database: Database = None


@command(app, "agent", is_local=True)
def watch_agents(
    invocation: Invocation,
    agents: Annotated[list[str], argument("AGENT...", "Agent ids, including their chains.")],
    options: WatchOptions,
) -> None:
    """Print changes to agents until interrupted."""
    _watch(invocation, options, agents=agents)


@command(app, "account", is_local=True)
def watch_accounts(
    invocation: Invocation,
    accounts: Annotated[list[str], argument("ADDRESS...", "Account addresses.")],
    options: WatchOptions,
) -> None:
    """Print changes that involve accounts until interrupted."""
    _watch(invocation, options, accounts=accounts)


def _watch(
    invocation: Invocation, options: WatchOptions, agents: Iterable[str] = (), accounts: Iterable[str] = ()
) -> None:
    require_extra()
    from bilateral.index.changes.queries import last_cursor, read_feed  # noqa: PLC0415  # slow to import
    from bilateral.index.reading.readers import Reader  # noqa: PLC0415

    with closing(Reader(options.database, seconds=_SECONDS, connections=1)) as reader:
        chosen = reader.read(options.filter, agents, accounts)
        cursor = reader.read(last_cursor) if options.since is None else options.since
        while True:
            page = reader.read(read_feed, cursor, chosen)
            for change in page.items:
                invocation.output.raw(_line(change, as_json=invocation.output.as_json))
            cursor = page.cursor
            if page.is_end and options.once:
                return
            if page.is_end:
                time.sleep(_PAUSE)


def _line(change: FeedChange, *, as_json: bool) -> str:
    """Return a change as one line, in which untrusted text cannot control the terminal."""
    from bilateral.cli.json_values import plain  # noqa: PLC0415  # slow to import

    if as_json:
        return json.dumps(plain(change))
    timestamp = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(change.time))
    details = " ".join(f"{name}={value}" for name, value in change.details.items() if value not in (None, ""))
    kind = change.kind if change.retracts is None else f"retracted {change.retracts} {change.kind}"
    return printable(f"{timestamp} {change.id} {kind} {' '.join(change.agents)} {details}")
