"""A hostile identity registry can lie about agents. It cannot change any state, and no caller can make it seem to lie.

Each hostile registry is honest until it turns, so its companion was constructed in good faith.
"""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_utils import keccak, to_canonical_address

from tests.calls import answer, encoded
from tests.companion.conftest import UNKNOWN_AGENT
from tests.helpers import isolated, logged

MOST_GAS = 5_000_000

OWNER_OF = keccak(text="ownerOf(uint256)")[:4]
GET_AGENT_WALLET = keccak(text="getAgentWallet(uint256)")[:4]
IS_AUTHORIZED = keccak(text="isAuthorizedOrOwner(address,uint256)")[:4]
SUPPORTS_INTERFACE = keccak(text="supportsInterface(bytes4)")[:4]

PAUSED = encoded("Error(string)", "paused")
JUNK = {
    "nothing": b"",
    "31 bytes": bytes(12) + b"\x01" * 19,
    "an address with a high bit": bytes(11) + b"\x01" * 21,
    "all bits": b"\xff" * 64,
}


@pytest.fixture
def turncoat(project, deployer, identity, agent, client_agent):
    """A function that deploys a hostile registry of the same agents."""

    def deploy(name, *arguments):
        return deployer.deploy(getattr(project, name), identity, *arguments)

    return deploy


@pytest.fixture
def companion_of(project, deployer, owner, wallet_key, set_wallet, agent):
    """A function that deploys a companion, by which the owner and the wallet speak as the agent."""

    def deploy(registry):
        companion = deployer.deploy(project.CompanionDirectory, registry)
        set_wallet(wallet_key)
        for account in (owner, wallet_key):
            companion.setPrimaryAgent(agent, sender=account)
        return companion

    return deploy


@pytest.fixture
def ask(networks):
    """A function that simulates a call, and returns its outcome as `("result" or "error", data)`."""

    def ask(contract, call, caller=ZERO_ADDRESS, gas=MOST_GAS):
        request = {"from": str(caller), "to": contract.address, "data": f"0x{call.hex()}", "gas": hex(gas)}
        response = networks.provider.web3.provider.make_request("eth_call", [request, "latest"])
        if "error" in response:
            return "error", bytes.fromhex(response["error"].get("data", "0x")[2:])
        return "result", bytes.fromhex(response["result"][2:])

    return ask


def no_answer(registry, function):
    return "error", encoded("NoAnswer(address,bytes4)", to_canonical_address(registry.address), function)


QUESTIONS = {
    "ownerOf(uint256)": OWNER_OF,
    "getAgentWallet(uint256)": GET_AGENT_WALLET,
    "agentExists(uint256)": OWNER_OF,
    "getAgent(uint256)": OWNER_OF,
    "setPrimaryAgent(uint256)": OWNER_OF,
    "proveAgent(uint256)": OWNER_OF,
}
"""Functions of an agent, and the question that each asks first."""


def test_junk_does_not_count_as_an_answer(turncoat, companion_of, ask, deployer, owner, agent):
    registry = turncoat("IdentityReturnsJunk")
    companion = companion_of(registry)
    for junk in JUNK.values():
        for question in (OWNER_OF, GET_AGENT_WALLET):
            registry.turn(question, junk, sender=deployer)
            for function in (function for function, first in QUESTIONS.items() if first == question):
                assert ask(companion, encoded(function, agent), owner) == no_answer(registry, question), function


@pytest.mark.parametrize(("name", "arguments"), [("IdentityReverts", [b""]), ("IdentityBurnsGas", [])])
def test_revert_without_data_does_not_count_as_an_answer(
    turncoat, companion_of, ask, deployer, owner, agent, name, arguments
):
    registry = turncoat(name)
    companion = companion_of(registry)
    registry.turn(bytes(4), *arguments, sender=deployer)
    for function, question in QUESTIONS.items():
        assert ask(companion, encoded(function, agent), owner) == no_answer(registry, question), function


def test_missing_answer_is_reported_with_the_question(turncoat, companion_of, deployer, owner, agent):
    registry = turncoat("IdentityReverts")
    companion = companion_of(registry)
    registry.turn(OWNER_OF, b"", sender=deployer)
    with ape.reverts(companion.NoAnswer, identityRegistry=registry.address, selector=OWNER_OF):
        companion.setPrimaryAgent(agent, sender=owner)


@pytest.mark.parametrize(
    ("call", "question"),
    [
        (("agentOf(address)", "owner"), OWNER_OF),
        (("agentOf(address)", "wallet_key"), GET_AGENT_WALLET),
        (("resolveRating(address,uint256)", "owner", 0), OWNER_OF),
        (("resolveRating(address,uint256)", "stranger", 0), OWNER_OF),
        (("resolveByAddress(address)", "owner"), OWNER_OF),
        (("isAuthorizedOrOwner(address,uint256)", "owner", 1), IS_AUTHORIZED),
        (("supportsInterface(bytes4)", b"\xde\xad\xbe\xef"), SUPPORTS_INTERFACE),
    ],
)
def test_junk_about_an_account_does_not_count_as_an_answer(
    turncoat, companion_of, ask, deployer, request, call, question
):
    registry = turncoat("IdentityReturnsJunk")
    companion = companion_of(registry)
    function, *arguments = (
        request.getfixturevalue(part).address if part in ("owner", "wallet_key", "stranger") else part for part in call
    )
    for junk in JUNK.values():
        registry.turn(question, junk, sender=deployer)
        assert ask(companion, encoded(function, *arguments)) == no_answer(registry, question)


def test_number_other_than_zero_and_one_does_not_count_as_true_or_false(
    turncoat, companion_of, ask, deployer, owner, agent
):
    registry = turncoat("IdentityReturnsJunk")
    companion = companion_of(registry)
    question = encoded("isAuthorizedOrOwner(address,uint256)", owner.address, agent)
    for number in (0, 1, 2, 2**255):
        word = answer("uint256", number)
        registry.turn(IS_AUTHORIZED, word, sender=deployer)
        expected = ("result", word) if number <= 1 else no_answer(registry, IS_AUTHORIZED)
        assert ask(companion, question) == expected


def test_refusal_with_data_means_no_agent(turncoat, companion_of, ask, deployer, owner, wallet_key, agent):
    registry = turncoat("IdentityReverts")
    companion = companion_of(registry)
    registry.turn(bytes(4), PAUSED, sender=deployer)
    assert companion.agentOf(owner) == companion.agentOf(wallet_key) == 0
    assert not companion.agentExists(agent)
    assert companion.resolveRating(owner, agent) == (0, False)
    with ape.reverts(companion.AgentNotFound):
        companion.getAgent(agent)
    for call in (
        ("ownerOf(uint256)", agent),
        ("getAgentWallet(uint256)", agent),
        ("isAuthorizedOrOwner(address,uint256)", owner.address, agent),
        ("setPrimaryAgent(uint256)", agent),
        ("proveAgent(uint256)", agent),
    ):
        assert ask(companion, encoded(*call), owner) == ("error", PAUSED), "the reason is passed on"


@pytest.mark.parametrize("answers", ["a refusal", "the zero address"])
def test_wallet_of_an_agent_without_an_owner_does_not_speak(
    turncoat, companion_of, deployer, owner, wallet_key, agent, answers
):
    """A registry may keep the wallet of a burned agent."""
    kind, data = ("IdentityReverts", PAUSED) if answers == "a refusal" else ("IdentityReturnsJunk", bytes(32))
    registry = turncoat(kind)
    companion = companion_of(registry)
    registry.turn(OWNER_OF, data, sender=deployer)
    assert companion.getAgentWallet(agent) == wallet_key
    assert companion.agentOf(wallet_key) == companion.agentOf(owner) == 0
    assert companion.resolveRating(wallet_key, agent) == (0, False)
    with ape.reverts(companion.AgentNotFound):
        companion.resolveByAddress(wallet_key)


def test_refusal_about_the_wallet_alone_leaves_the_owner_speaking(
    turncoat, companion_of, deployer, owner, wallet_key, agent
):
    registry = turncoat("IdentityReverts")
    companion = companion_of(registry)
    registry.turn(GET_AGENT_WALLET, PAUSED, sender=deployer)
    assert (companion.agentOf(owner), companion.agentOf(wallet_key)) == (agent, 0)
    assert companion.getAgent(agent) == (agent, "", owner)


def test_zero_address_does_not_count_as_an_owner(turncoat, companion_of, ask, deployer, owner, agent):
    registry = turncoat("IdentityReturnsJunk")
    companion = companion_of(registry)
    registry.turn(OWNER_OF, bytes(32), sender=deployer)
    assert companion.agentOf(owner) == companion.agentOf(ZERO_ADDRESS) == 0
    for call in (("ownerOf(uint256)", agent), ("setPrimaryAgent(uint256)", agent), ("proveAgent(uint256)", agent)):
        for caller in (owner, ZERO_ADDRESS):
            refusal = "error", encoded("ERC721NonexistentToken(uint256)", agent)
            assert ask(companion, encoded(*call), caller) == refusal


def test_account_that_chose_no_agent_has_none_although_the_registry_fails(turncoat, companion_of, deployer, stranger):
    registry = turncoat("IdentityReverts")
    companion = companion_of(registry)
    registry.turn(bytes(4), b"", sender=deployer)
    assert companion.agentOf(stranger) == 0


def test_registry_without_code_does_not_answer(turncoat, companion_of, ask, networks, owner, agent):
    registry = turncoat("IdentityReturnsJunk")
    companion = companion_of(registry)
    networks.provider.make_request("anvil_setCode", [registry.address, "0x"])
    assert ask(companion, encoded("agentOf(address)", owner.address)) == no_answer(registry, OWNER_OF)
    assert ask(companion, encoded("agentExists(uint256)", agent)) == no_answer(registry, OWNER_OF)


@pytest.mark.parametrize("reverts", [False, True])
def test_megabyte_costs_the_caller_no_memory(turncoat, companion_of, deployer, networks, owner, agent, reverts):
    """Copied to memory, a megabyte costs 2.2 million gas more than the registry itself pays for it."""
    registry = turncoat("IdentityReturnsTooMuch")
    companion = companion_of(registry)
    registry.turn(OWNER_OF, reverts, sender=deployer)
    request = {"to": companion.address, "data": f"0x{encoded('agentExists(uint256)', agent).hex()}"}
    trace = networks.provider.make_request("debug_traceCall", [request, "latest", {"tracer": "callTracer"}])
    (inner,) = trace["calls"]
    assert int(trace["output"], 16) == (not reverts)
    assert int(trace["gasUsed"], 16) - int(inner["gasUsed"], 16) < 30_000


def test_registry_that_changes_its_mind_gains_nothing_but_its_lie(
    project, deployer, turncoat, companion_of, owner, stranger, agent, client_agent
):
    """The first question of a rating is about the rater, and the second about the subject."""
    registry = turncoat("IdentityChangesItsMind", stranger)
    companion = companion_of(registry)
    ratings = deployer.deploy(project.BidirectionalReputationRegistry, companion)
    registry.turn(OWNER_OF, sender=deployer)
    ratings.rateClient(client_agent, 35, sender=owner)
    ratings.rateClient(UNKNOWN_AGENT, 35, sender=owner)
    assert tuple(ratings.getClientRating(client_agent, agent)) == (True, 35)
    with ape.reverts(ratings.RaterNotRegistered, account=stranger):
        ratings.rateClient(client_agent, 90, sender=stranger)
    with ape.reverts(ratings.AlreadyRated, subjectId=client_agent, serverId=agent):
        ratings.rateClient(client_agent, 90, sender=owner)


@pytest.mark.parametrize("function", ["setPrimaryAgent(uint256)", "proveAgent(uint256)"])
@pytest.mark.parametrize("inner", ["setPrimaryAgent(uint256)", "proveAgent(uint256)"])
def test_registry_that_reenters_changes_nothing(
    project, deployer, turncoat, identity, owner, agent, client_agent, function, inner
):
    """The registry owns an agent, so at any other time it may make the call."""
    registry = turncoat("IdentityReenters")
    identity.transferFrom(owner, registry, agent, sender=owner)
    companion = deployer.deploy(project.CompanionDirectory, registry)
    registry.prepare(companion, encoded(inner, agent), sender=deployer)
    account = ape.accounts[registry.address]
    account.balance += 10**18
    with isolated(ape.chain):
        getattr(companion, inner.partition("(")[0])(agent, sender=account)
    caller = ape.accounts[identity.ownerOf(client_agent)]
    receipt = getattr(companion, function.partition("(")[0])(client_agent, sender=caller)
    assert len(logged(receipt)) == 1
    assert companion.agentOf(registry) == 0
    assert companion.getAgentCount() == (client_agent if function.startswith("prove") else 0)


@pytest.mark.parametrize("speaker", ["owner", "wallet_key"])
def test_no_amount_of_gas_makes_a_speaker_seem_to_have_no_agent(
    companion, ask, agent, owner, wallet_key, set_wallet, request, speaker
):
    """A badly rated client must not pass for a newcomer at a gate by giving the question too little gas."""
    account = request.getfixturevalue(speaker)
    set_wallet(wallet_key)
    companion.setPrimaryAgent(agent, sender=account)
    right = "result", answer("uint256", agent)
    outcomes = [
        ask(companion, encoded("agentOf(address)", account.address), gas=gas) for gas in range(21_500, 60_000, 500)
    ]
    assert {kind for kind, _ in outcomes} == {"result", "error"}
    assert all(outcome == right for outcome in outcomes if outcome[0] == "result")


def test_no_amount_of_gas_makes_an_agent_seem_missing(companion, ask, agent):
    outcomes = [ask(companion, encoded("agentExists(uint256)", agent), gas=gas) for gas in range(21_500, 50_000, 500)]
    assert {kind for kind, _ in outcomes} == {"result", "error"}
    assert {outcome for outcome in outcomes if outcome[0] == "result"} == {("result", answer("bool", True))}
