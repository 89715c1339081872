"""The rows of a market as events of a real chain: registrations, feedback, payments of a token, and native funds.

Ratings of clients are left out, because few buyers of the market own an agent. All agents of an owner share its
wallet, and the index counts a payment for the first of them.
"""

from __future__ import annotations

import heapq
import math
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from eth_utils.crypto import keccak

from bench.buyers_service import TOKEN
from bench.market.people import EXCHANGES
from bench.market.rows import address
from bench.market.settings import DAY
from bench.world.people import data_uri
from bilateral.core.contracts import Registry
from bilateral.core.identifiers import checksummed
from simulation.events import ADDRESSES, Log, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.market import rows
    from simulation.event_chain import EventChain

HOUR: Final = DAY / 24
"""The time between two blocks. The analysis looks at hours and days."""

MICROS: Final = 1_000_000
_DOLLAR: Final = 10**15
"""The wei that stand for a dollar of native funds, so that the exchanges of a test chain can fund all accounts."""

_FORTUNE: Final = hex(10**24)
_NOBODY: Final = "0x" + "00" * 20
_STARRED: Final = b"starred"
_USED: Final = keccak(text="AuthorizationUsed(address,bytes32)")
_TRANSFER: Final = keccak(text="Transfer(address,address,uint256)")


class _Event(NamedTuple):
    """An event of the market: its time, its table, and its row."""

    ts: float
    table: str
    row: int


class Teller:
    """Tells a market's rows to a chain, an hour a block.

    Args:
        chain: The chain, without blocks, at whose token's address is code that emits logs.
        log: The rows.
    """

    def __init__(self, chain: EventChain, log: rows.Log) -> None:
        """See the class. Exchanges are rich, and anybody may send."""
        self._chain, self._log = chain, log
        self._funded = set(range(EXCHANGES))
        self._indices: dict[tuple[int, int], int] = {}
        self._told = -math.inf
        chain.rpc("anvil_autoImpersonateAccount", True)
        for number in self._funded:
            chain.rpc("anvil_setBalance", self.account(number), _FORTUNE)

    def account(self, number: int) -> str:
        """Return the address of an account of the market.

        Args:
            number: The account.
        """
        return checksummed(address(self._log.seed, number))

    def tell(self, until: float) -> None:
        """Mine the blocks of all rows up to a time that were not told before.

        Args:
            until: The time, in Unix seconds.
        """
        names = ("transfers", "agents", "payments", "feedback")
        of_tables = [
            sorted(_Event(float(ts), name, row) for row, ts in enumerate(getattr(self._log, name)["ts"]))
            for name in names
        ]
        events = (event for event in heapq.merge(*of_tables) if self._told < event.ts <= until)
        for hour, of_hour in groupby(events, key=lambda event: int(event.ts // HOUR)):
            self._chain.rpc("evm_setNextBlockTimestamp", int((hour + 1) * HOUR))
            ordered = sorted(of_hour, key=lambda event: names.index(event.table))
            self._chain.mine([log for event in ordered for log in self._logs(event)])
        self._told = until

    def _logs(self, event: _Event) -> Iterator[Log]:
        """Return the logs of an event. First funds of an account are a transaction, and no log."""
        makers: dict[str, Callable[[int], Iterator[Log]]] = {
            "transfers": self._transfer, "agents": self._registration,
            "payments": self._payment, "feedback": self._feedback,
        }  # fmt: skip
        return makers[event.table](event.row)

    def _transfer(self, row: int) -> Iterator[Log]:
        table = self._log.transfers
        source, target, amount = (table[name][row] for name in ("src", "dst", "amount"))
        if int(target) in self._funded:
            yield self._moved(int(source), int(target), float(amount))
            return
        self._funded.add(int(target))
        self._chain.rpc("anvil_setBalance", self.account(int(source)), _FORTUNE)  # it has its own first funds already
        call = {"from": self.account(int(source)), "to": self.account(int(target)), "value": hex(int(amount * _DOLLAR))}
        self._chain.rpc("eth_sendTransaction", call | {"gas": hex(30_000), "gasPrice": hex(10**10)})

    def _registration(self, row: int) -> Iterator[Log]:
        agent, owner = row + 1, self.account(int(self._log.agents["owner"][row]))
        identity = ADDRESSES[Registry.IDENTITY]
        entry = {"agentId": agent, "agentRegistry": f"eip155:31337:{identity}"}
        file = {
            "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
            "name": f"Agent {agent}", "description": "An agent of a market.", "active": True, "x402Support": True,
            "registrations": [entry],
        }  # fmt: skip
        yield encoded(Registry.IDENTITY, "Transfer", _NOBODY, owner, agent)
        yield encoded(Registry.IDENTITY, "Registered", agent, data_uri(file).encode(), owner)

    def _payment(self, row: int) -> Iterator[Log]:
        table = self._log.payments
        payer, payee = int(table["payer"][row]), int(self._log.agents["owner"][table["agent"][row]])
        yield Log(TOKEN, (_USED, self._word(payer), keccak(row.to_bytes(8))), b"")
        yield self._moved(payer, payee, float(table["amount"][row]))

    def _feedback(self, row: int) -> Iterator[Log]:
        table = self._log.feedback
        pair = int(table["agent"][row]) + 1, int(table["client"][row])
        index = self._indices[pair] = self._indices.get(pair, 0) + 1
        yield encoded(
            Registry.BIDIRECTIONAL, "NewFeedback",
            *(pair[0], self.account(pair[1]), index, int(table["value"][row]), 0),
            *(keccak(_STARRED), _STARRED, b"", b"", b"", bytes(32)),
        )  # fmt: skip

    def _moved(self, source: int, target: int, amount: float) -> Log:
        """Return the log of a transfer of the token."""
        return Log(TOKEN, (_TRANSFER, self._word(source), self._word(target)), round(amount * MICROS).to_bytes(32))

    def _word(self, number: int) -> bytes:
        return bytes(12) + bytes.fromhex(self.account(number)[2:])
