"""Ratings that servers give, by the client."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from eth_account import Account

from bilateral.client import Rating, RatingKind
from bilateral.core.contracts import Registry, selectors
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import AgentUnsettledError, InvalidArgumentError
from tests.sdk.client.helpers import nonce_of, plain, transact

pytestmark = pytest.mark.one_client


@pytest.fixture
def server(register, newcomer):
    """The agent that the newcomer speaks as."""
    return register(newcomer)


def test_a_server_rates_a_client_once(connect, newcomer, server, agent, web3):
    client = connect(newcomer)
    rating = Rating(RatingKind.CLIENT, agent, server, 85)
    assert client.rate_client(agent, 85).wait() == rating
    assert client.get_client_rating(agent, server) == rating
    assert client.get_validator_rating(agent, server) == Rating(RatingKind.VALIDATOR, agent, server, None)
    before = nonce_of(web3, newcomer)
    with pytest.raises(ContractRevertError) as caught:
        client.rate_client(agent, 85)
    assert caught.value.reason == "already_rated"
    assert caught.value.arguments == {"subjectId": agent.token_id, "serverId": server.token_id}
    assert nonce_of(web3, newcomer) == before


def test_a_server_rates_a_validator(connect, newcomer, server, agent):
    client = connect(newcomer)
    rating = Rating(RatingKind.VALIDATOR, agent, server, 0)
    assert client.rate_validator(agent, 0).wait() == rating
    shown = client.get_validator_rating(agent, server)
    assert shown == rating
    assert shown.has_rating
    assert not client.get_client_rating(agent, server).has_rating


def test_a_server_rates_many_clients(connect, newcomer, server, register):
    first, second, third = register(), register(), register()
    client = connect(newcomer)
    result = client.rate_clients({second: 100, str(first): 0}).wait()
    assert [(rating.kind, rating.subject, rating.server, rating.rating) for rating in result] == [
        (RatingKind.CLIENT, second, server, 100),
        (RatingKind.CLIENT, first, server, 0),
    ]
    assert [client_rating.rating for client_rating in client.get_client_ratings([first, second, third], server)] == [
        0,
        100,
        None,
    ]


def test_a_server_rates_many_validators(connect, newcomer, server, register):
    first, second = register(), register()
    result = connect(newcomer).rate_validators({first: 1, second: 2}).wait()
    assert [(rate_validator.kind, rate_validator.subject, rate_validator.rating) for rate_validator in result] == [
        (RatingKind.VALIDATOR, first, 1),
        (RatingKind.VALIDATOR, second, 2),
    ]


def test_a_batch_is_refused_with_the_refusal_of_its_rating(connect, newcomer, server, agent):
    with pytest.raises(ContractRevertError) as caught:
        connect(newcomer).rate_clients({agent: 100, server: 1})
    assert (caught.value.reason, caught.value.arguments["position"]) == ("rating_refused", 1)
    assert "CannotRateSelf" in caught.value.advice


def test_two_keys_that_name_one_client_are_refused(connect, newcomer, server, agent):
    with pytest.raises(InvalidArgumentError, match="same agent"):
        connect(newcomer).rate_clients({agent: 1, str(agent): 2})


@pytest.mark.parametrize(("rating", "reason"), [(100, None), (101, "rating_too_high"), (255, "rating_too_high")])
def test_a_rating_is_100_at_most(connect, newcomer, server, agent, rating, reason):
    client = connect(newcomer)
    if reason is None:
        assert client.rate_client(agent, rating).wait().rating == rating
        return
    with pytest.raises(ContractRevertError) as caught:
        client.rate_client(agent, rating)
    assert caught.value.reason == reason


@pytest.mark.parametrize("rating", [-1, 256, True, 1.5, "1"])
def test_a_rating_beyond_a_byte_is_refused(connect, newcomer, server, agent, rating):
    with pytest.raises(InvalidArgumentError, match="rating"):
        connect(newcomer).rate_client(agent, rating)


def test_an_account_without_an_agent_cannot_rate(connect, newcomer, agent):
    with pytest.raises(ContractRevertError) as caught:
        connect(newcomer).rate_client(agent, 1)
    assert caught.value.reason == "rater_not_registered"


def test_unknown_agents_have_no_rating(connect):
    client = connect()
    assert client.get_client_rating(2**200, 2**201).rating is None
    assert client.get_client_ratings([], 1) == []


def test_a_wallet_rates_for_its_agent(connect, newcomer, server, agent, web3):
    wallet = Account.create()
    web3.provider.make_request("anvil_setBalance", [wallet.address, hex(10**20)])
    connect(newcomer).set_agent_wallet(server, wallet.address, new_wallet_signer=wallet).wait()
    assert connect(wallet).rate_client(agent, 7).wait().server == server


# Ratings that name the rater and the owner


@pytest.fixture
def mine(web3):
    """Adds empty blocks to the chain."""
    return lambda blocks: web3.provider.make_request("anvil_mine", [hex(blocks)])


@pytest.fixture
def plain_registry(web3, deployment):
    """A deployment whose reputation registry lacks the functions that name rater and owner."""
    code = bytes(web3.eth.get_code(deployment.reputation))
    names = {"rateClientAs", "rateValidatorAs", "rateClientsAs", "rateValidatorsAs"}
    for selector, entry in selectors(Registry.BIDIRECTIONAL, "function").items():
        if entry["name"] in names:
            pushed = b"\x63" + selector
            assert code.count(pushed) == 1
            code = code.replace(pushed, pushed[:-1] + bytes([pushed[-1] ^ 1]))
    address = Account.create().address
    web3.provider.make_request("anvil_setCode", [address, "0x" + code.hex()])
    return replace(deployment, reputation=address, ratings=address)


def test_a_rating_names_another_rater_than_the_primary_agent(connect, newcomer, server, agent, register):
    other = register()
    for rate in (
        lambda client: client.rate_client(agent, 1, server_id=other),
        lambda client: client.rate_validator(agent, 1, server_id=other),
        lambda client: client.rate_clients({agent: 1}, server_id=other),
        lambda client: client.rate_validators({agent: 1}, server_id=other),
    ):
        with pytest.raises(ContractRevertError) as caught:
            rate(connect(newcomer))
        assert caught.value.reason == "unexpected_rater"
        assert caught.value.arguments == {"expected": other.token_id, "found": server.token_id}


def test_a_rating_names_another_owner_than_the_present_one(connect, newcomer, server, agent, owner, payer):
    with pytest.raises(ContractRevertError) as caught:
        connect(newcomer).rate_client(agent, 1, owner=payer.address)
    assert caught.value.reason == "unexpected_owner"
    expected = {"agentId": agent.token_id, "expected": payer.address, "found": owner.address}
    assert caught.value.arguments == expected
    assert connect(newcomer).rate_validator(agent, 1, owner=owner.address, server_id=server).wait().rating == 1


@pytest.mark.parametrize("form", ["one", "batch"])
def test_an_agent_that_changes_hands_before_the_block_is_not_rated(
    connect, newcomer, server, agent, owner, payer, node, web3, deployment, form
):
    identity = plain(web3, Registry.IDENTITY, deployment.identity)

    def hand_over_first(_, forward):
        transact(web3, identity.functions.transferFrom(owner.address, payer.address, agent.token_id), owner)
        return forward()

    node.interference["eth_sendRawTransaction"] = hand_over_first
    client = connect(newcomer, to=node.url)
    sent = client.rate_client(agent, 1) if form == "one" else client.rate_clients({agent: 1})
    with pytest.raises(ContractRevertError) as caught:
        sent.wait()
    assert (caught.value.reason, caught.value.transaction) == ("unexpected_owner", sent.hash)
    assert not client.get_client_rating(agent, server).has_rating


def test_an_agent_must_have_had_its_owner_for_the_requested_blocks(connect, newcomer, server, register, mine, web3):
    subject = register()
    mine(2)  # the block of the registration and two more
    client = connect(newcomer)
    before = nonce_of(web3, newcomer)
    with pytest.raises(AgentUnsettledError, match=f"agent {subject} .* 4 blocks") as caught:
        client.rate_client(subject, 1, confirmations=4, timeout=0.1)
    assert (caught.value.agent, caught.value.confirmations) == (str(subject), 4)
    assert nonce_of(web3, newcomer) == before
    assert client.rate_client(subject, 1, confirmations=3, timeout=0.1).wait().rating == 1


def test_a_transfer_begins_the_wait_anew(connect, newcomer, server, register, mine, owner, payer):
    subject = register()
    mine(5)
    connect(owner).transfer_agent(subject, payer.address).wait()
    with pytest.raises(AgentUnsettledError):
        connect(newcomer).rate_clients({subject: 1}, confirmations=2, timeout=0.1)


def test_a_rating_waits_for_the_blocks(connect, newcomer, server, register, mine):
    subject = register()
    miner = threading.Timer(0.3, mine, [4])
    miner.start()
    assert connect(newcomer).rate_validators({subject: 1}, confirmations=5, timeout=60).wait()[0].rating == 1
    miner.join()


def test_zero_confirmations_are_refused(connect, newcomer, server, agent):
    with pytest.raises(InvalidArgumentError, match="confirmations must be at least 1, not 0"):
        connect(newcomer).rate_client(agent, 1, confirmations=0)


def test_an_unknown_agent_is_not_rated(connect, newcomer, server):
    with pytest.raises(ContractRevertError) as caught:
        connect(newcomer).rate_client(2**255, 1)
    assert caught.value.reason == "erc721_nonexistent_token"


def test_a_registry_without_the_functions_that_name_owners_gets_those_of_the_specification(
    connect, newcomer, server, agent, register, plain_registry
):
    client, other = connect(newcomer, deployment=plain_registry), register()
    assert client.rate_client(agent, 1).wait() == Rating(RatingKind.CLIENT, agent, server, 1)
    assert client.rate_validators({agent: 2, other: 3}).wait()[1].rating == 3
    with pytest.raises(ContractRevertError) as caught:
        client.rate_client(agent, 1)
    assert caught.value.reason == "already_rated"


def test_a_registry_that_cannot_check_a_named_rater_or_owner_gets_nothing(
    connect, newcomer, server, agent, owner, plain_registry, web3
):
    client = connect(newcomer, deployment=plain_registry)
    before = nonce_of(web3, newcomer)
    with pytest.raises(InvalidArgumentError, match="has no function rateClientAs"):
        client.rate_client(agent, 1, owner=owner.address)
    with pytest.raises(InvalidArgumentError, match="has no function rateValidatorsAs"):
        client.rate_validators({agent: 1}, server_id=server)
    assert nonce_of(web3, newcomer) == before
