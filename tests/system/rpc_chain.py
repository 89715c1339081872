"""A chain for the system-wide test, driven by plain JSON-RPC, so that a hundred thousand steps end within the hour.

It is an anvil of its own. Blocks are mined when asked for, because a node that mines by itself can lose a transaction
that follows a restored snapshot, and time stands still until it is moved: what a call answers is then what the same
transaction does.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ape
from eth_abi import encode
from eth_account import Account
from eth_utils import keccak, to_checksum_address

from scripts._anvil import running_anvil
from simulation.event_chain import Node
from tests.calls import encoded

REGISTRIES = {
    "identity": "IdentityRegistry",
    "open": "BidirectionalReputationRegistry",
    "plain": "ReputationRegistry",
    "authorised": "AuthorizedReputationRegistry",
    "validation": "ValidationRegistry",
}
"""The registries, by what they are called here."""

GAS = hex(16_000_000)
GAS_OF_WITNESS = hex(500_000_000)
ETHER = hex(10**24)


@contextmanager
def running_chain():
    """A fresh chain, for as long as the context lasts."""
    with running_anvil("--no-mining") as url, closing(Node(url)) as node:
        yield Chain(node)


@dataclass(frozen=True)
class Person:
    """An account that calls registries.

    Attributes:
        address: The account.
        key: Signs for it: its own key, or that of the contract wallet.
    """

    address: str
    key: Any


class Chain:
    """The registries on a fresh chain, and some people.

    Attributes:
        people: Five plain accounts, and a contract wallet (ERC-1271) whose key belongs to the fifth of them.
        addresses: The registries' addresses, by what they are called here.
        id: The chain's id.
    """

    def __init__(self, node):
        self.node, self._request = node.rpc, node.request
        self.node("anvil_setBlockTimestampInterval", 0)
        self.node("anvil_autoImpersonateAccount", True)
        self.id = int(self.node("eth_chainId"), 16)
        keys = [Account.from_key(keccak(text=f"person {number}")) for number in range(5)]
        self.people = [Person(key.address, key) for key in keys]
        for person in self.people:
            self.node("anvil_setBalance", person.address, ETHER)
        self.people.append(Person(self.deploy("MockWallet", keys[4].address), keys[4]))
        self.node("anvil_setBalance", self.people[-1].address, ETHER)

        identity = self.deploy(REGISTRIES["identity"])
        others = {name: self.deploy(REGISTRIES[name], identity) for name in list(REGISTRIES)[1:]}
        self.addresses = {"identity": identity, **others}
        self.addresses["witness"] = self.deploy("MockWitness")

    @cached_property
    def witness(self):
        return self.addresses["witness"]

    @property
    def now(self):
        return int(self.node("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    def snapshot(self):
        return self.node("evm_snapshot")

    def restore(self, snapshot):
        assert self.node("evm_revert", snapshot) is True

    def wait(self, time):
        """Set the time of the chain."""
        self.node("evm_setNextBlockTimestamp", time)
        self.node("evm_mine")

    def call(self, caller, target, data, value=0):
        """Simulate a transaction. Return `("result", data)` or `("error", data)`."""
        response = self._request("eth_call", self._transaction(caller, target, data, value), "latest")
        if "error" in response:
            return "error", bytes.fromhex(response["error"]["data"][2:])
        return "result", bytes.fromhex(response["result"][2:])

    def send(self, caller, target, data, value=0):
        """Make a transaction, and return its receipt."""
        transaction = self.node("eth_sendTransaction", self._transaction(caller, target, data, value))
        self.node("evm_mine")
        return self.node("eth_getTransactionReceipt", transaction)

    def hear(self, questions, count):
        """Ask the witness, and return the hashes of the answers in sequence."""
        data = encoded.__wrapped__("hear(bytes,uint256)", questions, count)
        call = {"to": self.witness, "data": f"0x{data.hex()}", "gas": GAS_OF_WITNESS}
        return bytes.fromhex(self.node("eth_call", call, "latest")[2:])[64:]

    def deploy(self, name, *arguments):
        """Deploy a contract whose constructor takes addresses."""
        code = bytes(ape.project.get_contract(name).contract_type.get_deployment_bytecode())
        receipt = self.send(self.people[0].address, None, code + encode(["address"] * len(arguments), arguments))
        assert int(receipt["status"], 16) == 1, name
        return to_checksum_address(receipt["contractAddress"])

    def _transaction(self, caller, target, data, value):
        return {"from": caller, "to": target, "data": f"0x{data.hex()}", "value": hex(value), "gas": GAS}
