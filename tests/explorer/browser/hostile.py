"""An index in which every text that a chain or a file can hold attacks its readers."""

from __future__ import annotations

import json
from hashlib import sha256

from bench.world.people import AUTHORIZED, IDENTITY, REPUTATION, VALIDATION
from bilateral.core.events import (
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
from bilateral.documents.data_uri import encode_data_uri
from bilateral.index.log.database import open_database
from tests.explorer.browser.watched import MARKER
from tests.explorer.stored import NOBODY, NOTHING, Ledger, account

CHAIN_ID = 31337

EVENTS = (
    *(AgentUpdated, MetadataSet, Registered, URIUpdated, NewAuthorizedFeedback, NewFeedback, ResponseAppended),
    *(ValidationRequest, ValidationResponse),
)
"""The events that hold a text."""

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
    ledger = Ledger(CHAIN_ID)
    for agent, text in enumerate(TEXTS, 1):
        _log(ledger, agent, text)
    ledger.store(engine)
    with engine.begin() as connection:
        ledger.learned(connection)
        for agent in range(1, len(TEXTS) + 1):
            owner, client = account(f"owner {agent}"), account(f"client {agent}")
            ledger.pay(connection, client, agent, owner, paid_by(agent), None if agent % 2 else "owner")
        everybody = [account(f"client {agent}") for agent in range(1, len(TEXTS) + 1)]
        ledger.analyse(connection, " ".join(TEXTS), everybody, account("owner 1"), range(3, 8))
    engine.dispose()


def request_of(agent):
    """Return the name of an agent's validation request."""
    return sha256(f"request {agent}".encode()).digest()


def paid_by(agent):
    """Return the transaction in which an agent's client paid it."""
    return sha256(f"payment {agent}".encode()).digest()


def _log(ledger, agent, text):
    """Log the events of one agent with one text."""
    log = ledger.log
    owner, client = account(f"owner {agent}"), account(f"client {agent}")
    topic, short = sha256(text.encode()).digest(), text.encode()[:32].decode(errors="ignore").encode()
    uri, request = encode_data_uri(_registration(agent, text)), request_of(agent)
    log(Transfer, IDENTITY, NOBODY, owner, agent)
    log(Registered, IDENTITY, agent, uri, owner, None)
    log(MetadataSet, IDENTITY, agent, topic, text[:200], text.encode(), None)
    log(AgentUpdated, IDENTITY, agent, text, owner, None)
    log(NewFeedback, REPUTATION, agent, client, 1, 9 - agent, 0, topic, text, text, text, text, NOTHING, None)
    for index, paid in ((2, text), (3, f"0x{paid_by(agent).hex()}")):
        file = encode_data_uri(_feedback(text, paid))
        log(NewFeedback, REPUTATION, agent, client, index, 90, 0, topic, text, text, text, file, NOTHING, None)
    log(ResponseAppended, REPUTATION, agent, client, 2, owner, text, NOTHING, None)
    tags = (short.ljust(32, b"\0"), short.ljust(32, b"\0"))
    log(NewAuthorizedFeedback, AUTHORIZED, agent, client, 50, *tags, text, NOTHING, None)
    log(ValidationRequest, VALIDATION, client, agent, text, request, None)
    log(ValidationResponse, VALIDATION, client, agent, request, 70, text, NOTHING, text, None)
    log(ClientRated, REPUTATION, agent, agent % len(TEXTS) + 1, 40)
    log(URIUpdated, IDENTITY, agent, text, owner, None)
    log(URIUpdated, IDENTITY, agent, uri, owner, None)


def _registration(agent, text):
    """Return a registration file with a text in every field."""
    lists = ("mcpTools", "mcpPrompts", "mcpResources", "a2aSkills", "skills", "domains")
    kinds = ("", "MCP", "A2A", "OASF", "web", "email", "ENS", "DID")
    services = [
        {"name": kind or text, "endpoint": text, "version": text, **{list_name: [text] for list_name in lists}}
        for kind in kinds
    ]
    services.append({"name": "web", "endpoint": f"https://evil.example/{text}"})
    other = {"agentId": agent + 1, "agentRegistry": f"eip155:{CHAIN_ID}:{IDENTITY}"}
    return json.dumps(
        {
            "type": text,
            "name": text,
            "description": text,
            "image": text or "https://evil.example",
            "services": services,
            "supportedTrust": [text],
            "registrations": [other, {"agentId": 1, "agentRegistry": text}],
            "active": True,
        }
    ).encode()


def _feedback(text, paid):
    """Return a feedback file with a text in every field, but for the transaction of its payment."""
    names = (
        *("agentRegistry", "agentId", "clientAddress", "createdAt", "value", "valueDecimals", "tag1", "tag2"),
        *("endpoint", "text", "comment", "reasoning", "taskRef", "interactionHash", "agentSignature"),
        *("clientSignature", "capability", "name", "skill", "task", "context"),
    )
    file = {
        **dict.fromkeys(names, text),
        "mcp": dict.fromkeys(("tool", "prompt", "resource"), text),
        "a2a": {"skills": [text], "contextId": text, "taskId": text},
        "oasf": {"skills": [text], "domains": [text]},
        "proofOfPayment": {**dict.fromkeys(("fromAddress", "toAddress", "chainId"), text), "txHash": paid},
    }
    return json.dumps(file).encode()
