"""Each named verdict policy through the real check, on a real index of a small market.

A market is played, told to a chain, and indexed up to a day. Then the purchases of the next days are asked about.
"""

from __future__ import annotations

import tempfile
import threading
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ape
import numpy as np
from ape.logging import LogLevel, logger

from bench.buyers_service import DEPLOYMENT, TERMS, TOKEN
from bench.market.chain import Teller
from bench.market.measures import play
from bench.market.policies import Ranking, by_counts
from bench.market.settings import DAY, START, Settings
from bilateral.checks import Policy, check_server, snapshot, stored_findings
from bilateral.index.analysis.refresh import Refresher
from bilateral.index.process import follow_chains
from bilateral.index.settings import ChainSettings, FileSettings, IndexSettings
from bilateral.index.store.database import open_database
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from bench.market.play import Market

SMALL: Final = Settings(accounts=600, days=40, attackers=8)
"""A market that is played, told and indexed in two minutes. Its exchanges serve so few accounts that the analysis takes
them for persons who fund others."""

UNTIL: Final = 35
"""The day up to which the index knows the market. The purchases of later days are asked about."""

_REVIEWERS: Final = 20
_STATES: Final = 2_000
"""More blocks than the market has hours, so that the sources of all funds are found."""


def _policies(reviewers: list[str]) -> dict[str, Policy]:
    """Return the policies by their names in the table. Nobody in the market has a domain or a file of proofs."""
    return {
        "`balanced`": Policy.model_validate("balanced"),
        "`strict`": Policy.model_validate("strict"),
        "`strict`, without domains and proofs": Policy.model_validate(
            {"name": "strict", "require_domain": False, "require_payment_proof": False}
        ),
        "`own-list` of twenty": Policy.model_validate({"name": "own-list", "trust": {"accounts": reviewers}}),
    }


def measured(seed: int, settings: Settings = SMALL, until: int = UNTIL) -> list[dict[str, Any]]:
    """Play a market, index it, and return the answers of each policy about its later purchases.

    Args:
        seed: Decides all draws.
        settings: The assumptions.
        until: The day up to which the index knows the market.
    """
    logger.set_level(LogLevel.WARNING)
    market, _ = next(play(settings, Ranking("mean by counts", by_counts), seed))
    code = ape.project.MockLogEmitter.contract_type.runtime_bytecode.bytecode
    begin = ("--timestamp", str(int(START - 5 * DAY)))
    with tempfile.TemporaryDirectory() as folder, running_anvil(*OPTIONS, *begin, states=_STATES) as url:
        chain = EventChain(url, code)
        chain.rpc("anvil_setCode", TOKEN, code)
        teller = Teller(chain, market.log)
        teller.tell(market.settings.time(until))
        engine = open_database(f"sqlite:///{Path(folder) / 'index.sqlite'}")
        _index(engine, url)
        people = market.people
        known = people.buyers[np.argsort(-np.where(people.born <= 0, people.needs, 0.0))[:_REVIEWERS]]
        policies = _policies([teller.account(int(buyer)) for buyer in known])
        rows = [_asked(engine, market, name, policy, until) for name, policy in policies.items()]
        engine.dispose()
        return rows


def _index(engine: Engine, url: str) -> None:
    """Index the chain, its payments and files, and the sources of funds, and analyse."""
    chain = ChainSettings((url,), (DEPLOYMENT,), payments=TERMS)
    follow_chains(engine, IndexSettings((chain,), files=FileSettings()), stop=threading.Event(), until_head=True)
    refresher = Refresher(engine, {DEPLOYMENT.chain_id: (url,)})
    while refresher.refresh():
        pass


def _asked(engine: Engine, market: Market, name: str, policy: Policy, until: int) -> dict[str, Any]:
    """Return the answers about the purchases from a day on, of agents that the index knows."""
    sales, agents = market.sales, market.agents
    known = market.log.agents["ts"] < market.settings.time(until)
    places = np.flatnonzero((sales["day"] >= until) & known[sales["agent"]])
    agent, amount, paid, cheated = (sales[column][places] for column in ("agent", "amount", "paid", "cheated"))
    verdicts = []
    with snapshot(engine) as connection:
        for number, stake in zip(agent.tolist(), amount.tolist(), strict=True):
            exact = Decimal(str(round(stake, 6)))
            check = check_server(connection, number + 1, amount=exact, policy=policy, findings=stored_findings)
            verdicts.append(str(check.verdict))
    verdict = np.array(verdicts)
    accepted, good = verdict == "accept", agents.good[agent] & ~cheated
    return {
        "policy": name,
        "asks": len(places),
        "cheats": int(cheated.sum()),
        **{
            f"{kind} {answer}": float(np.mean(verdict[among] == answer)) if among.any() else 0.0
            for kind, among in (("good", good), ("cheated", cheated))
            for answer in ("accept", "caution", "decline")
        },
        "lost": float(paid[accepted & cheated].sum() / max(paid[accepted].sum(), 1e-9)),
        "lost without": float(paid[cheated].sum() / paid.sum()),
    }
