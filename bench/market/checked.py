"""Each named verdict policy through the real check, on a real index of a small market.

A market is played, told to a chain, and indexed day by day. The purchases of each of the last days are asked about
before they are told.
"""

from __future__ import annotations

import tempfile
import threading
from collections import Counter, defaultdict
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
from bilateral.index.log.database import open_database
from bilateral.index.operating.process import follow_chains
from bilateral.index.operating.settings import ChainSettings, FileSettings, IndexSettings
from bilateral.index.standing.refresh import Refresher
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from bench.market.people import Array
    from bench.market.play import Market
    from bilateral.checks import Check

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
    return {
        "`balanced`": Policy.model_validate("balanced"),
        "`strict`": Policy.model_validate("strict"),
        "`own-list` of twenty": Policy.model_validate({"name": "own-list", "trust": {"accounts": reviewers}}),
    }


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
            today = _purchases(market, day)
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


def _purchases(market: Market, day: int) -> Array:
    """Return the purchases of a day, of agents that the index knows at its begin."""
    known = market.log.agents["ts"] < market.settings.time(day)
    return np.flatnonzero((market.sales["day"] == day) & known[market.sales["agent"]])


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
    sellers = np.unique(agent[good])
    why = Counter(str(check.reasons[0].code) for check, counts in zip(checks, good & ~accepted, strict=True) if counts)
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
        "sellers declined": float(
            np.mean([(verdict[good & (agent == seller)] == "decline").mean() for seller in sellers])
        ),
        "lost": float(paid[accepted & cheated].sum() / max(paid[accepted].sum(), 1e-9)),
        "lost without": float(paid[cheated].sum() / paid.sum()),
        "why not": dict(why.most_common(3)),
    }
