"""A chain whose blocks a test makes up, in a real database with real derived tables and files."""

from __future__ import annotations

import time

from bilateral.checks import check_client, check_server, snapshot
from bilateral.core.contracts import Registry
from bilateral.core.identifiers import checksummed
from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.logs import BlockLogs, LogEntry
from bilateral.index.files.loading import load_file
from bilateral.index.files.queue import FileQueue
from bilateral.index.files.worker import ReferenceScan
from bilateral.index.log.batches import Batch, Block
from bilateral.index.projections import READERS
from simulation.events import ADDRESSES, encoded
from tests.index.comparison import know_registries

CHAIN_ID = 31337
REGISTRIES = {address: registry for registry, address in ADDRESSES.items()}
IDENTITY = ADDRESSES[Registry.IDENTITY]
NOBODY = "0x" + "00" * 20
HOUR = 3_600
START = 1_700_000_000
WALLET_TOPIC = bytes(32)
SEALED_INTERACTION = b"\x07" * 32


def account(number):
    """Return an account of the test."""
    return checksummed("0x" + number.to_bytes(20).hex())


class Ledger:
    """Blocks an hour apart, and checks of their agents."""

    def __init__(self, engine, store, loader, clock=time.time):
        self.engine, self.store, self.loader = engine, store, loader
        self.scan = ReferenceScan(engine, CHAIN_ID, loader, READERS, clock=clock)
        self.queue = FileQueue(engine, clock=clock)
        self.extraction = Extraction(CHAIN_ID, REGISTRIES)
        self.fork = 0
        store.begin(self._block(0))
        know_registries(engine)

    @property
    def head(self):
        return self.store.cursor().number

    def block(self, *logs, hours=1):
        """Store a block with some logs, each in a transaction of its own unless they come as a list."""
        cursor = self.store.cursor()
        block = self._block(cursor.number + hours)
        entries = []
        for number, part in enumerate(logs):
            transaction = _hex(bytes([self.fork, 7]) + number.to_bytes(14) + block.number.to_bytes(16))
            place = {"blockNumber": hex(block.number), "blockHash": _hex(block.hash), "transactionHash": transaction}
            for log in part if isinstance(part, (list, tuple)) else [part]:
                topics = [_hex(topic) for topic in log.topics]
                entries.append(LogEntry(log.address, topics, _hex(log.data), logIndex=hex(len(entries)), **place))
        block_logs = BlockLogs(block.number, block.hash, block.time, entries, list(range(len(entries))))
        self.store.append(cursor, Batch(block, self.extraction.rows([block_logs]), [block], block.number))
        return block.number

    def roll_back(self, number):
        """Remove all blocks after one; later blocks are of another fork."""
        target = next(
            checkpoint for checkpoint in self.store.checkpoints(before=1 << 40) if checkpoint.number == number
        )
        self.store.roll_back(self.store.cursor(), Block(number, target.hash, 0))
        self.fork += 1

    def settle(self):
        """Find files, and fetch everything that is due."""
        while self.scan.step() is not None:
            pass
        while (lease := self.queue.claim()) is not None:
            outcome = load_file(self.loader, lease.kind, lease.uri, lease.expected_hash, lease.validators, READERS)
            assert self.queue.complete(lease, outcome)

    def server(self, agent=1, **options):
        with snapshot(self.engine) as connection:
            return check_server(connection, agent, **options)

    def client(self, client=1, **options):
        with snapshot(self.engine) as connection:
            return check_client(connection, client, **options)

    def _block(self, number):
        return Block(number, bytes([self.fork]) * 16 + number.to_bytes(16), START + number * HOUR)


def registered(agent, owner, uri=b""):
    """Return the logs of a registration."""
    return [
        encoded(Registry.IDENTITY, "Transfer", NOBODY, owner, agent),
        encoded(Registry.IDENTITY, "Registered", agent, uri, owner),
        wallet_set(agent, owner),
    ]


def registered_under(agent, owner, domain):
    """Return the logs of a registration by the August 2025 functions."""
    return [
        encoded(Registry.IDENTITY, "Transfer", NOBODY, owner, agent),
        encoded(Registry.IDENTITY, "AgentRegistered", agent, domain, owner),
        wallet_set(agent, owner),
    ]


def domain_updated(agent, owner, domain):
    return encoded(Registry.IDENTITY, "AgentUpdated", agent, domain, owner)


def wallet_set(agent, wallet):
    value = bytes.fromhex(wallet[2:]) if wallet else b""
    return encoded(Registry.IDENTITY, "MetadataSet", agent, WALLET_TOPIC, b"agentWallet", value)


def transferred(agent, owner, receiver):
    return [wallet_set(agent, None), encoded(Registry.IDENTITY, "Transfer", owner, receiver, agent)]


def uri_updated(agent, uri, owner):
    return encoded(Registry.IDENTITY, "URIUpdated", agent, uri, owner)


def feedback(agent, client, value, index=1, tag=b"starred", decimals=0, uri=b"", hash_=bytes(32)):
    texts = (bytes(32), tag, b"", b"", uri)
    return encoded(Registry.BIDIRECTIONAL, "NewFeedback", agent, client, index, value, decimals, *texts, hash_)


def revoked(agent, client, index=1):
    return encoded(Registry.BIDIRECTIONAL, "FeedbackRevoked", agent, client, index)


def authorized(agent, client, score, tag=b"starred"):
    return encoded(
        Registry.AUTHORIZED, "NewFeedback", agent, client, score, tag.ljust(32, b"\0"), bytes(32), b"", bytes(32)
    )


def client_rated(client, server, rating):
    return encoded(Registry.BIDIRECTIONAL, "ClientRated", client, server, rating)


def sealed(client, server):
    """Return the log of a seal of a client's and a server's ratings."""
    return encoded(Registry.BIDIRECTIONAL, "RatingsSealed", client, server, SEALED_INTERACTION)


def opened(client, server, account, index):
    """Return the log of an opening, which follows the ratings that it opens. The index is 0 without feedback."""
    return encoded(Registry.BIDIRECTIONAL, "RatingsOpened", client, server, SEALED_INTERACTION, account, index)


def validated(agent, validator, response, name=1):
    return encoded(
        Registry.VALIDATION, "ValidationResponse", validator, agent, name.to_bytes(32), response, b"", bytes(32), b""
    )


def approved(agent, owner, account_):
    return encoded(Registry.IDENTITY, "Approval", owner, account_, agent)


def approved_for_all(owner, operator, *, is_approved=True):
    return encoded(Registry.IDENTITY, "ApprovalForAll", owner, operator, is_approved)


def _hex(raw):
    return "0x" + raw.hex()


def codes(check):
    """Return the codes of a check's reasons with their severities."""
    return {reason.code.value: reason.severity.value for reason in check.reasons}
