"""The operator of a service for buyers decides disputes, removes messages, and anchors states."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select

from bilateral.buyers.tables import buyer_dispute
from bilateral.index.log.database import open_database

DISPUTE = "5c" * 32


@pytest.fixture
def database(tmp_path):
    """The URL of an index with one dispute."""
    url = f"sqlite:///{tmp_path / 'index.sqlite'}"
    engine = open_database(url)
    row = {
        "id": DISPUTE,
        "chain_id": 1,
        "transaction_hash": bytes(32),
        "payment_position": 0,
        "buyer": "0x" + "b1" * 20,
        "identity_registry": "0x" + "1d" * 20,
        "agent_id": 1,
        "state": "filed",
        "reason": "Charged back",
        "content_hash": bytes(32),
        "received_at": 0,
    }
    with engine.begin() as connection:
        connection.execute(insert(buyer_dispute).values(**row))
    engine.dispose()
    return url


def stored(url):
    engine = open_database(url)
    with engine.connect() as connection:
        rows = connection.execute(select(buyer_dispute.c.state, buyer_dispute.c.reason)).all()
    engine.dispose()
    return rows


def test_dispute_is_decided(done, database):
    told = done("buyer", "decide", DISPUTE, "--as", "upheld", "--database", database)
    assert told == {"dispute": DISPUTE, "state": "upheld"}
    assert stored(database) == [("upheld", "Charged back")]


def test_texts_are_removed_and_then_the_whole_message(done, database):
    assert done("buyer", "remove", DISPUTE, "--database", database)["removed"] == "texts"
    assert stored(database) == [("filed", "")]
    assert done("buyer", "remove", DISPUTE, "--whole", "--database", database)["removed"] == "all"
    assert stored(database) == []


@pytest.mark.parametrize(
    "words", [("decide", "00", "--as", "upheld"), ("decide", DISPUTE, "--as", "won"), ("remove", "00")], ids=" ".join
)
def test_unknown_message_and_decision_are_refused(refused, database, words):
    assert refused(3, "buyer", *words, "--database", database)["reason"] == "invalid_argument"


def test_states_are_anchored_in_a_registry_of_buyers(refused, database, owner):
    error = refused(8, "buyer", "anchor-states", "--database", database, key=owner)
    assert error["reason"] == "missing_registry"
