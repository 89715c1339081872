"""Both sides may be contracts, which sign by ERC-1271. A hostile one can only accept or refuse its own envelope."""

from __future__ import annotations

import ape
import pytest
from eth_account.messages import encode_defunct

from tests.helpers import logged

ANSWERS = {
    "WalletAcceptsEverything": True,
    "WalletReturnsTooMuch": True,
    "WalletRefuses": False,
    "WalletReverts": False,
    "WalletReturnsShortData": False,
    "WalletReturnsDirtyMagic": False,
    "WalletBurnsGas": False,
}
"""The hostile wallets, and whether their answer is yes."""

SEALED = 2


@pytest.fixture
def enrol(identity, deployer):
    """A function that gives a wallet an agent, and returns the agent's id."""

    def enrol(wallet, key=None):
        wallet.execute(identity, identity.register.encode_input(), sender=key or deployer)
        return identity.getAgentCount()

    return enrol


@pytest.fixture(params=["client", "server"])
def wallet_deal(request, make_deal, deployer, client, client_id, server, server_id, validator_id, enrol):
    """A function that makes a deal in which a wallet is one of the sides."""

    def wallet_deal(wallet, key=None):
        wallet_id = enrol(wallet, key)
        if request.param == "client":
            return make_deal(wallet.address, wallet_id, server, server_id, signers=(key or deployer, server)), 0
        return make_deal(client, client_id, wallet.address, wallet_id, signers=(client, key or deployer)), 1

    return wallet_deal


def test_contract_wallet_seals_and_its_pair_opens(wallet_deal, deployer, project, wallet_key, relayer):
    deal, _ = wallet_deal(deployer.deploy(project.MockWallet, wallet_key), wallet_key)
    deal.seal(relayer)
    deal.open(relayer)
    assert deal.is_open()


def test_contract_wallet_exchanges(wallet_deal, deployer, project, wallet_key, relayer):
    deal, _ = wallet_deal(deployer.deploy(project.MockWallet, wallet_key), wallet_key)
    assert logged(deal.exchange(relayer)) == [deal.rating_event(), deal.feedback_event(), deal.opened_event(1)]


def test_contract_wallet_refuses_what_its_key_did_not_sign(
    wallet_deal, registry, deployer, project, wallet_key, relayer, validator
):
    wallet = deployer.deploy(project.MockWallet, wallet_key)
    deal, side = wallet_deal(wallet, wallet_key)
    signatures = list(deal.signatures)
    signatures[side] = validator.sign_message(encode_defunct(text="anything")).encode_rsv()
    for send in (deal.seal, deal.exchange):
        with ape.reverts(registry.InvalidSignature, signer=wallet.address):
            send(relayer, signatures)
    assert deal.is_untouched()


@pytest.mark.parametrize("name", ANSWERS)
def test_hostile_wallet_decides_on_its_own_envelope_alone(wallet_deal, registry, deployer, project, relayer, name):
    wallet = deployer.deploy(getattr(project, name))
    deal, side = wallet_deal(wallet)
    signatures = list(deal.signatures)
    signatures[side] = b"the wallet knows what it means"
    if not ANSWERS[name]:
        with ape.reverts(registry.InvalidSignature, signer=wallet.address):
            deal.seal(relayer, signatures)
        assert deal.is_untouched()
        return
    forged = list(signatures)
    forged[1 - side] = b"the other side did not sign"
    with ape.reverts(registry.InvalidSignature, signer=str(deal.signers[1 - side])):
        deal.seal(relayer, forged)
    deal.seal(relayer, signatures)
    assert registry.ratingStateOf(*deal.ids) == SEALED
    deal.open(relayer)
    assert deal.is_open()


def test_wallet_that_accepts_everything_cannot_change_what_was_sealed(
    wallet_deal, registry, deployer, project, relayer
):
    deal, _ = wallet_deal(deployer.deploy(project.WalletAcceptsEverything))
    deal.seal(relayer)
    for send in (deal.seal, deal.exchange):
        with ape.reverts(registry.AlreadyRated, subjectId=deal.ids[0], serverId=deal.ids[1]):
            send(relayer)


@pytest.mark.parametrize("function", ["seal", "exchange"])
def test_wallet_cannot_call_back_while_it_is_asked(wallet_deal, registry, deployer, project, relayer, function):
    """ERC-1271 requests are static calls: a wallet that rates, or seals, during one of them fails."""
    wallet = deployer.deploy(project.WalletReenters)
    deal, side = wallet_deal(wallet)
    wallet.prepare(registry, registry.rateClient.encode_input(deal.ids[1 - side], 0), sender=deployer)
    getattr(deal, function)(relayer)
    assert registry.ratingStateOf(*deal.ids) == (SEALED if function == "seal" else 3)
