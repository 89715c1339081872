"""Statements on the tables of files that SQLite and PostgreSQL word alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from bilateral.index.files import tables as schema
from bilateral.index.files.loading import Failed, Loaded, Outcome, host_of_file
from bilateral.index.files.reading import well_known_uri
from bilateral.index.files.tables import Kind, State
from bilateral.index.log.dialects import insert_into, insert_new


def new_file(  # noqa: PLR0913, PLR0917  # what is known of it
    file_id: bytes, kind: Kind, uri: str, host: str | None, now: float, expected_hash: bytes | None = None
) -> dict[str, Any]:
    """Return the row of a file that was not fetched yet. It is due at once if it has a host."""
    row: dict[str, Any] = dict.fromkeys(schema.file.c.keys())
    row |= {"file_id": file_id, "kind": kind, "uri": uri, "expected_hash": expected_hash, "host": host}
    row |= {"state": State.WAITING, "found_at": int(now), "attempts": 0, "failures": 0, "refresh_seconds": 0}
    return row | {"next_at": None if host is None else now}


def domain_files(outcomes: Iterable[tuple[Kind, Outcome]], now: float) -> list[dict[str, Any]]:
    """Return the rows of the files of the domains that loaded registration files name, by id."""
    parsed: dict[bytes, dict[str, Any]] = {}
    for kind, outcome in outcomes:
        if kind is Kind.REGISTRATION and isinstance(outcome, Loaded):
            for row in outcome.rows.get(schema.registration_domain, []):
                uri = well_known_uri(row["host"])
                parsed[row["file_id"]] = new_file(row["file_id"], Kind.DOMAIN, uri, host_of_file(uri), now)
    return [parsed[file_id] for file_id in sorted(parsed)]


REPLACED: Final = (Kind.REGISTRATION, Kind.DOMAIN)
"""The kinds of files of which an agent has one at a time: a later event replaces the file of an earlier one."""


def store_content(connection: sa.Connection, loaded: Loaded) -> None:
    """Store a content and the rows that it makes, unless they are stored already. Others wait before they delete it."""
    table = schema.file_content
    row = {"content_hash": loaded.content_hash, "size": len(loaded.content), "content": loaded.content}
    statement = insert_into(connection, table).values(row)
    # An update that changes nothing locks the row.
    connection.execute(
        statement.on_conflict_do_update(index_elements=["content_hash"], set_={"size": statement.excluded.size})
    )
    for read, rows in loaded.rows.items():
        insert_new(connection, read, rows)
    for reader in loaded.readers:
        reader.stored(connection, loaded.rows)


def delete_unused_content(connection: sa.Connection, content_hash: bytes) -> None:
    """Delete a content that no file has any more, and the rows that it made."""
    table = schema.file_content
    locked = sa.select(table.c.content_hash).where(table.c.content_hash == content_hash).with_for_update()
    if connection.execute(locked).first() is not None:
        used = sa.exists().where(schema.file.c.content_hash == content_hash)
        connection.execute(sa.delete(table).where(table.c.content_hash == content_hash, ~used))


def columns_of(outcome: Loaded | Failed, now: int) -> dict[str, Any]:
    """Return the columns of a file that say the outcome of a first look, without those of the schedule."""
    if isinstance(outcome, Failed):
        return {"state": State.FAILED, "reason": outcome.reason, "problem": outcome.problem, "checked_at": now}
    return {
        "state": State.LOADED if outcome.problem is None else State.MALFORMED,
        "content_hash": outcome.content_hash,
        "integrity": outcome.integrity,
        "reason": None if outcome.problem is None else "malformed_document",
        "problem": outcome.problem,
        "etag": outcome.validators.etag,
        "last_modified": outcome.validators.last_modified,
        "checked_at": now,
        "changed_at": now,
    }


def wake_hosts(connection: sa.Connection, hosts: Iterable[str], now: float) -> None:
    """Make hosts due, or as soon as they may be asked again."""
    table = schema.file_host
    opens = sa.case((table.c.closed_until > now, table.c.closed_until), else_=now)
    is_earlier = sa.or_(table.c.next_at.is_(None), table.c.next_at > opens)
    statement = insert_into(connection, table).on_conflict_do_update(
        index_elements=["host"], set_={"next_at": sa.case((is_earlier, opens), else_=table.c.next_at)}
    )
    # In one order, so that two transactions do not wait for each other in a circle.
    rows = [{"host": host, "next_at": now, "closed_until": 0, "failures": 0} for host in sorted(hosts)]
    if rows:
        connection.execute(statement, rows)


def wake_files(connection: sa.Connection, file_ids: Iterable[bytes], now: float) -> None:
    """Make files due, but for those that are being fetched and those that can never change."""
    table = schema.file
    may_change = (table.c.lease.is_(None)) & table.c.integrity.is_(None) & (table.c.next_at > now)
    statement = sa.update(table).where(table.c.file_id == sa.bindparam("woken"), may_change).values(next_at=now)
    rows = [{"woken": file_id} for file_id in sorted(file_ids)]
    if rows:
        connection.execute(statement, rows)


def is_outdated(connection: sa.Connection, file_id: bytes) -> bool:
    """Return True if no event that still counts names a file: it is collected, or its agents have other URIs now."""
    named, later = schema.file_reference.alias("named"), schema.file_reference.alias("later")
    key = ("chain_id", "registry", "agent_id")
    is_later = sa.or_(
        later.c.block_number > named.c.block_number,
        (later.c.block_number == named.c.block_number) & (later.c.log_index > named.c.log_index),
    )
    same_agent = [later.c[name] == named.c[name] for name in key]
    # The engines use the index of a kind only if the kind is a literal.
    replaced = [
        (named.c.kind == kind) & sa.exists().where(later.c.kind == kind_literal(kind), *same_agent, is_later)
        for kind in REPLACED
    ]
    query = sa.select(named.c.file_id).where(named.c.file_id == file_id, ~sa.or_(*replaced)).limit(1)
    domain = schema.registration_domain
    of_domain = sa.select(domain.c.file_id).where(domain.c.file_id == file_id).limit(1)
    return connection.execute(query).first() is None and connection.execute(of_domain).first() is None


def kind_literal(kind: Kind) -> sa.ColumnElement[str]:
    """Return a kind as a literal of SQL."""
    return sa.literal_column(f"'{kind}'", sa.String)


def set_file(connection: sa.Connection, file_id: bytes, values: dict[str, Any], lease: bytes | None = None) -> bool:
    """Set columns of a file, if it still has a lease."""
    table = schema.file
    statement = sa.update(table).where(table.c.file_id == file_id).values(values)
    if lease is not None:
        statement = statement.where(table.c.lease == lease)
    return connection.execute(statement).rowcount == 1
