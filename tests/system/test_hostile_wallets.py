"""A hostile wallet can only accept or reject a signature.

After each call all registries must answer like the model.
"""

from __future__ import annotations

import pytest
from ape.utils import ZERO_ADDRESS

from bilateral.core.signatures import FeedbackAuth, encode_feedback_auth
from tests.calls import encoded
from tests.system.conftest import GIVEN, REQUEST, RESPONSE
from tests.system.functions import signature_of

AGREE = {
    "WalletAcceptsEverything": True,
    "WalletReturnsTooMuch": True,
    "WalletRefuses": False,
    "WalletReverts": False,
    "WalletReturnsShortData": False,
    "WalletReturnsDirtyMagic": False,
    "WalletBurnsGas": False,
}
"""The wallets that do nothing but answer, and whether their answer is yes."""

YES, NO = "the wallet's word", "nobody's word"
"""Markers by which the model recognises a valid signature of the wallet, and another signature."""

SIGNATURE = b"the wallet knows what it means"
WALLETS_AGENT = 3


def set_agent_wallet(world, wallet, agrees):
    """The owner of agent 1 makes the wallet its wallet."""
    call = ("setAgentWallet", 1, wallet, world.model.now + 60, SIGNATURE)
    return world.everybody[0], "identity", call, (1, wallet, 60, agrees)


def give_feedback_by_sig(world, wallet, agrees, registry="open"):
    """A sponsor sends the wallet's feedback for agent 1."""
    feedback = (wallet, (1, 1, *GIVEN), world.model.now)
    as_modelled = (*feedback, YES if agrees else NO)
    return world.everybody[2], registry, ("giveFeedbackBySig", *feedback, SIGNATURE), as_modelled


def give_plain_feedback_by_sig(world, wallet, agrees):
    return give_feedback_by_sig(world, wallet, agrees, "plain")


def give_authorised_feedback(world, wallet, agrees):
    """The client gives feedback for the wallet's agent, which the wallet authorises."""
    client = world.everybody[1]
    auth = FeedbackAuth(WALLETS_AGENT, client, 1, world.model.now, world.chain.id)
    feedback = (WALLETS_AGENT, 87, bytes(32), bytes(32))
    feedback_auth = encode_feedback_auth(auth, SIGNATURE)
    call = ("giveFeedback", *feedback, "", bytes(32), feedback_auth)
    as_modelled = (*feedback, feedback_auth, YES if agrees else NO, auth.digest(world.domain("authorised")))
    return client, "authorised", call, as_modelled


ASK = [set_agent_wallet, give_feedback_by_sig, give_plain_feedback_by_sig, give_authorised_feedback]
"""All functions that ask a wallet: `(caller, registry, call, as_modelled)`, `call` being a name and arguments."""

ON_THE_SIDE = {
    "registers": ("identity", "register()"),
    "names its agent": ("identity", "updateAgent", WALLETS_AGENT, "its.example", ZERO_ADDRESS),
    "transfers its agent": ("identity", "transferFrom", "wallet", "stranger", WALLETS_AGENT),
    "appoints an operator": ("identity", "setApprovalForAll", "stranger", True),
    "becomes its own wallet": ("identity", "setAgentWallet", WALLETS_AGENT, "wallet", "deadline", SIGNATURE),
    "drops its own wallet": ("identity", "unsetAgentWallet", WALLETS_AGENT),
    "takes the next index": ("open", "giveFeedback", 1, *GIVEN),
    "takes the next index, plain": ("plain", "giveFeedback", 1, *GIVEN),
    "answers": ("open", "appendResponse", 1, "client", 1, *RESPONSE),
    "rates": ("open", "rateClient", 1, 0),
    "rates many": ("open", "rateValidators", (1, 2), (0, 0)),
    "accepts feedback": ("open", "acceptFeedback", 1, WALLETS_AGENT),
    "requests a validation": ("validation", "validationRequest", "stranger", WALLETS_AGENT, *REQUEST),
}
"""Calls that a wallet may make at any other time: `(registry, name, *arguments)`."""


@pytest.fixture
def wallet(request, world):
    """A wallet that owns an agent."""
    address = world.chain.deploy(request.param)
    world.chain.node("anvil_setBalance", address, hex(10**20))
    world.invite(address, YES)
    world.call(address, "identity", "register()")
    return address


def is_taken(world, ask, wallet, agrees):
    """Return true if the registry accepts a call that asks the wallet."""
    caller, registry, call, as_modelled = ask(world, wallet, agrees)
    return world.call(caller, registry, *call, as_modelled=as_modelled)


def prepare(world, wallet, target, data):
    """Make the wallet send a call while it answers. At any other time the call is valid."""
    kind, _ = world.chain.call(wallet, target, data)
    assert kind == "result"
    receipt = world.chain.send(world.everybody[2], wallet, encoded("prepare(address,bytes)", target, data))
    assert receipt["status"] == "0x1"


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("wallet", AGREE, indirect=True)
def test_wallet_agrees_or_not_and_that_is_all(world, wallet, ask, request):
    agrees = AGREE[request.node.callspec.params["wallet"]]
    assert is_taken(world, ask, wallet, agrees) is agrees


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("wallet", ["WalletReenters"], indirect=True)
@pytest.mark.parametrize("on_the_side", ON_THE_SIDE)
def test_wallet_that_reenters_gets_in_nowhere(world, wallet, ask, on_the_side):
    _, client, stranger, *_ = world.everybody
    known = {"wallet": wallet, "client": client, "stranger": stranger, "deadline": world.model.now + 60}
    registry, name, *arguments = ON_THE_SIDE[on_the_side]
    arguments = [known.get(argument, argument) if isinstance(argument, str) else argument for argument in arguments]
    prepare(world, wallet, world.chain.addresses[registry], encoded(signature_of(registry, name), *arguments))
    assert is_taken(world, ask, wallet, agrees=True)


@pytest.mark.parametrize("ask", [give_feedback_by_sig, give_plain_feedback_by_sig])
@pytest.mark.parametrize("wallet", ["WalletReenters"], indirect=True)
def test_feedback_that_is_sent_again_while_its_signature_is_checked_counts_once(world, wallet, ask):
    _, registry, (name, *arguments), _ = ask(world, wallet, agrees=True)
    data = encoded(signature_of(registry, name), *arguments)
    prepare(world, wallet, world.chain.addresses[registry], data)
    assert is_taken(world, ask, wallet, agrees=True)


def gas_of_asking(world, name):
    """Return the gas of sponsored feedback of a wallet of this kind."""
    address = world.chain.deploy(name)
    caller, registry, (function, *arguments), _ = give_feedback_by_sig(world, address, agrees=True)
    data = encoded(signature_of(registry, function), *arguments)
    return int(world.chain.send(caller, world.chain.addresses[registry], data)["gasUsed"], 16)


def test_answer_of_a_megabyte_is_not_copied(world):
    """The wallet pays two million gas to create the answer. A copy would cost the registry as much again."""
    paid_by_the_wallet = 3 * 31_250 + 31_250**2 // 512
    overhead = gas_of_asking(world, "WalletReturnsTooMuch") - gas_of_asking(world, "WalletAcceptsEverything")
    assert paid_by_the_wallet < overhead < paid_by_the_wallet * 1.1


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("wallet", ["WalletReenters"], indirect=True)
def test_wallet_that_only_looks_around_gets_in(world, wallet, ask):
    """The registry rejects a change of state, not the call itself. The wallet then rejects the signature."""
    prepare(world, wallet, world.chain.addresses["identity"], encoded("ownerOf(uint256)", 1))
    assert not is_taken(world, ask, wallet, agrees=False)
