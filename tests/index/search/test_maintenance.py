"""The tables of searches follow files and agents in one transaction: refreshed files, new URIs, reorganisations."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest
from sqlalchemy import delete, select

from bilateral.core.contracts import Registry
from bilateral.index.files import tables as file_tables
from bilateral.index.files import tables as files
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from bilateral.index.search import tables as schema
from bilateral.index.search.filters import AgentSearch, Gate, Payment
from bilateral.index.search.queries import search_agents
from simulation.events import encoded
from tests.index.conftest import CHAIN_ID
from tests.index.files.conftest import CLIENT, OWNER, feedback_given, registered, registration, uri_updated
from tests.index.files.test_refreshing import HOUR, Versioned

TABLES = (schema.registration_words, schema.registration_vector, file_tables.agent_file, file_tables.payment_claim)


def data_uri(**fields):
    return f"data:application/json;base64,{b64encode(json.dumps(fields).encode()).decode()}"


def payment(**proof):
    return {
        "proofOfPayment": {
            "fromAddress": CLIENT,
            "toAddress": OWNER,
            "chainId": "1",
            "txHash": "0x" + "ab" * 32,
            **proof,
        }
    }


def paid(**proof):
    return data_uri(**payment(**proof))


@pytest.fixture
def agents_with(story):
    """Return the ids of the agents that a search finds."""

    def search(text=None, **conditions):
        with story.engine.connect() as connection:
            return [item.agent_id for item in search_agents(connection, AgentSearch(text=text, **conditions)).items]

    return search


@pytest.fixture
def rows(story):
    """Return the rows of the tables of searches, without their own numbers."""

    def read():
        with story.engine.connect() as connection:
            return {
                table.name: sorted(
                    map(
                        repr,
                        connection.execute(
                            select(*(column for column in table.c if column.name not in ("document_id", "vector_id")))
                        ).all(),
                    )
                )
                for table in TABLES
            }

    return read


def test_a_refreshed_file_is_found_by_its_new_words_only(story, server, agents_with):
    server.routes["/agent.json"] = versioned = Versioned(registration(name="Weather oracle"), ETag='"1"')
    story.block(*registered(f"{server.url}/agent.json"))
    assert agents_with("weather") == []
    story.settle()
    assert agents_with("weather") == [1]
    versioned.content, versioned.marks = registration(name="Chess tutor"), {"ETag": '"2"'}
    story.clock.pass_(1.2 * HOUR)
    story.settle()
    assert (agents_with("weather"), agents_with("chess")) == ([], [1])


def test_a_left_file_is_not_found_even_before_the_new_uri_is_scanned(story, agents_with):
    story.block(*registered(data_uri(name="Weather oracle")))
    story.scan_all()
    assert agents_with("oracle") == [1]
    story.block(uri_updated(data_uri(name="Chess tutor")))
    assert agents_with("oracle") == []
    story.scan_all()
    assert (agents_with("oracle"), agents_with("tutor")) == ([], [1])


def test_a_burnt_agent_is_not_found(story, agents_with):
    story.block(*registered(data_uri(name="Weather oracle")))
    story.scan_all()
    story.block(encoded(Registry.IDENTITY, "Transfer", OWNER, "0x" + "00" * 20, 1))
    assert (agents_with("oracle"), agents_with()) == ([], [])


@pytest.mark.parametrize("is_scanned", [True, False], ids=["scanned", "not scanned"])
def test_a_reorganisation_brings_the_former_file_back(story, agents_with, rows, is_scanned):
    first = story.block(*registered(data_uri(name="Weather oracle")))
    story.scan_all()
    before = rows()["agent_file"]
    story.block(uri_updated(data_uri(name="Chess tutor")))
    if is_scanned:
        story.scan_all()
    story.roll_back(first)
    assert agents_with("oracle") == [1]
    assert rows()["agent_file"] == before


def test_a_claimed_payment_counts_until_its_feedback_is_revoked_or_reorganised(story, agents_with):
    gate = Gate(payment=Payment.MATCHING)
    story.block(*registered(data_uri(name="Weather oracle")))
    block = story.block(feedback_given(paid()))
    story.scan_all()
    assert agents_with(gates=(gate,)) == [1]
    story.block(encoded(Registry.BIDIRECTIONAL, "FeedbackRevoked", 1, CLIENT, 1))
    assert agents_with(gates=(gate,)) == []
    story.roll_back(block)
    assert agents_with(gates=(gate,)) == [1]
    story.roll_back(block - 1)
    assert agents_with(gates=(gate,)) == []
    assert story.rows(file_tables.payment_claim) == []


def test_a_claimed_payment_ends_with_the_file_that_claimed_it(story, server, agents_with):
    server.routes["/feedback.json"] = versioned = Versioned(json.dumps(payment()).encode(), ETag='"1"')
    story.block(*registered(""))
    story.block(feedback_given(f"{server.url}/feedback.json"))
    story.settle()
    assert agents_with(gates=(Gate(payment=Payment.CLAIMED),)) == [1]
    versioned.content, versioned.marks = b"{}", {"ETag": '"2"'}
    story.clock.pass_(30 * HOUR)
    story.settle()
    assert versioned.answers == [200, 200]
    assert story.rows(file_tables.payment_claim) == []


def test_a_claim_matches_only_if_it_names_client_and_agent(story, agents_with):
    story.block(*registered(""))
    stranger = "0x" + "99" * 20
    claims = [{"fromAddress": stranger}, {"toAddress": stranger}, {"txHash": "0x12"}, {"txHash": 5}]
    for index, claim in enumerate(claims, 1):
        story.block(feedback_given(paid(**claim), index=index))
    story.scan_all()
    assert agents_with(gates=(Gate(payment=Payment.CLAIMED, count=2, maximum_count=2),)) == [1]
    assert agents_with(gates=(Gate(payment=Payment.MATCHING),)) == []
    story.block(feedback_given(paid(toAddress=f"eip155:31337:{OWNER}"), index=9))
    story.scan_all()
    assert agents_with(gates=(Gate(payment=Payment.MATCHING, count=1, maximum_count=1),)) == [1]


def test_rebuilding_makes_the_same_rows(story, server, rows, agents_with):
    server.routes["/agent.json"] = Versioned(registration(name="Weather oracle"), ETag='"1"')
    story.block(*registered(f"{server.url}/agent.json"), *registered(data_uri(name="Chess tutor"), agent_id=2))
    services = [
        {"name": "OASF", "endpoint": "https://chess.example", "skills": ["zugzwang", "gambit"]},
        {"name": "MCP", "endpoint": "https://chess.example", "mcpTools": ["opening", "endgame"]},
        {"name": "A2A", "endpoint": "https://chess.example", "a2aSkills": ["mate", "castling"]},
    ]  # in another order than that of their kinds and names
    story.block(feedback_given(paid()), uri_updated(data_uri(name="Chess master", services=services), agent_id=2))
    story.settle()
    before = rows()
    assert all(before.values())
    ChainStore(story.engine, CHAIN_ID, PROJECTIONS).rebuild()
    assert rows() == before
    assert (agents_with("wether"), agents_with("oracle"), agents_with("master")) == ([1], [1], [2])


def test_words_vanish_with_their_content(story, agents_with):
    block = story.block(*registered(""))
    story.block(uri_updated(data_uri(name="Weather oracle")))
    story.scan_all()
    story.roll_back(block)
    with story.engine.begin() as connection:
        connection.execute(delete(files.file))
        connection.execute(delete(files.file_content))
    assert story.rows(schema.registration_words) == []
    if story.engine.dialect.name == "sqlite":
        assert story.query("SELECT rowid FROM agent_words WHERE agent_words MATCH 'oracle'") == []
