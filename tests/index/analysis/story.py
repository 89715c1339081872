"""A small market on a real chain: honest clients, and a ring of accounts that one account funds to praise one agent."""

from __future__ import annotations

import random

from eth_utils.crypto import keccak

from bilateral.core.contracts import Registry
from bilateral.core.identifiers import checksummed
from simulation.events import encoded

NOBODY = "0x" + "00" * 20
HOUR = 3600
DAY = 24 * HOUR
RING = 12


def account(name):
    """Return the address of a person of the story."""
    return checksummed("0x" + keccak(text=name)[-20:].hex())


class Market:
    """The story, told block by block.

    Args:
        chain: An `EventChain` without blocks.
    """

    def __init__(self, chain):
        self.chain = chain
        self.random = random.Random(7)  # noqa: S311  # the same story each time
        self.now = 1_800_000_000
        self.exchanges = [checksummed(address) for address in chain.rpc("eth_accounts")[1:7]]
        self.clients = [account(f"client {number}") for number in range(40)]
        self.owners = [account(f"owner {number}") for number in range(8)]
        self.master = account("master")
        self.ring = [account(f"ring {number}") for number in range(RING)]
        self.indices = {}
        self.funded = {}
        chain.rpc("anvil_autoImpersonateAccount", True)

    def block(self, *logs, after=HOUR):
        """Mine a block some seconds later."""
        self.now += after
        self.chain.rpc("evm_setNextBlockTimestamp", self.now)
        return self.chain.mine(logs)

    def pay(self, source, target, amount):
        """Send native tokens, in the next block."""
        call = {"from": source, "to": target, "value": hex(amount), "gas": hex(30_000), "gasPrice": hex(10**10)}
        return bytes.fromhex(self.chain.rpc("eth_sendTransaction", call)[2:])

    def fund(self, source, target, amount):
        """Fund an account in a block of its own."""
        hash_ = self.pay(source, target, amount)
        self.funded[target] = (source, amount, self.block(after=self.random.randint(HOUR, DAY)), hash_)

    def register(self, agent, owner):
        """Return the logs of a registration."""
        return (
            encoded(Registry.IDENTITY, "Transfer", NOBODY, owner, agent),
            encoded(Registry.IDENTITY, "Registered", agent, b"https://agent.example/%d" % agent, owner),
        )

    def feedback(self, agent, client, value):
        """Return the log of a feedback."""
        index = self.indices[agent, client] = self.indices.get((agent, client), 0) + 1
        return encoded(
            Registry.BIDIRECTIONAL,
            "NewFeedback",
            *(agent, client, index, value, 0),
            *(keccak(text="starred"), b"starred", b"", b"", b"", bytes(32)),
        )

    def tell(self):
        """Tell the whole story."""
        for number, owner in enumerate(self.owners, start=1):
            self.fund(self.random.choice(self.exchanges), owner, self.random.randint(10**17, 10**18))
            self.block(*self.register(number, owner))
        for client in self.clients:
            self.fund(self.random.choice(self.exchanges), client, self.random.randint(10**17, 10**18))
        for client in self.clients:
            for agent in self.random.sample(range(1, 8), 3):
                self.block(self.feedback(agent, client, self.random.randint(60, 95)))
        self.fund(self.exchanges[0], self.master, 10**19)
        self.block(*self.register(9, self.master))
        for member in self.ring:
            self.fund_at_once(member)
        for member in self.ring:
            self.block(self.feedback(9, member, 100), after=60)

    def fund_at_once(self, member):
        """Fund a member of the ring a minute after the one before."""
        hash_ = self.pay(self.master, member, 10**16)
        self.funded[member] = (self.master, 10**16, self.block(after=60), hash_)
