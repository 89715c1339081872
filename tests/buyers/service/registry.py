"""A chain with the real registries and a payment token, and the service's index of it."""

from __future__ import annotations

import threading
from itertools import count

import ape
from eth_account import Account
from eth_utils.crypto import keccak
from web3 import HTTPProvider, Web3

from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.buyer_terms import SignedPayment
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.payments.terms import PaymentTerms
from scripts._payments import payment_message
from tests.sdk.client.helpers import abi_of, deploy
from tests.sdk.deployed.world import MNEMONIC, person

CHAIN = 31337
DOLLAR = 1_000_000
SELLER, FACILITATOR, SERVICE, BUYER = (person(number) for number in (2, 3, 4, 5))
"""The service is the attestor and the anchorer."""

Account.enable_unaudited_hdwallet_features()
assert MNEMONIC.startswith("test ")  # the chain's own accounts

_numbers = count(1)


class RealMarket:
    """Real registries on an anvil, with one seller.

    Args:
        url: The node.
    """

    def __init__(self, url):
        self.url = url
        self.web3 = Web3(HTTPProvider(url))
        identity = deploy(self.web3, ape.project.IdentityRegistry)
        reputation = deploy(self.web3, ape.project.BidirectionalReputationRegistry, identity)
        self.token = deploy(self.web3, ape.project.MockPaymentToken)
        roles = SERVICE.address, SERVICE.address
        buyers = deploy(self.web3, ape.project.BuyerReputationRegistry, identity, [self.token], *roles)
        self.deployment = Deployment(CHAIN, identity, reputation, buyers=buyers)
        self.connect(SELLER).register_agent().wait()
        self.seller_id = f"eip155:{CHAIN}:{identity}#1"
        self.fund(BUYER.address)

    def connect(self, signer=None):
        """Return a client of an account."""
        return Client(self.url, signer=signer, deployment=self.deployment, poll_interval=0.01)

    def contract(self, name, address):
        """Return a contract for plain web3.py."""
        return self.web3.eth.contract(address=address, abi=abi_of(getattr(ape.project, name)))

    def transact(self, function):
        """Send a transaction from the chain's first account, and wait for it."""
        sent = function.transact({"from": self.web3.eth.accounts[0]})
        receipt = self.web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)
        assert receipt["status"] == 1
        return receipt

    def fund(self, account):
        """Give an account dollars."""
        self.transact(self.contract("MockPaymentToken", self.token).functions.mint(account, 10**6 * DOLLAR))

    def signed(self, amount, buyer=BUYER, payee=SELLER.address, payer=None):
        """Return a payment that a buyer signed; of a contract wallet if `payer` names one."""
        nonce = keccak(text=f"payment {next(_numbers)}")
        terms = (payer or buyer.address, payee, amount, 0, 2**32, nonce)
        message = payment_message(terms, self.token, CHAIN)
        return SignedPayment(*terms, bytes(buyer.sign_message(message).signature), self.token)

    def settle(self, amount, **terms):
        """Settle a payment through the registry, and return the hash of its transaction."""
        handle = self.connect(FACILITATOR).settle_payment(self.signed(amount, **terms))
        handle.wait()
        return handle.hash

    def index(self, database, confirmations=1):
        """Index the chain with its payments to its head."""
        engine = open_database(database)
        terms = PaymentTerms({self.token: 6}, confirmations)
        chain = ChainSettings((self.url,), (self.deployment,), from_block=0, payments=terms)
        settings = IndexSettings((chain,), files=FileSettings(workers=0), analyses=False)
        follow_chains(engine, settings, stop=threading.Event(), until_head=True)
        engine.dispose()
