"""Attacks on a client's feedback or its readers, and the remedies: see docs/security.md."""

from __future__ import annotations

import ape
from ape.utils import ZERO_ADDRESS

from tests.reputation.model import MAX_ABS_VALUE, Given


def test_owner_keeps_a_review_out_by_approving_its_client_who_gives_it_afterwards(
    reputation, identity, agent, give, owner, client
):
    identity.approve(client, agent, sender=owner)
    with ape.reverts("Self-feedback not allowed"):
        give(client, value=1)
    identity.approve(ZERO_ADDRESS, agent, sender=owner)
    give(client, value=1)
    assert reputation.getLastIndex(agent, client) == 1


def test_owner_keeps_a_client_out_of_all_its_agents_by_making_it_an_operator(identity, agent, give, owner, client):
    identity.register(sender=owner)
    identity.setApprovalForAll(client, True, sender=owner)
    for subject in (agent, identity.getAgentCount()):
        with ape.reverts("Self-feedback not allowed"):
            give(client, agent_id=subject)


def test_review_that_was_kept_out_is_handed_in_by_a_sponsor_afterwards(
    reputation, identity, agent, signed, owner, wallet_key, stranger
):
    review = signed(wallet_key, entry=Given(value=1))
    signature = review.signature(wallet_key)
    identity.approve(wallet_key, agent, sender=owner)
    with ape.reverts("Self-feedback not allowed"):
        review.send(signature, stranger)
    identity.approve(ZERO_ADDRESS, agent, sender=owner)
    review.send(signature, stranger)
    assert reputation.getLastIndex(agent, wallet_key) == 1


def test_one_huge_value_spoils_the_summary_of_all_but_not_that_of_the_others(
    reputation, agent, give, client, other_client, stranger
):
    for honest in (client, other_client):
        give(honest, value=9977 * 10**16, decimals=18)
    give(stranger, value=MAX_ABS_VALUE)
    everybody = reputation.getClients(agent)
    average = (MAX_ABS_VALUE * 10**18 + 2 * 9977 * 10**16) // 3
    assert tuple(reputation.getSummary(agent, everybody, "", "")) == (3, average // 10**18, 0)
    assert tuple(reputation.getSummary(agent, [client, other_client], "", "")) == (2, 9977 * 10**16, 18)
    assert reputation.readAllFeedback(agent, [], "", "", False).clients == everybody


def test_long_tag_is_returned_with_each_feedback_but_not_to_who_asks_for_others(
    reputation, agent, give, client, stranger
):
    give(client, tag1="starred")
    tag = "x" * 4_000
    for _ in range(3):
        give(stranger, tag1=tag)
    assert reputation.readAllFeedback(agent, [], "", "", False).tag1s == ["starred", tag, tag, tag]
    assert reputation.readAllFeedback(agent, [client], "", "", False).tag1s == ["starred"]
