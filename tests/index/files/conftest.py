"""A chain whose blocks a test makes up, in a real database, and real servers of files."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from bilateral.core.contracts import Registry
from bilateral.documents import Limits, Loader, Network
from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.logs import BlockLogs, LogEntry
from bilateral.index.files import tables as schema
from bilateral.index.files.loading import load_file
from bilateral.index.files.queue import FileQueue
from bilateral.index.files.worker import ReferenceScan
from bilateral.index.log.batches import Batch, Block
from bilateral.index.projections import READERS
from simulation.events import encoded
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.sdk.servers import gateway, other_server, server  # noqa: F401  # fixtures

OWNER = "0x" + "11" * 20
CLIENT = "0x" + "22" * 20
NO_HASH = bytes(32)


def registration(**fields):
    """Return the bytes of a registration file."""
    return json.dumps({"name": "Agent", "description": "It works.", **fields}).encode()


class Clock:
    """A clock that a test moves."""

    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now

    def pass_(self, seconds):
        self.now += seconds


class Story:
    """Blocks with events that name files, and the queue that fetches them."""

    def __init__(self, engine, store, loader):
        self.engine, self.store, self.clock = engine, store, Clock()
        self.scan = ReferenceScan(engine, CHAIN_ID, loader, READERS, clock=self.clock)
        self.queue = FileQueue(engine, clock=self.clock)
        self.loader = loader
        self.extraction = Extraction(CHAIN_ID, REGISTRIES)
        self.fork = 0
        store.begin(self._block(0))

    def block(self, *logs):
        """Store a block with some logs, and return its number."""
        cursor = self.store.cursor()
        block = self._block(cursor.number + 1)
        place = {"blockNumber": hex(block.number), "blockHash": _hex(block.hash), "transactionHash": _hex(bytes(32))}
        entries = [
            LogEntry(log.address, [_hex(topic) for topic in log.topics], _hex(log.data), logIndex=hex(at), **place)
            for at, log in enumerate(logs)
        ]
        block_logs = BlockLogs(block.number, block.hash, block.time, entries, list(range(len(entries))))
        self.store.append(cursor, Batch(block, self.extraction.rows([block_logs]), [block], block.number))
        return block.number

    def roll_back(self, number):
        """Remove all blocks after one."""
        target = next(checkpoint for checkpoint in self.store.checkpoints(before=10_000) if checkpoint.number == number)
        self.store.roll_back(self.store.cursor(), Block(number, target.hash, 0))
        self.fork += 1

    def scan_all(self):
        while self.scan.step() is not None:
            pass

    def fetch(self):
        """Fetch one file that is due, and return the outcome; None if nothing is due."""
        lease = self.queue.claim()
        if lease is None:
            return None
        outcome = load_file(self.loader, lease.kind, lease.uri, lease.expected_hash, lease.validators, READERS)
        assert self.queue.complete(lease, outcome)
        return outcome

    def settle(self):
        """Scan, and fetch everything that is due."""
        self.scan_all()
        while self.fetch() is not None:
            pass

    def rows(self, table):
        with self.engine.connect() as connection:
            return connection.execute(select(table)).mappings().all()

    def query(self, statement):
        with self.engine.connect() as connection:
            return connection.exec_driver_sql(statement).mappings().all()

    def file(self, uri=None):
        """Return the row of the only file that an event names, or of the only one with a URI."""
        rows = [row for row in self.rows(schema.file) if row["kind"] != schema.Kind.DOMAIN or uri is not None]
        (row,) = [row for row in rows if uri in (None, row["uri"])]
        return row

    def _block(self, number):
        return Block(number, bytes([self.fork]) * 16 + number.to_bytes(16), 1_700_000_000 + number)


def _hex(raw):
    return "0x" + raw.hex()


def registered(uri, agent_id=1):
    """Return the logs of a registration."""
    return (
        encoded(Registry.IDENTITY, "Transfer", "0x" + "00" * 20, OWNER, agent_id),
        encoded(Registry.IDENTITY, "Registered", agent_id, _bytes(uri), OWNER),
    )


def uri_updated(uri, agent_id=1):
    return encoded(Registry.IDENTITY, "URIUpdated", agent_id, _bytes(uri), OWNER)


def feedback_given(uri, file_hash=NO_HASH, index=1, agent_id=1):
    texts = (bytes(32), b"starred", b"", b"", _bytes(uri))
    return encoded(Registry.BIDIRECTIONAL, "NewFeedback", agent_id, CLIENT, index, 90, 0, *texts, file_hash)


def response_appended(uri, file_hash=NO_HASH):
    return encoded(Registry.BIDIRECTIONAL, "ResponseAppended", 1, CLIENT, 1, OWNER, _bytes(uri), file_hash)


def validation_requested(uri, file_hash):
    return encoded(Registry.VALIDATION, "ValidationRequest", CLIENT, 1, _bytes(uri), file_hash)


def validation_answered(uri, request_hash, file_hash=NO_HASH):
    return encoded(Registry.VALIDATION, "ValidationResponse", CLIENT, 1, request_hash, 90, _bytes(uri), file_hash, b"")


def authorized_feedback_given(uri, file_hash=NO_HASH):
    return encoded(Registry.AUTHORIZED, "NewFeedback", 1, CLIENT, 90, bytes(32), bytes(32), _bytes(uri), file_hash)


def _bytes(text):
    return text if isinstance(text, bytes) else text.encode()


@pytest.fixture
def loader(gateway):  # noqa: F811  # a fixture
    """A loader that may read from this machine."""
    network = Network(allow_private=True)
    return Loader(limits=Limits(bytes=128 * 1024, seconds=60), gateways=(gateway.url,), network=network)


@pytest.fixture
def story(engine, store, loader):
    return Story(engine, store, loader)
