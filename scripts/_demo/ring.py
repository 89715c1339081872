"""Chapter: accounts that one account funds praise its agent, and trust analysis finds and explains them."""

from __future__ import annotations

import random
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eth_utils.crypto import keccak
from sqlalchemy import select

from bilateral.core.contracts import Deployment
from bilateral.core.identifiers import checksummed
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.worker import Worker
from bilateral.index.standing.analysis import Refresher, analyse
from bilateral.index.standing.funding import FundingCollector
from bilateral.index.standing.results import stored_results
from bilateral.index.standing.tables import AnalysisKey, standing
from bilateral.trust.explain import explain
from scripts._demo.stage import send_from

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from scripts._demo.stage import Stage

_HONEST: Final = 30
_RING: Final = 10
_HOUR: Final = 3600
_SOURCES: Final = ("first exchange", "second exchange", "third exchange")
_ETHER: Final = 10**18


def play(stage: Stage) -> None:
    """Let honest clients and a ring give feedback, analyse the chain, and explain the strongest finding.

    Args:
        stage: The stage.
    """
    stage.chapter("A ring is found")
    crowd = _Crowd(stage)
    with stage.step(f"{_HONEST} clients, who have their money from three exchanges, rate three agents.") as step:
        servers = [crowd.new_agent(f"honest owner {number}") for number in range(3)]
        crowd.be_honest(servers)
        step.check("clients of the first agent", len(crowd.clients_of(servers[0])), _HONEST)
    with stage.step(f"One account funds {_RING} others within an hour, and each praises its agent.") as step:
        praised = crowd.new_agent("master")
        crowd.praise(praised)
        step.check("clients of its agent", len(crowd.clients_of(praised)), _RING)
    with tempfile.TemporaryDirectory() as folder:
        engine = open_database(f"sqlite:///{Path(folder) / 'index.sqlite'}")
        key = _index(stage, engine)
        with stage.step("Trust analysis marks the ring's agent, ranks it last, and condemns no other.") as step:
            pool = Pool(stage.chain_id, [Source(Endpoint(stage.url), ())])
            FundingCollector(engine, key, pool).collect()
            analyse(engine, key)
            Refresher(engine, {key.chain_id: (stage.url,)}).refresh()
            column = standing.c
            stored = select(column.agent_id, column.lower_bound, column.status).where(column.side == "server")
            with engine.connect() as connection:
                standings = {int(agent): (lower, status) for agent, lower, status in connection.execute(stored)}
            lower, status = standings[praised]
            step.check("its agent is marked", status in {"held_back", "contested"}, True)
            step.check("honest agents that stand above it", sum(standings[agent][0] > lower for agent in servers), 3)
            others = {status for agent, (_, status) in standings.items() if agent != praised}
            step.check("others that are held back", int("held_back" in others), 0)
        with stage.step("The strongest finding says why, and names the events that it rests on.") as step:
            with engine.connect() as connection:
                results = stored_results(connection, key)
            finding = explain(results, results.findings["finding"][0].as_py())
            step.check("members of the ring among its actors", len(set(finding["actors"]) & set(crowd.ring)), _RING)
        rows = [(line,) for line in finding["summary"]]
        stage.table(f"bilateral trust explain {finding['finding']}", ("finding",), rows)
        engine.dispose()


class _Crowd:
    """Accounts beyond those of the story, which the local chain sends for."""

    def __init__(self, stage: Stage) -> None:
        self.master = _address("master")
        self.ring = [_address(f"ring {number}") for number in range(_RING)]
        self._stage = stage
        self._random = random.Random(8004)  # noqa: S311  # the same story each time
        stage.ask("anvil_autoImpersonateAccount", True)

    def new_agent(self, owner: str) -> int:
        """Fund an owner, register an agent, and return its id."""
        account, identity = _address(owner), self._stage.registry("IdentityRegistry")
        self._fund(self._stage.account(self._random.choice(_SOURCES)).address, account, _ETHER)
        self._send(account, identity.address, identity.register.encode_input())
        return int(identity.getAgentCount())

    def be_honest(self, agents: list[int]) -> None:
        """Fund honest clients over some weeks, and let each rate all agents by its experience."""
        clients = [_address(f"client {number}") for number in range(_HONEST)]
        for client in clients:
            amount = self._random.randint(_ETHER // 10, _ETHER)
            self._fund(self._stage.account(self._random.choice(_SOURCES)).address, client, amount)
            self._pass(self._random.randint(6 * _HOUR, 30 * _HOUR))
        for client in clients:
            for agent in agents:
                self._rate(client, agent, self._random.randint(60, 95))
                self._pass(self._random.randint(_HOUR, 9 * _HOUR))

    def praise(self, agent: int) -> None:
        """Fund the ring minute by minute, and let each member give its agent 100."""
        for member in self.ring:
            self._fund(self.master, member, _ETHER // 100)
            self._pass(60)
        for member in self.ring:
            self._rate(member, agent, 100)
            self._pass(60)

    def clients_of(self, agent: int) -> list[str]:
        """Return the clients that gave an agent feedback."""
        return list(self._stage.registry("BidirectionalReputationRegistry").getClients(agent))

    def _rate(self, client: str, agent: int, value: int) -> None:
        """Give feedback."""
        registry = self._stage.registry("BidirectionalReputationRegistry")
        feedback = (agent, value, 0, "starred", "", "", "", bytes(32))
        self._send(client, registry.address, registry.giveFeedback.encode_input(*feedback))

    def _fund(self, source: str, account: str, amount: int) -> None:
        """Send native tokens."""
        self._send(source, account, b"", amount)

    def _send(self, sender: str, target: str, data: bytes, value: int = 0) -> None:
        """Send a transaction, and wait until it is mined."""
        call = {"from": sender, "to": target, "data": f"0x{data.hex()}", "value": hex(value)}
        send_from(self._stage, call)

    def _pass(self, seconds: int) -> None:
        """Let time pass."""
        self._stage.ask("evm_increaseTime", seconds)


def _address(name: str) -> str:
    """Return the address of a person of the crowd."""
    return checksummed("0x" + keccak(text=f"crowd: {name}")[-20:].hex())


def _index(stage: Stage, engine: Engine) -> AnalysisKey:
    """Index the chain to its head."""
    deployment = Deployment(
        stage.chain_id,
        identity=stage.registry("IdentityRegistry").address,
        reputation=stage.registry("BidirectionalReputationRegistry").address,
    )
    Worker(engine, ChainSettings((stage.url,), (deployment,)), stop=threading.Event()).run(until_head=True)
    return AnalysisKey(stage.chain_id, deployment.identity)
