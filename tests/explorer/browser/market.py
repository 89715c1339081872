"""A chain with two agents that an index follows while pages act on it."""

from __future__ import annotations

import secrets
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import httpx
from eth_abi import encode
from eth_account import Account
from eth_utils.crypto import keccak
from web3 import HTTPProvider, Web3

from bilateral.api.settings import ApiSettings
from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.dev.contracts import LocalChain
from bilateral.documents import RegistrationFile
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.payments.terms import PaymentTerms
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain
from scripts._anvil import running_anvil
from tests.api.world import ALICE, BOB, served
from tests.sdk.client.helpers import send, signed_payment
from tests.waiting import until, wait_until

IMAGE = "https://agent.example/image.png"
FILES = "https://explorer.example/files"
"""The public URL of the files that the service keeps."""

_TERMS = ("address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes")
_PAY = keccak(text=f"transferWithAuthorization({','.join(_TERMS)})")[:4]


@dataclass(frozen=True)
class Market:
    """The chain with its service.

    Attributes:
        url: The node.
        site: The service.
        deployment: The registries.
        token: The payment token.
        files: The folder of the files that the service keeps.
    """

    url: str
    site: str
    deployment: Deployment
    token: str
    files: Path

    def node(self, method, *parameters):
        """Ask the node."""
        answer = httpx.post(self.url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
        return answer.json()["result"]

    def client(self, account):
        """Return an SDK client of an account."""
        return Client(self.url, signer=account, deployment=self.deployment, poll_interval=0.02)

    @property
    def head(self):
        """The number of the last block."""
        return int(self.node("eth_blockNumber"), 16)

    def pay(self, payer, payee, amount):
        """Pay in test dollars by EIP-3009, wait until the index has the payment, and return the transaction."""
        LocalChain(self.url).mint(self.token, payer.address, amount)
        web3 = Web3(HTTPProvider(self.url))
        payment = signed_payment(payer, payee, amount, secrets.token_bytes(32), self.token)
        terms = encode(_TERMS, [getattr(payment, field.name) for field in fields(payment)][: len(_TERMS)])
        receipt = send(web3, payer, self.token, _PAY + terms)
        block = receipt["blockNumber"]
        wait_until(lambda: any(paid["block"] == block for paid in self.page(f"/accounts/{payer.address}")["paid"]))
        return receipt["transactionHash"].to_0x_hex()

    def await_page(self, path):
        """Wait until the index has a page."""
        wait_until(lambda: self.page(path))

    def await_row(self, path, rows):
        """Wait until a page has rows, and return the first."""
        return until(lambda: rows(self.page(path)), bool)[0]

    def page(self, path):
        """Return the content of a page as JSON; None if there is none."""
        answer = httpx.get(f"{self.site}{path}.json")
        return answer.json() if answer.is_success else None


@contextmanager
def running_market(folder):
    """Run the chain, the index and the service; yield the market once the agents are indexed."""
    with ExitStack() as stack:
        url = stack.enter_context(running_anvil("--gas-limit", str(10**9)))
        record, token = LocalChain(url).deploy()
        contracts = {name: entry["address"] for name, entry in record["contracts"].items()}
        deployment = Deployment(
            31337,
            contracts["IdentityRegistry"],
            contracts["BidirectionalReputationRegistry"],
            contracts["AuthorizedReputationRegistry"],
            contracts["ValidationRegistry"],
            buyers=contracts["BuyerReputationRegistry"],
        )
        for account, name in ((ALICE, "Weather"), (BOB, "Traveller")):
            with Client(url, signer=account, deployment=deployment, poll_interval=0.02) as client:
                client.register_agent(file=RegistrationFile.new(name, "For tests", IMAGE)).wait()
        database = f"sqlite:///{folder / 'index.sqlite'}"
        stack.enter_context(following(url, deployment, token, database))
        settings = ApiSettings(
            database=database,
            rate=None,
            query_seconds=60.0,
            nodes={"31337": url},
            aggregator=sponsoring(url, deployment, token),
            store=str(folder / "files"),
            store_url=FILES,
        )
        site = stack.enter_context(served(settings))
        market = Market(url, site, deployment, token, folder / "files")
        wait_until(lambda: market.page("/31337/2"))
        yield market


def sponsoring(url, deployment, token):
    """Return settings of an aggregator that pays for feedback on the chain."""
    sponsor = Account.create()
    Web3(HTTPProvider(url)).provider.make_request("anvil_setBalance", [sponsor.address, hex(10**20)])
    chain = SponsoredChain(url, deployment, sponsor, {token: 1_000}, budget=10**18, confirmations=1, poll_seconds=0.05)
    return AggregatorSettings((chain,), allow_private=True)


@contextmanager
def following(url, deployment, token, database):
    """Follow a chain in a thread."""
    engine, stop = open_database(database), threading.Event()
    chain = ChainSettings(
        (url,), (deployment,), 0, payments=PaymentTerms({token: 6}, confirmations=1, counts_plain=True)
    )
    settings = IndexSettings((chain,), database, poll_seconds=0.05, analyses=False)
    thread = threading.Thread(target=follow_chains, args=(engine, settings), kwargs={"stop": stop}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        engine.dispose()
