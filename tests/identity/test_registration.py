"""`register`, in its three overloads."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_utils import to_canonical_address

from tests.helpers import logged
from tests.identity.conftest import URI
from tests.identity.events import metadata_set, registration

OVERLOADS = pytest.mark.parametrize(
    "arguments",
    [(), (URI,), ("",), (URI, []), (URI, [("category", b"defi")])],
    ids=["no argument", "URI", "empty URI", "URI, no entries", "URI, one entry"],
)

TWENTY_ENTRIES = [(f"key {number}", bytes([number]) * number) for number in range(20)]


@OVERLOADS
def test_first_agent_gets_id_1_and_belongs_to_the_caller(identity, owner, arguments):
    assert identity.register.call(*arguments, sender=owner) == 1
    identity.register(*arguments, sender=owner)
    assert identity.ownerOf(1) == owner
    assert identity.balanceOf(owner) == 1


def test_ids_grow_by_one_whatever_the_overload(identity, owner, other_owner):
    for number, arguments in enumerate([(), (URI,), (URI, TWENTY_ENTRIES), ()], start=1):
        caller = owner if number % 2 else other_owner
        assert identity.register.call(*arguments, sender=caller) == number
        identity.register(*arguments, sender=caller)
        assert identity.ownerOf(number) == caller
        assert identity.getAgentCount() == number


def test_failed_registration_takes_no_id(identity, owner):
    with ape.reverts("reserved key"):
        identity.register("", [("agentWallet", b"")], sender=owner)
    assert identity.getAgentCount() == 0
    assert identity.register.call(sender=owner) == 1


@OVERLOADS
def test_registration_stores_the_uri(identity, owner, arguments):
    identity.register(*arguments, sender=owner)
    assert identity.tokenURI(1) == (arguments[0] if arguments else "")


@OVERLOADS
def test_wallet_is_the_owner_at_registration(identity, owner, arguments):
    identity.register(*arguments, sender=owner)
    assert identity.getAgentWallet(1) == owner
    assert identity.getMetadata(1, "agentWallet") == to_canonical_address(owner.address)


def test_register_without_uri_logs_transfer_registered_and_wallet(identity, owner):
    assert logged(identity.register(sender=owner)) == registration(1, owner)


@pytest.mark.parametrize("uri", ["", URI], ids=["empty", "53 characters"])
def test_register_with_uri_logs_transfer_registered_and_wallet(identity, owner, uri):
    assert logged(identity.register(uri, sender=owner)) == registration(1, owner, uri)


@pytest.mark.parametrize("entries", [[], [("category", b"defi")], TWENTY_ENTRIES], ids=["0", "1", "20"])
def test_register_with_metadata_logs_each_entry_after_registered(identity, owner, entries):
    receipt = identity.register(URI, entries, sender=owner)
    assert logged(receipt) == registration(1, owner, URI) + [metadata_set(1, *entry) for entry in entries]


@pytest.mark.parametrize("entries", [[], [("category", b"defi")], TWENTY_ENTRIES], ids=["0", "1", "20"])
def test_register_stores_every_entry(identity, owner, entries):
    identity.register(URI, entries, sender=owner)
    assert {key: identity.getMetadata(1, key) for key, _ in entries} == dict(entries)


def test_of_equal_keys_the_last_counts(identity, owner):
    entries = [("category", b"defi"), ("category", b"games")]
    receipt = identity.register(URI, entries, sender=owner)
    assert identity.getMetadata(1, "category") == b"games"
    assert logged(receipt)[-2:] == [metadata_set(1, *entry) for entry in entries]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_reserved_key_is_refused_wherever_it_stands_in_the_entries(identity, owner, position):
    entries = [("category", b"defi"), ("agentName", b"alice")]
    entries.insert(position, ("agentWallet", to_canonical_address(owner.address)))
    with ape.reverts("reserved key"):
        identity.register(URI, entries, sender=owner)


def test_contract_registers_like_any_account(identity, contract_wallet, wallet_key):
    contract_wallet.execute(identity, identity.register.encode_input(URI), sender=wallet_key)
    assert identity.ownerOf(1) == contract_wallet
    assert identity.getAgentWallet(1) == contract_wallet
    assert identity.agentOf(contract_wallet) == 1


def test_registering_contract_is_not_called_back(identity, project, accounts, deployer, networks):
    """A contract that rejects every token may register, because it requested the token."""
    contract = deployer.deploy(project.ReceiverRejects)
    networks.provider.set_balance(contract.address, 10**18)
    identity.register(sender=accounts[contract.address])
    assert identity.ownerOf(1) == contract


def test_zero_address_cannot_register(identity):
    """The zero address sends no transaction, but a simulated call can use it."""
    with ape.reverts(identity.TransferToZeroAddress):
        identity.register.call(sender=ZERO_ADDRESS)


def test_registration_takes_no_ether(identity, owner):
    receipt = owner.transfer(identity, "1 wei", data=identity.register.encode_input(), raise_on_revert=False, gas=10**6)
    assert receipt.failed
    assert identity.balance == 0
    assert identity.getAgentCount() == 0


def test_plain_transfer_of_ether_is_refused(identity, owner):
    assert owner.transfer(identity, "1 wei", raise_on_revert=False, gas=10**6).failed
    assert identity.balance == 0


def test_agents_exist_from_1_to_their_count(identity, owner):
    identity.register(sender=owner)
    identity.register(sender=owner)
    assert identity.getAgentCount() == 2
    assert [identity.agentExists(agent_id) for agent_id in range(4)] == [False, True, True, False]
    assert not identity.agentExists(2**256 - 1)


def test_there_is_no_agent_before_the_first_registration(identity):
    assert identity.getAgentCount() == 0
    assert not identity.agentExists(1)


def test_version_is_that_of_the_deployed_registries(identity):
    assert identity.getVersion() == "2.0.0"
