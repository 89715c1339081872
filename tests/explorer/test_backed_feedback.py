"""A payment backs one feedback of its client about an agent: the first that claims it, in the order of the chain."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from sqlalchemy import update

from bilateral.core.events import FeedbackRevoked, NewAuthorizedFeedback, NewFeedback
from bilateral.documents.data_uri import encode_data_uri
from bilateral.index.log.database import open_database
from bilateral.index.payments.queries import payment_states, proof_of, proofs_of
from bilateral.index.payments.tables import payment
from bilateral.index.ratings.authorized import authorized_feedback_of
from bilateral.index.ratings.feedback import FeedbackFilter, feedback_of
from bilateral.index.ratings.recent import recent_feedback
from bilateral.index.reading.registries import AgentKey
from tests.explorer.stored import AUTHORIZED, BASE, CLIENT, IDENTITY, NOTHING, OWNER, REPUTATION, RIVAL, Ledger

PAID, OTHER = (sha256(name.encode()).digest() for name in ("paid", "other"))
IDENTITIES = {REPUTATION: IDENTITY, AUTHORIZED: IDENTITY}


class Market(Ledger):
    """Two agents, and what clients pay and say."""

    def __init__(self, path):
        super().__init__(BASE)
        self.engine = open_database(f"sqlite:///{path}")
        for agent in (1, 2):
            self.register(agent, OWNER, {})

    def rate(self, index, transaction=PAID, *, agent=1, client=CLIENT, change=str.lower):
        """Log feedback whose file names a transaction."""
        uri = _file(change(transaction.hex()))
        self.log(NewFeedback, REPUTATION, agent, client, index, 90, 0, NOTHING, "starred", "", "", uri, NOTHING, None)

    def after(self, *payments):
        """Store the events and payments of (payer, agent, transaction)."""
        self.store(self.engine)
        with self.engine.begin() as connection:
            for payer, agent, transaction in payments:
                self.pay(connection, payer, agent, OWNER, transaction)
        return self

    def states(self, agent=1):
        """Return the state of each feedback on an agent, the oldest first, as lists of ratings and shares see it."""
        key = AgentKey(BASE, IDENTITY, agent, (REPUTATION,))
        with self.engine.connect() as connection:
            entries = feedback_of(connection, key, FeedbackFilter(include_revoked=True), limit=100).items
            states = [proof.state for proof in proofs_of(connection, IDENTITIES, BASE, entries)]
            assert list(payment_states(connection, key, recent_feedback(connection, key))) == states
        return states[::-1]


def _file(digits):
    return encode_data_uri(json.dumps({"proofOfPayment": {"txHash": f"0x{digits}"}}).encode())


@pytest.fixture
def market(tmp_path):
    market = Market(tmp_path / "index.sqlite")
    yield market
    market.engine.dispose()


def test_payment_that_two_feedback_claim_backs_the_first(market):
    market.rate(1)
    market.rate(2, change=str.upper)
    assert market.after((CLIENT, 1, PAID)).states() == ["proven", "used"]


def test_two_payments_of_one_transaction_back_two_feedback(market):
    for index in (1, 2, 3):
        market.rate(index)
    assert market.after((CLIENT, 1, PAID), (CLIENT, 1, PAID)).states() == ["proven", "proven", "used"]


def test_revoked_feedback_frees_its_payment(market):
    market.rate(1)
    market.rate(2)
    market.log(FeedbackRevoked, REPUTATION, 1, CLIENT, 1)
    assert market.after((CLIENT, 1, PAID)).states()[1] == "proven"


def test_claims_of_others_and_about_others_take_no_payment(market):
    market.rate(1, client=RIVAL)
    market.rate(1, agent=2)
    market.rate(1, OTHER)
    market.rate(2)
    market.after((CLIENT, 1, PAID))
    assert (market.states(), market.states(2)) == (["claimed", "claimed", "proven"], ["claimed"])


def test_payment_backs_no_feedback_from_before_its_block(market):
    market.rate(1)
    market.after((CLIENT, 1, PAID))
    with market.engine.begin() as connection:
        connection.execute(update(payment).values(block_number=2))
    assert market.states() == ["claimed"]


def test_open_and_authorised_feedback_may_name_one_payment(market):
    market.rate(1)
    for score in (77, 78):
        uri = _file(PAID.hex())
        market.log(NewAuthorizedFeedback, AUTHORIZED, 1, CLIENT, score, NOTHING, NOTHING, uri, NOTHING, None)
    assert market.after((CLIENT, 1, PAID)).states() == ["proven"]
    with market.engine.connect() as connection:
        entries = authorized_feedback_of(connection, AgentKey(BASE, IDENTITY, 1, (AUTHORIZED,)))
        proofs = [proof_of(connection, IDENTITY, entry, f"0x{PAID.hex()}") for entry in entries.items]
    assert [proof.state for proof in proofs] == ["used", "proven"]
