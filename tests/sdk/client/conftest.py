"""Fixtures of the client's tests: a real chain with all registries, accounts by role, clients of both kinds.

The chain lives for a session and only grows: each test registers the agents that it needs.
"""

from __future__ import annotations

import pytest
from eth_account import Account
from web3 import HTTPProvider, Web3

from bilateral.client import Client
from bilateral.client.operations import confirmations
from bilateral.core.contracts import Deployment, Registry
from bilateral.core.identifiers import AgentId
from scripts._anvil import running_anvil
from tests.sdk.client.helpers import Awaited, deploy, plain, transact
from tests.sdk.client.unreliable import UnreliableNode

MNEMONIC = "test test test test test test test test test test test junk"

Account.enable_unaudited_hdwallet_features()


def account(number):
    return Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{number}")


@pytest.fixture(scope="session")
def rpc():
    """The URL of a chain with blocks so large that texts of 100 kB get into storage, as on some second layers."""
    with running_anvil("--gas-limit", str(10**9)) as url:
        yield url


@pytest.fixture(scope="session")
def web3(rpc):
    """Plain web3.py, as any other client of the registries uses it."""
    return Web3(HTTPProvider(rpc))


@pytest.fixture(scope="session")
def deployment(web3, project):
    """All registries on the chain."""
    identity = deploy(web3, project.IdentityRegistry)
    return Deployment(
        chain_id=web3.eth.chain_id,
        identity=identity,
        reputation=deploy(web3, project.BidirectionalReputationRegistry, identity),
        authorized=deploy(web3, project.AuthorizedReputationRegistry, identity),
        validation=deploy(web3, project.ValidationRegistry, identity),
    )


@pytest.fixture(scope="session")
def owner():
    """Owns the agent under test."""
    return account(1)


@pytest.fixture(scope="session")
def other_owner():
    """Owns other agents."""
    return account(2)


@pytest.fixture(scope="session")
def reviewer():
    """Uses the agent under test and rates it."""
    return account(3)


@pytest.fixture(scope="session")
def other_reviewer():
    """Uses the agent under test as well."""
    return account(4)


@pytest.fixture(scope="session")
def checker():
    """Validates the work of the agent under test."""
    return account(5)


@pytest.fixture(scope="session")
def payer():
    """Pays for what others signed."""
    return account(6)


@pytest.fixture
def newcomer(web3):
    """An account that has never sent anything, with ether."""
    fresh = Account.create()
    web3.provider.make_request("anvil_setBalance", [fresh.address, hex(10**20)])
    return fresh


@pytest.fixture(params=[Client, Awaited], ids=["Client", "AsyncClient"])
def connect(request, rpc, deployment, loader):
    """Makes a client with a signer: of one kind, and then of the other."""
    clients = []

    def make(signer=None, *, to=rpc, **settings):
        defaults = {"deployment": deployment, "loader": loader, "poll_interval": 0.02}
        clients.append(request.param(to, signer=signer, **defaults | settings))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def register(web3, deployment, owner):
    """Registers an agent by plain web3.py, and returns its id."""
    identity = plain(web3, Registry.IDENTITY, deployment.identity)

    def make(by=owner, uri=""):
        receipt = transact(web3, identity.get_function_by_signature("register(string)")(uri), by)
        return AgentId(int(receipt["logs"][0]["topics"][3].hex(), 16), deployment.chain_id)

    return make


@pytest.fixture
def agent(register):
    """An agent of the owner's, without a file."""
    return register()


@pytest.fixture
def node(rpc):
    """A node that misbehaves as a test wants it to."""
    with UnreliableNode(rpc) as running:
        yield running


@pytest.fixture
def held(web3, agent):
    """The chain puts nothing into a block until told to by the fixture's call."""
    web3.provider.make_request("anvil_setAutomine", [False])
    yield lambda: web3.provider.make_request("anvil_mine", [])
    web3.provider.make_request("anvil_dropAllTransactions", [])
    web3.provider.make_request("anvil_setAutomine", [True])


@pytest.fixture
def impatient(monkeypatch):
    """Clients that do not wait for long until two nodes behind one name agree."""
    monkeypatch.setattr(confirmations, "LAG_SECONDS", 0.1)
