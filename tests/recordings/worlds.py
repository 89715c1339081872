"""Two small worlds with a fixed clock and seed: a town that is served and checked, and a chain with reorganisations."""

from __future__ import annotations

import random
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest.mock import patch

from starlette.testclient import TestClient

from bench.world.people import data_uri
from bilateral.api.app import create_app
from bilateral.api.settings import ApiSettings
from bilateral.contracts import Registry
from bilateral.documents import Loader
from bilateral.index.analysis.run import analyse
from bilateral.index.store.chain_store import ChainStore
from bilateral.index.store.database import open_database
from bilateral.index.tables.analysis import AnalysisKey
from simulation.events import Generator, encoded
from tests.checks.ledger import (
    CHAIN_ID,
    HOUR,
    IDENTITY,
    START,
    Ledger,
    account,
    approved_for_all,
    authorized,
    client_rated,
    domain_updated,
    feedback,
    opened,
    registered,
    revoked,
    sealed,
    transferred,
    uri_updated,
    validated,
    wallet_set,
)

NOW = START + 400 * HOUR
"""The time of every answer, some days after the town's last block."""

KEY = AnalysisKey(CHAIN_ID, IDENTITY)
AGENTS = 36
OWNERS, CLIENTS, RING, VALIDATOR, OPERATOR = 100, 200, 300, 400, 401
"""The numbers at which the accounts of each role begin."""

_WORDS = (
    *("weather", "market", "oracle", "trading", "travel", "legal", "audit", "translation", "health", "music"),
    *("chess", "news", "payment", "insurance", "solar", "delivery", "farm", "school", "robot", "database"),
)
_TAGS = (b"starred", b"starred", b"starred", b"starred", b"uptime", b"quality", b"reachable", b"responseTime")

_opened: list[tempfile.TemporaryDirectory] = []


def url_of(engine):
    return engine.url.render_as_string(hide_password=False)


def new_ledger():
    """Return a ledger in a database of its own, which lasts as long as the process."""
    _opened.append(folder := tempfile.TemporaryDirectory())
    engine = open_database(f"sqlite:///{Path(folder.name) / 'index.sqlite'}")
    return Ledger(engine, ChainStore(engine, CHAIN_ID), Loader(), clock=lambda: NOW)


@contextmanager
def fixed_clock():
    with patch("time.time", lambda: float(NOW)):
        yield


@contextmanager
def served(engine, **settings):
    """Yield a client of the service over a database. It sends requests without a network."""
    wide = {"rate": None, "query_seconds": 60.0, "max_silence": 10**9}
    app = create_app(ApiSettings(database=url_of(engine), **wide, **settings))
    with fixed_clock(), TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


@cache
def town():
    """Return the ledger of the town: honest agents and clients, a ring, and every kind of event."""
    with fixed_clock():
        ledger = new_ledger()
        for number, logs in enumerate(_story(random.Random(5))):  # noqa: S311  # reproducible, not secret
            ledger.block(*logs)
            if number in {60, 90}:
                analyse(ledger.engine, KEY)
        ledger.settle()
        analyse(ledger.engine, KEY)
    return ledger


@cache
def replayed_chain():
    """Return the ledger of a chain of made-up events, hostile ones among them, which three reorganisations cut."""
    with fixed_clock():
        ledger, generator = new_ledger(), Generator(seed=4, hostile=0.05)
        for blocks, back_to in ((16, 12), (14, 7), (16, 15), (10, None)):
            for _ in range(blocks):
                ledger.block(*generator.logs(3))
            ledger.settle()
            analyse(ledger.engine, KEY)
            if back_to is not None:
                ledger.roll_back(back_to)
    return ledger


def _story(chance):
    """Yield the logs of each block."""
    for agent in range(1, AGENTS + 1):
        yield [registered(agent, account(OWNERS + agent % 30), _file(agent, chance))]
    yield from _everyday(chance)
    yield [registered(AGENTS + 1, account(RING), _file(AGENTS + 1, chance))]
    yield [feedback(AGENTS + 1, account(RING + member), 100) for member in range(1, 13)]
    yield [client_rated(2, 1, 90), client_rated(3, 1, 20), client_rated(3, 2, 35), client_rated(1, 4, 75)]
    yield [encoded(Registry.BIDIRECTIONAL, "ValidatorRated", 5, 1, 88), client_rated(6, AGENTS + 1, 5)]
    yield [
        encoded(Registry.VALIDATION, "ValidationRequest", account(VALIDATOR), 1, b"https://work.example", b"\1" * 32)
    ]
    yield [validated(1, account(VALIDATOR), 95), validated(2, account(VALIDATOR), 30, 2)]
    yield [sealed(2, 7)]
    owner = account(OWNERS + 2)
    yield [[feedback(7, owner, 91, 50), client_rated(2, 7, 64), opened(2, 7, owner, 50)]]
    yield [approved_for_all(account(OWNERS + 8), account(OPERATOR)), feedback(8, account(OPERATOR), 99)]
    yield [transferred(9, account(OWNERS + 9), account(OWNERS + 29)), wallet_set(10, account(OWNERS + 77))]
    yield [uri_updated(11, _file(11, chance), account(OWNERS + 11)), uri_updated(12, b"", account(OWNERS + 12))]
    yield [domain_updated(13, account(OWNERS + 13), b"thirteen.example"), revoked(1, account(CLIENTS), 1)]
    response = (b"https://answer.example/1", bytes(32))
    yield [encoded(Registry.BIDIRECTIONAL, "ResponseAppended", 3, account(CLIENTS), 1, account(OWNERS + 3), *response)]


def _everyday(chance):
    """Yield blocks of ordinary ratings: agents differ in quality, some clients in their manners."""
    last = {}
    for _ in range(80):
        logs = []
        for _ in range(chance.randint(3, 8)):
            agent = 1 + int(AGENTS * chance.random() ** 1.6)
            client = account(CLIENTS + int(40 * chance.random() ** 1.4))
            value = max(0, min(100, round(chance.gauss(95 - agent * 1.7, 9))))
            if chance.random() < 0.08:
                logs.append(authorized(agent, client, value))
                continue
            index = last[agent, client] = last.get((agent, client), 0) + 1
            tag, uri = chance.choice(_TAGS), _proof(agent, client) if chance.random() < 0.1 else b""
            logs.append(feedback(agent, client, value, index, tag, uri=uri))
            if chance.random() < 0.03:
                logs.append(revoked(agent, client, index))
            if chance.random() < 0.12:
                logs.append(client_rated(1 + int(AGENTS * chance.random()), agent, chance.randint(20, 100)))
        yield logs


def _file(agent, chance):
    """Return the URI of a registration file. Some agents have none, or one that is not theirs."""
    if agent % 12 == 0:
        return b""
    first, second = chance.sample(_WORDS, 2)
    entry = {"agentId": agent + (agent % 11 == 0), "agentRegistry": f"eip155:{CHAIN_ID}:{IDENTITY}"}
    mcp = {"name": "MCP", "endpoint": f"https://mcp{agent}.example/", "version": "2025-06-18"}
    mcp["mcpTools"] = [f"{first}_read", f"{second}_list"]
    file = {
        "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
        "name": f"{first.title()} {second.title()}",
        "description": f"An agent for {first} and {second} by day and night.",
        "image": f"https://agent{agent}.example/image.png",
        "services": [mcp, {"name": "web", "endpoint": f"https://agent{agent}.example/"}],
        "active": agent % 7 != 0,
        "x402Support": agent % 3 == 0,
        "registrations": [entry],
        "supportedTrust": ["reputation"],
    }  # fmt: skip
    return data_uri(file).encode()


def _proof(agent, client):
    """Return the URI of a feedback file with a claim of payment."""
    payment = {
        "fromAddress": client,
        "toAddress": account(OWNERS + agent % 30),
        "chainId": str(CHAIN_ID),
        "txHash": f"0x{agent:064x}",
    }
    file = {"agentId": agent, "clientAddress": f"eip155:{CHAIN_ID}:{client}", "proofOfPayment": payment}
    return data_uri(file | {"text": "It did the work."}).encode()
