"""Writes a made-up world into a database: rows of events in bulk, and the index's own code for all that follows."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Final

from eth_utils.crypto import keccak
from sqlalchemy import Connection, Engine, Table, func, select, text

from bench.world.people import AUTHORIZED, IDENTITY, REPUTATION, VALIDATION, People, World
from bilateral.core import events
from bilateral.core.contracts import Registry
from bilateral.core.interpreter import tuned_interpreter
from bilateral.documents import Loader
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.worker import ReferenceScan
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.database import open_database
from bilateral.index.log.rows import rows_of
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PARTITIONED_TABLES, PROJECTIONS, READERS
from bilateral.index.search import tables as search

_BLOCK_EVENTS: Final = 1_000
_BATCH_BLOCKS: Final = 10
_FIRST_TIME: Final = 1_750_000_000
BLOCK_SECONDS: Final = 12
_NOBODY: Final = "0x" + "0" * 40
_NO_HASH: Final = bytes(32)
_KINDS: Final = {
    IDENTITY: Registry.IDENTITY,
    REPUTATION: Registry.BIDIRECTIONAL,
    AUTHORIZED: Registry.AUTHORIZED,
    VALIDATION: Registry.VALIDATION,
}


def build(engine: Engine, world: World, report: Callable[[str], None] = lambda _: None) -> None:
    """Write a world into an empty database.

    Args:
        engine: The database, with its tables.
        world: The world.
        report: Called with a line now and then.
    """
    with engine.begin() as connection:
        rows = [(world.chain_id, address, kind.value, IDENTITY, 1) for address, kind in _KINDS.items()]
        rows_of(connection).insert(schema.registry, rows)
    store, chain = ChainStore(engine, world.chain_id, PROJECTIONS), _Chain(world)
    store.begin(chain.block)
    cursor = chain.block
    while not chain.is_complete:
        with tuned_interpreter():
            cursor = _append(store, cursor, chain)
        report(f"block {cursor.number}: {chain.agents} agents, {chain.ratings} ratings")
    scan, references = ReferenceScan(engine, world.chain_id, Loader(), READERS), 0
    while (step := scan.step()) is not None:
        references += step
        report(f"{references} references to files")
    if engine.dialect.name == "postgresql":
        # A server in use does this by itself, now and then.
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))


def _append(store: ChainStore, cursor: Block, chain: "_Chain") -> Block:
    """Append the next blocks, and return the last one."""
    for _ in range(_BATCH_BLOCKS):
        chain.mine()
        if chain.is_complete:
            break
    end = chain.block
    store.append(cursor, Batch(end, chain.take(), [end], end.number, end.number))
    return end


class _Chain:
    """The blocks of a world, made one after another.

    Args:
        world: The world.

    Attributes:
        agents: The number of agents that are registered.
        ratings: The number of ratings that are given.
        block: The last block.
    """

    def __init__(self, world: World) -> None:
        """See the class. There is no block yet."""
        self._world = world
        self._people = People(world)
        self._number = 0
        self._index = 0
        self.block = Block(0, self._hash("block"), _FIRST_TIME)
        self._rows: dict[Table, list[tuple[Any, ...]]] = defaultdict(list)
        self._last_index: dict[tuple[int, str], int] = {}
        self._given: list[tuple[int, str, int]] = []
        self._rated: set[tuple[type[events.Event], int, int]] = set()
        self.agents = 0
        self.ratings = 0

    @property
    def is_complete(self) -> bool:
        """True if the world has all of its agents and ratings."""
        return self.agents == self._world.agents and self.ratings >= self._world.ratings

    def take(self) -> dict[Table, list[tuple[Any, ...]]]:
        """Return the rows of all events since the last call."""
        rows, self._rows = dict(self._rows), defaultdict(list)
        return rows

    def mine(self) -> None:
        """Make one more block."""
        self._number += 1
        self._index = 0
        self.block = Block(self._number, self._hash("block"), _FIRST_TIME + BLOCK_SECONDS * self._number)
        while self._index < _BLOCK_EVENTS and not self.is_complete:
            # Agents arrive as ratings do, but a few come first.
            due = 5 + self._world.agents * self.ratings // max(1, self._world.ratings)
            if self.agents < min(self._world.agents, due):
                self._register()
            else:
                self._rate()

    def _register(self) -> None:
        """Register the next agent."""
        self.agents += 1
        agent, owner = self.agents, self._people.owner(self.agents)
        self._log(events.Transfer, IDENTITY, _NOBODY, owner, agent)
        self._log(events.Registered, IDENTITY, agent, self._people.registration_uri(agent), owner, None)
        wallet = bytes.fromhex(owner[2:])
        self._log(events.MetadataSet, IDENTITY, agent, _topic("agentWallet"), "agentWallet", wallet, None)
        if not agent % 10:
            region = b"eu" if agent % 20 else b"us"
            self._log(events.MetadataSet, IDENTITY, agent, _topic("region"), "region", region, None)

    def _rate(self) -> None:
        """Give one rating, and now and then a revocation, a response or a validation."""
        chance, agent = self._people.random.random(), self._people.any_agent(self.agents)
        self.ratings += 1
        if chance < 0.06:  # noqa: PLR2004  # a share
            self._rate_counterpart(events.ClientRated if chance < 0.045 else events.ValidatorRated, agent)  # noqa: PLR2004  # a share
        elif chance < 0.09:  # noqa: PLR2004  # a share
            tags = (b"starred".ljust(32, b"\0"), bytes(32))
            score = int(100 * self._people.quality(agent))
            values = (agent, self._people.any_client(), score, *tags, "", _NO_HASH, None)
            self._log(events.NewAuthorizedFeedback, AUTHORIZED, *values)
        else:
            self._give_feedback(agent)
        if chance > 0.98:  # noqa: PLR2004  # a share
            at = self._people.random.randrange(len(self._given))
            self._given[at], self._given[-1] = self._given[-1], self._given[at]
            self._log(events.FeedbackRevoked, REPUTATION, *self._given.pop())
        elif chance > 0.95:  # noqa: PLR2004  # a share
            chosen = self._people.random.choice(self._given)
            self._log(events.ResponseAppended, REPUTATION, *chosen, self._people.owner(chosen[0]), "", _NO_HASH, None)
        elif chance > 0.94:  # noqa: PLR2004  # a share
            self._validate(agent)

    def _give_feedback(self, agent: int) -> None:
        """Give open feedback."""
        people = self._people
        tag, value, decimals = people.opinion(agent)
        is_measured = tag == "uptime" and people.random.random() < 0.5  # noqa: PLR2004  # half of them
        client = people.watchtower if is_measured else people.any_client()
        index = self._last_index.get((agent, client), 0) + 1
        self._last_index[agent, client] = index
        self._given.append((agent, client, index))
        texts = (tag, "week" if is_measured else "", "", people.feedback_uri(agent, client))
        values = (index, value, decimals, _topic(tag), *texts, _NO_HASH, None)
        self._log(events.NewFeedback, REPUTATION, agent, client, *values)

    def _rate_counterpart(self, event: type[events.Event], agent: int) -> None:
        """Let a server rate a client or a validator. An agent rates another one once."""
        server = self._people.any_agent(self.agents)
        if server != agent and (event, agent, server) not in self._rated:
            self._rated.add((event, agent, server))
            rating = int(100 * self._people.quality(agent))
            self._log(event, REPUTATION, agent, server, rating)

    def _validate(self, agent: int) -> None:
        """Ask for a validation, which is mostly answered."""
        validator, request = self._people.any_client(), self._hash(f"request {self.ratings}")
        self._log(events.ValidationRequest, VALIDATION, validator, agent, "", request, None)
        if self.ratings % 5:
            answer = (int(100 * self._people.quality(agent)), "", _NO_HASH, "work", None)
            self._log(events.ValidationResponse, VALIDATION, validator, agent, request, *answer)

    def _log(self, event: type[events.Event], registry: str, *values: Any) -> None:
        """Add the row of an event to the block."""
        block = self.block
        place = (self._world.chain_id, block.number, self._index, block.hash, block.time)
        transaction = self._hash(f"transaction {self._index}")
        self._rows[schema.EVENT_TABLES[event]].append((*place, transaction, registry, *values))
        self._index += 1

    def _hash(self, name: str) -> bytes:
        """Return a hash that only this block has under a name."""
        return sha256(f"{self._world.seed} {self._number} {name}".encode()).digest()


@cache
def _topic(name: str) -> bytes:
    """Return the hash under which an indexed text is logged."""
    return keccak(text=name)


_ONCE: Final = {agent_tables.primary_agent}
"""Derived tables without copies: an account speaks as one agent."""

_FILES: Final = (
    *(files.file_content, files.file, files.file_reference, files.file_sight, files.registration_file),
    *(files.registration_card, files.registration_service, files.registration_capability, files.registration_claim),
    *(files.feedback_file, search.registration_words, files.agent_file, files.payment_claim),
)

_AGENTS: Final = ("agent_id", "client_id", "server_id", "validator_id")
_BLOCKS: Final = ("block_number", "registered_block", "updated_block", "seen_block")
_TIMES: Final = ("block_time", "registered_at", "updated_at", "last_activity")
_HASHES: Final = ("content_hash", "file_id", "block_hash", "transaction_hash", "request_hash")
_NUMBERS: Final = ("document_id", "sight_id")

_SETTINGS: Final = (
    "SET maintenance_work_mem = '512MB'",
    "SET max_parallel_maintenance_workers = 0",
    "SET synchronous_commit = off",
)


@dataclass(frozen=True)
class _Step:
    """The distance between two copies.

    Attributes:
        chain_id: The chain.
        agents: The agents of the first.
        blocks: Its blocks.
    """

    chain_id: int
    agents: int
    blocks: int

    def value(self, table: Table, name: str) -> str:
        """Return the value of a column in copy `k`."""
        if name in _HASHES:
            return f'sha256("{name}" || int4send(k))'
        if name == "account":  # or an agent, such as "agent 7"
            agent = f"'agent ' || substr(account, 7)::numeric + k * {self.agents}"
            return f"CASE WHEN account LIKE 'agent %%' THEN {agent} ELSE account END"
        if name == "id_text":
            return f"(agent_id + k * {self.agents})::text"
        if name in _NUMBERS:
            return f'"{name}" + k * (SELECT max("{name}") FROM "{table.name}")'  # noqa: S608  # ours
        added = {
            **dict.fromkeys(_AGENTS, self.agents),
            **dict.fromkeys(_BLOCKS, self.blocks),
            **dict.fromkeys(_TIMES, self.blocks * BLOCK_SECONDS),
        }.get(name)
        is_text = table is files.feedback_file  # the words of strangers
        return f'"{name}"' if added is None or is_text else f'"{name}" + k * {added}'


def repeat(engine: Engine, copies: int, report: Callable[[str], None] = lambda _: None) -> None:
    """Repeat the world of a database.

    Args:
        engine: The database, of PostgreSQL, with one world.
        copies: The number of worlds in the end.
        report: Called with a line for each table.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for setting in _SETTINGS:
            connection.exec_driver_sql(setting)
        row = connection.execute(text("SELECT chain_id, block_number FROM chain")).one()
        agents = connection.execute(text("SELECT max(agent_id) FROM agent")).scalar_one()
        step = _Step(row.chain_id, int(agents), row.block_number)
        partitioned = [table for table in PARTITIONED_TABLES if table not in _ONCE]
        restore = _without_references(connection)
        for table in (*partitioned, agent_tables.agent_activity, *_FILES):
            rows = _repeat(connection, table, step, copies)
            if rows:
                report(f"{table.name}: {rows:,} rows more")
        for statement in restore:
            connection.exec_driver_sql(statement)
        last = row.block_number * copies
        moved = "UPDATE chain SET block_number = :last, head_number = :last, finalized_number = :last"
        connection.execute(text(moved), {"last": last})
        connection.execute(text("UPDATE file_scan SET block_number = :last"), {"last": last})
        connection.exec_driver_sql("VACUUM ANALYZE")


def _repeat(connection: Connection, table: Table, step: _Step, copies: int) -> int:
    """Repeat the rows of a table, without its indexes meanwhile. Return the number of new rows."""
    is_part = table in PARTITIONED_TABLES
    place = schema.partition_name(table, step.chain_id) if is_part else table.name
    if connection.exec_driver_sql(f'SELECT NOT EXISTS (SELECT FROM "{place}")').scalar_one():  # noqa: S608  # ours
        return 0
    if is_part:
        connection.exec_driver_sql(f'ALTER TABLE "{table.name}" DETACH PARTITION "{place}"')
    restore = _without_indexes(connection, place)
    columns = [column.name for column in table.c]
    names = ", ".join(f'"{column}"' for column in columns)
    values = ", ".join(step.value(table, column) for column in columns)
    inserted = connection.exec_driver_sql(
        f'INSERT INTO "{place}" ({names}) SELECT {values} FROM generate_series(1, {copies - 1}) k, "{place}"'  # noqa: S608
    )
    for statement in restore:
        connection.exec_driver_sql(statement)
    if is_part:
        bound = f"FOR VALUES IN ({step.chain_id:d})"
        connection.exec_driver_sql(f'ALTER TABLE "{table.name}" ATTACH PARTITION "{place}" {bound}')
    return inserted.rowcount


def _without_references(connection: Connection) -> list[str]:
    """Drop all foreign keys, and return the statements that make them again, which check all rows."""
    keys = connection.exec_driver_sql(
        "SELECT conrelid::regclass::text AS place, conname, pg_get_constraintdef(oid) AS made FROM pg_constraint "
        "WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"
    ).all()
    for key in keys:
        connection.exec_driver_sql(f'ALTER TABLE {key.place} DROP CONSTRAINT "{key.conname}"')
    return [f'ALTER TABLE {key.place} ADD CONSTRAINT "{key.conname}" {key.made}' for key in keys]


_KEYS: Final = (
    "SELECT conname, pg_get_constraintdef(oid) AS made FROM pg_constraint "
    "WHERE conrelid = to_regclass(:place) AND contype IN ('p', 'u')"
)
_INDEXES: Final = (
    "SELECT relname, pg_get_indexdef(indexrelid) AS made FROM pg_index JOIN pg_class ON oid = indexrelid "
    "WHERE indrelid = to_regclass(:place) AND indexrelid NOT IN (SELECT conindid FROM pg_constraint)"
)


def _without_indexes(connection: Connection, place: str) -> list[str]:
    """Drop the keys and indexes of a table, and return the statements that make them again.

    A key is of hashes, in no order: to keep it while rows come would write a page for each.

    Args:
        connection: The database, without foreign keys.
        place: The table.
    """
    keys, indexes = (connection.execute(text(query), {"place": place}).all() for query in (_KEYS, _INDEXES))
    for key in keys:
        connection.exec_driver_sql(f'ALTER TABLE "{place}" DROP CONSTRAINT "{key.conname}"')
    for index in indexes:
        connection.exec_driver_sql(f'DROP INDEX "{index.relname}"')
    restore = [f'ALTER TABLE "{place}" ADD CONSTRAINT "{key.conname}" {key.made}' for key in keys]
    return restore + [index.made for index in indexes]


class WorldParser(argparse.ArgumentParser):
    """A parser whose options name a world, and the database that has it.

    Args:
        description: See `argparse`.
        copies: True for an option `--copies`.
    """

    def __init__(self, description: str, *, copies: bool = False) -> None:
        super().__init__(description=description)
        self.add_argument("--database", required=True, metavar="URL")
        self.add_argument("--agents", type=int, default=100_000)
        self.add_argument("--ratings", type=int, default=1_000_000)
        self.add_argument("--seed", type=int, default=1)
        self.set_defaults(copies=1)
        if copies:
            self.add_argument("--copies", type=int, help="The number of worlds; one on SQLite.")

    def parsed(self) -> argparse.Namespace:
        """Return the options of the command line."""
        options = self.parse_args()
        if options.copies > 1 and options.database.startswith("sqlite"):
            self.error("--copies needs PostgreSQL: its server makes the copies")
        return options


def fill_world(engine: Engine, options: argparse.Namespace) -> None:
    """Fill an empty database with a world and its copies.

    Args:
        engine: The database.
        options: Those of `WorldParser`.
    """
    build(engine, World(options.agents, options.ratings, options.seed), _report)
    if options.copies > 1:
        repeat(engine, options.copies, _report)


def open_world(options: argparse.Namespace) -> int:
    """Fill a database with a world if it is empty.

    Args:
        options: Those of `WorldParser`.

    Returns:
        The number of agents.
    """
    engine = open_database(options.database)
    with engine.connect() as connection:
        is_empty = connection.execute(select(schema.chain.c.chain_id)).first() is None
    if is_empty:
        fill_world(engine, options)
    with engine.connect() as connection:
        stored: int = connection.execute(select(func.count()).select_from(agent_tables.agent)).scalar_one()
    engine.dispose()
    if stored < options.agents * options.copies:
        wanted = f"{options.agents * options.copies:,}"
        raise SystemExit(f"the database has {stored:,} agents, fewer than {wanted}: see --agents and --copies")
    return stored


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
