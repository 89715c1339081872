"""Settlement of x402 payments: the money moves, and the buyer's record grows in the same transaction."""

from __future__ import annotations

import ape
import pytest

from bilateral.core.signatures import AgentWalletSet, Domain
from scripts._payments import NEVER
from tests.buyers.conftest import CENT, settled_record
from tests.helpers import logged

UINT64 = 2**64 - 1
NOTHING_PAID, NO_SELLER, PAID_OWN_AGENT, PAID_OWN_WALLET = range(4)


def settled_events(nonce, buyer, payee, amount, sellers, reason=None):
    """Return the events of a settlement, in order."""
    name = "PaymentSettled" if reason is None else "PaymentNotCounted"
    fields = {"buyer": buyer, "sellerId": sellers, "amount": amount, "nonce": nonce}
    if reason is not None:
        fields["reason"] = reason
    return [
        (name, fields),
        ("AuthorizationUsed", {"authorizer": buyer, "nonce": nonce}),
        ("Transfer", {"from": buyer, "to": payee, "amount": amount}),
    ]


@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "in parts"])
def test_payment_moves_and_is_recorded(registry, token, signed, client, owner, facilitator, seller_id, in_parts):
    payment = signed(client)
    before = token.balanceOf(owner)
    receipt = registry.settle(*payment.settled_in(token, in_parts=in_parts), sender=facilitator)
    assert receipt.return_value is True
    assert token.balanceOf(owner) - before == CENT
    assert settled_record(registry, client) == (1, CENT, receipt.timestamp, receipt.timestamp, 1)
    assert logged(receipt) == settled_events(payment.terms[5], client.address, owner.address, CENT, seller_id)


def test_later_payments_add_up_and_keep_the_first_time(registry, chain, settle, client):
    first = settle(client)
    chain.mine(timestamp=first.timestamp + 1_000)
    last = settle(client, 3 * CENT)
    assert settled_record(registry, client) == (2, 4 * CENT, first.timestamp, last.timestamp, 1)


def test_records_of_buyers_are_apart(registry, settle, client, other_client):
    settle(client)
    assert settled_record(registry, other_client) == (0, 0, 0, 0, 0)


def test_same_authorisation_is_settled_once(registry, token, signed, client, facilitator):
    payment = signed(client)
    registry.settle(*payment.settled_in(token), sender=facilitator)
    with ape.reverts(token.AuthorizationIsUsed, nonce=payment.terms[5]):
        registry.settle(*payment.settled_in(token, in_parts=True), sender=facilitator)
    assert settled_record(registry, client)[0] == 1


def test_payment_that_somebody_submitted_to_the_token_is_not_settled_again(
    registry, token, signed, client, facilitator, stranger
):
    payment = signed(client)
    token.transferWithAuthorization(*payment.whole, sender=stranger)
    with ape.reverts(token.AuthorizationIsUsed, nonce=payment.terms[5]):
        registry.settle(*payment.settled_in(token), sender=facilitator)
    assert settled_record(registry, client)[0] == 0


def test_same_nonce_for_other_terms_is_not_settled(registry, token, signed, client, facilitator, chain, owner):
    payment = signed(client)
    registry.settle(*payment.settled_in(token), sender=facilitator)
    terms = (*payment.terms[:2], 2 * CENT, *payment.terms[3:])
    with ape.reverts(token.AuthorizationIsUsed, nonce=payment.terms[5]):
        registry.settle(*terms, token, payment.signature, sender=facilitator)


def test_cancelled_authorisation_counts_for_nothing(registry, token, signed, client, facilitator, chain):
    from eth_account.messages import encode_typed_data  # noqa: PLC0415

    payment = signed(client)
    domain = {"name": "Test Dollar", "version": "2", "chainId": chain.chain_id, "verifyingContract": token.address}
    fields = [{"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"}]
    data = {"authorizer": client.address, "nonce": payment.terms[5]}
    signature = client.sign_message(encode_typed_data(domain, {"CancelAuthorization": fields}, data)).encode_rsv()
    token.cancelAuthorization(client, payment.terms[5], signature, sender=client)
    with ape.reverts(token.AuthorizationIsUsed, nonce=payment.terms[5]):
        registry.settle(*payment.settled_in(token), sender=facilitator)


def test_forged_signature_is_refused_with_the_errors_of_the_token(
    registry, token, signed, client, stranger, facilitator
):
    payment = signed(stranger, payer=client.address)
    with ape.reverts(token.InvalidAuthorizationSignature, authorizer=client.address):
        registry.settle(*payment.settled_in(token, in_parts=True), sender=facilitator)


def test_changed_terms_are_refused(registry, token, signed, client, facilitator, stranger):
    payment = signed(client)
    terms = (payment.terms[0], stranger.address, *payment.terms[2:])
    with ape.reverts(token.InvalidAuthorizationSignature, authorizer=client.address):
        registry.settle(*terms, token, payment.signature, sender=facilitator)


@pytest.mark.parametrize("passes", [False, True])
def test_authorisation_is_valid_after_its_first_time(registry, token, signed, chain, client, facilitator, passes):
    valid_after = chain.pending_timestamp + 1_000
    payment = signed(client, times=(valid_after, NEVER))
    chain.pending_timestamp = valid_after + passes
    if passes:
        registry.settle(*payment.settled_in(token), sender=facilitator)
    else:
        with ape.reverts(token.AuthorizationIsNotValidAt, time=valid_after):
            registry.settle(*payment.settled_in(token), sender=facilitator)


def test_contract_wallet_pays_by_its_own_rule(registry, token, signed, contract_wallet, wallet_key, facilitator):
    payment = signed(wallet_key, payer=contract_wallet.address)
    registry.settle(*payment.settled_in(token), sender=facilitator)
    assert settled_record(registry, contract_wallet)[0] == 1


def test_zero_amount_is_settled_and_not_counted(registry, token, signed, client, owner, facilitator, seller_id):
    payment = signed(client, 0)
    receipt = registry.settle(*payment.settled_in(token), sender=facilitator)
    assert receipt.return_value is False
    assert logged(receipt) == settled_events(
        payment.terms[5], client.address, owner.address, 0, seller_id, NOTHING_PAID
    )
    assert settled_record(registry, client)[0] == 0


def test_payment_to_nobodys_agent_is_settled_and_not_counted(registry, token, signed, client, stranger, facilitator):
    payment = signed(client, payee=stranger)
    receipt = registry.settle(*payment.settled_in(token), sender=facilitator)
    assert token.balanceOf(stranger) == CENT
    assert logged(receipt) == settled_events(payment.terms[5], client.address, stranger.address, CENT, 0, NO_SELLER)


@pytest.fixture
def separate_wallet(identity, chain, seller_id, owner, wallet_key):
    """The seller's wallet, which is not its owner. Both speak as the agent."""
    deadline = chain.blocks.head.timestamp + 120
    consent = AgentWalletSet(seller_id, wallet_key.address, owner.address, deadline)
    signature = wallet_key.sign_message(consent.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
    identity.setAgentWallet(seller_id, wallet_key, deadline, signature, sender=owner)
    return wallet_key


def test_payment_to_a_separate_wallet_counts_for_its_agent(
    registry, token, signed, client, separate_wallet, facilitator, seller_id
):
    payment = signed(client, payee=separate_wallet)
    receipt = registry.settle(*payment.settled_in(token), sender=facilitator)
    assert logged(receipt) == settled_events(payment.terms[5], client.address, separate_wallet.address, CENT, seller_id)


def test_owner_that_pays_its_own_agent_is_not_counted(
    registry, token, signed, owner, separate_wallet, facilitator, seller_id
):
    payment = signed(owner, payee=separate_wallet)
    receipt = registry.settle(*payment.settled_in(token), sender=facilitator)
    assert logged(receipt) == settled_events(
        payment.terms[5], owner.address, separate_wallet.address, CENT, seller_id, 2
    )
    assert settled_record(registry, owner)[0] == 0


def test_payment_to_oneself_is_settled_and_not_counted(registry, token, signed, owner, facilitator, seller_id):
    payment = signed(owner)
    receipt = registry.settle(*payment.settled_in(token), sender=facilitator)
    assert logged(receipt) == settled_events(
        payment.terms[5], owner.address, owner.address, CENT, seller_id, PAID_OWN_AGENT
    )


def test_seller_that_makes_a_buyer_its_operator_erases_no_payment(registry, identity, settle, owner, operator):
    identity.setApprovalForAll(operator, True, sender=owner)
    assert settle(operator).return_value is True
    assert settled_record(registry, operator)[0] == 1


def test_seller_that_approves_a_buyer_erases_no_payment(registry, identity, settle, owner, approved, seller_id):
    identity.approve(approved, seller_id, sender=owner)
    assert settle(approved).return_value is True


def test_wallet_that_pays_the_owner_is_not_counted(
    registry, token, signed, owner, separate_wallet, facilitator, seller_id
):
    payment = signed(separate_wallet)
    receipt = registry.settle(*payment.settled_in(token), sender=facilitator)
    assert logged(receipt) == settled_events(
        payment.terms[5], separate_wallet.address, owner.address, CENT, seller_id,
        PAID_OWN_WALLET,
    )  # fmt: skip


def test_token_that_is_not_listed_is_refused(registry, funded, signed, client, facilitator):
    other = funded("MockPaymentToken")
    payment = signed(client, token=other)
    with ape.reverts(registry.TokenNotListed, token=other.address):
        registry.settle(*payment.settled_in(other), sender=facilitator)


def test_zero_address_is_refused_as_a_token(registry, signed, client, facilitator):
    zero = "0x" + "00" * 20
    with ape.reverts(registry.TokenNotListed, token=zero):
        registry.settle(*signed(client).settled_in(zero), sender=facilitator)


def test_volume_stays_at_its_highest_value(registry, token, settle, deployer, client):
    token.mint(client, 2 * UINT64, sender=deployer)
    settle(client, UINT64 - 1)
    assert settled_record(registry, client)[:2] == (1, UINT64 - 1)
    settle(client, 1)
    assert settled_record(registry, client)[:2] == (2, UINT64)
    settle(client, 5)
    assert settled_record(registry, client)[:2] == (3, UINT64)


def test_sellers_are_counted_by_the_remainder_of_their_ids(
    registry, project, identity, settle, accounts, deployer, client, other_owner, seller_id
):
    same_place = seller_id + 96
    settle(client)
    settle(client)
    assert settled_record(registry, client)[4] == 1
    identity.register(sender=other_owner)
    settle(client, payee=other_owner)
    assert settled_record(registry, client)[4] == 2
    crowd = deployer.deploy(project.MockFeedbackGiver)
    missing = same_place - 1 - identity.getAgentCount()  # tests of other files may have registered some
    crowd.repeat(identity, identity.register.encode_input(), missing, sender=deployer)
    newcomer = accounts[15]
    identity.register(sender=newcomer)
    settle(client, payee=newcomer)
    assert identity.agentOf(newcomer) == same_place
    assert settled_record(registry, client)[:1] == (4,)
    assert settled_record(registry, client)[4] == 2


def test_signature_of_any_length_reaches_the_token(registry, token, signed, client, facilitator):
    payment = signed(client)
    for signature in (b"", payment.signature[:64], payment.signature + b"\0", payment.signature * 3):
        with ape.reverts(token.InvalidAuthorizationSignature, authorizer=client.address):
            registry.settle(*payment.terms, token, signature, sender=facilitator)


def test_signature_at_an_unusual_place_of_the_calldata_is_found(registry, token, signed, client, facilitator):
    payment = signed(client)
    data = bytes(registry.settle.as_transaction(*payment.settled_in(token), sender=facilitator).data)
    place = 4 + 7 * 32
    moved = data[:place] + (0x140).to_bytes(32) + data[place + 32 : 4 + 256] + bytes(64) + data[4 + 256 :]
    receipt = facilitator.transfer(registry, 0, data=moved)
    assert [name for name, _ in logged(receipt)] == ["PaymentSettled", "AuthorizationUsed", "Transfer"]
