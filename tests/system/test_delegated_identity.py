"""No registry trusts an account with an EIP-7702 delegation as its identity registry: its key can change the code."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from tests.delegation import delegate

REGISTRIES = [
    "AuthorizedReputationRegistry",
    "BidirectionalReputationRegistry",
    "ReputationRegistry",
    "ValidationRegistry",
]
"""The registries that an identity registry is given to."""


@pytest.fixture
def deploy(project, deployer, networks, monkeypatch):
    """Deploys a registry. Ape does not look up the address of a failed deployment at a block explorer."""
    monkeypatch.setitem(networks.provider.network.__dict__, "explorer", None)

    def deploy(name, identity_registry):
        return deployer.deploy(getattr(project, name), identity_registry)

    return deploy


@pytest.mark.parametrize("name", REGISTRIES)
def test_account_that_delegates_to_an_identity_registry_is_not_one(
    identity, networks, deploy, stranger, other_client, name
):
    delegate(networks.provider.web3, stranger, identity.address, sponsor=other_client)
    with ape.reverts("bad identity"):
        deploy(name, stranger)


def test_delegated_account_answers_like_an_identity_registry_until_its_key_ends_it(
    identity, project, networks, stranger, other_client
):
    """Without the check in the constructor, the account would pass as a registry, and then become another contract."""
    web3 = networks.provider.web3
    delegate(web3, stranger, identity.address, sponsor=other_client)
    assert project.IdentityRegistry.at(stranger.address).getVersion() == "2.0.0"
    delegate(web3, stranger, ZERO_ADDRESS, sponsor=other_client)
    assert web3.eth.get_code(stranger.address) == b""


@pytest.mark.parametrize(
    "code",
    ["00", "60006000fd" + "00" * 18, "fe0100" + "11" * 20],
    ids=["one byte", "23 bytes", "another prefix"],
)
def test_other_code_is_accepted(networks, deploy, code):
    """The registry does not judge a contract by its code; whoever deploys chooses the identity registry."""
    contract = "0x" + "77" * 20
    networks.provider.set_code(contract, bytes.fromhex(code))
    assert deploy("ValidationRegistry", contract).getIdentityRegistry() == contract
