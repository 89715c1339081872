"""The file projection. A reorganisation removes references, claims and current files along with their blocks."""

import time
from collections.abc import Iterator, Mapping
from typing import Final

from sqlalchemy import Connection, Engine, case, delete, exists, func, select, update

from bilateral.index.files import rows as file_rows
from bilateral.index.files import tables as schema
from bilateral.index.files.observations import move_observations
from bilateral.index.files.tables import Kind, State
from bilateral.index.log.dialects import insert_new
from bilateral.index.log.projection import Append, Progress, Projection, Removal
from bilateral.index.log.tables import EVENT_TABLES

_ABANDONED_SECONDS: Final = 3_600
"""How long a file without references is kept, in seconds. After a reorganisation, its event usually reappears."""


_RATE_SECONDS: Final = 60
_RECENT: Final = 5_000
"""The number of newest observations from which the loading rate is computed. Reading them takes a few milliseconds."""


class Files(Projection):
    """Files that events refer to, claims in these files, and each agent's current file. A separate scan finds files."""

    name = "files"
    tables = (
        *(schema.file_reference, schema.file_scan, schema.file_sight, schema.foreign_proof),
        *(schema.agent_file, schema.payment_claim),
    )

    def finish(self, step: Append) -> None:
        file_rows.forget_files(step.connection, step.chain_id, file_rows.left_files(step.batch.rows))

    def undo(self, removal: Removal) -> Iterator[None]:
        connection, chain_id, target = removal.connection, removal.chain_id, removal.target.number
        left = file_rows.left_files_after(connection, chain_id, target)
        yield
        _forget_references(connection, chain_id, target)
        file_rows.find_files(connection, chain_id, left)
        yield
        move_observations(connection, schema.file_sight, chain_id, target)

    def rebuild(self, connection: Connection, chain_id: int, progress: Progress) -> None:
        file_rows.find_files(connection, chain_id)
        file_rows.find_payments(connection, lambda columns: columns.chain_id == chain_id)

    def status(self, connection: Connection, chain_id: int) -> Mapping[str, int | float | None]:
        table, reference = schema.file.c, schema.file_reference.c
        of_chain = table.file_id.in_(select(reference.file_id).where(reference.chain_id == chain_id))
        query = select(table.state, func.count()).where(of_chain).group_by(table.state)
        counts: dict[str, int] = dict(map(tuple, connection.execute(query)))
        figures: dict[str, int | float | None] = {f"files_{state}": counts.get(state, 0) for state in State}
        waiting = counts.get(State.WAITING, 0) + _unscanned(connection, chain_id)
        rate = _files_per_second(connection, chain_id)
        left = 0 if not waiting else round(waiting / rate) if rate else None
        return figures | {"files_waiting": waiting, "files_per_second": rate, "files_seconds_left": left}


def _unscanned(connection: Connection, chain_id: int) -> int:
    """Return the number of events with a file after the scan's last block; 0 if the chain was never scanned."""
    cursor = select(schema.file_scan.c.block_number).where(schema.file_scan.c.chain_id == chain_id).scalar_subquery()
    count = 0
    for event, (_, uri, _) in file_rows.FILE_EVENTS.items():
        columns = EVENT_TABLES[event].c
        later = (columns.chain_id == chain_id, columns.block_number > cursor, columns[uri] != "")
        count += connection.execute(select(func.count()).where(*later)).scalar_one()
    return count


def _files_per_second(connection: Connection, chain_id: int) -> float:
    """Return the rate at which a chain's files were loaded in the last minute, or since the oldest recent load."""
    observation, file, now = schema.file_sight.c, schema.file.c, int(time.time())
    last = select(func.max(observation.sight_id)).scalar_subquery()
    query = (
        select(func.count(), func.min(file.checked_at))
        .where(observation.sight_id > last - _RECENT, observation.chain_id == chain_id)
        .where(file.file_id == observation.file_id, file.checked_at > now - _RATE_SECONDS)
    )
    count, first = connection.execute(query).one()
    return round(count / max(1, now - first), 1) if count else 0.0


def _forget_references(connection: Connection, chain_id: int, block: int) -> None:
    """Remove the references and claims from removed blocks."""
    scan, table, claim = schema.file_scan, schema.file_reference, schema.payment_claim
    back = case((scan.c.block_number > block, block), else_=scan.c.block_number)
    # Do this first: a scan then waits, and afterwards finds that its cursor has moved.
    connection.execute(
        update(scan).where(scan.c.chain_id == chain_id).values(block_number=back, generation=scan.c.generation + 1)
    )
    removed = (table.c.chain_id == chain_id) & (table.c.block_number > block)
    _wake_previous(connection, chain_id, block)
    files = select(table.c.file_id).where(removed, table.c.file_id.is_not(None)).distinct()
    now = int(time.time())
    abandoned = [{"file_id": file_id, "abandoned_at": now} for file_id in connection.execute(files).scalars().all()]
    insert_new(connection, schema.abandoned_file, abandoned)
    connection.execute(delete(table).where(removed))
    connection.execute(delete(claim).where(claim.c.chain_id == chain_id, claim.c.block_number > block))


def _wake_previous(connection: Connection, chain_id: int, block: int) -> None:
    """Schedule the files that agents referred to before the removed blocks, because these files are current again."""
    reference, file, now = schema.file_reference.c, schema.file.c, time.time()
    of_chain = (reference.chain_id == chain_id) & reference.kind.in_(file_rows.REPLACED)
    removed = select(*reference["registry", "agent_id", "kind"]).where(of_chain, reference.block_number > block)
    hosts, files = set(), set()
    for registry, agent_id, kind in connection.execute(removed.distinct()).all():
        of_agent = (reference.registry == registry) & (reference.agent_id == agent_id)
        previous = (
            select(file.file_id, file.host)
            .join(schema.file_reference, reference.file_id == file.file_id)
            .where(of_chain, of_agent, reference.kind == file_rows.kind_literal(Kind(kind)))
            .where(reference.block_number <= block, file.host.is_not(None))
            .order_by(reference.block_number.desc(), reference.log_index.desc())
            .limit(1)
        )
        for file_id, host in connection.execute(previous):
            files.add(bytes(file_id))
            hosts.add(host)
    file_rows.wake_hosts(connection, hosts, now)
    file_rows.wake_files(connection, files, now)


def collect(engine: Engine, *, before: float | None = None) -> int:
    """Delete files that no event refers to any more, some time after a reorganisation removed their events."""
    waiting, table, reference = schema.abandoned_file, schema.file, schema.file_reference.c
    domain = schema.registration_domain.c
    limit = time.time() - _ABANDONED_SECONDS if before is None else before
    with engine.begin() as connection:
        ids = connection.execute(select(waiting.c.file_id).where(waiting.c.abandoned_at <= limit)).scalars().all()
        deleted = 0
        for file_id in ids:
            # Because of the lock, this waits for a scan that is adding a reference.
            locked = select(table.c.content_hash).where(table.c.file_id == file_id).with_for_update()
            content = connection.execute(locked).scalar_one_or_none()
            unused = ~exists().where(reference.file_id == file_id) & ~exists().where(domain.file_id == file_id)
            removed = connection.execute(delete(table).where(table.c.file_id == file_id, unused)).rowcount
            deleted += removed
            if removed and content is not None:
                file_rows.delete_unused_content(connection, content)
            connection.execute(delete(waiting).where(waiting.c.file_id == file_id))
    return deleted
