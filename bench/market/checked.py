"""Each named verdict policy through the real check, on a real index of a small market.

A market is played, told to a chain, and indexed day by day. The purchases of each of the last days are asked about
before they are told.
"""

import heapq
import math
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import ape
import numpy as np
from ape.logging import LogLevel, logger
from eth_utils.crypto import keccak
from sqlalchemy import Engine

from bench.buyers_service import DEPLOYMENT, TERMS, TOKEN
from bench.market.measures import play
from bench.market.play import EXCHANGES, Array, Market, address
from bench.market.play import Log as MarketLog
from bench.market.policies import Ranking, by_counts
from bench.market.settings import DAY, START, Settings
from bench.world.people import data_uri
from bilateral.checks import Check, Policy, check_server, snapshot, stored_findings
from bilateral.core.contracts import Registry
from bilateral.core.identifiers import checksummed
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.standing.analysis import Refresher
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES, Log, encoded

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

    def __init__(self, chain: EventChain, log: MarketLog) -> None:
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
        names = ("transfers", "agents", "handovers", "payments", "feedback")
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
        logs: Iterator[Log] = getattr(self, f"_{event.table}")(event.row)
        return logs

    def _transfers(self, row: int) -> Iterator[Log]:
        table = self._log.transfers
        source, target, amount = (table[name][row] for name in ("src", "dst", "amount"))
        if int(target) in self._funded:
            yield self._moved(int(source), int(target), float(amount))
            return
        self._funded.add(int(target))
        self._chain.rpc("anvil_setBalance", self.account(int(source)), _FORTUNE)  # it has its own first funds already
        call = {"from": self.account(int(source)), "to": self.account(int(target)), "value": hex(int(amount * _DOLLAR))}
        self._chain.rpc("eth_sendTransaction", call | {"gas": hex(30_000), "gasPrice": hex(10**10)})

    def _agents(self, row: int) -> Iterator[Log]:
        agent, owner = row + 1, self.account(int(self._log.owners_at(row, -math.inf)))
        identity = ADDRESSES[Registry.IDENTITY]
        entry = {"agentId": agent, "agentRegistry": f"eip155:31337:{identity}"}
        file = {
            "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
            "name": f"Agent {agent}", "description": "An agent of a market.", "active": True, "x402Support": True,
            "registrations": [entry],
        }  # fmt: skip
        yield encoded(Registry.IDENTITY, "Transfer", _NOBODY, owner, agent)
        yield encoded(Registry.IDENTITY, "Registered", agent, data_uri(file).encode(), owner)

    def _handovers(self, row: int) -> Iterator[Log]:
        table = self._log.handovers
        source, target = (self.account(int(table[name][row])) for name in ("src", "dst"))
        yield encoded(Registry.IDENTITY, "Transfer", source, target, int(table["agent"][row]) + 1)

    def _payments(self, row: int) -> Iterator[Log]:
        table = self._log.payments
        payer, payee = (int(table["payer"][row]), int(self._log.owners_at(table["agent"][row], table["ts"][row])))
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


SMALL: Final = Settings(accounts=2_000, days=40, attackers=27)
"""A market that is played, told and indexed in minutes, with the share of attackers of the study. In a smaller one,
exchanges serve so few accounts that the analysis takes them for persons who fund others."""

UNTIL: Final = 35
"""The first day whose purchases are asked about. The index knows the days before."""

_REVIEWERS: Final = 20
_STATES: Final = 2_000
"""More blocks than the market has hours, so that the sources of all funds are found."""


def _policies(reviewers: list[str]) -> dict[str, Policy]:
    """Return the policies by their names in the table."""
    own = {"name": "own-list", "trust": {"accounts": reviewers}}
    models = {"`balanced`": "balanced", "`strict`": "strict", "`own-list` of twenty": own}
    return {name: Policy.model_validate(model) for name, model in models.items()}


def measured(seed: int, settings: Settings = SMALL, until: int = UNTIL) -> list[dict[str, Any]]:
    """Play a market, index it, and return the answers of each policy about its last purchases.

    Args:
        seed: Decides all draws.
        settings: The assumptions.
        until: The first day whose purchases are asked about.
    """
    logger.set_level(LogLevel.WARNING)
    market, _ = next(play(settings, Ranking("mean by counts", by_counts), seed))
    code = ape.project.MockLogEmitter.contract_type.runtime_bytecode.bytecode
    begin = ("--timestamp", str(int(START - 5 * DAY)))
    with tempfile.TemporaryDirectory() as folder, running_anvil(*OPTIONS, *begin, states=_STATES) as url:
        chain = EventChain(url, code)
        chain.rpc("anvil_setCode", TOKEN, code)
        teller = Teller(chain, market.log)
        engine = open_database(f"sqlite:///{Path(folder) / 'index.sqlite'}")
        people = market.people
        known = people.buyers[np.argsort(-np.where(people.born <= 0, people.needs, 0.0))[:_REVIEWERS]]
        policies = _policies([teller.account(int(buyer)) for buyer in known])
        places, checks = np.zeros(0, np.int64), defaultdict(list)
        for day in range(until, settings.days):
            teller.tell(market.settings.time(day))
            _index(engine, url)
            indexed = market.log.agents["ts"] < market.settings.time(day)
            today = np.flatnonzero((market.sales["day"] == day) & indexed[market.sales["agent"]])
            places = np.concatenate([places, today])
            for name, policy in policies.items():
                checks[name].extend(_asked(engine, market, policy, today))
        engine.dispose()
        return [_row(market, name, places, answers) for name, answers in checks.items()]


def _index(engine: Engine, url: str) -> None:
    """Index the chain, its payments and files, and the sources of funds, and analyse."""
    chain = ChainSettings((url,), (DEPLOYMENT,), payments=TERMS)
    follow_chains(
        engine, IndexSettings((chain,), files=FileSettings(), analyses=False), stop=threading.Event(), until_head=True
    )
    refresher = Refresher(engine, {DEPLOYMENT.chain_id: (url,)})
    while refresher.refresh():
        pass


def _asked(engine: Engine, market: Market, policy: Policy, places: Array) -> list[Check]:
    """Return the answers about purchases."""
    agents, amounts = (market.sales[column][places].tolist() for column in ("agent", "amount"))
    with snapshot(engine) as connection:
        return [
            check_server(
                connection, agent + 1, amount=Decimal(str(round(stake, 6))), policy=policy, findings=stored_findings
            )
            for agent, stake in zip(agents, amounts, strict=True)
        ]


def _row(market: Market, name: str, places: Array, checks: list[Check]) -> dict[str, Any]:
    """Return the measures of the answers about purchases."""
    sales, agents = market.sales, market.agents
    agent, amount, paid, cheated = (sales[column][places] for column in ("agent", "amount", "paid", "cheated"))
    verdict = np.array([str(check.verdict) for check in checks])
    accepted, good = verdict == "accept", agents.good[agent] & ~cheated
    served = np.where(amount <= market.settings.price, accepted, verdict != "decline")
    return {
        "policy": name,
        "asks": len(places),
        "cheats": int(cheated.sum()),
        **{
            f"{kind} {answer}": float(np.mean(verdict[among] == answer)) if among.any() else 0.0
            for kind, among in (("good", good), ("cheated", cheated))
            for answer in ("accept", "caution", "decline")
        },
        "served": float(np.mean(served[good])),
        "lost": float(paid[accepted & cheated].sum() / max(paid[accepted].sum(), 1e-9)),
        "lost without": float(paid[cheated].sum() / paid.sum()),
    }
