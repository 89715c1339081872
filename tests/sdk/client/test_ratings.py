"""Ratings that servers give, by the client."""

from __future__ import annotations

import pytest
from eth_account import Account

from bilateral.client import Rating, RatingKind
from bilateral.errors import InvalidArgumentError
from bilateral.reverts import ContractRevertError
from tests.sdk.client.helpers import nonce_of


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
    found = client.get_validator_rating(agent, server)
    assert found == rating
    assert found.has_rating
    assert not client.get_client_rating(agent, server).has_rating


def test_a_server_rates_many_clients(connect, newcomer, server, register):
    first, second, third = register(), register(), register()
    client = connect(newcomer)
    result = client.rate_clients({second: 100, str(first): 0}).wait()
    assert [(it.kind, it.subject, it.server, it.rating) for it in result] == [
        (RatingKind.CLIENT, second, server, 100),
        (RatingKind.CLIENT, first, server, 0),
    ]
    assert [it.rating for it in client.get_client_ratings([first, second, third], server)] == [0, 100, None]


def test_a_server_rates_many_validators(connect, newcomer, server, register):
    first, second = register(), register()
    result = connect(newcomer).rate_validators({first: 1, second: 2}).wait()
    assert [(it.kind, it.subject, it.rating) for it in result] == [
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
def test_a_rating_that_is_no_byte_is_refused(connect, newcomer, server, agent, rating):
    with pytest.raises(InvalidArgumentError, match="rating"):
        connect(newcomer).rate_client(agent, rating)


def test_who_speaks_as_no_agent_rates_nobody(connect, newcomer, agent):
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
