"""Every transfer of an agent."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_abi import encode
from eth_utils import keccak

from tests.helpers import logged
from tests.identity.conftest import UNKNOWN_AGENT
from tests.identity.events import handover, transferred

ACCOUNT_BALANCE_LIMIT = 2**32 - 1

NEXT_AGENT_ID_SLOT = 2
"""`AgentDirectory._nextAgentId`."""


def plain(identity, sender, receiver, agent_id, caller):
    return identity.transferFrom(sender, receiver, agent_id, sender=caller)


def safe(identity, sender, receiver, agent_id, caller):
    return identity.safeTransferFrom(sender, receiver, agent_id, sender=caller)


def safe_with_data(identity, sender, receiver, agent_id, caller):
    return identity.safeTransferFrom(sender, receiver, agent_id, b"data", sender=caller)


@pytest.fixture(params=[plain, safe, safe_with_data], ids=["plain", "safe", "safe with data"])
def transfer(request, identity):
    """Each of the three transfer functions: `transfer(sender, receiver, agent_id, caller)`."""

    def call(sender, receiver, agent_id, caller):
        return request.param(identity, sender, receiver, agent_id, caller)

    return call


@pytest.fixture
def receiving_contract(project, deployer, request):
    return deployer.deploy(getattr(project, request.param))


# Effects of a transfer


def test_transfer_moves_the_token(identity, agent, owner, other_owner, transfer):
    transfer(owner, other_owner, agent, owner)
    assert identity.ownerOf(agent) == other_owner
    assert (identity.balanceOf(owner), identity.balanceOf(other_owner)) == (0, 1)


def test_transfer_logs_the_cleared_wallet_before_the_transfer(agent, owner, other_owner, transfer):
    assert logged(transfer(owner, other_owner, agent, owner)) == handover(agent, owner, other_owner)


def test_transfer_clears_the_wallet_that_was_implied(identity, agent, owner, other_owner, transfer):
    transfer(owner, other_owner, agent, owner)
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS
    assert identity.getMetadata(agent, "agentWallet") == b""


def test_transfer_clears_the_wallet_that_was_proven(identity, agent, owner, other_owner, wallet_key, rotate, transfer):
    rotate(wallet_key)
    receipt = transfer(owner, other_owner, agent, owner)
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS
    assert identity.getMetadata(agent, "agentWallet") == b""
    assert logged(receipt) == handover(agent, owner, other_owner)


def test_transfer_to_the_wallet_clears_it(identity, agent, owner, wallet_key, rotate, transfer):
    rotate(wallet_key)
    transfer(owner, wallet_key, agent, owner)
    assert identity.ownerOf(agent) == wallet_key
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS


def test_transfer_logs_a_cleared_wallet_even_where_there_was_none(identity, agent, owner, other_owner, transfer):
    identity.unsetAgentWallet(agent, sender=owner)
    assert logged(transfer(owner, other_owner, agent, owner)) == handover(agent, owner, other_owner)


def test_wallet_does_not_come_back_when_the_agent_does(identity, agent, owner, other_owner, transfer):
    transfer(owner, other_owner, agent, owner)
    transfer(other_owner, owner, agent, other_owner)
    assert identity.ownerOf(agent) == owner
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS


def test_transfer_ends_the_approval(identity, agent, owner, approved, other_owner, transfer):
    identity.approve(approved, agent, sender=owner)
    transfer(owner, other_owner, agent, owner)
    assert identity.getApproved(agent) == ZERO_ADDRESS
    assert not identity.isAuthorizedOrOwner(approved, agent)


def test_transfer_ends_the_authority_of_the_former_operator(identity, agent, owner, operator, other_owner, transfer):
    identity.setApprovalForAll(operator, True, sender=owner)
    transfer(owner, other_owner, agent, owner)
    assert not identity.isAuthorizedOrOwner(operator, agent)


def test_transfer_leaves_other_agents_alone(identity, agent, owner, other_owner, wallet_key, rotate, transfer):
    identity.register(sender=owner)
    identity.register(sender=other_owner)
    rotate(wallet_key)
    transfer(owner, other_owner, 2, owner)
    assert [identity.ownerOf(agent_id) for agent_id in (1, 2, 3)] == [owner, other_owner, other_owner]
    assert [identity.getAgentWallet(agent_id) for agent_id in (1, 2, 3)] == [wallet_key, ZERO_ADDRESS, other_owner]
    assert (identity.balanceOf(owner), identity.balanceOf(other_owner)) == (1, 2)


# Transfers to the owner itself


def test_transfer_to_oneself_clears_the_wallet(identity, agent, owner, transfer):
    receipt = transfer(owner, owner, agent, owner)
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS
    assert logged(receipt) == handover(agent, owner, owner)


def test_transfer_to_oneself_clears_a_proven_wallet(identity, agent, owner, wallet_key, rotate, transfer):
    rotate(wallet_key)
    transfer(owner, owner, agent, owner)
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_transfer_to_oneself_keeps_owner_balance_and_primary_agent(identity, owner, transfer, agents):
    for _ in range(agents):
        identity.register(sender=owner)
    transfer(owner, owner, agents, owner)
    transfer(owner, owner, 1, owner)
    assert identity.balanceOf(owner) == agents
    assert {identity.ownerOf(agent_id) for agent_id in range(1, agents + 1)} == {owner.address}
    assert identity.agentOf(owner) == 1


def test_transfer_to_oneself_ends_the_approval(identity, agent, owner, approved, transfer):
    identity.approve(approved, agent, sender=owner)
    transfer(owner, owner, agent, approved)
    assert identity.getApproved(agent) == ZERO_ADDRESS


# Authorised callers


def test_authorised_account_may_transfer(identity, agent, owner, other_owner, authorised, transfer):
    receipt = transfer(owner, other_owner, agent, authorised)
    assert identity.ownerOf(agent) == other_owner
    assert logged(receipt) == handover(agent, owner, other_owner)


def test_nobody_else_may_transfer(identity, agent, owner, unauthorised):
    with ape.reverts(identity.ERC721InsufficientApproval, operator=unauthorised.address, tokenId=agent):
        identity.transferFrom(owner, unauthorised, agent, sender=unauthorised)
    assert identity.ownerOf(agent) == owner


def test_former_owner_may_not_transfer_back(identity, agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    with ape.reverts(identity.ERC721InsufficientApproval, operator=owner.address, tokenId=agent):
        identity.transferFrom(other_owner, owner, agent, sender=owner)


def test_approved_account_may_transfer_once(identity, agent, owner, other_owner, approved):
    identity.approve(approved, agent, sender=owner)
    identity.transferFrom(owner, other_owner, agent, sender=approved)
    with ape.reverts(identity.ERC721InsufficientApproval, operator=approved.address, tokenId=agent):
        identity.transferFrom(other_owner, approved, agent, sender=approved)


# Reverts, in the order of the checks


def test_transfer_to_the_zero_address_is_refused_first(identity, stranger, transfer):
    with ape.reverts(identity.ERC721InvalidReceiver, receiver=ZERO_ADDRESS):
        transfer(stranger, ZERO_ADDRESS, UNKNOWN_AGENT, stranger)


def test_transfer_of_an_unknown_agent_is_refused_second(identity, owner, stranger, transfer):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        transfer(owner, stranger, UNKNOWN_AGENT, stranger)


def test_transfer_by_a_stranger_is_refused_third(identity, agent, stranger, transfer):
    with ape.reverts(identity.ERC721InsufficientApproval, operator=stranger.address, tokenId=agent):
        transfer(stranger, stranger, agent, stranger)


def test_transfer_from_another_than_the_owner_is_refused_last(identity, agent, owner, other_owner, stranger, transfer):
    with ape.reverts(identity.ERC721IncorrectOwner, sender=other_owner.address, tokenId=agent, owner=owner.address):
        transfer(other_owner, stranger, agent, owner)


def test_account_holds_at_most_what_fits_into_its_word(identity, agent, owner, other_owner, networks):
    """The balance has 32 bits. It never overflows into the primary agent in the same word."""
    identity.register(sender=other_owner)
    slot = account_slot(networks, identity, other_owner, word=2 << 32 | 1)
    networks.provider.set_storage(identity.address, slot, encode(["uint256"], [2 << 32 | ACCOUNT_BALANCE_LIMIT - 1]))
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.balanceOf(other_owner) == ACCOUNT_BALANCE_LIMIT
    assert identity.agentOf(other_owner) == 2

    identity.register(sender=owner)
    with ape.reverts(identity.AccountBalanceOverflow):
        identity.transferFrom(owner, other_owner, 3, sender=owner)
    with ape.reverts(identity.AccountBalanceOverflow):
        identity.register(sender=other_owner)


def account_slot(networks, identity, account, word):
    """Return the storage slot of an account's word: the slot that `balanceOf` reads."""
    data = bytes(identity.balanceOf.encode_input(account))
    call = {"from": account.address, "to": identity.address, "data": f"0x{data.hex()}"}
    access_list = networks.provider.make_request("eth_createAccessList", [call, "latest"])["accessList"]
    ((slot,),) = (entry["storageKeys"] for entry in access_list if entry["address"] == identity.address.lower())
    assert int.from_bytes(networks.provider.get_storage(identity.address, int(slot, 16)), "big") == word
    return int(slot, 16)


# To contracts


@pytest.mark.parametrize(
    "receiving_contract", ["ReceiverRejects", "ReceiverReverts", "IdentityRegistry"], indirect=True
)
def test_plain_transfer_does_not_ask_the_receiver(identity, agent, owner, receiving_contract):
    identity.transferFrom(owner, receiving_contract, agent, sender=owner)
    assert identity.ownerOf(agent) == receiving_contract


def test_safe_transfer_to_a_contract_that_takes_tokens_goes_through(identity, agent, owner, contract_wallet, transfer):
    receipt = transfer(owner, contract_wallet, agent, owner)
    assert identity.ownerOf(agent) == contract_wallet
    assert logged(receipt) == handover(agent, owner, contract_wallet)


@pytest.mark.parametrize("with_data", [(), (b"data",)], ids=["without data", "with data"])
@pytest.mark.parametrize("receiving_contract", ["ReceiverRejects", "IdentityRegistry"], indirect=True)
def test_safe_transfer_to_a_contract_that_does_not_take_tokens_is_refused(
    identity, agent, owner, receiving_contract, with_data
):
    with ape.reverts(identity.ERC721InvalidReceiver, receiver=receiving_contract.address):
        identity.safeTransferFrom(owner, receiving_contract, agent, *with_data, sender=owner)
    assert identity.ownerOf(agent) == owner
    assert identity.getAgentWallet(agent) == owner


@pytest.mark.parametrize("receiving_contract", ["ReceiverReverts"], indirect=True)
def test_safe_transfer_passes_on_the_receivers_own_error(identity, agent, owner, receiving_contract):
    with ape.reverts(receiving_contract.NotWanted, agentId=agent):
        identity.safeTransferFrom(owner, receiving_contract, agent, sender=owner)


@pytest.mark.parametrize("receiving_contract", ["ReceiverReturnsJunk"], indirect=True)
def test_safe_transfer_to_a_contract_that_answers_junk_is_refused(identity, agent, owner, receiving_contract):
    receipt = identity.safeTransferFrom(
        owner, receiving_contract, agent, sender=owner, raise_on_revert=False, gas=10**6
    )
    assert receipt.failed
    assert identity.ownerOf(agent) == owner


def test_safe_transfer_tells_the_receiver_who_sends_what(identity, agent, owner, operator, networks):
    """The receiver stores the hash of its calldata, and returns the selector."""
    receiver = "0x00000000000000000000000000000000DeaDBeef"
    # calldatacopy(0, 0, calldatasize); sstore(0, keccak256(0, calldatasize)); return(0, 32) with the selector alone
    program = "365f5f37365f205f555f3560e01c60e01b5f5260205ff3"
    networks.provider.set_code(receiver, bytes.fromhex(program))
    identity.setApprovalForAll(operator, True, sender=owner)
    identity.safeTransferFrom(owner, receiver, agent, b"data", sender=operator)
    types = ["address", "address", "uint256", "bytes"]
    selector = ape.project.ReceiverRejects.contract_type.methods["onERC721Received"].selector
    calldata = keccak(text=selector)[:4] + encode(types, [operator.address, owner.address, agent, b"data"])
    assert networks.provider.get_storage(receiver, 0) == keccak(calldata)


@pytest.mark.parametrize("receiving_contract", ["ReceiverPassesOn"], indirect=True)
def test_receiver_may_hand_the_token_on_while_it_receives_it(identity, agent, owner, stranger, receiving_contract):
    data = encode(["address"], [stranger.address])
    receipt = identity.safeTransferFrom(owner, receiving_contract, agent, data, sender=owner)
    assert identity.ownerOf(agent) == stranger
    assert [identity.balanceOf(account) for account in (owner, receiving_contract, stranger)] == [0, 0, 1]
    assert [identity.agentOf(account) for account in (owner, receiving_contract, stranger)] == [0, 0, 0]
    assert logged(receipt) == [
        *handover(agent, owner, receiving_contract),
        *handover(agent, receiving_contract, stranger),
    ]


def test_agent_can_be_sent_around_and_comes_back_unharmed(identity, agent, owner, other_owner, stranger):
    for sender, receiver in [(owner, other_owner), (other_owner, stranger), (stranger, owner)]:
        receipt = identity.transferFrom(sender, receiver, agent, sender=sender)
        assert logged(receipt)[-1] == transferred(sender, receiver, agent)
    assert identity.ownerOf(agent) == owner
    assert [identity.balanceOf(account) for account in (owner, other_owner, stranger)] == [1, 0, 0]


@pytest.mark.parametrize("agent_id", [100, 2**32 - 1, 2**32, 2**40 + 1])
def test_agents_of_any_id_are_transferred(identity, networks, owner, other_owner, agent_id):
    networks.provider.set_storage(identity.address, NEXT_AGENT_ID_SLOT, encode(["uint256"], [agent_id]))
    for _ in range(2):
        identity.register(sender=owner)
    identity.transferFrom(owner, other_owner, agent_id, sender=owner)
    assert (identity.ownerOf(agent_id), identity.ownerOf(agent_id + 1)) == (other_owner, owner)
    assert (identity.getAgentWallet(agent_id), identity.getAgentWallet(agent_id + 1)) == (ZERO_ADDRESS, owner)
    identity.setPrimaryAgent(agent_id, sender=other_owner)
    assert (identity.agentOf(owner), identity.agentOf(other_owner)) == (0, agent_id)
