"""The two claims of EIP-8004a, tested where they hold and where they fail, and the price of a fake reputation."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from bench.trust.baselines import baselines
from bench.trust.measures import Truth
from bench.trust.study import known_honest
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.kinds import FAMILIES
from bilateral.trust.engine import Engine

GAS: Final = Path(__file__).parents[1] / "gas.json"


def sybil_networks() -> dict[str, dict[str, float]]:
    """Return the share of network members that each method finds at 1 % false positives, by what the network does."""
    out: dict[str, dict[str, float]] = {}
    for name, family in (
        ("one funder, nothing else", "star"),
        ("one funder, ordinary ratings too", "modest_star"),
        ("funded by exchanges", "exchange_star"),
        ("ring without cover", "ring"),
        ("ring with cover", "camouflaged_ring"),
        ("ring funded by exchanges, with cover", "exchange_ring"),
        ("directed cycle", "cycle"),
    ):
        made = honest_world(500)
        for size in (5, 10, 20):
            FAMILIES[family](made, made.begin(family, size))
        tables, truth = made.tables()
        engine = Engine().fit(tables)
        known = Truth.of(engine, truth)
        honest, guilty = known.judged & (known.attack < 0), known.judged & (known.attack >= 0)
        methods = baselines(engine.context_, known_honest(known))
        scores = {method: methods[method] for method in ("components of funding", "reciprocity")}
        scores["Bilateral"] = engine.suspicion_.total
        out[name] = {
            method: float((score[guilty] > np.quantile(score[honest], 0.99)).mean()) for method, score in scores.items()
        }
    return out


def price(agents: int = 10, gwei: float = 0.01, ether: float = 3000.0) -> dict[str, float]:
    """Return the price in dollars of registering agents that all rate each other once, at measured gas.

    Args:
        agents: The number of agents.
        gwei: The price of gas in gwei.
        ether: The price of an ether in dollars.
    """
    gas = json.loads(GAS.read_text())
    registration = _first(gas, "IdentityRegistry", "register(uri)")
    feedback = _first(gas, "BidirectionalReputationRegistry", "giveFeedback")
    total = agents * registration + agents * (agents - 1) * feedback
    return {
        "gas of a registration": registration,
        "gas of a feedback": feedback,
        "gas": total,
        "dollars": total * gwei * 1e-9 * ether,
        "dollars at 20 gwei": total * 20e-9 * ether,
    }


@dataclass(frozen=True)
class Evasion:
    """The price of one way around a detector, beyond that of ten false praises.

    Attributes:
        detector: The detector.
        way: The way around it.
        accounts: The further accounts.
        ratings: The further ratings.
        transfers: The further transfers and payments.
        days: The days that it takes.
        money: The loss beside gas, in dollars.
        gas: The gas.
        dollars: The price of the gas.
    """

    detector: str
    way: str
    accounts: int
    ratings: int
    transfers: int
    days: int
    money: float
    gas: float = 0.0
    dollars: float = 0.0


_WITHDRAWAL: Final = 0.5
_SERVICE: Final = 0.4
_TRANSFER: Final = 21_000
"""The gas of a transfer of native tokens, as the protocol sets it."""

_WAYS: Final = (
    Evasion("co-targeting", "withdraw from an exchange for each account, days apart", 0, 0, 10, 60, 10 * _WITHDRAWAL),
    Evasion("co-targeting", "pay one's own agent for each rating, and say what others would", 0, 0, 10, 0, 0.0),
    Evasion("links", "the same, and pay raters off chain", 0, 0, 10, 0, 10 * _WITHDRAWAL),
    Evasion("links", "leave the agent for good with an account of another source of funds", 1, 0, 4, 0, _WITHDRAWAL),
    Evasion("wash payments", "pay, and return the money through three accounts each", 30, 0, 50, 30, 0.0),
    Evasion("wash payments", "pay, and leave the money", 0, 0, 10, 0, 0.0),
    Evasion("wash payments", "return the money, and let payers complain as often as they pay", 0, 10, 20, 0, 0.0),
    Evasion("blocks", "pay for each praise, and praise ten others each", 0, 100, 110, 0, 100 * _SERVICE),
    Evasion("lockstep", "let each account use and rate three others, over months", 0, 30, 30, 90, 30 * _SERVICE),
    Evasion(
        "weak signs", "the same, pay for the praise, and give what others would give", 0, 30, 40, 90, 30 * _SERVICE
    ),
    Evasion("retaliation", "rate critics only after other servers did", 0, 0, 0, 7, 0.0),
    Evasion("reviewed kin", "a new source of funds after each verdict", 1, 0, 11, 0, _WITHDRAWAL),
    Evasion("values", "values in range, and payments of one's own", 0, 0, 10, 0, 0.0),
)


def evasion(gwei: float = 0.01, ether: float = 3000.0) -> list[Evasion]:
    """Return the price of evading each detector, at measured gas.

    Args:
        gwei: The price of gas in gwei.
        ether: The price of an ether in dollars.
    """
    feedback = _first(json.loads(GAS.read_text()), "BidirectionalReputationRegistry", "giveFeedback")
    used = [(way, way.ratings * feedback + way.transfers * _TRANSFER) for way in _WAYS]
    return [replace(way, gas=gas, dollars=gas * gwei * 1e-9 * ether) for way, gas in used]


def _first(gas: dict[str, dict[str, int]], registry: str, call: str) -> float:
    """Return the gas of the first case of a call."""
    return float(next(value for name, value in gas[registry].items() if name.startswith(call)))
