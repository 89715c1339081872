"""Statements on the file tables that are identical in SQLite and PostgreSQL.

They also cover two tables derived from both the log and files: each agent's current file, and the payments that
feedback files claim. These are claims by the files' authors, and are not compared with the payments in the index.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import sqlalchemy as sa

from bilateral.core import events
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.events import NewAuthorizedFeedback, NewFeedback, Transfer, URIUpdated
from bilateral.core.events.agents import NOBODY
from bilateral.core.identifiers import AccountId, checksummed
from bilateral.core.values import MAX_DECIMALS
from bilateral.core.values.bounds import scale_of_tag, share_of_scale, units_of
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as schema
from bilateral.index.files.loading import Failed, Loaded, Outcome, host_of_file
from bilateral.index.files.reading import registration_uri
from bilateral.index.files.tables import Kind, State, agent_file, payment_claim
from bilateral.index.log.batches import EventRows
from bilateral.index.log.dialects import insert_into, insert_new
from bilateral.index.log.rows import picker
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.log.text import key_text, padded_text

FILE_EVENTS: Final[Mapping[type[events.Event], tuple[Kind, str, str | None]]] = {
    events.Registered: (Kind.REGISTRATION, "agent_uri", None),
    events.URIUpdated: (Kind.REGISTRATION, "new_uri", None),
    events.NewFeedback: (Kind.FEEDBACK, "feedback_uri", "feedback_hash"),
    events.NewAuthorizedFeedback: (Kind.FEEDBACK, "file_uri", "file_hash"),
    events.ResponseAppended: (Kind.RESPONSE, "response_uri", "response_hash"),
    events.ValidationRequest: (Kind.REQUEST, "request_uri", "request_hash"),
    events.ValidationResponse: (Kind.VALIDATION, "response_uri", "response_hash"),
    events.AgentRegistered: (Kind.DOMAIN, "agent_domain", None),
    events.AgentUpdated: (Kind.DOMAIN, "agent_domain", None),
}
"""The events that refer to files. Each maps to the file's kind, and the columns with its URI or domain and its hash."""

_COLUMNS_OF_FILE: Final = tuple(schema.file.c.keys())


def new_file(  # noqa: PLR0913, PLR0917  # what is known of it
    file_id: bytes, kind: Kind, uri: str, host: str | None, now: float, expected_hash: bytes | None = None
) -> dict[str, Any]:
    """Return the row for a file that has not been fetched yet. The file is due immediately if it has a host."""
    row: dict[str, Any] = dict.fromkeys(_COLUMNS_OF_FILE)
    row |= {"file_id": file_id, "kind": kind, "uri": uri, "expected_hash": expected_hash, "host": host}
    row |= {"state": State.WAITING, "found_at": int(now), "attempts": 0, "failures": 0, "refresh_seconds": 0}
    return row | {"next_at": None if host is None else now}


def domain_files(outcomes: Iterable[tuple[Kind, Outcome]], now: float) -> list[dict[str, Any]]:
    """Return the rows for the files at the domains that loaded registration files list, keyed by file id."""
    parsed: dict[bytes, dict[str, Any]] = {}
    for kind, outcome in outcomes:
        if kind is Kind.REGISTRATION and isinstance(outcome, Loaded):
            for row in outcome.rows.get(schema.registration_domain, []):
                uri = registration_uri(row["host"])
                parsed[row["file_id"]] = new_file(row["file_id"], Kind.DOMAIN, uri, host_of_file(uri), now)
    return [parsed[file_id] for file_id in sorted(parsed)]


REPLACED: Final = (Kind.REGISTRATION, Kind.DOMAIN)
"""The kinds of files of which an agent has only one at a time: a later event replaces the earlier file."""


def store_contents(connection: sa.Connection, loaded: Iterable[Loaded]) -> None:
    """Store contents and derived rows that do not exist yet. Concurrent deletions wait until the transaction ends."""
    table, files = schema.file_content, sorted(loaded, key=lambda file: file.content_hash)
    if not files:
        return
    statement = insert_into(connection, table)
    # Updating a row without changing it locks the row.
    connection.execute(
        statement.on_conflict_do_update(index_elements=["content_hash"], set_={"size": statement.excluded.size}),
        [{"content_hash": file.content_hash, "size": len(file.content), "content": file.content} for file in files],
    )
    made: dict[sa.Table, list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        for read, rows in file.rows.items():
            made[read] += rows
    for read, rows in made.items():
        insert_new(connection, read, rows)
    for reader in dict.fromkeys(reader for file in files for reader in file.readers):
        reader.stored(connection, made)


def delete_unused_content(connection: sa.Connection, content_hash: bytes) -> None:
    """Delete contents that no file has any longer, along with the rows derived from them."""
    table = schema.file_content
    locked = sa.select(table.c.content_hash).where(table.c.content_hash == content_hash).with_for_update()
    if connection.execute(locked).first() is not None:
        used = sa.exists().where(schema.file.c.content_hash == content_hash)
        connection.execute(sa.delete(table).where(table.c.content_hash == content_hash, ~used))


def columns_of(outcome: Loaded | Failed, now: int) -> dict[str, Any]:
    """Return a file's column values for the outcome of the first attempt, except those that schedule the next."""
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
    """Make hosts due immediately, or as soon as they may be contacted again."""
    table = schema.file_host
    opens = sa.case((table.c.closed_until > now, table.c.closed_until), else_=now)
    is_earlier = sa.or_(table.c.next_at.is_(None), table.c.next_at > opens)
    statement = insert_into(connection, table).on_conflict_do_update(
        index_elements=["host"], set_={"next_at": sa.case((is_earlier, opens), else_=table.c.next_at)}
    )
    # Use a fixed order, so that two transactions cannot deadlock.
    rows = [{"host": host, "next_at": now, "closed_until": 0, "failures": 0} for host in sorted(hosts)]
    if rows:
        connection.execute(statement, rows)


def wake_files(connection: sa.Connection, file_ids: Iterable[bytes], now: float) -> None:
    """Make files due, except files that are being fetched and files that can never change."""
    table = schema.file
    may_change = (table.c.lease.is_(None)) & table.c.integrity.is_(None) & (table.c.next_at > now)
    statement = sa.update(table).where(table.c.file_id == sa.bindparam("woken"), may_change).values(next_at=now)
    rows = [{"woken": file_id} for file_id in sorted(file_ids)]
    if rows:
        connection.execute(statement, rows)


_REFERENCE, _LATER = (schema.file_reference.alias(name).c for name in ("named", "later"))
_IS_REPLACED: Final = (
    *(_LATER[name] == _REFERENCE[name] for name in ("chain_id", "registry", "agent_id")),
    sa.tuple_(_LATER.block_number, _LATER.log_index) > sa.tuple_(_REFERENCE.block_number, _REFERENCE.log_index),
)
"""The SQL conditions for a later reference by the same agent. The caller must add a condition on the kind."""


def is_outdated(connection: sa.Connection, file_id: bytes) -> bool:
    """Return True if no current event refers to a file, because it was deleted or its agents now have other URIs."""
    # The databases use a kind's index only if the kind is a literal.
    replaced = [
        (_REFERENCE.kind == kind) & sa.exists().where(_LATER.kind == kind_literal(kind), *_IS_REPLACED)
        for kind in REPLACED
    ]
    is_current = sa.exists().where(_REFERENCE.file_id == file_id, ~sa.or_(*replaced))
    of_domain = sa.exists().where(schema.registration_domain.c.file_id == file_id)
    return not connection.execute(sa.select(sa.or_(is_current, of_domain))).scalar_one()


def kind_literal(kind: Kind) -> sa.ColumnElement[str]:
    """Return a kind as an SQL literal."""
    return sa.literal_column(f"'{kind}'", sa.String)


def set_file(connection: sa.Connection, file_id: bytes, values: dict[str, Any], lease: bytes | None = None) -> bool:
    """Set a file's columns, and return True if the file exists and, if a lease is given, still has that lease."""
    table = schema.file
    statement = sa.update(table).where(table.c.file_id == file_id).values(values)
    if lease is not None:
        statement = statement.where(table.c.lease == lease)
    return connection.execute(statement).rowcount == 1


AgentPlace = tuple[str, int]
"""An agent on a chain: the identity registry's address and the agent's id."""

_UPDATED, _TRANSFERRED = (EVENT_TABLES[event] for event in (URIUpdated, Transfer))
_pick_updated = picker(_UPDATED, "registry", "agent_id")
_pick_transferred = picker(_TRANSFERRED, "registry", "agent_id", "to_address")


def left_files(events: EventRows) -> set[AgentPlace]:
    """Return the agents that abandoned their file in the given events because their URI changed or they were burnt."""
    updated = {_pick_updated(row) for row in events.get(_UPDATED, ())}
    burnt = (_pick_transferred(row) for row in events.get(_TRANSFERRED, ()))
    return updated | {(registry, agent_id) for registry, agent_id, to in burnt if to == NOBODY}


def left_files_after(connection: sa.Connection, chain_id: int, block: int) -> set[AgentPlace]:
    """Return the agents that abandoned their file after a block."""

    def after(table: sa.Table, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
        of_blocks = (table.c.chain_id == chain_id, table.c.block_number > block)
        return sa.select(table.c.registry, table.c.agent_id).where(*of_blocks, *conditions)

    query = after(_UPDATED).union(after(_TRANSFERRED, _TRANSFERRED.c.to_address == NOBODY))
    return {(registry, agent_id) for registry, agent_id in connection.execute(query)}


def forget_files(connection: sa.Connection, chain_id: int, agents: Iterable[AgentPlace]) -> None:
    """Delete agents' current files. Scanning the agents' new URIs finds the new files."""
    _execute_for(connection, sa.delete(agent_file).where(*_IS_ONE), chain_id, agents)


def find_files(connection: sa.Connection, chain_id: int, agents: Collection[AgentPlace] | None = None) -> None:
    """Recompute agents' current files from their latest events, if those contain the agents' current URIs."""
    if agents is None:
        connection.execute(sa.delete(agent_file).where(agent_file.c.chain_id == chain_id))
        connection.execute(_FIND, {"of_chain": chain_id})
    else:
        forget_files(connection, chain_id, agents)
        _execute_for(connection, _FIND_ONE, chain_id, agents)


def _execute_for(
    connection: sa.Connection, statement: sa.Executable, chain_id: int, agents: Iterable[AgentPlace]
) -> None:
    keys = [{"of_chain": chain_id, "of_registry": registry, "of_agent": id_} for registry, id_ in sorted(agents)]
    if keys:
        connection.execute(statement, keys)


def _is_of_agent(columns: Any) -> list[sa.ColumnElement[bool]]:
    parameters = {"chain_id": "of_chain", "identity_registry": "of_registry", "agent_id": "of_agent"}
    return [columns[key] == sa.bindparam(name, type_=columns[key].type) for key, name in parameters.items()]


_AGENT: Final = agent_tables.agent.c
_IS_ONE: Final = _is_of_agent(agent_file.c)
_COLUMNS: Final = ("chain_id", "identity_registry", "agent_id", "file_id")
_CURRENT_FILES: Final = sa.select(*(_AGENT[name] for name in _COLUMNS[:3]), _REFERENCE.file_id).where(
    _REFERENCE.chain_id == _AGENT.chain_id,
    _REFERENCE.registry == _AGENT.identity_registry,
    _REFERENCE.agent_id == _AGENT.agent_id,
    # The databases use a kind's index only if the kind is a literal.
    _REFERENCE.kind == kind_literal(Kind.REGISTRATION),
    ~sa.exists().where(_LATER.kind == kind_literal(Kind.REGISTRATION), *_IS_REPLACED),
    schema.file.c.file_id == _REFERENCE.file_id,
    schema.file.c.uri == _AGENT.uri,
)
_FIND: Final = sa.insert(agent_file).from_select(_COLUMNS, _CURRENT_FILES.where(_is_of_agent(_AGENT)[0]))
_FIND_ONE: Final = sa.insert(agent_file).from_select(_COLUMNS, _CURRENT_FILES.where(*_is_of_agent(_AGENT)))


_TRANSACTION: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_CLAIMS_AT_ONCE: Final = 1_000  # rows in memory and per insert


def find_payments(connection: sa.Connection, is_chosen: Callable[[Any], sa.ColumnElement[bool]]) -> None:
    """Recompute the payments claimed by the files of the selected feedback.

    Args:
        is_chosen: Returns the condition that selects feedback, given the columns of claims or of references.
    """
    connection.execute(sa.delete(payment_claim).where(is_chosen(payment_claim.c)))
    for rows in connection.execute(_query(is_chosen(schema.file_reference.c))).partitions(_CLAIMS_AT_ONCE):
        claims = [claim for row in rows if (claim := _claim(row)) is not None]
        if claims:
            connection.execute(sa.insert(payment_claim), claims)


def _query(is_chosen: sa.ColumnElement[bool]) -> Any:
    reference, file, read = schema.file_reference.c, schema.file.c, schema.feedback_file.c
    place = ("chain_id", "block_number", "log_index")
    parts = []
    for event, (value, decimals) in _VALUES.items():
        columns = EVENT_TABLES[event].c
        is_open = event is NewFeedback
        parts.append(
            sa.select(
                *(columns[name] for name in (*place, "registry", "agent_id", "client_address")),
                (columns.tag1 if is_open else sa.literal("")).label("open_tag"),
                (sa.null() if is_open else columns.tag1).label("raw_tag"),
                columns[value].label("value"),
                (columns[decimals] if decimals else sa.literal(0)).label("decimals"),
                *(read[name] for name in ("payment_from", "payment_to", "payment_transaction")),
                file.file_id,
                file.integrity,
            ).where(
                is_chosen,
                reference.kind == Kind.FEEDBACK,
                *(columns[name] == reference[name] for name in place),
                file.file_id == reference.file_id,
                file.state == State.LOADED,
                read.content_hash == file.content_hash,
                read.payment_transaction.is_not(None),
            )
        )
    return sa.union_all(*parts)


_VALUES: Final = {NewFeedback: ("value", "value_decimals"), NewAuthorizedFeedback: ("score", None)}
"""The columns that contain the value and its decimals, by event."""


def _claim(row: sa.Row[Any]) -> dict[str, Any] | None:
    """Return the row of a claim; None if the file states no valid transaction, or the value has too many decimals."""
    if not _TRANSACTION.fullmatch(row.payment_transaction) or row.decimals > MAX_DECIMALS:
        return None
    tag = key_text(row.open_tag) if row.raw_tag is None else padded_text(bytes(row.raw_tag))
    scale = scale_of_tag(tag)
    value, decimals = int(row.value), row.decimals
    return {
        **{name: getattr(row, name) for name in ("chain_id", "block_number", "log_index", "registry", "agent_id")},
        "tag": tag,
        "account": row.client_address,
        "share": 0 if scale is None else share_of_scale(value, decimals, scale),
        "units": units_of(value, decimals),
        "payer": _address(row.payment_from),
        "payee": _address(row.payment_to),
        "is_bound": row.integrity is not None,
        "file_id": row.file_id,
    }


def _address(text: str | None) -> str | None:
    """Return an address, which may be bare or part of an account id, in checksum form; None if there is none."""
    address = text or ""
    if not _ADDRESS.fullmatch(address):
        try:
            address = AccountId.parse(address, verify_checksum=False).address
        except MalformedIdentifierError:
            return None
    return checksummed(address) if _ADDRESS.fullmatch(address) else None
