"""The study of worlds: families seen or not while the engine was built, honest worlds, and the claims of EIP-8004a.

The two claims are tested where they hold and where they fail. A fake reputation has a price.
"""

import json
from pathlib import Path
from typing import Final

import numpy as np

from bench.trust.baselines import baselines
from bench.trust.measures import Truth, ranking, scoring, threshold
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.kinds import FAMILIES, KINDS
from bilateral.trust.engine import Engine
from bilateral.trust.tables.arrays import Floats, Ints

Row = dict[str, float]


def run(kind: str, seed: int) -> tuple[Engine, Truth]:
    """Build a world and analyse it.

    Args:
        kind: One of `KINDS`.
        seed: The seed.
    """
    tables, truth = KINDS[kind].world(seed).tables()
    engine = Engine().fit(tables)
    return engine, Truth.of(engine, truth)


def known_honest(truth: Truth) -> Ints:
    """Return fifty honest accounts, as a reader might know them.

    Args:
        truth: The truth.
    """
    honest = np.flatnonzero(truth.judged & (truth.attack < 0))
    return np.random.default_rng(0).choice(honest, min(50, len(honest)), replace=False)


def study(kind: str) -> dict[str, dict[str, list[float]]]:
    """Return the measures of each method over several worlds.

    Args:
        kind: One of `KINDS`.

    Returns:
        For "Bilateral", for each baseline and for each family, the values of each measure, one a world.
    """
    out: dict[str, dict[str, list[float]]] = {}
    for seed in KINDS[kind].seeds:
        engine, truth = run(kind, seed)
        total = engine.suspicion_.total
        _add(out, "Bilateral", {**ranking(total, truth), **threshold(engine, truth), **scoring(engine, truth)})
        for name, score in baselines(engine.context_, known_honest(truth)).items():
            _add(out, name, ranking(_finite(score), truth))
        for family in KINDS[kind].families:
            _add(out, f"family {family}", ranking(total, truth, frozenset({family})))
        for group in sorted({name for name in truth.group if name}):
            without = Truth(**{**vars(truth), "judged": truth.judged & (np.array(truth.group) != group)})
            _add(out, f"without {group}", ranking(total, without))
    return out


def honest_only(seeds: range) -> float:
    """Return the share of accounts that are flagged in worlds without attacks.

    Args:
        seeds: The seeds.
    """
    shares = []
    for seed in seeds:
        engine = Engine().fit(honest_world(seed).tables()[0])
        shares.append(float(engine.suspicion_.flagged[engine.judged()].mean()))
    return float(np.mean(shares))


def _finite(score: Floats) -> Floats:
    return np.asarray(np.nan_to_num(score, nan=0.0, posinf=1e18, neginf=-1e18), np.float64)


def _add(out: dict[str, dict[str, list[float]]], name: str, row: Row) -> None:
    for measure, value in row.items():
        out.setdefault(name, {}).setdefault(measure, []).append(value)


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


def _first(gas: dict[str, dict[str, int]], registry: str, call: str) -> float:
    """Return the gas of the first case of a call."""
    return float(next(value for name, value in gas[registry].items() if name.startswith(call)))
