"""Records of buyers, by the client."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest
from eth_abi import encode
from eth_account import Account
from eth_utils.crypto import keccak

from bilateral.client import Anchor, BuyerStanding, RoleHolder, SettledPayment
from bilateral.core.contracts import Deployment, Registry
from bilateral.core.contracts.buyer_terms import (
    AttestedPayment,
    BuyerFeedback,
    BuyerReviews,
    BuyerRole,
    BuyerState,
    BuyerTier,
    NotCounted,
    PaymentRecord,
    SignedPayment,
    TierCredential,
    policy_hash,
)
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import (
    InvalidArgumentError,
    MissingReceiptError,
    MissingRegistryError,
    PaymentSettledHereError,
    UnexpectedAnswerError,
)
from bilateral.core.identifiers import AgentId
from tests.sdk.client.helpers import deploy, plain, signed_payment

pytestmark = pytest.mark.one_client

BASE_CHAIN = 8453
PAID_AT = 1_700_000_000
numbers = count(1)


def new_hash():
    return keccak(text=f"transaction {next(numbers)}")


@pytest.fixture(scope="session")
def attestor(payer):
    return payer


@pytest.fixture(scope="session")
def anchorer(checker):
    return checker


@pytest.fixture(scope="session")
def token(web3, project):
    address = deploy(web3, project.MockPaymentToken)
    abi = project.MockPaymentToken.contract_type.model_dump(mode="json", by_alias=True, exclude_none=True)["abi"]
    return web3.eth.contract(address=address, abi=abi)


@pytest.fixture(scope="session")
def deployment(web3, project, deployment, token, attestor, anchorer):
    """The deployment with a registry of buyers."""
    arguments = (deployment.identity, [token.address], attestor.address, anchorer.address)
    return replace(deployment, buyers=deploy(web3, project.BuyerReputationRegistry, *arguments))


@pytest.fixture
def buyer(web3, token):
    """An account with money, and without a history."""
    fresh = Account.create()
    sent = token.functions.mint(fresh.address, 10**9).transact({"from": web3.eth.accounts[0]})
    web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
    return fresh


@pytest.fixture
def mined(web3):
    """The hash of a transaction of the chain that pays nothing."""
    first = web3.eth.accounts[0]
    sent = web3.eth.send_transaction({"from": first, "to": first})
    return bytes(web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)["transactionHash"])


@pytest.fixture
def signed(token):
    """Signs a payment."""
    return lambda buyer, payee, amount: signed_payment(buyer, payee, amount, new_hash(), token.address)


def test_a_payment_is_settled_and_counts(connect, web3, deployment, reviewer, buyer, agent, owner, signed):
    payment = signed(buyer, owner.address, 20_000)
    client = connect(reviewer)
    settled = client.settle_payment(payment).wait()
    spoken = plain(web3, Registry.IDENTITY, deployment.identity).functions.agentOf(owner.address).call()
    seller = AgentId(spoken, agent.chain_id)
    assert settled == SettledPayment(buyer.address, seller, 20_000, payment.nonce, None)
    assert settled.is_counted
    records = client.get_buyer_records(buyer.address.lower())
    assert (records.buyer, records.settled.payments, records.settled.volume) == (buyer.address, 1, 20_000)
    assert records.settled.minimum_sellers == 1
    assert records.settled.first_payment_at == records.settled.last_payment_at > datetime(2020, 1, 1, tzinfo=UTC)
    assert (records.attested.payments, records.attested.first_payment_at) == (0, None)
    assert client.get_settlement_score(buyer.address) == BuyerStanding(15, BuyerTier.NEW)
    assert client.get_buyer_score(buyer.address) == 15
    assert client.get_buyer_tier(buyer.address) is BuyerTier.NEW


def test_a_signature_in_one_piece_goes_to_the_token_as_it_is(connect, reviewer, buyer, owner, signed):
    payment = signed(buyer, owner.address, 20_000)
    with pytest.raises(ContractRevertError):
        connect(reviewer).settle_payment(replace(payment, signature=payment.signature + b"\0"))


def test_a_payment_to_no_agent_is_settled_and_does_not_count(connect, reviewer, buyer, signed):
    payment = signed(buyer, Account.create().address, 20_000)
    settled = connect(reviewer).settle_payment(payment).wait()
    assert settled == SettledPayment(buyer.address, None, 20_000, payment.nonce, NotCounted.NO_SELLER)
    assert not settled.is_counted
    assert connect().get_buyer_records(buyer.address).settled.payments == 0


def test_a_payment_is_settled_once(connect, reviewer, buyer, owner, signed):
    payment = signed(buyer, owner.address, 1)
    connect(reviewer).settle_payment(payment).wait()
    with pytest.raises(ContractRevertError):
        connect(reviewer).settle_payment(payment)


def test_a_token_that_is_not_listed_is_refused(connect, reviewer, buyer, owner, signed):
    with pytest.raises(ContractRevertError) as caught:
        connect(reviewer).settle_payment(replace(signed(buyer, owner.address, 1), token=owner.address))
    assert caught.value.reason == "token_not_listed"


def test_the_tokens_are_listed(connect, token):
    assert connect().get_payment_tokens() == [token.address]


def test_the_attestor_records_a_payment(connect, attestor, buyer, mined):
    name, client = mined, connect(attestor)
    recorded = client.record_payment(buyer.address, 5_000_000, "0x" + name.hex()).wait()
    assert recorded == AttestedPayment(buyer.address, 5_000_000, recorded.paid_at, 255)
    assert client.has_payment(name)
    assert client.has_payment(name, 7)
    assert not client.has_payment(name, chain_id=BASE_CHAIN)
    with pytest.raises(ContractRevertError) as caught:
        client.record_payment(buyer.address, 5_000_000, name)
    assert caught.value.reason == "payment_already_recorded"


def test_the_attestor_records_payments_at_once(connect, attestor, buyer):
    name = new_hash()
    payments = tuple(AttestedPayment(buyer.address, 4_000_000, PAID_AT + number, number) for number in range(3))
    client = connect(attestor)
    records = [PaymentRecord(name, payment) for payment in payments]
    assert client.record_payments(BASE_CHAIN, records).wait() == payments
    attested = client.get_buyer_records(buyer.address).attested
    assert (attested.payments, attested.volume) == (3, 12_000_000)
    assert attested.last_payment_at == datetime.fromtimestamp(PAID_AT + 2, UTC)
    assert client.has_payment(name, 2, chain_id=BASE_CHAIN)
    assert not client.has_payment(name, 3, chain_id=BASE_CHAIN)
    assert client.get_buyer_tier(buyer.address) is BuyerTier.VERIFIED


def test_a_payment_whose_transaction_the_node_does_not_show_is_not_attested(connect, attestor, buyer, agent, mined):
    """The registry may have settled it: a node may be behind, or have pruned its receipt."""
    client, unknown = connect(attestor), new_hash()
    records = [PaymentRecord(name, AttestedPayment(buyer.address, 5, PAID_AT, 1)) for name in (mined, unknown)]
    for refused in (
        lambda: client.record_payment(buyer.address, 5, unknown),
        lambda: client.record_payments(agent.chain_id, records),
    ):
        with pytest.raises(MissingReceiptError, match="no receipt for 0x") as caught:
            refused()
        assert caught.value.transaction_hash == unknown
    assert not client.has_payment(mined, 1)


def test_a_payment_that_the_registry_settled_is_not_attested(
    connect, attestor, reviewer, buyer, owner, agent, signed, mined
):
    client, handle = connect(attestor), connect(reviewer).settle_payment(signed(buyer, owner.address, 20_000))
    assert handle.wait().is_counted
    name, chain = bytes.fromhex(handle.hash[2:]), agent.chain_id
    settled = AttestedPayment(buyer.address, 20_000, PAID_AT, 2)
    with pytest.raises(PaymentSettledHereError, match="with record_payments and its position") as caught:
        client.record_payment(buyer.address, 20_000, name)
    assert (caught.value.transaction_hash, caught.value.buyer) == (name, buyer.address)
    for refused in (settled, replace(settled, amount=1, position=255)):
        with pytest.raises(PaymentSettledHereError):
            client.record_payments(chain, [PaymentRecord(mined, settled), PaymentRecord(name, refused)])
    other = replace(settled, amount=19_999)  # another payment of the same transaction
    for accepted_on, record in ((chain, PaymentRecord(name, other)), (BASE_CHAIN, PaymentRecord(name, settled))):
        assert client.record_payments(accepted_on, [record]).wait() == (record.payment,)


def test_the_attestor_records_feedback_and_reviews(connect, attestor, buyer, owner):
    client = connect(attestor)
    vote = BuyerFeedback(buyer.address, owner.address, 90)
    assert client.get_buyer_feedback(buyer.address, owner.address) is None
    assert client.record_buyer_feedback(vote).wait() == vote
    assert client.get_buyer_feedback(buyer.address, owner.address) == 90
    votes = (replace(vote, score=0), BuyerFeedback(buyer.address, attestor.address, 100))
    assert client.record_buyer_feedbacks(votes).wait() == votes
    assert client.get_buyer_feedback(buyer.address, owner.address) == 0
    reviews = (BuyerReviews(buyer.address, 2, 130, 1),)
    assert client.record_buyer_reviews(reviews).wait() == reviews
    attested = client.get_buyer_records(buyer.address).attested
    assert (attested.reviews, attested.review_sum, attested.disputes) == (2, 130, 1)
    assert (attested.feedback_sellers, attested.feedback_sum) == (2, 100)


@pytest.mark.parametrize("method", ["record_payments", "record_buyer_feedbacks", "record_buyer_reviews"])
def test_an_empty_batch_is_refused(connect, attestor, method):
    chain = [BASE_CHAIN] if method == "record_payments" else []
    with pytest.raises(InvalidArgumentError, match="at least one record"):
        getattr(connect(attestor), method)(*chain, [])


def test_a_stranger_may_not_attest(connect, reviewer, buyer, mined):
    with pytest.raises(ContractRevertError) as caught:
        connect(reviewer).record_payment(buyer.address, 1, mined)
    assert caught.value.reason == "not_role_holder"
    assert caught.value.advice


def test_the_anchorer_posts_a_root_and_anybody_verifies_a_state(connect, anchorer, buyer):
    state = BuyerState(buyer.address, BASE_CHAIN, 15, BuyerTier.NEW, 1, *[0] * 8, policy_hash("brp-1.0"), 7)
    kinds = ["address", "uint256", "uint8", "uint8", *["uint256"] * 9, "bytes32", "uint256"]
    leaf = keccak(keccak(encode(kinds, state.arguments)))
    client = connect(anchorer)
    epoch = client.get_next_epoch()
    assert client.get_root(epoch) is None
    assert client.anchor_root(epoch, leaf).wait() == Anchor(epoch, leaf)
    assert (client.get_next_epoch(), client.get_root(epoch)) == (epoch + 1, leaf)
    assert client.verify_buyer(state, epoch, [])
    assert not client.verify_buyer(replace(state, score=16), epoch, [])
    with pytest.raises(ContractRevertError) as caught:
        client.verify_buyer(state, epoch + 1, [])
    assert caught.value.reason == "unknown_epoch"


def test_a_credential_is_verified(connect, web3, deployment, attestor, buyer):
    now = web3.eth.get_block("latest")["timestamp"]
    credential = TierCredential(
        buyer.address, now, now + 3_600, policy_hash("brp-1.0"), BuyerTier.TRUSTED, bytes(32), bytes(32)
    )
    abi = plain(web3, Registry.BUYERS, deployment.buyers)
    digest = abi.functions.getCredentialHash(credential.arguments).call()
    signature = bytes(Account._sign_hash(digest, attestor.key).signature)
    assert connect().verify_credential(credential, signature)
    assert not connect().verify_credential(replace(credential, tier=BuyerTier.PREMIUM), signature)


def test_a_role_is_handed_over_in_two_steps(connect, web3, project, deployment, token, newcomer, owner, other_owner):
    registry = deploy(
        web3, project.BuyerReputationRegistry, deployment.identity, [token.address], owner.address, owner.address
    )
    own = replace(deployment, buyers=registry)
    role = BuyerRole.ANCHORER
    holder = connect(owner, deployment=own)
    assert holder.get_role_holder(role) == RoleHolder(role, owner.address, None)
    assert holder.set_nominee(role, newcomer.address).wait() == RoleHolder(role, owner.address, newcomer.address)
    assert holder.get_role_holder(role).nominee == newcomer.address
    with pytest.raises(ContractRevertError) as caught:
        connect(other_owner, deployment=own).take_role(role)
    assert caught.value.reason == "not_nominated"
    assert connect(newcomer, deployment=own).take_role(role).wait() == RoleHolder(role, newcomer.address, None)
    assert holder.get_role_holder(BuyerRole.ATTESTOR).holder == owner.address
    attesting = connect(owner, deployment=own)
    attesting.set_nominee(BuyerRole.ATTESTOR, newcomer.address).wait()
    assert attesting.set_nominee(BuyerRole.ATTESTOR, None).wait().nominee is None


def test_a_deployment_without_the_registry_has_no_buyers(connect, deployment, owner):
    with pytest.raises(MissingRegistryError, match="no buyers registry"):
        connect(deployment=replace(deployment, buyers=None)).get_buyer_score(owner.address)


def test_another_contract_is_not_taken_for_the_registry(connect, deployment, owner):
    elsewhere = replace(deployment, buyers=deployment.identity)
    with pytest.raises(UnexpectedAnswerError):
        connect(deployment=elsewhere).get_buyer_score(owner.address)


def test_a_record_of_a_deployment_names_the_registry(deployment):
    record = (
        f'{{"chainId": 31337, "contracts": {{"IdentityRegistry": {{"address": "{deployment.identity}"}}, '
        f'"BuyerReputationRegistry": {{"address": "{deployment.buyers}"}}}}}}'
    )
    assert Deployment.from_record(record).buyers == deployment.buyers


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"amount": 2**56}, "amount"),
        ({"amount": -1}, "amount"),
        ({"paid_at": 2**32}, "paid_at"),
        ({"position": 256}, "position"),
    ],
    ids=["amount too high", "amount negative", "time too high", "position too high"],
)
def test_a_payment_that_does_not_fit_its_word_is_refused(change, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        replace(AttestedPayment("0x" + "11" * 20, 1, 1, 0), **change)


def test_a_payment_is_read_from_its_word():
    payment = AttestedPayment("0x" + "11" * 20, 2**56 - 1, 2**32 - 1, 255)
    assert AttestedPayment.from_word(payment.word) == payment


@pytest.mark.parametrize("field", ["nonce", "policy", "scope", "pseudonym"])
def test_a_hash_has_32_bytes(field):
    address = "0x" + "11" * 20
    with pytest.raises(InvalidArgumentError, match=f"{field} must be 32 bytes"):
        if field == "nonce":
            SignedPayment(address, address, 1, 0, 1, b"short", b"", address)
        else:
            words = {"policy": bytes(32), "scope": bytes(32), "pseudonym": bytes(32)} | {field: b"short"}
            TierCredential(address, 0, 1, tier=BuyerTier.NEW, **words)


def test_a_signature_with_a_small_recovery_id_is_passed_as_tokens_want_it():
    address = "0x" + "11" * 20
    payment = SignedPayment(address, address, 1, 0, 1, bytes(32), bytes(64) + b"\1", address)
    assert payment.arguments[6:] == (address, 28, bytes(32), bytes(32))
