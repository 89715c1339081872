"""The study: each policy in the same markets, with intervals over seeds, and the figures that are recorded."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bench.market import checked as check
from bench.market import evidence
from bench.market.dead import compared
from bench.market.framing import FRAMED_KINDS, KINDS, worst
from bench.market.measures import SIZES, beyond_analysis, free_market, held_back, joined, outcome, play
from bench.market.play import Market, Policy
from bench.market.policies import PARTS, Standings, simple, state
from bench.market.settings import GAS, Deaths, Settings

FIGURES: Final = Path(__file__).parent / "figures.json"
SEEDS: Final = tuple(range(321, 331))
"""The seeds of the study. No policy was chosen by them; 301 to 320 were used for that. The profit of one strategy
differs so much from market to market that intervals of five seeds are twice as wide. One more seed takes a minute on
one core."""

SIMPLE_SEEDS: Final = SEEDS[:3]
"""Those of the policies that are there for comparison."""

PEACEFUL: Final = tuple(range(311, 323))
"""The seeds of markets without attackers: enough for an interval of half a percent of the oracle's value."""

CHECKED: Final = (403, 404)
"""The seeds of the markets about which the check is asked. The policies were chosen by others: 401, 402, 405 to 408."""

DYING: Final = tuple(range(311, 317))
"""The seeds of markets with dead sellers, which have the size of `check.SMALL`."""

_ABLATED: Final = 321
"""The seed of the market in which parts of the analysis are left out."""

STUDY: Final = Settings(accounts=3_000)
"""The market of the study. Forty attackers for 3,000 accounts are many, so the figures are those of a hard market."""

BEFORE: Final = "profit before"
"""The key of the profit that the same attackers made in the market before, while they did not know the policy."""

STRATEGIES_BEFORE: Final = "strategies before"
"""The key of the strategies of that market."""

ORACLE: Final = "oracle"
OURS: Final = "our standing"
WEIGHED: Final = "`bilateral trust decide`"
FRAMED: Final = (WEIGHED, "SybilRank", "plain mean")
"""The policies under which framing is searched: ours, and two to compare it with."""

_PEACEFUL_POLICIES: Final = (ORACLE, OURS, WEIGHED)
_EVERY: Final = 1
"""The days between analyses of the study, in which attackers act unseen. Fewer days take longer."""

TRIES, _REPEATS = 5, 6
"""The numbers that are tried for each kind of framing and size, and the measures of the worst ones."""

COPIES, _COPIED, CROSSING = 4, 10_000, 0.05
"""The markets that make a disjoint or a clustered one, the accounts of each, and the purchases that cross clusters."""

_ASKED: Final = 68_000
"""The accounts of a market with 300,000 opinions."""

FORGERY_ROUNDS: Final = 40
"""The rounds of a search for forged evidence, of eight plans each."""

_WORKERS: Final = 2
"""The processes that measure. An analysis needs a gigabyte or two in the largest market."""


def policies() -> list[Policy]:
    """Return all policies of the study, anew."""
    return [*simple(), Standings(OURS, every=_EVERY), Standings(WEIGHED, weighs=True, every=_EVERY)]


def _policy(name: str) -> Policy:
    return next(policy for policy in policies() if policy.name == name)


def recorded() -> dict[str, Any]:
    """Return the recorded figures; none before the first run."""
    return dict(json.loads(FIGURES.read_text())) if FIGURES.is_file() else {}


def record(figures: dict[str, Any]) -> None:
    """Write the figures down.

    Args:
        figures: The figures.
    """
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


def market_of(seed: int) -> Settings:
    """Return the market of a seed: one half of them is on a cheap chain, the other on a dear one."""
    return replace(STUDY, gas=GAS[seed % len(GAS)])


class Job(NamedTuple):
    """A measure that one process takes.

    Attributes:
        part: One of `STEPS`.
        name: The name of the figure: a policy, a size, a part that is left out.
        function: Measures.
        arguments: Its arguments.
    """

    part: str
    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def attacked(name: str, seed: int) -> dict[str, object]:
    """Return the measures of an attacked market, whose attackers learned in one before, and the profits in that one."""
    before, measured = (outcome(*played) for played in play(market_of(seed), _policy(name), seed, rehearsals=1))
    return asdict(measured) | {BEFORE: before.profit, STRATEGIES_BEFORE: before.strategies}


@cache
def _market_to_frame() -> Market:
    """Return a market whose buyers follow our standing, so that many sellers have some raters."""
    settings = replace(STUDY, days=45, categories=FRAMED_KINDS, gas=GAS[0])
    return Market(settings, Standings(weighs=True, every=3), 11).run()


def framed(name: str, kind: str) -> dict[str, Any]:
    """Search for slander or framing that costs good sellers most, under a policy that does not know the truth."""
    return {"kind": kind, **worst(_market_to_frame(), _policy(name), kind, TRIES, _REPEATS)}


def peaceful(name: str, seed: int) -> dict[str, object]:
    """Play a market without attackers."""
    return asdict(outcome(Market(STUDY, _policy(name), seed).run()))


def size(accounts: int, copies: int, crossing: float) -> dict[str, float]:
    """Measure who is held back in a market without attackers."""
    markets = [free_market(STUDY, accounts, 7 + number) for number in range(copies)]
    good = np.concatenate([market.agents.good for market in markets])
    return held_back(joined(markets, crossing) if copies > 1 else markets[0].log, good)


def seconds_of_asks() -> float:
    """Return the seconds of ten thousand asks over 300,000 opinions, beside those of the analysis."""
    return beyond_analysis(free_market(STUDY, _ASKED, 7).log)


def ablated(part: str) -> dict[str, object]:
    """Play one attacked market with a part of the engine left out."""
    (played,) = play(STUDY, Standings(OURS, without=part, every=2 * _EVERY), _ABLATED)
    return asdict(outcome(*played))


def forged(seed: int, gas: float, devices: tuple[str, ...]) -> dict[str, Any]:
    """Search for evidence that costs less than it claims, and return the best plan."""
    settings = replace(evidence.SETTINGS, gas=gas)
    *_, best = evidence.search(FORGERY_ROUNDS, seed, settings, devices)
    return asdict(best) | {"ratio": best.ratio}


def dying(seed: int) -> dict[str, dict[str, float]]:
    """Play a market with dead sellers, without and with a watchtower's measurements."""
    return compared(replace(check.SMALL, gas=market_of(seed).gas), _policy(WEIGHED), seed, Deaths())


def _sizes() -> Iterator[Job]:
    for accounts in SIZES:
        yield Job("sizes", f"{accounts:,} accounts", size, (accounts, 1, 0.0))
    yield Job("sizes", f"{COPIES} disjoint copies of {_COPIED:,}", size, (_COPIED, COPIES, 0.0))
    yield Job("sizes", f"{COPIES} clusters of {_COPIED:,}", size, (_COPIED, COPIES, CROSSING))


def _seeds(name: str) -> tuple[int, ...]:
    return SEEDS if name in (ORACLE, WEIGHED) else SIMPLE_SEEDS


STEPS: Final[dict[str, Callable[[], list[Job]]]] = {
    "sizes": lambda: list(_sizes()),
    "asks": lambda: [Job("asks", "seconds", seconds_of_asks, ())],
    "checked": lambda: [Job("checked", f"seed {seed}", check.measured, (seed,)) for seed in CHECKED],
    "attacked": lambda: [
        Job("attacked", policy.name, attacked, (policy.name, seed))
        for policy in policies()
        for seed in _seeds(policy.name)
    ],
    "evidence": lambda: [
        Job("evidence", name, forged, (seed, GAS[seed % len(GAS)], devices))
        for name, devices in (("all devices", evidence.DEVICES), ("without bribes", evidence.DEVICES[:-1]))
        for seed in range(4)
    ],
    "framed": lambda: [Job("framed", name, framed, (name, kind)) for name in FRAMED for kind in KINDS],
    "peaceful": lambda: [
        Job("peaceful", name, peaceful, (name, seed)) for name in _PEACEFUL_POLICIES for seed in PEACEFUL
    ],
    "dead": lambda: [Job("dead", "markets", dying, (seed,)) for seed in DYING],
    "ablated": lambda: [Job("ablated", part or "nothing", ablated, (part,)) for part in ("", *PARTS)],
}
"""The parts of the study, and their jobs. Each figure is the list of what the jobs of its name return."""


def measure(jobs: list[Job], figures: dict[str, Any], tell: Callable[[str], None]) -> None:
    """Take measures in several processes, and record each figure when all of its jobs are done. Others stay.

    Args:
        jobs: The measures.
        figures: The figures by part and name, which are added to.
        tell: Shows the progress.
    """
    results: dict[tuple[str, str], dict[int, Any]] = defaultdict(dict)
    missing = Counter((job.part, job.name) for job in jobs)
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(job.function, *job.arguments): place for place, job in enumerate(jobs)}
        for done, future in enumerate(as_completed(futures), 1):
            job = jobs[futures[future]]
            key = job.part, job.name
            results[key][futures[future]] = future.result()
            missing[key] -= 1
            tell(f"{done} of {len(jobs)}: {job.part}, {job.name} {' '.join(map(str, job.arguments))}")
            if not missing[key]:
                measured = figures.get(job.part, {}) | {
                    job.name: [results[key][place] for place in sorted(results[key])]
                }
                names = dict.fromkeys(entry.name for entry in STEPS[job.part]())
                figures[job.part] = {name: measured[name] for name in names if name in measured}
                figures.setdefault("states", {})[job.part] = state()
                record(figures)
