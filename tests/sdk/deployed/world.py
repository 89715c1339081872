"""A chain with stand-ins for the canonical registries at their real addresses, and with this project's registries."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ape
from eth_account import Account
from web3 import HTTPProvider, Web3

from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.documents import Limits, Loader, Network
from scripts._anvil import running_anvil
from tests.deployed import IMPLEMENTATION_SLOT
from tests.sdk.client.helpers import abi_of, deploy

CHAIN_ID = 8453
CANONICAL = Deployment.canonical(CHAIN_ID)

Account.enable_unaudited_hdwallet_features()
MNEMONIC = "test test test test test test test test test test test junk"


def person(number):
    """Return an account that the chain has given ether."""
    return Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{number}")


OWNER, REVIEWER, CHECKER, PAYER = map(person, range(1, 5))


@dataclass
class World:
    """A deployment with two agents, and clients of one kind for the people that use it.

    Attributes:
        web3: The chain, for plain web3.py.
        connect: Makes a client: takes a signer and settings.
        agent: The agent under test: the owner's, and the first of its registry.
        other: Another agent, the reviewer's.
    """

    web3: Web3
    connect: Any
    agent: int
    other: int

    def __post_init__(self):
        """Connect the people."""
        self.owner, self.reviewer, self.checker, self.payer = map(self.connect, (OWNER, REVIEWER, CHECKER, PAYER))

    def newcomer(self):
        """Return a client of an account that has never sent anything, with ether."""
        fresh = Account.create()
        self.web3.provider.make_request("anvil_setBalance", [fresh.address, hex(10**20)])
        return self.connect(fresh)


@contextmanager
def canonical_chain(*options):
    """Run a chain with the stand-ins, and yield its URL."""
    with running_anvil("--chain-id", str(CHAIN_ID), "--gas-limit", str(10**9), *options) as url:
        put_stand_ins(Web3(HTTPProvider(url)))
        yield url


def put_stand_ins(web3):
    """Put the stand-ins behind proxies at the addresses of the address book."""
    owner = web3.eth.accounts[0]
    proxy = "0x" + ape.project.MockDeployedProxy.contract_type.runtime_bytecode.bytecode.removeprefix("0x")
    for attribute, name, arguments in (
        ("identity", "MockDeployedIdentityRegistry", ()),
        ("reputation", "MockDeployedReputationRegistry", (CANONICAL.identity,)),
        ("validation", "MockDeployedValidationRegistry", (CANONICAL.identity,)),
    ):
        address = getattr(CANONICAL, attribute)
        container = getattr(ape.project, name)
        implementation = deploy(web3, container)
        word = "0x" + bytes.fromhex(implementation[2:]).rjust(32, b"\0").hex()
        web3.provider.make_request("anvil_setCode", [address, proxy])
        web3.provider.make_request("anvil_setStorageAt", [address, hex(IMPLEMENTATION_SLOT), word])
        contract = web3.eth.contract(address=address, abi=abi_of(container))
        sent = contract.functions.initialize(owner, *arguments).transact({"from": owner})
        assert web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)["status"] == 1


def put_ours(web3):
    """Deploy this project's registries, and return their addresses."""
    identity = deploy(web3, ape.project.IdentityRegistry)
    names = ("BidirectionalReputationRegistry", "AuthorizedReputationRegistry", "ValidationRegistry")
    others = (deploy(web3, getattr(ape.project, name), identity) for name in names)
    token = deploy(web3, ape.project.MockPaymentToken)
    roles = (OWNER.address, CHECKER.address)
    buyers = deploy(web3, ape.project.BuyerReputationRegistry, identity, [token], *roles)
    verifier = deploy(web3, ape.project.TierProofVerifier)
    tier_proofs = deploy(web3, ape.project.BuyerTierProofs, buyers, verifier)
    return Deployment(CHAIN_ID, identity, *others, buyers=buyers, tier_proofs=tier_proofs)


def put_companion(web3):
    """Deploy a companion of the canonical identity registry with registries on top, and read their record."""
    companion = deploy(web3, ape.project.CompanionDirectory, CANONICAL.identity)
    names = ("BidirectionalReputationRegistry", "AuthorizedReputationRegistry")
    places = {name: deploy(web3, getattr(ape.project, name), companion) for name in names}
    contracts = {name: {"address": place} for name, place in ({"CompanionDirectory": companion} | places).items()}
    return Deployment.from_record(json.dumps({"chainId": CHAIN_ID, "contracts": contracts}))


def loader():
    """Return a loader that may connect to this machine."""
    return Loader(limits=Limits(bytes=64 * 1024, seconds=60), gateways=(), network=Network(allow_private=True))


def make_world(url, deployment=None, kind=Client):
    """Register two agents, and return the world of a deployment; that which the package chooses when left out."""

    def connect(signer=None, **settings):
        defaults = {"deployment": deployment, "loader": loader(), "poll_interval": 0.01}
        return kind(settings.pop("rpc", url), signer=signer, **defaults | settings)

    agent, other = (connect(who).register_agent().wait().agent.token_id for who in (OWNER, REVIEWER))
    return World(Web3(HTTPProvider(url)), connect, agent, other)


COLUMNS = ("canonical", "with companion", "this project's")
"""The deployments that the table compares."""


def make_worlds(url, kind=Client):
    """Return a world for each deployment that the table compares."""
    return {
        "canonical": make_world(url, None, kind),
        "with companion": make_world(url, put_companion(Web3(HTTPProvider(url))), kind),
        "this project's": make_world(url, put_ours(Web3(HTTPProvider(url))), kind),
    }
