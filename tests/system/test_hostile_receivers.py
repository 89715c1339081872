"""A hostile receiver of a token either gets the token or not, and has only the rights of an owner.

After each call all registries must answer like the model.
"""

from __future__ import annotations

from copy import deepcopy
from operator import attrgetter

import pytest
from ape.utils import ZERO_ADDRESS
from eth_abi import encode

from tests.calls import Refused, encoded
from tests.system.conftest import GIVEN, REQUEST
from tests.system.functions import FUNCTIONS, signature_of

SAFE_TRANSFER = "safeTransferFrom(address,address,uint256,bytes)"

REFUSALS = {
    "ReceiverRejects": "ERC721InvalidReceiver(address)",
    "ReceiverBurnsGas": "ERC721InvalidReceiver(address)",
    "ReceiverReverts": "NotWanted(uint256)",
    "ReceiverReturnsJunk": None,
}
"""The receivers that do not take a token properly, and the error of the transfer; None: it has no name."""

MEANWHILE = {
    "registers": ("identity", "register()"),
    "hands the token on": ("identity", "transferFrom", "receiver", "stranger", 1),
    "sends the token back": ("identity", "transferFrom", "receiver", "owner", 1),
    "transfers the token to itself": ("identity", "transferFrom", "receiver", "receiver", 1),
    "appoints an operator": ("identity", "setApprovalForAll", "stranger", True),
    "approves": ("identity", "approve", "stranger", 1),
    "renames the agent": ("identity", "updateAgent", 1, "its.example", ZERO_ADDRESS),
    "describes the agent": ("identity", "setAgentURI", 1, "ipfs://new"),
    "drops the wallet": ("identity", "unsetAgentWallet", 1),
    "speaks as the agent": ("identity", "setPrimaryAgent", 1),
    "rates": ("open", "rateClient", 2, 35),
    "accepts feedback": ("open", "acceptFeedback", 2, 1),
    "requests a validation": ("validation", "validationRequest", "stranger", 1, *REQUEST),
    "rates another agent": ("open", "giveFeedback", 2, *GIVEN),
}
"""Valid calls of the receiver, which owns agent 3, while it gets agent 1: `(registry, name, *arguments)`."""

NOT_EVEN_THEN = {
    "rates the agent": ("open", "giveFeedback", 1, *GIVEN),
    "rates the agent, plain": ("plain", "giveFeedback", 1, *GIVEN),
    "rates itself": ("open", "rateValidator", 3, 100),
    "moves a token that it does not own": ("identity", "transferFrom", "client", "receiver", 2),
    "acts for an agent that it does not own": ("identity", "setAgentURI", 2, "ipfs://mine"),
}
"""Invalid calls of the receiver, then and at any other time."""


@pytest.fixture
def receiver(request, world):
    """A contract that is about to get agent 1, and has agent 3."""
    address = world.chain.deploy(request.param)
    world.chain.node("anvil_setBalance", address, hex(10**20))
    world.invite(address, address)
    world.call(address, "identity", "register()")
    world.check()
    return address


def transfer(world, receiver, data=b""):
    """The outcome of a safe transfer of agent 1, which is sent even if it fails."""
    owner, *_ = world.everybody
    call = encoded(SAFE_TRANSFER, owner, receiver, 1, data)
    outcome = world.chain.call(owner, world.chain.addresses["identity"], call)
    receipt = world.chain.send(owner, world.chain.addresses["identity"], call)
    assert receipt["status"] == ("0x1" if outcome[0] == "result" else "0x0")
    world.something_happened()
    return outcome


def named(world, receiver, call):
    """A call with addresses in the place of names."""
    owner, client, stranger, *_ = world.everybody
    people = {"owner": owner, "client": client, "stranger": stranger, "receiver": receiver}
    registry, name, *arguments = call
    return (
        registry,
        name,
        [people.get(argument, argument) if isinstance(argument, str) else argument for argument in arguments],
    )


def reentering(world, registry, name, arguments):
    """The data of a transfer during which the receiver makes a call."""
    call = encoded(signature_of(registry, name), *arguments)
    return encode(["address", "bytes"], [world.chain.addresses[registry], call])


def play(model, owner, receiver, call):
    """Let the model transfer agent 1, and then do what the receiver's call does."""
    registry, name, arguments = call
    model.identity.transfer(owner, owner, receiver, 1)
    attrgetter(FUNCTIONS[registry][signature_of(registry, name)].method)(model)(receiver, *arguments)


@pytest.mark.parametrize("receiver", REFUSALS, indirect=True)
def test_refused_token_stays_where_it_was(world, receiver, request):
    """The fixture checks that it has, and that nothing else has changed."""
    refusal = REFUSALS[request.node.callspec.params["receiver"]]
    argument = receiver if refusal == "ERC721InvalidReceiver(address)" else 1
    assert transfer(world, receiver) == ("error", encoded(refusal, argument) if refusal else b"")


@pytest.mark.parametrize("receiver", ["ReceiverReenters"], indirect=True)
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_receiver_that_reenters_does_what_it_could_do_afterwards(world, receiver, meanwhile):
    owner, *_ = world.everybody
    call = named(world, receiver, MEANWHILE[meanwhile])
    assert transfer(world, receiver, reentering(world, *call)) == ("result", b"")
    play(world.model, owner, receiver, call)


@pytest.mark.parametrize("receiver", ["ReceiverReenters"], indirect=True)
@pytest.mark.parametrize("meanwhile", NOT_EVEN_THEN)
def test_receiver_that_reenters_does_no_more_than_that(world, receiver, meanwhile):
    """The whole transfer fails for the reason for which the call would fail afterwards."""
    owner, *_ = world.everybody
    call = named(world, receiver, NOT_EVEN_THEN[meanwhile])
    with pytest.raises(Refused) as refused:
        play(deepcopy(world.model), owner, receiver, call)
    assert transfer(world, receiver, reentering(world, *call)) == ("error", refused.value.data)
