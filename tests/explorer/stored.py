"""Writes an index without a chain: events of several chains, payments, and a trust analysis."""

from __future__ import annotations

import json
from collections import defaultdict
from hashlib import sha256

from sqlalchemy import insert

from bench.world.people import AUTHORIZED, IDENTITY, REPUTATION, VALIDATION
from bilateral.core.contracts import Registry
from bilateral.core.events import ClientRated, MetadataSet, NewAuthorizedFeedback, NewFeedback, Registered, Transfer
from bilateral.core.events import ResponseAppended as Responded
from bilateral.core.identifiers import checksummed
from bilateral.documents import Loader
from bilateral.documents.data_uri import encode_data_uri
from bilateral.documents.registration import REGISTRATION_TYPE
from bilateral.index.files.worker import ReferenceScan
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.database import open_database
from bilateral.index.log.rows import rows_of
from bilateral.index.log.store import ChainStore
from bilateral.index.payments.tables import payment, payment_cursor
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.projections import PROJECTIONS, READERS
from bilateral.index.standing import tables as analysis
from bilateral.solana.addresses import MAINNET, SATI

KINDS = {
    IDENTITY: Registry.IDENTITY,
    REPUTATION: Registry.BIDIRECTIONAL,
    AUTHORIZED: Registry.AUTHORIZED,
    VALIDATION: Registry.VALIDATION,
}
NOBODY = "0x" + "0" * 40
TOKEN = checksummed("0x" + "70" * 20)
NOTHING = bytes(32)


def account(name):
    """Return the address of a name."""
    return checksummed(f"0x{sha256(name.encode()).hexdigest()[:40]}")


class Ledger:
    """The events of one block of a chain.

    Args:
        chain_id: The chain.

    Attributes:
        block: The block.
        rows: The rows of the events, by table.
    """

    def __init__(self, chain_id):
        self.chain_id, self.rows, self.places = chain_id, defaultdict(list), 0
        self.block = Block(1, sha256(b"1").digest(), 1_750_000_012)

    def place(self, contract, transaction=None):
        """Return the columns of the next log's place."""
        self.places += 1
        hash_ = transaction or sha256(f"{self.chain_id} {self.places}".encode()).digest()
        return (self.chain_id, self.block.number, self.places - 1, self.block.hash, self.block.time, hash_, contract)

    def log(self, event, registry, *values):
        """Add an event."""
        self.rows[schema.EVENT_TABLES[event]].append((*self.place(registry), *values))

    def register(self, agent, owner, file):
        """Register an agent with a file in its URI."""
        self.log(Transfer, IDENTITY, NOBODY, owner, agent)
        self.log(Registered, IDENTITY, agent, encode_data_uri(json.dumps(file).encode()), owner, None)

    def store(self, engine):
        """Store the events with all that follows from them."""
        with engine.begin() as connection:
            registries = [(self.chain_id, address, kind.value, IDENTITY, 1) for address, kind in KINDS.items()]
            rows_of(connection).insert(schema.registry, registries)
        store = ChainStore(engine, self.chain_id, PROJECTIONS)
        begin = Block(0, sha256(b"0").digest(), 1_750_000_000)
        store.begin(begin)
        store.append(begin, Batch(self.block, dict(self.rows), [self.block], 1, 1))
        scan = ReferenceScan(engine, self.chain_id, Loader(), READERS)
        while scan.step() is not None:
            pass

    def pay(self, connection, payer, agent, owner, transaction, kinship=None, kind="eip3009", ceiling=None):
        """Store a payment of 1.5 dollars to an agent that is its own wallet's owner."""
        values = (payer, owner, 1_500_000, 1_500_000, NOTHING, IDENTITY, agent, owner, kinship, 0, kind, ceiling)
        columns = [column.name for column in payment.c]
        connection.execute(insert(payment), dict(zip(columns, (*self.place(TOKEN, transaction), *values), strict=True)))

    def learned(self, connection):
        """Store that the payments of the chain are known."""
        row = {
            "chain_id": self.chain_id,
            "block_number": 1,
            "block_hash": self.block.hash,
            "terms": PaymentTerms({TOKEN: 6}).text,
        }
        connection.execute(insert(payment_cursor), {**row, "changed_at": 0})

    def analyse(self, connection, sentence, actors, subject, rows):
        """Store an analysis with one finding."""
        key = {"chain_id": self.chain_id, "identity_registry": IDENTITY}
        figures = dict.fromkeys(("agents", "opinions", "left_out", "accounts_without_funding", "trusted_accounts"), 2)
        run = {"block_number": 1, "block_hash": self.block.hash, "is_exact": True, "made_at": 1_750_000_020}
        run |= {"run": 0, "seen_block": 1, "first_run": 0, "first_seen_block": 1}
        connection.execute(insert(analysis.analysis), {**key, **run, **figures, "reviewed_cases": 0, "threshold": 0.9})
        finding = {"finding_id": "lockstep-1", "detector": "lockstep", "q_value": 0.001, "strength": 3.0}
        connection.execute(insert(analysis.finding), {**key, **finding, "statistic": sentence, "sentence": sentence})
        named = [(actor, "actor") for actor in actors] + [(subject, "subject")]
        connection.execute(
            insert(analysis.finding_member),
            [{**key, "finding_id": "lockstep-1", "part": part, "account": value} for value, part in named],
        )
        connection.execute(
            insert(analysis.finding_row),
            [
                {**key, "finding_id": "lockstep-1", "position": place, "table_name": "new_feedback",
                 "block_number": 1, "log_index": index, "transaction_hash": NOTHING}
                for place, index in enumerate(rows)
            ],
        )  # fmt: skip
        connection.execute(
            insert(analysis.suspicion),
            [
                {**key, "account": actor, "suspicion": 0.99, "cluster": 1, "is_flagged": True, "trust": None,
                 "parts": "{}"}
                for actor in actors
            ],
        )  # fmt: skip


OWNER, WALLET, CLIENT, RIVAL, BUYER, COLLECTOR, VISITOR = (
    account(name) for name in ("owner", "wallet", "client", "rival", "buyer", "collector", "visitor")
)
PROVEN, OWN, FOREIGN = (sha256(name.encode()).digest() for name in ("proven", "own", "foreign"))
CLAIMS = {
    CLIENT: f"0x{PROVEN.hex()}",
    WALLET: f"0x{OWN.hex()}",
    RIVAL: f"0x{FOREIGN.hex().upper()}",
    BUYER: "0xab",
}
"""The transactions that feedback on agent 1 names: by its client, its own wallet, a client that did not pay, and a
client whose text is not a hash."""

BASE, LOCAL = 8453, 31337
MINT = "7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q"


def evidence_index(database):
    """Write an index whose agent 1 on Base has every kind of evidence.

    Args:
        database: Its SQLAlchemy URL.
    """
    engine = open_database(database)
    base, local = Ledger(BASE), Ledger(LOCAL)
    registries = {entry: f"eip155:{entry}:{IDENTITY}" for entry in (BASE, LOCAL)}
    others = [
        {"agentId": 7, "agentRegistry": registries[LOCAL]},
        {"agentId": 8, "agentRegistry": registries[LOCAL]},
        {"agentId": MINT, "agentRegistry": f"{MAINNET}:{SATI}"},
        {"agentId": f"{MAINNET}:{MINT}", "agentRegistry": f"{MAINNET}:{SATI}"},
        {"agentId": 8, "agentRegistry": f"{MAINNET}:{SATI}"},
    ]
    base.register(1, RIVAL, _file("Paypal Agent", others))
    base.log(Transfer, IDENTITY, RIVAL, OWNER, 1)
    wallet = bytes.fromhex(WALLET[2:])
    base.log(MetadataSet, IDENTITY, 1, sha256(b"agentWallet").digest(), "agentWallet", wallet, None)
    base.log(MetadataSet, IDENTITY, 1, sha256(b"category").digest(), "category", b"shop", None)
    base.register(2, RIVAL, _file("P\u0430ypa\u0406 Agent", []))
    for index, client in enumerate(CLAIMS, 1):
        _feedback(base, client, index)
    base.log(NewFeedback, REPUTATION, 1, BUYER, 9, 40, 0, NOTHING, "starred", "", "", "", NOTHING, None)
    for responder in (RIVAL, OWNER, RIVAL):
        base.log(Responded, REPUTATION, 1, CLIENT, 1, responder, "https://a.example", NOTHING, None)
    base.log(ClientRated, REPUTATION, 2, 1, 30)
    tag = b"quality".ljust(32, b"\0")
    base.log(NewAuthorizedFeedback, AUTHORIZED, 1, CLIENT, 77, tag, NOTHING, _proof_file(CLIENT), NOTHING, None)
    for responder in (*[RIVAL] * 25, BUYER):  # more than anybody reads
        base.log(Responded, REPUTATION, 1, CLIENT, 1, responder, "https://spam.example", NOTHING, None)
    for responder in (RIVAL, BUYER):
        base.log(Responded, REPUTATION, 1, BUYER, 4, responder, "https://b.example", NOTHING, None)
    local.register(7, OWNER, _file("Paypal Agent", [{"agentId": 1, "agentRegistry": registries[BASE]}]))
    local.register(8, RIVAL, _file("Another", []))
    speed = b"speed".ljust(32, b"\0")
    local.log(NewFeedback, REPUTATION, 8, VISITOR, 1, 20, 0, NOTHING, "speed", "", "", "", NOTHING, None)
    local.log(NewAuthorizedFeedback, AUTHORIZED, 8, VISITOR, 55, speed, NOTHING, "", NOTHING, None)
    local.register(9, OWNER, _file("A long name that goes on and on " * 9 + "until its end", []))
    local.log(Transfer, IDENTITY, NOBODY, OWNER, 10)
    local.log(Registered, IDENTITY, 10, "", OWNER, None)
    for agent in range(1_001, 1_202):
        local.log(Transfer, IDENTITY, NOBODY, COLLECTOR, agent)
        local.log(Registered, IDENTITY, agent, "", COLLECTOR, None)
    base.store(engine)
    local.store(engine)
    with engine.begin() as connection:
        base.learned(connection)
        base.pay(connection, CLIENT, 1, WALLET, PROVEN)
        base.pay(connection, WALLET, 1, WALLET, OWN, "wallet")
        base.pay(connection, CLIENT, 1, WALLET, FOREIGN, kind="permit2-upto", ceiling=5_000_000)
        base.analyse(connection, "Two accounts praise one agent.", [CLIENT, RIVAL], OWNER, [7, 8])
    engine.dispose()


def _file(name, registrations):
    """Return a registration file."""
    return {"type": REGISTRATION_TYPE, "name": name, "description": "It sells.", "registrations": registrations}


def _feedback(ledger, client, index):
    """Log feedback whose file names the transaction of `CLAIMS`."""
    values = (1, client, index, 90, 0, NOTHING, "starred", "", "", _proof_file(client), NOTHING, None)
    ledger.log(NewFeedback, REPUTATION, *values)


def _proof_file(client):
    """Return the URI of a file that names the client's transaction of `CLAIMS`."""
    proof = {"fromAddress": client, "toAddress": WALLET, "chainId": str(BASE), "txHash": CLAIMS[client]}
    return encode_data_uri(json.dumps({"text": "good", "proofOfPayment": proof}).encode())
