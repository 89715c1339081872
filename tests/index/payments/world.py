"""Payments as a token logs them, and a second reading of the chain that the index is compared with."""

from __future__ import annotations

from dataclasses import replace

from eth_account import Account
from eth_utils.crypto import keccak
from sqlalchemy import select

from bilateral.core.contracts import Registry, selectors
from bilateral.core.identifiers import checksummed
from bilateral.index.payments.tables import payment
from simulation.events import ADDRESSES, Log, encoded
from tests.index import conftest

DEPLOYMENT = replace(conftest.DEPLOYMENT, first_block=1)
TOKEN = checksummed("0x" + "70" * 20)
OTHER_TOKEN = checksummed("0x" + "71" * 20)
SELLER = Account.from_key(keccak(text="paid seller"))
NOBODY = "0x" + "00" * 20
TRANSFER = keccak(text="Transfer(address,address,uint256)")
USED = keccak(text="AuthorizationUsed(address,bytes32)")
IDENTITY = ADDRESSES[Registry.IDENTITY]
ID_TRANSFER, METADATA = (
    next(topic for topic, entry in selectors(Registry.IDENTITY, "event").items() if entry["name"] == name)
    for name in ("Transfer", "MetadataSet")
)


def account(name):
    """Return the address of a person."""
    return checksummed("0x" + keccak(text=name)[-20:].hex())


def word(address):
    return bytes(12) + bytes.fromhex(address[2:])


def transfer(sender, receiver, amount, token=TOKEN):
    """Return the log of a transfer."""
    return Log(token, (TRANSFER, word(sender), word(receiver)), amount.to_bytes(32))


def used(payer, nonce, token=TOKEN):
    """Return the log of the use of an authorization."""
    return Log(token, (USED, word(payer), nonce), b"")


class Payments:
    """Agents, and buyers that pay them.

    Args:
        chain: An `EventChain` without blocks.
        code: The runtime code of `MockLogEmitter`.
    """

    def __init__(self, chain, code):
        self.chain = chain
        self._nonces = 0
        for token in (TOKEN, OTHER_TOKEN):
            chain.rpc("anvil_setCode", token, code)

    def mine(self, *logs):
        """Mine a block with logs, which may be in lists."""
        return self.chain.mine([log for entry in logs for log in (entry if isinstance(entry, list) else [entry])])

    def register(self, agent, owner):
        """Return the logs of a registration."""
        return [
            encoded(Registry.IDENTITY, "Transfer", NOBODY, owner, agent),
            encoded(Registry.IDENTITY, "Registered", agent, b"https://agent.example/%d" % agent, owner),
        ]

    def set_wallet(self, agent, wallet):
        """Return the log of a new wallet; None clears it."""
        value = b"" if wallet is None else bytes.fromhex(wallet[2:])
        return encoded(Registry.IDENTITY, "MetadataSet", agent, keccak(text="agentWallet"), b"agentWallet", value)

    def pay(self, payer, payee, amount, token=TOKEN):
        """Return the logs of a settled payment."""
        self._nonces += 1
        nonce = keccak(self._nonces.to_bytes(8))
        return [used(payer, nonce, token), transfer(payer, payee, amount, token)]

    def expected(self, until=None):
        """Read the chain log by log, and return (block, log, payer, payee, amount, agent) of each payment."""
        logs = self.chain.rpc("eth_getLogs", {"fromBlock": "0x0", "address": [IDENTITY, TOKEN]})
        wallets, payments, before = {}, [], None
        for log in logs:
            place = int(log["blockNumber"], 16), int(log["logIndex"], 16)
            topics = [bytes.fromhex(topic[2:]) for topic in log["topics"]]
            if until is not None and place[0] > until:
                break
            if topics[0] == ID_TRANSFER and len(topics) == 4:
                agent = int.from_bytes(topics[3])
                wallets[agent] = checksummed("0x" + topics[2][12:].hex()) if not any(topics[1]) else None
            elif topics[0] == METADATA:
                data = bytes.fromhex(log["data"][2:])
                at = int.from_bytes(data[32:64])
                size = int.from_bytes(data[at : at + 32])
                value = data[at + 32 : at + 32 + size]
                agent = int.from_bytes(topics[1])
                if agent in wallets:  # nobody owns the others
                    wallets[agent] = checksummed("0x" + value.hex()) if size == 20 else None
            elif topics[0] == TRANSFER:
                payer, payee = (checksummed("0x" + topic[12:].hex()) for topic in topics[1:])
                agents = sorted(agent for agent, wallet in wallets.items() if wallet == payee)
                is_settled = before == (log["transactionHash"], place[1] - 1, topics[1])
                amount = int(log["data"], 16)
                if agents and is_settled and amount:
                    payments.append((*place, payer, payee, amount, agents[0]))
            before = (log["transactionHash"], place[1], topics[1]) if topics[0] == USED else None
        return payments


def stored(engine):
    """Return (block, log, payer, payee, amount, agent) of each stored payment."""
    table = payment.c
    columns = table.block_number, table.log_index, table.payer, table.payee, table.amount, table.agent_id
    with engine.connect() as connection:
        rows = connection.execute(select(*columns).order_by(*columns[:2]))
        return [tuple(int(value) if name in (4, 5) else value for name, value in enumerate(row)) for row in rows]
