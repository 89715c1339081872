"""The directory by the client: domains, addresses, primary agents."""

from __future__ import annotations

import pytest
from eth_account import Account

from bilateral.client import DirectoryEntry, PrimaryAgentChosen, Registered
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError


def test_an_agent_is_registered_under_a_domain(connect, newcomer):
    client, domain = connect(newcomer), f"{newcomer.address.lower()}.Example"
    result = client.new_agent(domain).wait()
    assert result == Registered(result.agent, newcomer.address, "", domain=domain)
    entry = DirectoryEntry(result.agent, domain, newcomer.address)
    assert client.resolve_by_domain(domain.upper().replace("0X", "0x")) == entry
    assert client.resolve_by_address(newcomer.address) == entry
    assert client.load_agent(result.agent).domain == domain


def test_an_agent_changes_its_domain_and_its_address(connect, newcomer):
    client, heir = connect(newcomer), Account.create()
    agent = client.new_agent(f"{newcomer.address}.old").wait().agent
    new = f"{newcomer.address}.new"
    assert client.update_agent(agent, domain=new).wait() == DirectoryEntry(agent, new, newcomer.address)
    assert client.update_agent(agent, address=heir.address).wait() == DirectoryEntry(agent, new, heir.address)
    assert client.get_agent_owner(agent) == heir.address


def test_an_agent_takes_the_domain_of_another_agent_of_its_owner(connect, newcomer, register):
    client = connect(newcomer)
    domain = f"{newcomer.address}.moved"
    former, agent = client.new_agent(domain).wait().agent, register(newcomer)
    assert client.update_agent(agent, domain=domain).wait() == DirectoryEntry(agent, domain, newcomer.address)
    assert client.load_agent(former).domain == ""


def test_a_released_domain_is_free_at_once(connect, newcomer, owner, register):
    client, domain = connect(newcomer), f"{newcomer.address}.released"
    agent = client.new_agent(domain).wait().agent
    assert client.release_agent_domain(agent).wait() == DirectoryEntry(agent, "", newcomer.address)
    other = register()
    assert connect(owner).update_agent(other, domain=domain).wait() == DirectoryEntry(other, domain, owner.address)


def test_only_the_owner_releases_a_domain(connect, newcomer, owner):
    agent = connect(newcomer).new_agent(f"{newcomer.address}.kept").wait().agent
    with pytest.raises(ContractRevertError) as caught:
        connect(owner).release_agent_domain(agent)
    assert caught.value.reason == "unauthorized_update"


def test_an_unknown_domain_or_address_is_refused(connect, newcomer):
    client = connect(newcomer)
    for attempt in (
        lambda: client.resolve_by_domain("nobody.example"),
        lambda: client.resolve_by_address(newcomer.address),
        lambda: client.update_agent(2**200, domain="x"),
    ):
        with pytest.raises(ContractRevertError) as caught:
            attempt()
        assert caught.value.reason == "agent_not_found"


def test_a_domain_is_held_once(connect, newcomer, register, owner):
    domain = f"{newcomer.address}.example"
    connect(newcomer).new_agent(domain).wait()
    agent = register()
    with pytest.raises(ContractRevertError) as caught:
        connect(owner).update_agent(agent, domain=domain.upper())
    assert caught.value.reason == "domain_already_registered"


def test_an_account_chooses_whom_it_speaks_as(connect, owner, register):
    first, second = register(), register()
    client = connect(owner)
    assert client.set_primary_agent(second).wait() == PrimaryAgentChosen(owner.address, second)
    assert client.resolve_by_address(owner.address).agent == second
    client.set_primary_agent(first).wait()
    assert client.resolve_by_address(owner.address).agent == first


def test_nobody_speaks_as_a_strangers_agent(connect, other_owner, agent):
    with pytest.raises(ContractRevertError) as caught:
        connect(other_owner).set_primary_agent(agent)
    assert caught.value.reason == "not_owner_or_wallet"
    assert caught.value.arguments == {"account": other_owner.address, "agentId": agent.token_id}


def test_an_update_changes_something(connect, owner, agent):
    with pytest.raises(InvalidArgumentError, match="pass a new domain"):
        connect(owner).update_agent(agent)
