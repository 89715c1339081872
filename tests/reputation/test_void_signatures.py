"""A client voids its signed feedback up to a deadline, for all agents at once."""

from __future__ import annotations

import ape
import pytest

from tests.helpers import logged

NEVER = 2**256 - 1


@pytest.fixture
def feedback(signed, client):
    """The client's first feedback."""
    return signed(client)


@pytest.fixture
def sponsor(stranger):
    """The account that pays the gas."""
    return stranger


def test_voiding_is_emitted_whole(reputation, client, deadline):
    assert logged(reputation.voidSignaturesThrough(deadline, sender=client)) == [
        ("SignaturesVoided", {"clientAddress": client.address, "deadline": deadline})
    ]
    assert reputation.getVoidedDeadline(client) == deadline


def test_client_that_never_voided_has_no_voided_deadline(reputation, client, other_client):
    reputation.voidSignaturesThrough(1, sender=other_client)
    assert reputation.getVoidedDeadline(client) == 0


@pytest.mark.parametrize("later", [0, 1, 10**6])
def test_signature_with_a_voided_deadline_is_refused(reputation, feedback, client, sponsor, later):
    signature = feedback.signature(client)
    voided = feedback.deadline + later
    reputation.voidSignaturesThrough(voided, sender=client)
    with ape.reverts(reputation.SignatureVoided, deadline=feedback.deadline, voidedDeadline=voided):
        feedback.send(signature, sender=sponsor)


def test_signature_with_the_first_later_deadline_is_accepted(reputation, feedback, agent, client, sponsor):
    reputation.voidSignaturesThrough(feedback.deadline - 1, sender=client)
    feedback.send(feedback.signature(client), sender=sponsor)
    assert reputation.getLastIndex(agent, client) == 1


def test_client_signs_anew_with_a_later_deadline(reputation, feedback, agent, client, sponsor):
    reputation.voidSignaturesThrough(feedback.deadline, sender=client)
    feedback.deadline += 1
    feedback.send(feedback.signature(client), sender=sponsor)
    assert reputation.getLastIndex(agent, client) == 1


def test_voiding_holds_for_every_agent_and_index(reputation, signed, agent, other_agent, client, sponsor):
    first, second, other = signed(client), signed(client, 2), signed(client, agent_id=other_agent)
    reputation.voidSignaturesThrough(first.deadline, sender=client)
    for feedback in (first, second, other):
        with ape.reverts(reputation.SignatureVoided, deadline=first.deadline, voidedDeadline=first.deadline):
            feedback.send(feedback.signature(client), sender=sponsor)


def test_client_voids_its_own_signatures_only(reputation, feedback, agent, client, other_client, sponsor):
    for account in (other_client, sponsor):
        reputation.voidSignaturesThrough(NEVER, sender=account)
    feedback.send(feedback.signature(client), sender=sponsor)
    assert reputation.getLastIndex(agent, client) == 1


def test_contract_wallet_voids_what_its_key_signed(reputation, signed, contract_wallet, wallet_key, sponsor):
    feedback = signed(contract_wallet.address)
    call = reputation.voidSignaturesThrough.encode_input(feedback.deadline)
    contract_wallet.execute(reputation, call, sender=wallet_key)
    with ape.reverts(reputation.SignatureVoided, deadline=feedback.deadline, voidedDeadline=feedback.deadline):
        feedback.send(feedback.signature(wallet_key), sender=sponsor)


@pytest.mark.parametrize("earlier", [0, 1])
def test_voiding_is_final(reputation, client, deadline, earlier):
    reputation.voidSignaturesThrough(deadline, sender=client)
    with ape.reverts(reputation.DeadlineAlreadyVoided, deadline=deadline - earlier, voidedDeadline=deadline):
        reputation.voidSignaturesThrough(deadline - earlier, sender=client)
    reputation.voidSignaturesThrough(deadline + 1, sender=client)
    assert reputation.getVoidedDeadline(client) == deadline + 1


def test_deadline_of_zero_is_voided_from_the_start(reputation, client):
    with ape.reverts(reputation.DeadlineAlreadyVoided, deadline=0, voidedDeadline=0):
        reputation.voidSignaturesThrough(0, sender=client)


def test_latest_deadline_voids_every_signature_for_ever(reputation, signed, client, sponsor):
    feedback = signed(client, deadline=NEVER)
    signature = feedback.signature(client)
    reputation.voidSignaturesThrough(NEVER, sender=client)
    with ape.reverts(reputation.SignatureVoided, deadline=NEVER, voidedDeadline=NEVER):
        feedback.send(signature, sender=sponsor)
    with ape.reverts(reputation.DeadlineAlreadyVoided, deadline=NEVER, voidedDeadline=NEVER):
        reputation.voidSignaturesThrough(NEVER, sender=client)


def test_voiding_leaves_unsigned_feedback_and_what_was_sent_alone(reputation, feedback, give, agent, client, sponsor):
    feedback.send(feedback.signature(client), sender=sponsor)
    reputation.voidSignaturesThrough(NEVER, sender=client)
    give(client, value=13)
    assert tuple(reputation.getSummary(agent, [client], "", "")) == (2, 50, 0)


def test_expiry_is_checked_before_voiding_and_voiding_before_the_index(reputation, signed, chain, client, sponsor):
    feedback = signed(client, 7)
    signature = feedback.signature(client)
    reputation.voidSignaturesThrough(feedback.deadline, sender=client)
    with ape.reverts(reputation.SignatureVoided, deadline=feedback.deadline, voidedDeadline=feedback.deadline):
        feedback.send(signature, sender=sponsor)
    chain.pending_timestamp = feedback.deadline + 1
    with ape.reverts(reputation.SignatureExpired, deadline=feedback.deadline, time=feedback.deadline + 1):
        feedback.send(signature, sender=sponsor)
