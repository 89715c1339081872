"""`setAgentWallet`: signatures that prove the consent of a wallet, and attempts of an attacker."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_utils import keccak, to_canonical_address

from bilateral.core.signatures import AgentWalletSet, Domain
from tests.helpers import forked_to

SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

ERC1271_MAGIC_VALUE = keccak(text="isValidSignature(bytes32,bytes)")[:4]

AT_NO_ACCOUNT = "0x00000000000000000000000000000000DeaDBeef"
"""An address without a key. Tests put code there."""

ANSWERS_THAT_ARE_NO_CONSENT = {
    "nothing": "00",
    "a revert": "5f5ffd",
    "an invalid instruction that burns all gas": "fe",
    "true": "60015f5260205ff3",
    "the magic value in 4 bytes": "631626ba7e60e01b5f5260045ff3",
    "the magic value in 31 bytes": "631626ba7e60e01b5f52601f5ff3",
    "the magic value at the low end of the word": "631626ba7e5f5260205ff3",
    "the magic value with a dirty bit behind it": "631626ba7e60e01b6001175f5260205ff3",
    "another selector": "63ffffffff60e01b5f5260205ff3",
    "its own calldata": "365f5f37365ff3",
    "the magic value in a revert": "631626ba7e60e01b5f5260205ffd",
}
"""Programs in EVM code, by their answer to every call."""


@pytest.fixture
def refuses(identity, agent, owner, deadline):
    """Asserts that the registry rejects a signature."""

    def attempt(new_wallet, signature, *, agent_id=agent, sender=owner, registry=identity):
        former_wallet = registry.getAgentWallet(agent_id)
        with ape.reverts("invalid wallet sig"):
            registry.setAgentWallet(agent_id, new_wallet, deadline, signature, sender=sender)
        assert registry.getAgentWallet(agent_id) == former_wallet

    return attempt


def with_high_s(signature):
    """Return the second signature of the same message: the elliptic curve allows two values of `s`."""
    r, s, v = signature[:32], int.from_bytes(signature[32:64], "big"), signature[64]
    return r + (SECP256K1_ORDER - s).to_bytes(32, "big") + bytes([{27: 28, 28: 27}[v]])


# Signers


def test_plain_account_consents_by_ecdsa(identity, agent, wallet_key, rotate):
    rotate(wallet_key)
    assert identity.getAgentWallet(agent) == wallet_key


def test_contract_wallet_consents_by_erc1271(identity, agent, owner, contract_wallet, wallet_key, consent, deadline):
    signature = consent(wallet_key, new_wallet=contract_wallet)
    identity.setAgentWallet(agent, contract_wallet, deadline, signature, sender=owner)
    assert identity.getAgentWallet(agent) == contract_wallet


def test_contract_wallet_refuses_what_another_key_signed(refuses, contract_wallet, stranger, consent):
    refuses(contract_wallet, consent(stranger, new_wallet=contract_wallet))


def test_contract_wallet_does_not_consent_by_its_keys_consent_for_itself(refuses, contract_wallet, wallet_key, consent):
    refuses(contract_wallet, consent(wallet_key, new_wallet=wallet_key))


@pytest.mark.parametrize("length", [0, 4, 64, 66, 500])
def test_contract_wallet_decides_about_signatures_of_any_length(identity, networks, agent, owner, deadline, length):
    answers_with_magic_value = "63" + ERC1271_MAGIC_VALUE.hex() + "60e01b5f5260205ff3"
    networks.provider.set_code(AT_NO_ACCOUNT, bytes.fromhex(answers_with_magic_value))
    identity.setAgentWallet(agent, AT_NO_ACCOUNT, deadline, b"\1" * length, sender=owner)
    assert identity.getAgentWallet(agent) == AT_NO_ACCOUNT


@pytest.mark.parametrize("answer", ANSWERS_THAT_ARE_NO_CONSENT)
def test_contract_that_answers_wrongly_does_not_consent(networks, refuses, answer):
    networks.provider.set_code(AT_NO_ACCOUNT, bytes.fromhex(ANSWERS_THAT_ARE_NO_CONSENT[answer]))
    refuses(AT_NO_ACCOUNT, b"\1" * 65)


@pytest.mark.parametrize("number", [1, 2, 4, 9])
def test_precompiled_contract_does_not_consent(refuses, number):
    refuses(f"0x{number:040x}", b"\1" * 65)


def test_registry_itself_does_not_consent(identity, refuses, wallet_key, consent):
    refuses(identity, consent(wallet_key, new_wallet=identity))


def test_delegated_account_consents_by_ecdsa(
    identity, project, deployer, networks, agent, owner, other_owner, wallet_key, consent, deadline
):
    """The key of an EIP-7702 account remains valid, even if the account's code accepts another key."""
    contract_wallet = deployer.deploy(project.MockWallet, other_owner)
    delegation = bytes.fromhex("ef0100") + to_canonical_address(contract_wallet.address)
    networks.provider.set_code(wallet_key.address, delegation)
    identity.setAgentWallet(agent, wallet_key, deadline, consent(wallet_key), sender=owner)
    assert identity.getAgentWallet(agent) == wallet_key


def test_delegated_account_consents_by_the_code_that_it_delegates_to(
    identity, networks, agent, owner, stranger, wallet_key, contract_wallet, consent, deadline
):
    """The stranger delegates to the code of a contract wallet that accepts `wallet_key`."""
    delegation = bytes.fromhex("ef0100") + to_canonical_address(contract_wallet.address)
    networks.provider.set_code(stranger.address, delegation)
    signature = consent(wallet_key, new_wallet=stranger)
    identity.setAgentWallet(agent, stranger, deadline, signature, sender=owner)
    assert identity.getAgentWallet(agent) == stranger


def test_owner_cannot_consent_instead_of_the_wallet(refuses, owner, wallet_key, consent):
    refuses(wallet_key, consent(owner, new_wallet=wallet_key))


def test_operator_cannot_consent_instead_of_the_wallet(identity, refuses, owner, operator, wallet_key, consent):
    identity.setApprovalForAll(operator, True, sender=owner)
    refuses(wallet_key, consent(operator, new_wallet=wallet_key), sender=operator)


def test_owner_needs_its_own_signature_to_become_the_wallet_again(refuses, rotate, owner, wallet_key, consent):
    rotate(wallet_key)
    refuses(owner, consent(wallet_key, new_wallet=owner))


# Signed fields


def test_signature_for_another_agent_is_refused(identity, refuses, owner, wallet_key, consent):
    identity.register(sender=owner)
    refuses(wallet_key, consent(wallet_key), agent_id=2)


def test_signature_for_another_wallet_is_refused(refuses, wallet_key, stranger, consent):
    refuses(stranger, consent(wallet_key))


def test_signature_for_another_owner_is_refused(refuses, other_owner, wallet_key, consent):
    refuses(wallet_key, consent(wallet_key, owner=other_owner.address))


@pytest.mark.parametrize("shift", [-1, 1])
def test_signature_for_another_deadline_is_refused(refuses, wallet_key, consent, deadline, shift):
    refuses(wallet_key, consent(wallet_key, deadline=deadline + shift))


def test_signature_for_another_registry_is_refused(project, deployer, owner, refuses, wallet_key, consent):
    other_registry = deployer.deploy(project.IdentityRegistry)
    other_registry.register(sender=owner)
    refuses(wallet_key, consent(wallet_key), registry=other_registry)


def test_signature_for_another_chain_is_refused(chain, refuses, wallet_key, consent):
    refuses(wallet_key, consent(wallet_key, chain_id=chain.chain_id + 1))


def test_signature_under_another_domain_name_is_refused(identity, chain, agent, owner, refuses, wallet_key, deadline):
    class OtherDomain(AgentWalletSet):
        domain_name = "IdentityRegistry"

    OtherDomain.__name__ = AgentWalletSet.__name__
    message = OtherDomain(agent, wallet_key.address, owner.address, deadline)
    signable = message.signable(Domain(chain.chain_id, identity.address))
    refuses(wallet_key, wallet_key.sign_message(signable).encode_rsv())


def test_after_a_split_of_the_chain_only_the_new_chain_id_counts(
    identity, chain, agent, owner, wallet_key, consent, deadline
):
    """The registry was deployed under the former chain id, and uses the current one."""
    former_id, new_id = chain.chain_id, chain.chain_id + 1
    signatures = {chain_id: consent(wallet_key, chain_id=chain_id) for chain_id in (former_id, new_id)}
    with forked_to(chain, new_id):
        with ape.reverts("invalid wallet sig"):
            identity.setAgentWallet.call(agent, wallet_key, deadline, signatures[former_id], sender=owner)
        identity.setAgentWallet.call(agent, wallet_key, deadline, signatures[new_id], sender=owner)


def test_signature_is_worthless_after_a_transfer(identity, agent, owner, other_owner, refuses, wallet_key, consent):
    signature = consent(wallet_key)
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    refuses(wallet_key, signature, sender=other_owner)


def test_used_signature_is_worthless_after_a_transfer(
    identity, agent, owner, other_owner, refuses, wallet_key, consent, rotate
):
    signature = consent(wallet_key)
    rotate(wallet_key)
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    refuses(wallet_key, signature, sender=other_owner)


def test_signature_may_be_used_again_until_its_deadline(identity, agent, owner, wallet_key, consent, deadline):
    """The consent has no nonce, as in the deployed registries. Only accounts that may act for the agent can use it."""
    signature = consent(wallet_key)
    identity.setAgentWallet(agent, wallet_key, deadline, signature, sender=owner)
    identity.unsetAgentWallet(agent, sender=owner)
    identity.setAgentWallet(agent, wallet_key, deadline, signature, sender=owner)
    assert identity.getAgentWallet(agent) == wallet_key


def test_consent_may_not_be_handed_in_by_strangers(identity, agent, stranger, wallet_key, consent, deadline):
    with ape.reverts("Not authorized"):
        identity.setAgentWallet(agent, wallet_key, deadline, consent(wallet_key), sender=stranger)


# The form of the signature


def test_signature_with_high_s_is_refused(refuses, wallet_key, consent):
    refuses(wallet_key, with_high_s(consent(wallet_key)))


@pytest.mark.parametrize("length", [0, 1, 64, 66, 130])
def test_signature_of_another_length_than_65_bytes_is_refused(refuses, wallet_key, consent, length):
    refuses(wallet_key, (consent(wallet_key) * 2)[:length])


def test_compact_signature_is_refused(refuses, wallet_key, consent):
    """EIP-2098 would allow a second signature for the same consent."""
    signature = consent(wallet_key)
    s_with_parity = int.from_bytes(signature[32:64], "big") | (signature[64] - 27) << 255
    refuses(wallet_key, signature[:32] + s_with_parity.to_bytes(32, "big"))


@pytest.mark.parametrize("v", [0, 1, 26, 29, 255])
def test_signature_with_v_other_than_27_and_28_is_refused(refuses, wallet_key, consent, v):
    refuses(wallet_key, consent(wallet_key)[:64] + bytes([v]))


def test_signature_that_recovers_to_the_zero_address_does_not_make_it_the_wallet(identity, agent, owner, deadline):
    with ape.reverts("bad wallet"):
        identity.setAgentWallet(agent, ZERO_ADDRESS, deadline, bytes(65), sender=owner)


@pytest.mark.parametrize("bit", [0, 255, 256, 511, 512, 519])
def test_signature_with_one_bit_changed_is_refused(refuses, wallet_key, consent, bit):
    changed = int.from_bytes(consent(wallet_key), "big") ^ 1 << bit
    refuses(wallet_key, changed.to_bytes(65, "big"))


# The domain


def test_domain_can_be_read_from_the_registry(identity, chain):
    fields, name, version, chain_id, verifying_contract, salt, extensions = identity.eip712Domain()
    assert (name, version, chain_id) == ("ERC8004IdentityRegistry", "1", chain.chain_id)
    assert verifying_contract == identity
    assert (fields, salt, extensions) == (b"\x0f", bytes(32), [])
