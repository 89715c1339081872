"""Each method about buyers, called once in a world. A scenario fails unless the result is right."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_account import Account
from eth_utils import keccak

from bilateral.buyers.anchors import leaf_of
from bilateral.client.operations import registries
from bilateral.core.contracts.buyer_terms import (
    AttestedPayment,
    BuyerFeedback,
    BuyerReviews,
    BuyerRole,
    BuyerState,
    BuyerTier,
    PaymentRecord,
    TierCredential,
    policy_hash,
)
from bilateral.core.contracts.codec import ContractRevertError
from tests.sdk.client.helpers import signed_payment
from tests.sdk.deployed.catalogue import (
    new_address,
    new_hash,
    scenario,
)
from tests.sdk.deployed.world import CHAIN_ID, CHECKER, OWNER, REVIEWER


@scenario
def settle_payment(world):
    (token,) = world.owner.get_payment_tokens()
    buyer = Account.create()
    mint = keccak(text="mint(address,uint256)")[:4] + encode(["address", "uint256"], [buyer.address, 100])
    world.web3.eth.wait_for_transaction_receipt(
        world.web3.eth.send_transaction({"from": world.web3.eth.accounts[0], "to": token, "data": mint}),
        poll_latency=0.01,
    )
    payment = signed_payment(buyer, OWNER.address, 100, keccak(text=buyer.address), token, CHAIN_ID)
    assert world.payer.settle_payment(payment).wait().amount == 100


def mined_hash(world):
    """Return the hash of a transaction that is in a block."""
    first = world.web3.eth.accounts[0]
    sent = world.web3.eth.send_transaction({"from": first, "to": first})
    return bytes(world.web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)["transactionHash"])


@scenario
def record_payment(world):
    assert world.owner.record_payment(new_address(), 100, mined_hash(world)).wait().amount == 100


@scenario
def record_payments(world):
    payment = AttestedPayment(new_address(), 100, 1_700_000_000, 0)
    assert world.owner.record_payments(8453, [PaymentRecord(mined_hash(world), payment)]).wait() == (payment,)


@scenario
def record_buyer_feedback(world):
    feedback = BuyerFeedback(new_address(), new_address(), 90)
    assert world.owner.record_buyer_feedback(feedback).wait() == feedback


@scenario
def record_buyer_feedbacks(world):
    feedback = BuyerFeedback(new_address(), new_address(), 90)
    assert world.owner.record_buyer_feedbacks([feedback]).wait() == (feedback,)


@scenario
def record_buyer_reviews(world):
    reviews = BuyerReviews(new_address(), 1, 80, 0)
    assert world.owner.record_buyer_reviews([reviews]).wait() == (reviews,)


@scenario
def anchor_root(world):
    epoch = world.checker.get_next_epoch()
    assert world.checker.anchor_root(epoch, new_hash()).wait().epoch == epoch


@scenario
def set_nominee(world):
    assert world.owner.set_nominee(BuyerRole.ATTESTOR, REVIEWER.address).wait().nominee == REVIEWER.address
    assert world.owner.set_nominee(BuyerRole.ATTESTOR, None).wait().nominee is None


@scenario
def take_role(world):
    world.checker.set_nominee(BuyerRole.ANCHORER, REVIEWER.address).wait()
    assert world.reviewer.take_role(BuyerRole.ANCHORER).wait().holder == REVIEWER.address
    world.reviewer.set_nominee(BuyerRole.ANCHORER, CHECKER.address).wait()
    world.checker.take_role(BuyerRole.ANCHORER).wait()


@scenario
def get_buyer_score(world):
    assert world.owner.get_buyer_score(new_address()) == 0


@scenario
def get_buyer_tier(world):
    assert world.owner.get_buyer_tier(new_address()) is BuyerTier.NEW


@scenario
def get_settlement_score(world):
    assert world.owner.get_settlement_score(new_address()).score == 0


@scenario
def get_buyer_records(world):
    assert world.owner.get_buyer_records(new_address()).settled.payments == 0


@scenario
def has_payment(world):
    assert not world.owner.has_payment(new_hash())


@scenario
def get_buyer_feedback(world):
    assert world.owner.get_buyer_feedback(new_address(), new_address()) is None


@scenario
def get_next_epoch(world):
    assert world.owner.get_next_epoch() >= 1


@scenario
def get_root(world):
    assert world.owner.get_root(10**9) is None


@scenario
def verify_buyer(world):
    state = BuyerState(new_address(), 8453, 0, BuyerTier.NEW, *([0] * 9), policy_hash("brp-1.0"), 7)
    epoch = world.checker.get_next_epoch()
    world.checker.anchor_root(epoch, leaf_of(state)).wait()
    assert world.owner.verify_buyer(state, epoch, [])


@scenario
def verify_credential(world):
    credential = TierCredential(new_address(), 0, 1, policy_hash("brp-1.0"), BuyerTier.TRUSTED, bytes(32), bytes(32))
    assert not world.owner.verify_credential(credential, bytes(65))


@scenario
def post_tier_roots(world):
    day = int(world.owner.runner.run(registries.block_time()).timestamp()) // 86_400
    policy = keccak(text=new_address())
    assert world.owner.post_tier_roots(day, policy, [1, 1, 1]).wait().policy == policy


@scenario
def get_tier_roots(world):
    assert world.owner.get_tier_roots(policy_hash("brp-1.0"), 1) is None


@scenario
def verify_tier(world):
    words = [bytes(32)] * 2
    with pytest.raises(ContractRevertError, match="EpochOver"):
        world.owner.verify_tier(1, [1] * 8, policy_hash("brp-1.0"), BuyerTier.TRUSTED, 1, *words)


@scenario
def get_role_holder(world):
    assert world.owner.get_role_holder(BuyerRole.ATTESTOR).holder == OWNER.address


@scenario
def get_payment_tokens(world):
    assert len(world.owner.get_payment_tokens()) == 1
