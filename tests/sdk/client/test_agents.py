"""Agents by the client: registering, loading, changing, handing on."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from eth_account import Account
from web3 import HTTPProvider, Web3

from bilateral.client import AgentTransferred, AgentUriSet, AgentWalletChanged, MetadataChanged, Registered
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import (
    InvalidArgumentError,
    MalformedDocumentError,
    MalformedIdentifierError,
    MissingSignerError,
)
from bilateral.core.identifiers import GlobalAgentId
from bilateral.core.signatures import AgentWalletSet, Domain
from bilateral.documents import DataUriStore, RegistrationFile
from scripts._anvil import running_anvil
from tests.sdk.client.helpers import deploy, nonce_of
from tests.sdk.client.unreliable import answers

pytestmark = pytest.mark.one_client

FILE = RegistrationFile.new("Weather agent", "Forecasts", "https://agent.example/i.png")


def test_an_agent_is_registered_by_uri(connect, owner, deployment):
    handle = connect(owner).register_agent("https://agent.example/registration.json")
    assert len(handle.hash) == 66
    result = handle.wait()
    assert result == Registered(result.agent, owner.address, "https://agent.example/registration.json")
    assert result.agent.chain_id == deployment.chain_id


def test_an_agent_is_registered_without_a_uri(connect, owner):
    client = connect(owner)
    agent = client.load_agent(client.register_agent().wait().agent)
    assert (agent.uri, agent.file, agent.file_problem, agent.wallet) == ("", None, None, owner.address)


def test_an_agent_is_registered_with_a_file_and_metadata(connect, owner):
    client = connect(owner)
    result = client.register_agent(file=FILE, metadata={"version": "1.0", "key": b"\xff\x00"}).wait()
    assert result.metadata == (("version", b"1.0"), ("key", b"\xff\x00"))
    assert client.get_metadata(result.agent, "key") == b"\xff\x00"
    agent = client.load_agent(result.agent)
    assert (agent.name, agent.description, agent.image) == ("Weather agent", "Forecasts", "https://agent.example/i.png")
    assert not agent.is_confirmed  # before it is registered, a file cannot name the agent


def test_an_agent_has_a_file_or_a_uri(connect, owner):
    with pytest.raises(InvalidArgumentError, match="not both"):
        connect(owner).register_agent("data:,", file=FILE)


def test_the_wallets_key_is_reserved(connect, owner, web3):
    before = nonce_of(web3, owner)
    with pytest.raises(ContractRevertError) as caught:
        connect(owner).register_agent(metadata={"agentWallet": b"\1" * 20})
    assert caught.value.reason == "reserved_key"
    assert "set_agent_wallet" in caught.value.advice
    assert caught.value.transaction is None
    assert nonce_of(web3, owner) == before


def test_a_file_set_later_names_the_agent(connect, owner, agent):
    client = connect(owner)
    result = client.set_agent_uri(agent, file=FILE).wait()
    assert result == AgentUriSet(agent, result.uri, owner.address)
    loaded = client.load_agent(agent)
    assert loaded.is_confirmed
    assert loaded.uri == result.uri
    client.set_agent_uri(agent, file=loaded.file).wait()
    assert client.load_agent(agent).file == loaded.file  # it names the agent already


def test_a_file_may_be_left_alone(connect, owner, agent):
    client = connect(owner)
    client.set_agent_uri(agent, "https://unreachable.invalid/").wait()
    loaded = client.load_agent(agent, load_file=False)
    assert (loaded.file, loaded.file_problem) == (None, None)


def test_a_file_that_cannot_be_read_is_reported(connect, owner, agent):
    client = connect(owner)
    client.set_agent_uri(agent, DataUriStore().put(b"[]").uri).wait()
    loaded = client.load_agent(agent)
    assert loaded.file is None
    assert isinstance(loaded.file_problem, MalformedDocumentError)


@pytest.mark.parametrize("form", ["bare", "with chain", "global", "object", "number"])
def test_an_agent_is_named_in_any_form(connect, agent, deployment, form):
    everywhere = GlobalAgentId(deployment.agent_registry, str(agent.token_id))
    name = {
        "bare": str(agent.token_id),
        "with chain": str(agent),
        "global": str(everywhere),
        "object": everywhere,
        "number": agent.token_id,
    }[form]
    assert connect().load_agent(name).id == agent


@pytest.mark.parametrize("name", ["1:1", "eip155:31337:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432#1", "x"])
def test_an_agent_from_elsewhere_is_refused(connect, name):
    with pytest.raises(MalformedIdentifierError):
        connect().load_agent(name)


def test_an_unknown_agent_is_refused(connect):
    with pytest.raises(ContractRevertError) as caught:
        connect().load_agent(2**255)
    assert caught.value.reason == "erc721_nonexistent_token"


def test_a_stranger_changes_nothing(connect, other_owner, agent, web3):
    client, before = connect(other_owner), nonce_of(web3, other_owner)
    for attempt in (
        lambda: client.set_agent_uri(agent, "data:,"),
        lambda: client.set_metadata(agent, "key", b""),
        lambda: client.unset_agent_wallet(agent),
        lambda: client.set_agent_wallet(agent, other_owner.address),
    ):
        with pytest.raises(ContractRevertError) as caught:
            attempt()
        assert caught.value.reason == "not_authorized"
    with pytest.raises(ContractRevertError) as caught:
        client.transfer_agent(agent, other_owner.address)
    assert caught.value.reason == "erc721_insufficient_approval"
    assert nonce_of(web3, other_owner) == before


def test_a_wallet_agrees_with_its_key(connect, owner, agent):
    client, wallet = connect(owner), Account.create()
    result = client.set_agent_wallet(agent, wallet.address.lower(), new_wallet_signer=wallet).wait()
    assert result == AgentWalletChanged(agent, wallet.address)
    assert client.load_agent(agent).wallet == wallet.address


def test_a_wallet_agrees_by_a_signature_from_elsewhere(connect, owner, agent, web3, deployment):
    wallet = Account.create()
    deadline = web3.eth.get_block("latest")["timestamp"] + 200
    message = AgentWalletSet(agent.token_id, wallet.address, owner.address, deadline)
    signature = wallet.sign_message(message.signable(Domain(deployment.chain_id, deployment.identity))).signature
    moment = datetime.fromtimestamp(deadline, UTC)
    client = connect(owner)
    result = client.set_agent_wallet(agent, wallet.address, signature=bytes(signature), deadline=moment).wait()
    assert result.wallet == wallet.address


def test_the_owner_may_be_the_wallet_again(connect, owner, agent):
    client = connect(owner)
    assert client.unset_agent_wallet(agent).wait() == AgentWalletChanged(agent, None)
    assert client.load_agent(agent).wallet is None
    assert client.set_agent_wallet(agent, owner.address).wait().wallet == owner.address


def test_a_wallet_that_does_not_sign_is_refused(connect, owner, agent):
    with pytest.raises(MissingSignerError, match="must sign"):
        connect(owner).set_agent_wallet(agent, Account.create().address)
    with pytest.raises(MissingSignerError, match="must sign"):
        connect(owner).set_agent_wallet(agent, Account.create().address, new_wallet_signer=Account.create())


def test_somebody_elses_signature_is_refused_before_it_is_sent(connect, owner, agent, web3):
    moment = datetime.fromtimestamp(web3.eth.get_block("latest")["timestamp"] + 200, UTC)
    before = nonce_of(web3, owner)
    with pytest.raises(ContractRevertError) as caught:
        connect(owner).set_agent_wallet(agent, Account.create().address, signature=b"\1" * 65, deadline=moment)
    assert caught.value.reason == "invalid_wallet_signature"
    assert nonce_of(web3, owner) == before


@pytest.mark.parametrize(("seconds", "reason"), [(-100, "expired"), (400, "deadline_too_far")])
def test_a_deadline_out_of_range_is_refused(connect, owner, agent, web3, seconds, reason):
    wallet = Account.create()
    moment = datetime.fromtimestamp(web3.eth.get_block("latest")["timestamp"], UTC) + timedelta(seconds=seconds)
    with pytest.raises(ContractRevertError) as caught:
        connect(owner).set_agent_wallet(agent, wallet.address, new_wallet_signer=wallet, deadline=moment)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("behind", "ahead_of_block"),
    [(-30, 240), (0, 240), (60, 300), (230, 300), (250, 490)],
    ids=["clock behind", "at once", "a minute", "less than four", "more than four"],
)
def test_a_consent_counts_for_minutes_from_the_next_block(connect, node, owner, agent, behind, ahead_of_block):
    begun = int(time.time())
    last = begun - behind
    node.interference["eth_getBlockByNumber"] = answers({"timestamp": hex(last)})
    data = connect(owner, to=node.url, dry_run=True).set_agent_wallet(agent, owner.address).transaction["data"]
    took = int(time.time()) - begun  # the clock goes on meanwhile
    assert 0 <= int(data[10 + 128 : 10 + 192], 16) - last - ahead_of_block <= took + 1


def test_a_wallet_is_set_where_there_was_no_block_for_long(connect, node, owner, agent):
    node.interference["eth_getBlockByNumber"] = answers({"timestamp": hex(int(time.time()) - 600)})
    assert connect(owner, to=node.url).set_agent_wallet(agent, owner.address).wait().wallet == owner.address


@pytest.fixture(scope="module")
def late_chain():
    """The URL of a chain whose clock is an hour behind this machine's."""
    with running_anvil("--timestamp", str(int(time.time()) - 3600)) as url:
        yield url


def test_a_clock_that_is_not_the_chains_is_told_with_both_times(connect, late_chain, project, owner):
    late = Web3(HTTPProvider(late_chain))
    deployment = Deployment(late.eth.chain_id, deploy(late, project.IdentityRegistry))
    client = connect(owner, to=late_chain, deployment=deployment)
    agent = client.register_agent().wait().agent
    now = datetime.fromtimestamp(late.eth.get_block("latest")["timestamp"], UTC)
    with pytest.raises(ContractRevertError, match="this machine's clock says") as caught:
        client.set_agent_wallet(agent, owner.address)
    assert (caught.value.error, caught.value.reason) == ("deadline too far", "deadline_too_far")
    assert now.isoformat() in caught.value.advice
    in_time = client.set_agent_wallet(agent, owner.address, deadline=now + timedelta(minutes=4))
    assert in_time.wait().wallet == owner.address


@pytest.mark.parametrize(
    "options",
    [{"signature": b""}, {"signature": b"", "deadline": datetime.now(UTC), "new_wallet_signer": Account.create()}],
)
def test_a_signature_comes_with_its_deadline_alone(connect, owner, agent, options):
    with pytest.raises(InvalidArgumentError, match="requires its deadline"):
        connect(owner).set_agent_wallet(agent, owner.address, **options)


def test_a_deadline_needs_a_time_zone(connect, owner, agent):
    with pytest.raises(InvalidArgumentError, match="time zone"):
        connect(owner).set_agent_wallet(agent, owner.address, deadline=datetime.now())  # noqa: DTZ005


def test_metadata_is_set(connect, owner, agent):
    client = connect(owner)
    assert client.set_metadata(agent, "clé", "ü").wait() == MetadataChanged(agent, "clé", "ü".encode())
    assert client.get_metadata(agent, "clé") == "ü".encode()
    assert client.get_metadata(agent, "other") == b""


def test_an_agent_is_handed_on(connect, owner, other_owner, agent):
    client = connect(owner)
    result = client.transfer_agent(agent, other_owner.address).wait()
    assert result == AgentTransferred(agent, owner.address, other_owner.address)
    assert client.get_agent_owner(agent) == other_owner.address
    assert client.load_agent(agent).wallet is None
    assert client.is_authorized_or_owner(other_owner.address, agent)
    assert not client.is_authorized_or_owner(owner.address, agent)


def test_a_client_without_a_signer_only_reads(connect, agent):
    client = connect()
    assert client.address is None
    with pytest.raises(MissingSignerError, match="signer="):
        client.set_metadata(agent, "key", b"")


def test_a_uri_is_replaced_by_one_or_erased_by_name(connect, owner, register):
    agent = register(uri="data:,before")
    client = connect(owner)
    with pytest.raises(InvalidArgumentError, match="a URI or a file"):
        client.set_agent_uri(agent)
    with pytest.raises(InvalidArgumentError, match="not both"):
        client.set_agent_uri(agent, "data:,x", file=FILE)
    assert client.load_agent(agent, load_file=False).uri == "data:,before"
    assert client.set_agent_uri(agent, "").wait().uri == ""
    assert client.set_agent_uri(agent, "", file=FILE).wait().uri.startswith("data:application/json")
