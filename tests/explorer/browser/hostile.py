"""An index in which every text that a chain or a file can hold attacks its readers."""

from __future__ import annotations

import json
from collections import defaultdict
from hashlib import sha256

from bench.world.people import AUTHORIZED, IDENTITY, REPUTATION, VALIDATION
from bilateral.contracts import Registry
from bilateral.documents import Loader
from bilateral.documents.data_uri import encode_data_uri
from bilateral.documents.registration import REGISTRATION_TYPE
from bilateral.events import (
    AgentUpdated,
    ClientRated,
    MetadataSet,
    NewAuthorizedFeedback,
    NewFeedback,
    Registered,
    ResponseAppended,
    Transfer,
    URIUpdated,
    ValidationRequest,
    ValidationResponse,
)
from bilateral.identifiers import checksummed
from bilateral.index import schema
from bilateral.index.database import open_database
from bilateral.index.files.references import ReferenceScan
from bilateral.index.rows import rows_of
from bilateral.index.store import Batch, Block, ChainStore
from tests.explorer.browser.watched import MARKER

CHAIN_ID = 31337

TEXTS = (
    f"<script>{MARKER}=1</script>",
    f'"><img src=x onerror={MARKER}=1>',
    f"'><svg/onload={MARKER}=1>",
    f"</title></style></textarea></script><script>{MARKER}=1</script>",
    f"javascript:{MARKER}=1",
    f"data:text/html,<script>{MARKER}=1</script>",
    '<link rel=stylesheet href=https://evil.example/a.css><base href="https://evil.example/">',
    '<meta http-equiv=refresh content="0;url=https://evil.example">{{ 7 * 7 }}${7 * 7}',
    "https://evil.example/\u202egnp.exe",
    "safe\u202e\u2066txt\u2069\u202c\u200b\u200d\ufeff\u00ad\u2028end",
    "W" * 300,
    "\N{WHITE SMILING FACE}" * 150 + "漢" * 150,
    "A" + "\u0301" * 120,
    "P\u0430ypal\t\r\nof <b>many</b> lines",
    "",
)
"""Scripts, markup, links, marks that turn or hide, names of 300 characters and of none."""


def hostile_index(database):
    """Write the index into an empty database.

    Args:
        database: Its SQLAlchemy URL.
    """
    engine = open_database(database)
    kinds = {
        IDENTITY: Registry.IDENTITY,
        REPUTATION: Registry.BIDIRECTIONAL,
        AUTHORIZED: Registry.AUTHORIZED,
        VALIDATION: Registry.VALIDATION,
    }
    with engine.begin() as connection:
        rows = [(CHAIN_ID, address, kind.value, IDENTITY, 1) for address, kind in kinds.items()]
        rows_of(connection).insert(schema.registry, rows)
    begin, end = Block(0, sha256(b"0").digest(), 1_750_000_000), Block(1, sha256(b"1").digest(), 1_750_000_012)
    store = ChainStore(engine, CHAIN_ID)
    store.begin(begin)
    store.append(begin, Batch(end, _rows(end), [end], 1, 1))
    scan = ReferenceScan(engine, CHAIN_ID, Loader())
    while scan.step() is not None:
        pass
    engine.dispose()


def account(name):
    """Return the address of a name."""
    return checksummed(f"0x{sha256(name.encode()).hexdigest()[:40]}")


def request_of(agent):
    """Return the name of an agent's validation request."""
    return sha256(f"request {agent}".encode()).digest()


def _rows(block):
    """Return the rows of all events: one agent for each text."""
    rows = defaultdict(list)

    def log(event, registry, *values):
        index = sum(map(len, rows.values()))
        transaction = sha256(str(index).encode()).digest()
        place = (CHAIN_ID, block.number, index, block.hash, block.time, transaction, registry)
        rows[schema.EVENT_TABLES[event]].append((*place, *values))

    for agent, text in enumerate(TEXTS, 1):
        owner, client, nothing = account(f"owner {agent}"), account(f"client {agent}"), bytes(32)
        topic, short = sha256(text.encode()).digest(), text.encode()[:32].decode(errors="ignore").encode()
        uri, request = encode_data_uri(_registration(agent, text)), request_of(agent)
        log(Transfer, IDENTITY, "0x" + "0" * 40, owner, agent)
        log(Registered, IDENTITY, agent, uri, owner, None)
        log(MetadataSet, IDENTITY, agent, topic, text[:200], text.encode(), None)
        log(AgentUpdated, IDENTITY, agent, text, owner, None)
        log(NewFeedback, REPUTATION, agent, client, 1, 9 - agent, 0, topic, text, text, text, text, nothing, None)
        file = encode_data_uri(_feedback(text))
        log(NewFeedback, REPUTATION, agent, client, 2, 90, 0, topic, text, text, text, file, nothing, None)
        log(ResponseAppended, REPUTATION, agent, client, 2, owner, text, nothing, None)
        tags = (short.ljust(32, b"\0"), short.ljust(32, b"\0"))
        log(NewAuthorizedFeedback, AUTHORIZED, agent, client, 50, *tags, text, nothing, None)
        log(ValidationRequest, VALIDATION, client, agent, text, request, None)
        log(ValidationResponse, VALIDATION, client, agent, request, 70, text, nothing, text, None)
        log(ClientRated, REPUTATION, agent, agent % len(TEXTS) + 1, 40)
        log(URIUpdated, IDENTITY, agent, text, owner, None)
        log(URIUpdated, IDENTITY, agent, uri, owner, None)
    return dict(rows)


def _registration(agent, text):
    """Return a registration file with a text in every field."""
    services = [
        {"name": text, "endpoint": text, "version": text, "mcpTools": [text], "a2aSkills": [text]},
        {"name": "web", "endpoint": f"https://evil.example/{text}"},
    ]
    other = {"agentId": agent + 1, "agentRegistry": f"eip155:{CHAIN_ID}:{IDENTITY}"}
    return json.dumps(
        {
            "type": REGISTRATION_TYPE,
            "name": text,
            "description": text,
            "image": text or "https://evil.example",
            "services": services,
            "supportedTrust": [text],
            "registrations": [other],
            "active": True,
        }
    ).encode()


def _feedback(text):
    """Return a feedback file with a text in every field."""
    names = ("text", "comment", "reasoning", "capability", "name", "skill", "task", "context", "interactionHash")
    payment = dict.fromkeys(("fromAddress", "toAddress", "chainId", "txHash"), text)
    return json.dumps({**dict.fromkeys(names, text), "proofOfPayment": payment}).encode()
