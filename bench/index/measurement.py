"""Measurements of the index beside a plain loop of web3.py and SQLAlchemy's ORM.

The same seed gives the same chain. Figures are the machine's own.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import ape
from ape.logging import LogLevel, logger
from pgserver.postgres_server import get_server
from sqlalchemy import JSON, BigInteger, Engine, Integer, LargeBinary, String, create_engine, func, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from web3 import HTTPProvider, Web3

from bench.index.runs import CHAIN_ID, Run, follower, index_all, measured, store_finally, stored_rows
from bench.report import options, print_table, table_head, table_row, write_part
from bilateral.core.contracts import abi
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Block
from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import DERIVED_TABLES, PROJECTIONS
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES, Generator


class _Base(DeclarativeBase):
    """The tables of the loop."""


class _EventRow(_Base):
    """A row of an event."""

    __tablename__ = "plain_event"

    block_number: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    log_index: Mapped[int] = mapped_column(Integer, primary_key=True)
    block_hash: Mapped[bytes] = mapped_column(LargeBinary)
    transaction_hash: Mapped[bytes] = mapped_column(LargeBinary)
    address: Mapped[str] = mapped_column(String(42))
    event: Mapped[str] = mapped_column(String(40))
    arguments: Mapped[Any] = mapped_column(JSON)


def index_plainly(database: str, url: str, first_block: int, last_block: int) -> int:
    """Index a chain's events by the plain loop.

    Args:
        database: The SQLAlchemy URL of an empty database.
        url: The URL of the chain's JSON-RPC.
        first_block: The first block.
        last_block: The last block.

    Returns:
        The number of stored events. It leaves out those that web3.py cannot decode.
    """
    engine = create_engine(database)
    _Base.metadata.create_all(engine)
    web3 = Web3(HTTPProvider(url))
    decoders = {}
    for registry, address in ADDRESSES.items():
        contract = web3.eth.contract(address=Web3.to_checksum_address(address), abi=abi(registry))
        events: Any = contract.events  # web3.py's annotation lacks its iterator
        for event in events:
            decoders[address, bytes(event.build_filter().topics[0], "ascii")] = event
    stored = 0
    for first in range(first_block, last_block + 1, 50):
        query: Any = {"address": list(ADDRESSES.values()), "fromBlock": first, "toBlock": min(first + 49, last_block)}
        with Session(engine) as session:
            for log in web3.eth.get_logs(query):
                row = _row(decoders, log)
                if row is not None:
                    session.add(row)
                    stored += 1
            session.commit()
    engine.dispose()
    return stored


def _row(decoders: Mapping[Any, Any], log: Any) -> _EventRow | None:
    """Decode a log to a row; None for one that web3.py cannot decode."""
    topic = log["topics"][0].to_0x_hex().encode() if log["topics"] else b""
    event = decoders.get((log["address"], topic))
    if event is None:
        return None
    try:
        decoded = event().process_log(log)
    except Exception:  # noqa: BLE001  # text that is not UTF-8, and data that are not the event's
        return None
    arguments = {
        name: value.hex() if isinstance(value, bytes) else str(value).replace("\0", "")
        for name, value in decoded["args"].items()
    }
    place = {"block_number": decoded["blockNumber"], "log_index": decoded["logIndex"], "address": decoded["address"]}
    hashes = {"block_hash": bytes(decoded["blockHash"]), "transaction_hash": bytes(decoded["transactionHash"])}
    return _EventRow(**place, **hashes, event=decoded["event"], arguments=arguments)


COPIES: Final = 19
"""Earlier blocks with rows like those of the chain, so that the tables hold about a million of it."""

_AGENTS_A_COPY: Final = 1_000_000
"""The distance of the ids of agents in two copies."""

_AGENT_COLUMNS: Final = frozenset({"agent_id", "client_id", "server_id", "validator_id", "seller_id"})

_POSTGRES_SETTINGS: Final = ("shared_buffers = '1GB'", "max_wal_size = '4GB'")
"""The server's settings that differ from its defaults, which are for the smallest machines."""

_ROLLED_BACK: Final = 64
_POLL_SECONDS: Final = 1.0
_PLAIN_SHARE: Final = 5
"""The plain loop takes as long for each event of a fifth of the chain as for those of all."""

_RUNS: Final = 3
"""The runs of which the middle one counts."""

_LEAST_RATES: Final = {"SQLite": 25_000, "PostgreSQL": 30_000}
_LEAST_MULTIPLES: Final = {"SQLite": 12, "PostgreSQL": 15}
_LEAST_SHARE: Final = 0.8
"""The share of the least rate that must hold with a million rows in the tables."""

_MOST_ROLLBACK_SECONDS: Final = 0.25
_MOST_SECONDS_TO_VISIBLE: Final = 1.2
_MOST_MEBIBYTES: Final = 250


def grow(chain: EventChain, generator: Generator, blocks: int, logs: int) -> None:
    """Mine blocks of generated events."""
    for _ in range(blocks):
        chain.mine(generator.logs(logs))


def fill(database: str, blocks: int) -> int:
    """Copy the chain's rows to earlier blocks and other agents of it, and return the number of rows of events.

    Args:
        database: The database.
        blocks: The number of blocks with rows. There are `COPIES` times as many before them.
    """
    engine = open_database(database)
    events = (*schema.EVENT_TABLES.values(), schema.undecodable_log)
    derived = [derived_table for derived_table in DERIVED_TABLES if derived_table is not agent_tables.primary_agent]
    with engine.begin() as connection:
        last = connection.execute(select(func.max(schema.block.c.block_number))).scalar_one()
        for table in (*events, *derived):
            columns = [column.name for column in table.c]
            names = ", ".join(f'"{column}"' for column in columns)
            where = f"block_number > {last - blocks}" if "block_number" in columns else f"agent_id < {_AGENTS_A_COPY}"
            for number in range(1, COPIES + 1):
                values = ", ".join(_copied(column, number, blocks) for column in columns)
                query = f'INSERT INTO "{table.name}" ({names}) SELECT {values} FROM "{table.name}" WHERE {where}'  # noqa: S608
                connection.execute(text(query))
        query = " + ".join(f'(SELECT count(*) FROM "{event.name}")' for event in events)  # noqa: S608
        rows: int = connection.execute(text(f"SELECT {query}")).scalar_one()
    if engine.dialect.name == "postgresql":  # as its own workers do within minutes, and would do during the measurement
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
            connection.execute(text("CHECKPOINT"))
    engine.dispose()
    return rows


def _copied(column: str, number: int, blocks: int) -> str:
    """Return the value of a column in a copy, as SQL."""
    if column == "block_number":
        return f'"{column}" - {number * blocks}'
    if column in _AGENT_COLUMNS:
        return f'"{column}" + {number * _AGENTS_A_COPY}'
    if column == "id_text":
        return f"CAST(agent_id + {number * _AGENTS_A_COPY} AS TEXT)"
    return f'"{column}"'


def rolled_back(database: str) -> tuple[int, float]:
    """Remove the last blocks, and return the number of rows and the seconds."""
    engine = open_database(database)
    store = ChainStore(engine, CHAIN_ID, PROJECTIONS)
    cursor = store.cursor()
    if cursor is None:
        raise RuntimeError("nothing is indexed")
    last = cursor.number - _ROLLED_BACK
    target = next(checkpoint for checkpoint in store.checkpoints(cursor.number) if checkpoint.number == last)
    before = _event_rows(engine)
    began = time.perf_counter()
    store.roll_back(cursor, Block(target.number, target.hash, 0))
    seconds, after = time.perf_counter() - began, _event_rows(engine)
    engine.dispose()
    return before - after, seconds


def _event_rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(select(schema.chain.c.event_rows)).scalar_one())


def latencies(database: str, chain: EventChain, generator: Generator, blocks: int) -> list[float]:
    """Return the seconds from each block's mining until its rows are visible, polling every second."""
    following = follower(database, chain.url)
    mined: dict[int, float] = {}
    seen: dict[int, float] = {}
    done = threading.Event()

    def poll() -> None:
        while not done.wait(_POLL_SECONDS):
            reached = following.step().block
            now = time.perf_counter()
            for number in list(mined.keys() - seen.keys()):
                if number <= reached:
                    seen[number] = now

    thread = threading.Thread(target=poll)
    thread.start()
    for _ in range(blocks):
        number = chain.mine(generator.logs(10))
        mined[number] = time.perf_counter()
        time.sleep(0.27)
    time.sleep(3 * _POLL_SECONDS)
    done.set()
    thread.join()
    return sorted(seen[number] - mined[number] for number in mined)


@contextmanager
def tuned_server(folder: Path) -> Iterator[Any]:
    """Run PostgreSQL in a folder, with the settings of a server for an index."""
    server = get_server(folder, cleanup_mode="stop")
    try:
        engine = create_engine(server.get_uri().replace("sql:", "sql+psycopg:"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for setting in _POSTGRES_SETTINGS:
                connection.execute(text(f"ALTER SYSTEM SET {setting}"))
        engine.dispose()
        server.cleanup()  # the size of its memory counts from its start
        server = get_server(folder, cleanup_mode="stop")
        yield server
    finally:
        server.cleanup()


Fresh = Callable[[str], str]
"""Returns the URL of a database with a name."""


@contextmanager
def databases(folder: str) -> Iterator[Mapping[str, Fresh]]:
    """Provide databases of each engine."""
    with tuned_server(Path(folder) / "postgres") as server:
        url = server.get_uri().replace("sql:", "sql+psycopg:")

        def fresh(name: str) -> str:
            engine = create_engine(url, isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{name}"'))
            engine.dispose()
            return f"{url}&options=-csearch_path%3D{name}"

        yield {"SQLite": lambda name: f"sqlite:///{Path(folder) / name}.sqlite", "PostgreSQL": fresh}


def main() -> None:
    """Measure, and print the table."""
    arguments = options(__doc__, events=50_000, blocks=500, latencies=100, page="")
    logger.set_level(LogLevel.WARNING)
    code, first_block = (
        ape.project.MockLogEmitter.contract_type.runtime_bytecode.bytecode,
        COPIES * arguments.blocks + 1,
    )
    genesis = "--number", str(first_block - 1)  # room for earlier rows: mining so many blocks would take minutes
    rows, speeds = [], table_head(*_SPEED_COLUMNS)
    with (
        tempfile.TemporaryDirectory() as folder,
        databases(folder) as engines,
        running_anvil(*OPTIONS, *genesis) as url,
    ):
        world = World(EventChain(url, code), Generator(seed=1), arguments, first_block)
        world.grow()
        for engine, fresh in engines.items():
            measured_speeds = world.speeds(engine, fresh)
            speeds += measured_speeds.table_rows(engine)
            rows += [(engine, *row) for row in measured_speeds.judged(engine)]
        world.grow()
        for engine, fresh in engines.items():
            rows += [(engine, *row) for row in world.figures_of_a_full_index(engine, fresh)]
    _progress("")
    print_table("Index, on this machine", "engine", "what", "figure", "bound", "verdict", rows=rows)
    print("\n".join(speeds))
    if arguments.page:
        write_part(Path(arguments.page), "<!-- Speed of the index -->\n", "<!-- -->\n", "\n".join(speeds) + "\n")


Row = tuple[str, str, str, str]
_SPEED_COLUMNS: Final = (
    "what",
    "events/s",
    "processor time of an event, µs",
    "times the plain loop, by processor time",
)
_INDEX_NAMES: Final = tuple(f"index_{number}" for number in range(_RUNS))


def _progress(text: str) -> None:
    """Replace the line that shows what is being measured."""
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Speeds:
    """The measured ways to index a chain on one engine, in the order of the table."""

    plain: Run
    index: Run
    floor: Run

    def table_rows(self, engine: str) -> Iterator[str]:
        """Yield the rows of the table."""
        plain = self.plain.microseconds
        for name, run in (("plain loop", self.plain), ("index", self.index), ("floor", self.floor)):
            figures = f"{run.rate:,.0f}", f"{run.microseconds:,.1f}", f"{plain / run.microseconds:.1f}"
            yield table_row(f"{engine}, {name}", *figures)

    def judged(self, engine: str) -> Iterator[Row]:
        """Yield the figures with their bounds and verdicts."""
        run, least, multiple = self.index, _LEAST_RATES[engine], _LEAST_MULTIPLES[engine]
        times = run.rate / self.plain.rate
        work = f"{run.events:,} events, {run.cpu_seconds:.1f} s of CPU"
        yield _judged(work, f"{run.rate:,.0f}/s", f"at least {least:,}/s", holds=run.rate >= least)
        yield _judged("times the plain loop", f"{times:.1f}", f"at least {multiple}", holds=times >= multiple)
        yield _memory("most memory of the worker", run)


@dataclass(frozen=True)
class World:
    """The chain that is indexed, and the options."""

    chain: EventChain
    generator: Generator
    arguments: argparse.Namespace
    first_block: int

    def grow(self) -> None:
        """Mine the blocks of a run."""
        blocks, events = self.arguments.blocks, self.arguments.events
        for block in range(blocks):
            grow(self.chain, self.generator, 1, events // blocks)
            _progress(f"mining block {block + 1} of {blocks}, {events // blocks} events each")

    def speeds(self, engine: str, fresh: Fresh) -> Speeds:
        """Index the chain in each way, into empty databases."""
        url, first = self.chain.url, self.first_block
        _progress(f"{engine}: plain loop")
        last_of_share = first + max(1, self.arguments.blocks // _PLAIN_SHARE) - 1
        plain = measured(index_plainly, fresh("plain"), url, first, last_of_share)
        runs = []
        for name in _INDEX_NAMES:
            _progress(f"{engine}: {name}")
            open_database(fresh(name)).dispose()  # as `bilateral index schema` does
            runs.append(measured(index_all, fresh(name), url, first))
        _progress(f"{engine}: floor")
        open_database(fresh("floor")).dispose()
        prepare = partial(stored_rows, fresh(_INDEX_NAMES[0]))
        floor = measured(store_finally, fresh("floor"), url, first, prepare=prepare)
        return Speeds(plain, sorted(runs, key=lambda run: run.cpu_seconds)[_RUNS // 2], floor)

    def figures_of_a_full_index(self, engine: str, fresh: Fresh) -> Iterator[Row]:
        """Yield the figures of an index that holds many rows already: more events, a rollback, and new blocks."""
        database, chain, blocks = fresh(_INDEX_NAMES[-1]), self.chain, self.arguments.blocks
        _progress(f"{engine}: full index")
        rows = fill(database, blocks)
        more, least = measured(index_all, database, chain.url, 0), _LEAST_SHARE * _LEAST_RATES[engine]
        work = f"{more.events:,} events more, {rows:,} rows there, {more.cpu_seconds:.1f} s of CPU"
        yield _judged(work, f"{more.rate:,.0f}/s", f"at least {least:,.0f}/s", holds=more.rate >= least)
        yield _memory("most memory of that run", more)
        _progress(f"{engine}: rollback, and latencies")
        removed, seconds = rolled_back(database)
        work, bound = f"rollback of {_ROLLED_BACK} blocks, {removed:,} rows", 1000 * _MOST_ROLLBACK_SECONDS
        yield _judged(work, f"{1000 * seconds:.0f} ms", f"at most {bound:.0f} ms", holds=1000 * seconds <= bound)
        index_all(database, chain.url, 0)
        delays = latencies(database, chain, self.generator, self.arguments.latencies)
        middle, last = delays[len(delays) // 2], delays[int(0.99 * (len(delays) - 1))]
        work = f"event mined to row visible, 99th percentile (median {middle:.2f} s)"
        bound = _MOST_SECONDS_TO_VISIBLE
        yield _judged(work, f"{last:.2f} s", f"at most {bound} s", holds=last <= bound)


def _judged(work: str, figure: str, bound: str, *, holds: bool) -> Row:
    return work, figure, bound, "holds" if holds else "MISSED"


def _memory(work: str, run: Run) -> Row:
    """Return the row of the memory of a run."""
    limit = f"at most {_MOST_MEBIBYTES} MiB"
    return _judged(work, f"{run.mebibytes:.0f} MiB", limit, holds=run.mebibytes <= _MOST_MEBIBYTES)
