"""The canonical registries differ from this project's, and the client copes or says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from eth_account import Account

from bilateral.client import SignedFeedback
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import MissingFunctionError, MissingRegistryError
from bilateral.core.signatures import Feedback
from tests.sdk.client.unreliable import refuses
from tests.sdk.deployed.world import CANONICAL, OWNER, PAYER, REVIEWER

FEEDBACK = Feedback(0, REVIEWER.address, 1, 1, 0, "", "", "", "", bytes(32), 2**40)


def test_the_first_agent_has_id_0(canonical):
    assert canonical.owner.get_deployment().first_agent_id == 0
    assert canonical.owner.get_agent_owner(0)
    feedback = canonical.payer.give_feedback(0, 80, "starred").wait()
    assert str(feedback.id) == f"8453:0:{PAYER.address}:{feedback.id.index}"
    assert canonical.owner.get_feedback(str(feedback.id.agent), PAYER.address, feedback.id.index).value == 80


def test_an_unknown_agent_is_told_apart(canonical):
    for ask in (canonical.owner.load_agent, canonical.owner.edit_registration, canonical.owner.get_agent_owner):
        with pytest.raises(ContractRevertError) as caught:
            ask(10**6, **({"name": "x"} if ask == canonical.owner.edit_registration else {}))
        assert caught.value.reason == "erc721_nonexistent_token"


def test_proxies_are_shown_with_implementation_and_owner(canonical, web3):
    report = canonical.owner.inspect_deployment()
    assert report.deployment == CANONICAL
    assert [registry.registry for registry in report.registries] == ["identity", "reputation", "validation"]
    for entry in report.registries:
        assert entry.is_upgradable
        assert entry.owner == web3.eth.accounts[0]
        assert web3.eth.get_code(entry.implementation)
        assert entry.version == "2.0.0"
    assert [registry.identity_registry for registry in report.registries] == [
        None,
        CANONICAL.identity,
        CANONICAL.identity,
    ]


def test_registries_of_this_project_have_no_proxy(worlds):
    report = worlds["this project's"].owner.inspect_deployment()
    assert [registry.registry for registry in report.registries] == [
        *("identity", "reputation", "ratings", "authorized", "validation", "buyers", "tier_proofs"),
    ]
    assert not any(registry.is_upgradable or registry.owner or registry.problem for registry in report.registries)


def test_a_rating_names_the_registry_that_is_missing(canonical):
    for call in (
        lambda: canonical.owner.rate_client(canonical.other, 80),
        lambda: canonical.owner.rate_client(canonical.other, 80, server_id=canonical.agent),
        lambda: canonical.owner.rate_validators({canonical.other: 80}),
        lambda: canonical.owner.get_client_rating(canonical.other, canonical.agent),
    ):
        with pytest.raises(MissingRegistryError, match="has no ratings registry") as caught:
            call()
        assert caught.value.contract == "BidirectionalReputationRegistry"


def test_a_signature_that_no_registry_would_take_is_not_made(canonical):
    with pytest.raises(MissingFunctionError, match="no function giveFeedbackBySig"):
        canonical.reviewer.sign_feedback(canonical.agent, 80)


def test_signed_feedback_is_not_sent(canonical):
    with pytest.raises(MissingFunctionError, match="no function giveFeedbackBySig"):
        canonical.payer.submit_signed_feedback(SignedFeedback(FEEDBACK, bytes(65)))


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("newAgent", lambda client: client.new_agent("a.example")),
        ("updateAgent", lambda client: client.update_agent(0, domain="a.example")),
        ("releaseAgentDomain", lambda client: client.release_agent_domain(0)),
        ("resolveByDomain", lambda client: client.resolve_by_domain("a.example")),
        ("resolveByAddress", lambda client: client.resolve_by_address(OWNER.address)),
        ("setPrimaryAgent", lambda client: client.set_primary_agent(0)),
        ("voidSignaturesThrough", lambda client: client.void_signatures(datetime(2040, 1, 1, tzinfo=UTC))),
        ("getVoidedDeadline", lambda client: client.get_voided_deadline(OWNER.address)),
    ],
)
def test_a_function_that_a_registry_named_by_hand_lacks_is_named(canonical, function, call):
    """The same as by the address book, of which a client that is given bare addresses knows nothing."""
    unknown = replace(CANONICAL, facts={})
    for deployment in (None, unknown):
        client = canonical.connect(OWNER, deployment=deployment)
        with pytest.raises(MissingFunctionError, match=f"has no function {function}"):
            call(client)


@pytest.mark.parametrize("gas", [20_000, 60_000])
def test_a_summary_that_a_node_refuses_is_computed_here_with_the_same_result(canonical, node, gas):
    agent = canonical.owner.register_agent().wait().agent
    for number in range(6):
        canonical.reviewer.give_feedback(agent, f"{number}.{number}", "starred").wait()
        canonical.checker.give_feedback(agent, 100 - number, "starred", "day").wait()
    whole = canonical.owner.get_reputation_summary(agent)
    assert not whole.is_computed_here

    def capped(parameters, forward):
        parameters[0]["gas"] = hex(22_000 + len(parameters[0]["data"]) * 20 + gas)
        return forward()

    node.interference["eth_call"] = capped
    computed = canonical.connect(rpc=node.url).get_reputation_summary(agent)
    assert computed == whole
    assert computed.is_computed_here


def test_logs_are_read_from_the_block_in_which_the_registry_appeared(canonical, node, web3):
    appeared = web3.eth.block_number  # as the node tells it: the chain of the tests forgets old states
    feedback = canonical.reviewer.give_feedback(canonical.agent, 80).wait()
    asked = []

    def code(parameters, forward):
        block = parameters[1]
        return forward() if block == "latest" or int(block, 16) >= appeared else {"jsonrpc": "2.0", "result": "0x"}

    node.interference["eth_getCode"] = code
    node.interference["eth_getLogs"] = lambda parameters, forward: asked.append(parameters[0]) or forward()
    canonical.connect(rpc=node.url).get_feedback(feedback.id, load_file=False)
    assert [int(entry["fromBlock"], 16) for entry in asked] == [appeared]


def test_a_node_without_old_states_is_asked_for_all_logs(canonical, node):
    feedback = canonical.reviewer.give_feedback(canonical.agent, 80).wait()
    asked = []
    node.interference["eth_getCode"] = refuses("missing trie node")
    node.interference["eth_getLogs"] = lambda parameters, forward: asked.append(parameters[0]) or forward()
    assert canonical.connect(rpc=node.url).get_feedback(feedback.id, load_file=False).event is not None
    assert [entry["fromBlock"] for entry in asked] == ["0x0"]


def test_a_rater_is_found_by_its_wallet(canonical):
    client = canonical.newcomer()
    assert canonical.owner.resolve_rater(client.address).agent is None
    agent, wallet = client.register_agent().wait().agent, Account.create()
    client.set_agent_wallet(agent, wallet.address, new_wallet_signer=wallet).wait()
    assert canonical.owner.resolve_rater(wallet.address).agent.id == agent
