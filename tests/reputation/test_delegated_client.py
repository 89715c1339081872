"""Clients with an EIP-7702 delegation sign by their own key, and by the code that they delegate to."""

from __future__ import annotations

import ape
import pytest

from tests.delegation import delegate
from tests.reputation.model import Given

GIVEN = Given(9977, 2, "uptime", "week", "https://agent.example", "ipfs://QmFeedback", bytes(range(32)))


@pytest.fixture
def sponsor(stranger):
    """The account that pays the gas."""
    return stranger


@pytest.fixture
def feedback(project, deployer, networks, signed, client, other_client, sponsor):
    """Feedback of a client whose code follows the key of another client."""
    wallet = deployer.deploy(project.MockWallet, other_client)
    delegate(networks.provider.web3, client, wallet.address, sponsor=sponsor)
    return signed(client, entry=GIVEN)


def test_delegated_client_signs_by_its_own_key(feedback, reputation, agent, client, sponsor):
    feedback.send(feedback.signature(client), sender=sponsor)
    assert reputation.getLastIndex(agent, client) == 1


def test_delegated_client_signs_by_the_code_that_it_delegates_to(
    feedback, reputation, agent, client, other_client, sponsor
):
    feedback.send(feedback.signature(other_client), sender=sponsor)
    assert reputation.getLastIndex(agent, client) == 1
    assert reputation.getLastIndex(agent, other_client) == 0


def test_delegated_client_does_not_sign_by_a_third_key(feedback, reputation, client, other_owner, sponsor):
    with ape.reverts(reputation.InvalidSignature, signer=client.address):
        feedback.send(feedback.signature(other_owner), sender=sponsor)
