"""The on-chain examples of the feedback best practices and of the x402 extension."""

from __future__ import annotations

import pytest
from eth_utils import keccak

from bilateral.core.signatures import AgentWalletSet, Domain
from tests.helpers import logged

X402_AND_STANDARD_TAGS = [
    ("x402-resource-delivered", "proof-of-participation"),
    ("x402-resource-missing", "proof-of-participation"),
    ("x402-response-delayed", "proof-of-participation"),
    ("x402-payment-amount", "mismatch"),
    ("starred", "5"),
    ("uptime", "high"),
    ("successRate", "95"),
    ("response-time", "fast"),
]

FILE = '{"value":95,"valueDecimals":0,"comment":"Excellent service"}'


@pytest.fixture
def set_wallet(identity, chain):
    """A function that makes an account, with its consent, the wallet of an agent."""

    def set_wallet(agent_id, owner, wallet):
        deadline = chain.pending_timestamp + 60
        consent = AgentWalletSet(agent_id, wallet.address, owner.address, deadline)
        signature = wallet.sign_message(consent.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
        identity.setAgentWallet(agent_id, wallet, deadline, signature, sender=owner)

    return set_wallet


def test_value_alone_is_feedback(give, reputation, agent, client):
    give(client, value=85)
    assert tuple(reputation.readFeedback(agent, client, 1)) == (85, 0, "", "", False)


def test_tags_and_endpoint_are_given_along(give, reputation, agent, client):
    receipt = give(client, value=85, tag1="starred", tag2="finance", endpoint="https://mcp.example.com")
    ((_, fields),) = logged(receipt)
    assert fields["endpoint"] == "https://mcp.example.com"
    assert tuple(reputation.readFeedback(agent, client, 1)) == (85, 0, "starred", "finance", False)


def test_file_is_given_along(give, client):
    receipt = give(client, value=85, tag1="starred", uri="ipfs://QmFile", hash=keccak(text=FILE))
    ((_, fields),) = logged(receipt)
    assert (fields["feedbackURI"], fields["feedbackHash"]) == ("ipfs://QmFile", keccak(text=FILE))


def test_one_feedback_and_all_with_a_tag_are_read(give, reputation, agent, client, other_client):
    give(client, value=85, tag1="starred")
    give(client, value=1, tag1="reachable")
    give(other_client, value=90, tag1="starred")
    assert tuple(reputation.readFeedback(agent, client, 2)) == (1, 0, "reachable", "", False)
    clients, indexes, values, *_ = reputation.readAllFeedback(agent, [], "starred", "", False)
    assert (list(clients), list(indexes), list(values)) == ([client, other_client], [1, 1], [85, 90])


def test_fifteen_ratings_average_87_point_5(give, reputation, agent, client, other_client):
    for value in (870, 880) * 7:
        give(client, value=value, decimals=1)
    give(other_client, value=875, decimals=1)
    assert tuple(reputation.getSummary(agent, [client, other_client], "", "")) == (15, 875, 1)


def test_summary_is_limited_to_two_tags(give, reputation, agent, client):
    give(client, value=85, tag1="starred", tag2="finance")
    give(client, value=10, tag1="starred", tag2="travel")
    assert tuple(reputation.getSummary(agent, [client], "starred", "finance")) == (1, 85, 0)


def test_feedback_is_responded_to(give, reputation, agent, owner, client):
    give(client, value=85)
    reputation.appendResponse(agent, client, 1, "ipfs://QmResponseFile", keccak(text="response"), sender=owner)
    assert reputation.getResponseCount(agent, client, 1, [owner]) == 1


def test_feedback_is_revoked(give, reputation, agent, client):
    give(client, value=85)
    reputation.revokeFeedback(agent, 1, sender=client)
    assert tuple(reputation.readFeedback(agent, client, 1)) == (85, 0, "", "", True)
    assert tuple(reputation.getSummary(agent, [client], "", "")) == (0, 0, 0)


def test_x402_example_is_given_as_specified(give, reputation, agent, client):
    tag1, tag2 = "x402-resource-delivered", "proof-of-participation"
    endpoint, file_hash = "https://agent.example/weather", keccak(text=FILE)
    receipt = give(client, value=95, tag1=tag1, tag2=tag2, endpoint=endpoint, uri="ipfs://QmX", hash=file_hash)
    assert logged(receipt) == [
        (
            "NewFeedback",
            {
                "agentId": agent,
                "clientAddress": client.address,
                "feedbackIndex": 1,
                "value": 95,
                "valueDecimals": 0,
                "indexedTag1": keccak(text=tag1),
                "tag1": tag1,
                "tag2": tag2,
                "endpoint": endpoint,
                "feedbackURI": "ipfs://QmX",
                "feedbackHash": file_hash,
            },
        )
    ]
    assert tuple(reputation.readFeedback(agent, client, 1)) == (95, 0, tag1, tag2, False)


def test_tags_of_x402_and_erc_8004_are_told_apart(give, reputation, agent, client):
    for value, (tag1, tag2) in enumerate(X402_AND_STANDARD_TAGS):
        give(client, value=value, tag1=tag1, tag2=tag2)
    for value, (tag1, tag2) in enumerate(X402_AND_STANDARD_TAGS):
        assert tuple(reputation.readFeedback(agent, client, value + 1)) == (value, 0, tag1, tag2, False)
        assert tuple(reputation.getSummary(agent, [client], tag1, tag2)) == (1, value, 0)


def test_wallet_that_is_to_be_paid_is_read_before_paying(identity, set_wallet, agent, owner, wallet_key):
    assert identity.getAgentWallet(agent) == owner
    set_wallet(agent, owner, wallet_key)
    assert identity.getAgentWallet(agent) == wallet_key


def test_wallet_of_a_client_agent_rates_and_leads_back_to_the_agent(
    give, identity, reputation, set_wallet, agent, other_agent, other_owner, wallet_key
):
    set_wallet(other_agent, other_owner, wallet_key)
    give(wallet_key, value=95)
    (rater,) = reputation.getClients(agent)
    assert identity.resolveByAddress(rater).agentId == other_agent


def test_signing_keys_are_rotated_by_a_new_uri(identity, agent, owner):
    identity.setAgentURI(agent, "ipfs://QmFileWithTheNewSigner", sender=owner)
    assert identity.tokenURI(agent) == "ipfs://QmFileWithTheNewSigner"
    assert identity.getAgentWallet(agent) == owner
