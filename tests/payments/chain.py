"""A real chain with x402's contracts at their own addresses, on which made-up payments happen."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count

from ape import project
from web3 import HTTPProvider, Web3

from bilateral.core.contracts import Deployment
from bilateral.documents import DataUriStore, RegistrationFile
from simulation.event_chain import Node
from tests.payments import wire
from tests.payments.stories import AGENTS, BUYERS, WALLETS
from tests.permit2 import place_contracts
from tests.sdk.client.helpers import abi_of, deploy
from tests.x402.world import signer_entry

OPTIONS = ("--gas-limit", str(10**9), "--no-mining", "--order", "fifo")
MOST = 2**256 - 1

_FUNDS = 10**30
_TRANSACTIONS_A_BLOCK = 60


class Chain:
    """The chain, its tokens and its people. Transactions wait for `mine`.

    Attributes:
        tokens: The address of each token by its name.
        buyers: The accounts that pay.
        wallets: The accounts that are paid: those of the agents, and last a stranger's.
    """

    def __init__(self, url):
        self.node = Node(url)
        self.web3 = Web3(HTTPProvider(url))
        self._ids = count(1)
        self._waiting, self._nonces = [], Counter()
        self.rpc("evm_setAutomine", True)
        self.rpc("anvil_autoImpersonateAccount", True)
        place_contracts(self.rpc, project)
        self.tokens = {
            "dollar": deploy(self.web3, project.MockPaymentTokenWithPermit),
            "taxed": deploy(self.web3, project.TokenSplitsTransfers),
            "foreign": deploy(self.web3, project.MockPaymentTokenWithPermit),
            "pretender": deploy(self.web3, project.TokenMovesAnotherToken),
        }
        self.emitter = deploy(self.web3, project.MockLogEmitter)
        self.sponsor = deploy(self.web3, project.MockSponsorCollector)
        self.facilitator, self.relayer, self.front_runner, self.patron = (
            wire.Account(name) for name in ("facilitator", "relayer", "front-runner", "patron")
        )
        self.buyers = [self._buyer(number) for number in range(BUYERS)]
        self.sellers = [wire.Account(f"seller {number}") for number in range(AGENTS + 1)]
        self.wallets = [seller.address for seller in self.sellers]
        self.agents = []
        self._register()
        self._fund()

    def rpc(self, method, *parameters):
        return self.node.rpc(method, *parameters)

    def batch(self, *requests):
        """Send requests at once, and return their results."""
        body = [
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": parameters}
            for method, *parameters in requests
        ]
        answers = json.loads(self.node.post(json.dumps(body).encode())[1]) if body else []
        if problems := [answer["error"] for answer in answers if "error" in answer]:
            raise RuntimeError(problems[0])
        order = {request["id"]: place for place, request in enumerate(body)}
        return [answer["result"] for answer in sorted(answers, key=lambda answer: order[answer["id"]])]

    def send(self, sender, to, data, then=lambda _: None):
        """Send a transaction, and do something with its hash once it is sent."""
        self._waiting.append((sender.transaction(self._nonces[sender.key_holder], to, data), then))
        self._nonces[sender.key_holder] += 1

    def mine(self):
        """Mine all transactions that wait, in several blocks, and return how many failed."""
        failed = 0
        while self._waiting:
            now, self._waiting = self._waiting[:_TRANSACTIONS_A_BLOCK], self._waiting[_TRANSACTIONS_A_BLOCK:]
            hashes = self.batch(*(("eth_sendRawTransaction", "0x" + sent.hex()) for sent, _ in now))
            self.rpc("evm_mine")
            receipts = self.batch(*(("eth_getTransactionReceipt", sent) for sent in hashes))
            assert None not in receipts, "the block is full"
            failed += sum(receipt["status"] != "0x1" for receipt in receipts)
            for (_, then), sent in zip(now, hashes, strict=True):
                then(sent)
        return failed

    @property
    def time(self):
        return int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    def _buyer(self, number):
        """Return a buyer. Every fifth one has a contract wallet, which is the account that pays."""
        name = f"buyer {number}"
        if number not in WALLETS:
            return wire.Account(name)
        return wire.Wallet(name, deploy(self.web3, project.MockWallet, wire.Account(name).address))

    def _register(self):
        """Register an agent for each seller but the last, with a file that lists the server's key."""
        identity = deploy(self.web3, project.IdentityRegistry)
        reputation = deploy(self.web3, project.BidirectionalReputationRegistry, identity)
        self.deployment = Deployment(wire.CHAIN_ID, identity=identity, reputation=reputation)
        registry = self.web3.eth.contract(address=identity, abi=abi_of(project.IdentityRegistry))
        for seller in self.sellers[:AGENTS]:
            self.rpc("anvil_setBalance", seller.address, hex(10**20))
            agent = registry.functions["register()"]().call({"from": seller.address})
            entry = {"agentId": agent, "agentRegistry": str(self.deployment.agent_registry)}
            image = "https://agent.example/i.png"
            file = RegistrationFile.new("Seller", "It sells", image, signers=[signer_entry()], registrations=[entry])
            uri = DataUriStore().put(file.to_bytes()).uri
            receipt = self.web3.eth.wait_for_transaction_receipt(
                registry.functions["register(string)"](uri).transact({"from": seller.address}), poll_latency=0.02
            )
            assert receipt["status"] == 1
            self._nonces[seller.address] += 1
            self.agents.append(agent)

    def _fund(self):
        """Give everybody ether and tokens, and all spenders of the stories an allowance."""
        people = [self.facilitator, self.relayer, self.front_runner, self.patron, *self.buyers, *self.sellers]
        for person in people:
            self.rpc("anvil_setBalance", person.key_holder, hex(_FUNDS))
        self.rpc("evm_setAutomine", False)
        for name in ("dollar", "taxed", "foreign"):
            token = self.tokens[name]
            for person in (*self.buyers, *self.sellers, self.patron):
                self.send(self.relayer, token, wire.call("mint(address,uint256)", person.address, 10**15))
                for spender in (wire.PERMIT2, wire.ROUTER, self.tokens["pretender"], self.sponsor):
                    self.send(person, token, wire.call("approve(address,uint256)", spender, MOST))
        assert self.mine() == 0
