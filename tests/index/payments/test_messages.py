"""Messages about payments stay with them when the chain is reorganised, and are signed by those who were paid."""

from __future__ import annotations

import pytest
from eth_account import Account
from eth_utils.crypto import keccak
from sqlalchemy import select

from bilateral.buyers.acceptance import BuyerMessages
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.metrics import read_dealings
from bilateral.buyers.policies import BuyerSettings
from bilateral.buyers.requests import DisputeBody, FeedbackBody, ReviewBody
from bilateral.buyers.tables import agent_review
from bilateral.core.contracts import Registry
from bilateral.core.signatures import Domain
from bilateral.index.payments.tables import payment
from bilateral.index.reading.registries import AgentKey
from simulation.events import encoded
from tests.index.payments.world import IDENTITY, TOKEN, transfer

CHAIN = 31337
SELLER, BUYER, NEW_OWNER, NEW_WALLET = (
    Account.from_key(keccak(text=name)) for name in ("paid seller", "paying buyer", "new owner", "new wallet")
)
AGENT = AgentKey(CHAIN, IDENTITY, 1, ())


def signed(kind, body, signer):
    message = kind.model_validate({**body, "signature": "0x00"}).message(AGENT)
    signature = signer.sign_message(message.signable(Domain(CHAIN, IDENTITY))).signature
    return {**body, "signature": "0x" + bytes(signature).hex()}


def proofs(engine):
    """Return `proofOfPayment` of each payment, the oldest first."""
    table = payment.c
    with engine.connect() as connection:
        rows = connection.execute(select(payment).order_by(table.block_number, table.log_index)).all()
    addresses = {"fromAddress": BUYER.address, "toAddress": SELLER.address, "chainId": CHAIN}
    return [
        {"txHash": "0x" + bytes(row.transaction_hash).hex(), "logIndex": row.log_index, **addresses} for row in rows
    ]


def feedback_on(proof, score=90):
    return {"buyerAddress": BUYER.address, "sellerGlobalId": AGENT.global_id, "score": score, "proofOfPayment": proof}


def review_of(proof, score):
    return {"agentId": AGENT.global_id, "score": score, "proofOfPayment": proof}


def dispute_about(proof, state="filed"):
    return {"sellerGlobalId": AGENT.global_id, "state": state, "proofOfPayment": proof}


@pytest.fixture
def messages(engine):
    return BuyerMessages(engine, BuyerSettings(disputes=True))


def dealings(engine):
    with engine.connect() as connection:
        return read_dealings(connection, CHAIN, BUYER.address)[IDENTITY, 1]


def test_messages_stay_with_a_payment_whose_log_moves_within_its_block(
    world, event_chain, engine, catch_up_payments, messages
):
    world.mine(world.register(1, SELLER.address))
    paid = [world.pay(BUYER.address, SELLER.address, amount) for amount in (5, 6)]  # one transaction
    world.mine(*paid)
    catch_up_payments()
    first, second = proofs(engine)
    bodies = [signed(ReviewBody, review_of(proof, score), BUYER) for proof, score in ((first, 70), (second, 80))]
    ids = [messages.take_review(body).id for body in bodies]
    voted = signed(FeedbackBody, feedback_on(second), SELLER)
    assert messages.take_feedback(voted).is_new
    assert messages.take_dispute(BUYER.address, signed(DisputeBody, dispute_about(second), SELLER)).is_new

    event_chain.rpc("anvil_rollback", 1)
    stranger = event_chain.rpc("eth_accounts")[1]
    call = event_chain.call_of(TOKEN, [transfer(NEW_OWNER.address, NEW_WALLET.address, 1)])
    event_chain.rpc("eth_sendTransaction", {**call, "from": stranger})
    world.mine(*paid)
    world.mine()
    catch_up_payments()

    moved = proofs(engine)
    assert [proof["txHash"] for proof in moved] == [first["txHash"], second["txHash"]]
    assert [proof["logIndex"] for proof in moved] == [first["logIndex"] + 1, second["logIndex"] + 1]
    stored = dealings(engine)
    assert (stored.payments, sorted(stored.reviews), stored.votes, stored.filed) == (2, [70, 80], [90], 1)
    again = [
        messages.take_review(signed(ReviewBody, review_of(proof, score), BUYER))
        for proof, score in zip(moved, (70, 80), strict=True)
    ]
    assert [(review.id, review.is_new) for review in again] == [(ids[0], False), (ids[1], False)]
    withdrawn = signed(DisputeBody, dispute_about(moved[1], "withdrawn"), SELLER)
    assert messages.take_dispute(BUYER.address, withdrawn).is_new
    assert dealings(engine).filed == 0
    with engine.connect() as connection:
        positions = connection.execute(select(agent_review.c.score, agent_review.c.payment_position)).all()
    assert sorted(map(tuple, positions)) == [(70, 0), (80, 1)]


def sell(buyer):
    return encoded(Registry.IDENTITY, "Transfer", SELLER.address, buyer.address, 1)


def test_after_a_sale_the_seller_who_was_paid_rates_and_the_new_owner_does_not(
    world, engine, catch_up_payments, messages
):
    world.mine(world.register(1, SELLER.address))
    world.mine(world.pay(BUYER.address, SELLER.address, 5))
    world.mine(sell(NEW_OWNER), world.set_wallet(1, NEW_WALLET.address))
    catch_up_payments()
    (proof,) = proofs(engine)
    for other in (NEW_OWNER, NEW_WALLET, BUYER):
        with pytest.raises(BuyerRefusalError) as refused:
            messages.take_feedback(signed(FeedbackBody, feedback_on(proof), other))
        assert refused.value.code == "invalid_signature"
        with pytest.raises(BuyerRefusalError):
            messages.take_dispute(BUYER.address, signed(DisputeBody, dispute_about(proof), other))
    assert messages.take_feedback(signed(FeedbackBody, feedback_on(proof), SELLER)).is_counted
    assert dealings(engine).votes == [90]


def test_seller_with_a_new_wallet_rates_by_that_one_too(world, engine, catch_up_payments, messages):
    world.mine(world.register(1, SELLER.address))
    world.mine(world.pay(BUYER.address, SELLER.address, 5), world.set_wallet(1, NEW_WALLET.address))
    catch_up_payments()
    (proof,) = proofs(engine)
    assert messages.take_feedback(signed(FeedbackBody, feedback_on(proof), NEW_WALLET)).is_counted
