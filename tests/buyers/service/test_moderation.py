"""Messages about a buyer: only the buyer sees and answers them; the operator decides disputes and removes texts."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from eth_account.messages import encode_defunct
from sqlalchemy import select

from bilateral.api.routes.buyers import consent_text
from bilateral.buyers.acceptance import decide_dispute, remove_message
from bilateral.buyers.messages import BuyerReply, text_hash
from bilateral.buyers.requests import DisputeBody, FeedbackBody
from bilateral.buyers.tables import buyer_feedback, buyer_reply
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.signatures import Domain
from bilateral.index.log.database import open_database
from tests.buyers.service.world import (
    ALICE,
    CHAIN,
    IDENTITY,
    OTHER_ID,
    OTHER_SELLER,
    SAMPLE,
    SELLER,
    SELLER_ID,
    STRANGER,
    feedback,
    payments_of,
    proof,
    signed,
)

pytestmark = pytest.mark.one_engine


@pytest.fixture
def engine(buyers_database):
    engine = open_database(buyers_database)
    yield engine
    engine.dispose()


def asked_by(buyer, expand="messages"):
    """Return the parameters and the headers by which a buyer asks for its own messages."""
    until = int(time.time()) + 300
    text = consent_text(f"eip155:{CHAIN}:{buyer.address}", until)
    signature = buyer.sign_message(encode_defunct(text=text)).signature
    return {
        "params": {"expand": expand},
        "headers": {"X-Buyer-Until": str(until), "X-Buyer-Signature": "0x" + bytes(signature).hex()},
    }


def messages(buyers, buyer):
    return buyers.get(f"/api/buyer/{buyer.address}", **asked_by(buyer)).json()["messages"]


@pytest.fixture
def posted(buyers, buyers_database):
    """Feedback about the last payment of the sample's buyer, removed after the test."""
    transaction, _ = payments_of(buyers_database, SAMPLE)[-2]
    body = signed(FeedbackBody, feedback(transaction, buyer=SAMPLE), SELLER_ID, SELLER)
    assert buyers.post("/api/buyer/feedback", json=body).json()["isNew"]
    (message,) = [message for message in messages(buyers, SAMPLE) if message["kind"] == "feedback"]
    yield message, body
    engine = open_database(buyers_database)
    with suppress(InvalidArgumentError):  # the test removed it
        remove_message(engine, message["id"], whole=True)
    engine.dispose()


def reply_to(message, text="I paid at once.", signer=SAMPLE):
    told = BuyerReply(SAMPLE.address, bytes.fromhex(message["id"]), text_hash(text), CHAIN)
    signature = signer.sign_message(told.signable(Domain(CHAIN, IDENTITY))).signature
    return {"messageId": message["id"], "text": text, "signature": "0x" + bytes(signature).hex()}


def test_buyer_sees_feedback_and_answers_it_once(buyers, posted):
    message, _ = posted
    assert (message["kind"], message["agentGlobalId"], message["score"]) == ("feedback", SELLER_ID, 90)
    assert (message["text"], message["reply"]) == ("Great client, clear task description", None)
    taken = [buyers.post("/api/buyer/replies", json=reply_to(message)).json() for _ in range(2)]
    assert [(answer["success"], answer["isNew"]) for answer in taken] == [(True, True), (True, False)]
    (shown,) = [entry for entry in messages(buyers, SAMPLE) if entry["id"] == message["id"]]
    assert shown["reply"] == "I paid at once."
    other = buyers.post("/api/buyer/replies", json=reply_to(message, "And more."))
    assert (other.status_code, other.json()["code"]) == (409, "already_given")


@pytest.mark.parametrize("signer", [SELLER, STRANGER], ids=["the seller", "a stranger"])
def test_nobody_else_answers_for_the_buyer(buyers, posted, signer):
    response = buyers.post("/api/buyer/replies", json=reply_to(posted[0], signer=signer))
    assert (response.status_code, response.json()["code"]) == (401, "invalid_signature")


def test_reply_needs_a_message(buyers):
    response = buyers.post("/api/buyer/replies", json=reply_to({"id": "00" * 32}))
    assert (response.status_code, response.json()["code"]) == (404, "message_not_found")


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "invalid_body"), ("x" * 1001, "invalid_body"), ("<b>", "markup")],
    ids=["empty", "long", "markup"],
)
def test_reply_out_of_its_limits_is_refused(buyers, posted, text, code):
    response = buyers.post("/api/buyer/replies", json=reply_to(posted[0], text))
    assert (response.status_code, response.json()["code"]) == (422, code)


def test_others_do_not_see_messages(buyers, posted):
    strange = asked_by(STRANGER)
    response = buyers.get(f"/api/buyer/{SAMPLE.address}", **strange)
    assert (response.status_code, response.json()["code"]) == (401, "signature_required")


def test_texts_are_removed_and_do_not_come_back(buyers, posted, engine):
    message, body = posted
    buyers.post("/api/buyer/replies", json=reply_to(message))
    votes = buyers.get(f"/api/buyer/{SAMPLE.address}").json()["metrics"]["sellerFeedbackCount"]
    assert remove_message(engine, message["id"]) == "buyer_feedback"
    with engine.connect() as connection:
        assert connection.execute(select(buyer_reply)).all() == []
        row = connection.execute(select(buyer_feedback).where(buyer_feedback.c.id == message["id"])).one()
    assert (row.note, row.tags, row.score) == ("", "[]", 90)
    assert not buyers.post("/api/buyer/feedback", json=body).json()["isNew"]
    (shown,) = [entry for entry in messages(buyers, SAMPLE) if entry["id"] == message["id"]]
    assert (shown["text"], shown["tags"], shown["reply"]) == ("", [], None)
    assert buyers.get(f"/api/buyer/{SAMPLE.address}").json()["metrics"]["sellerFeedbackCount"] == votes


def test_whole_message_is_removed_with_its_score(buyers, posted, engine):
    message, _ = posted
    before = buyers.get(f"/api/buyer/{SAMPLE.address}").json()["metrics"]["sellerFeedbackCount"]
    remove_message(engine, message["id"], whole=True)
    assert buyers.get(f"/api/buyer/{SAMPLE.address}").json()["metrics"]["sellerFeedbackCount"] == before - 1
    with pytest.raises(InvalidArgumentError, match="there is no message"):
        remove_message(engine, message["id"])


def disputes(buyers, policy):
    answer = buyers.get(f"/api/buyer/{ALICE.address}", params={"policy": policy}).json()
    return answer["metrics"]["disputeCount"]


def test_policies_count_disputes_as_they_are_decided(buyers, buyers_database, engine):
    ((transaction, _),) = payments_of(buyers_database, ALICE, OTHER_SELLER)
    body = {
        "sellerGlobalId": OTHER_ID,
        "reason": "Charged back",
        "proofOfPayment": proof(transaction, ALICE, OTHER_SELLER),
    }
    filed = signed(DisputeBody, {**body, "state": "filed"}, OTHER_ID, OTHER_SELLER)
    assert buyers.post(f"/api/buyer/{ALICE.address}/disputes", json=filed).json()["success"]
    (dispute,) = [message for message in messages(buyers, ALICE) if message["kind"] == "dispute"]
    counts = [[disputes(buyers, name) for name in ("brp-1.0", "independent-1.0")]]
    for decision in ("upheld", "rejected"):
        decide_dispute(engine, dispute["id"], decision)
        counts.append([disputes(buyers, name) for name in ("brp-1.0", "independent-1.0")])
    assert counts == [[1, 0], [1, 1], [0, 0]]
    withdrawn = signed(DisputeBody, {**body, "state": "withdrawn"}, OTHER_ID, OTHER_SELLER)
    response = buyers.post(f"/api/buyer/{ALICE.address}/disputes", json=withdrawn)
    assert (response.status_code, response.json()["code"]) == (409, "dispute_decided")
    remove_message(engine, dispute["id"], whole=True)


@pytest.mark.parametrize(("dispute", "decision", "problem"), [("00", "upheld", "no dispute"), ("00", "won", "unknown")])
def test_decision_needs_an_open_dispute(engine, dispute, decision, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        decide_dispute(engine, dispute, decision)
