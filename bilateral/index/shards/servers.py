"""All servers of a sharded index together: they are opened, compared with the settings, and brought to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from bilateral.index.errors import DatabaseUnavailableError, OlderSchemaError, ShardError
from bilateral.index.log.database import open_database, unavailable
from bilateral.index.log.locks import wait_for_locks
from bilateral.index.log.places import Placed, holds
from bilateral.index.operating.settings import Shard
from bilateral.index.shards import coordinator
from bilateral.index.shards.reachable import keep_reachable
from bilateral.index.shards.served import claim, forget_chain, number_from, require_listed, serve


@contextmanager
def closing_engine(engine: Engine) -> Iterator[Engine]:
    """Close the connections of an engine at the end."""
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def opened_shards(shards: Mapping[str, Shard], *, creates: bool = False) -> Iterator[dict[str, Engine]]:
    """Open the databases of all shards."""
    with ExitStack() as stack:
        engines = {}
        for name, shard in shards.items():
            with of_shard(name):
                engines[name] = stack.enter_context(closing_engine(open_database(shard.url, creates=creates)))
        yield engines


@contextmanager
def of_shard(name: str) -> Iterator[None]:
    """Name a shard in the errors of its database."""
    try:
        yield
    except DBAPIError as problem:
        raise DatabaseUnavailableError(f"shard {name}: {unavailable(problem)}") from None
    except DatabaseUnavailableError as problem:
        raise DatabaseUnavailableError(f"shard {name}: {problem}") from None
    except OlderSchemaError as problem:
        command = "bilateral index schema"
        raise ShardError(name, str(problem).replace(command, f"{command} --settings")) from None


def update_shards(url: str | None, shards: Mapping[str, Shard], *, adopts: bool = False) -> list[Placed]:
    """Make the coordinator read all chains of the settings on their shards. Safe to retry."""
    with closing_engine(open_database(url)) as database, opened_shards(shards, creates=True) as engines:
        with database.begin() as connection:
            coordinator.hold_places(connection)
            coordinator.split(connection)  # kept if a shard is refused: those before it know the coordinator by its id
        with database.begin() as connection:
            coordinator.hold_places(connection)
            return read_shards(connection, engines, shards, adopts=adopts)


def read_shards(
    connection: Connection, engines: Mapping[str, Engine], shards: Mapping[str, Shard], *, adopts: bool = False
) -> list[Placed]:
    """Make a coordinator read all chains of the settings on their shards."""
    coordinator.require_places(connection, shards)
    identity = coordinator.identity_of(connection)
    for name, shard in shards.items():
        _add(connection, engines[name], identity, (name, shard), adopts=adopts)
    placed = coordinator.places(connection)
    keep_reachable(connection, placed)
    return placed


def _add(connection: Connection, engine: Engine, identity: str, entry: tuple[str, Shard], *, adopts: bool) -> None:
    """Prepare a shard, and let the coordinator read it and its new chains."""
    name, shard = entry
    number = coordinator.number_of(connection, name)
    with of_shard(name), engine.begin() as on_shard:
        wait_for_locks(on_shard)
        is_new = claim(on_shard, identity, (name, number), adopts=adopts)
        if is_new and not adopts and any(placed.shard == name for placed in coordinator.places(connection)):
            raise ShardError(name, f"its database is another one than before: correct database.shards.{name}.url")
        for placed in coordinator.places(connection):
            if placed.shard != name and holds(on_shard, placed.chain_id):
                forget_chain(on_shard, placed.chain_id)  # a move broke off before its end
        require_listed(on_shard, name, shard.chains)
        if is_new:
            number_from(on_shard, coordinator.next_range(connection))
        serve(on_shard, shard.chains)
        schema_name = on_shard.execute(text("SELECT current_schema()")).scalar_one()
    coordinator.connect_shard(connection, name, number, shard.url)
    with of_shard(name):
        coordinator.require_readable(connection, number)
    for chain_id in shard.chains:
        if not coordinator.reads(connection, chain_id):
            coordinator.place_chain(connection, Placed(chain_id, name, number), schema_name)
