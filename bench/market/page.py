"""The page docs/decisions.md and its pictures, from the recorded figures."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.market import checked as check
from bench.market.measures import CHEAP, WARM
from bench.market.policies import state
from bench.market.study import BEFORE, ORACLE, OURS, STUDY, WEIGHED
from bench.report import DOCS, draw_intervals, interval, interval_cell, pyplot, rendered, save_picture, table_row

TEMPLATE: Final = Path(__file__).with_name("page.md.jinja")
PAGE: Final = DOCS / "decisions.md"


def bar(  # noqa: PLR0913
    measure: str, values: Sequence[float], must: float, aim: float, *, is_least: bool = False, unit: str = " %"
) -> str:
    """Return the row of a measure with the values that it must and should reach; the worse end of its interval counts.

    Args:
        measure: The measure.
        values: Its values; shares if the unit is per cent.
        must: The value that it must reach.
        aim: The value that it should reach.
        is_least: True if more is better.
        unit: The unit, behind figures.
    """
    mean, low, high = interval([100 * value if unit == " %" else value for value in values])
    worst, sign = (low, "≥") if is_least else (high, "≤")
    figure = f"{mean:.2f}" + (f" (at worst {worst:.2f})" if abs(worst - mean) > 0.005 else "")  # noqa: PLR2004
    cells = [measure, figure + unit]
    for limit in (must, aim):
        cells += [f"{sign} {limit:g}{unit}", "pass" if (worst >= limit if is_least else worst <= limit) else "miss"]
    return table_row(*cells)


def paying(outcomes: list[dict[str, Any]]) -> float:
    """Return the number of strategies that pay although a campaign is not cheap."""
    names = {name for outcome in outcomes for name in outcome["strategies"]}
    count = 0
    for name in names:
        sums = np.sum([outcome["strategies"].get(name, (0, 0, 0, 0)) for outcome in outcomes], axis=0)
        runs, cost, revenue, _ = sums
        count += bool(revenue > cost and cost / max(runs, 1) > CHEAP)
    return float(count)


def of(outcomes: list[dict[str, Any]], name: str) -> list[float]:
    """Return a measure of each market.

    Args:
        outcomes: The measures of markets.
        name: The measure.
    """
    return [outcome[name] for outcome in outcomes]


def shares(outcomes: list[dict[str, Any]], oracle: list[dict[str, Any]]) -> list[float]:
    """Return the value received as a share of the oracle's, for each seed.

    Args:
        outcomes: The measures of markets.
        oracle: Those of an oracle, for the same seeds.
    """
    return [own["value"] / best["value"] for own, best in zip(outcomes, oracle, strict=False)]


def write(figures: dict[str, Any]) -> None:
    """Write the page and its pictures."""
    PAGE.write_text(text(figures), encoding="utf-8")
    pictures(figures)


def text(figures: dict[str, Any]) -> str:
    """Return the page with recorded figures."""
    policies = figures["policies"]
    names = {name for rows in policies.values() for row in rows for name in row["strategies"]}
    functions: dict[str, Any] = {"cell": interval_cell, "of": of, "shares": shares, "bar": bar, "paying": paying}
    functions |= {"strategy": _strategy, "why_not": _why_not}
    functions |= {"mean": np.mean, "max": max, "vars": vars, "zip": zip}
    values = {"policies": policies, "best": policies[ORACLE], "strategies": sorted(names)}
    values |= {"study": STUDY, "small": check.SMALL, "until": check.UNTIL, "warm": WARM, "cheap": CHEAP}
    values |= {"oracle": ORACLE, "ours": OURS, "weighed": WEIGHED, "before": BEFORE}
    values |= {name: figures.get(name) for name in ("framing", "checked", "sizes", "ablation")}
    values |= {"free": figures.get("peaceful"), "is_stale": figures.get("analysis") != state()}
    return rendered(TEMPLATE, **functions, **values)


def _strategy(rows: list[dict[str, Any]], name: str) -> str:
    """Return the money lost to a strategy a market, and its profit per dollar, under one policy."""
    runs, cost, revenue, lost = np.sum([row["strategies"].get(name, (0, 0, 0, 0)) for row in rows], axis=0)
    if not cost:
        return ""
    profit = (revenue - cost) / cost
    figures = f"{lost / len(rows):.0f}; {profit:+.2f}" + ("*" if profit > 0 and cost / runs > CHEAP else "")
    return f"**{figures}**" if profit > 0 else figures


def _why_not(rows: list[dict[str, Any]]) -> str:
    """Return the commonest reasons against good purchases."""
    reasons = sum((Counter(row["why not"]) for row in rows), Counter[str]())
    return ", ".join(f"`{code}` {count}" for code, count in reasons.most_common(3))


def pictures(figures: dict[str, Any]) -> None:
    """Draw the money lost by policy, and who is held back by size."""
    rows = [
        (name, interval([100 * value for value in of(outcomes, "lost")]), "#4477aa")
        for name, outcomes in figures["policies"].items()
    ]
    draw_intervals("decisions-lost", "money lost to fraud, %", rows, 0.3)
    if sizes := figures.get("sizes"):
        figure, axes = pyplot().subplots(figsize=(6, 3))
        accounts = [row["accounts"] for row in sizes]
        for name, label in (("held", "agents held back"), ("flagged accounts", "accounts flagged")):
            axes.plot(accounts, [100 * row[name] for row in sizes], marker="o", label=label)
        axes.set(xscale="log", ylim=(0, None), xlabel="accounts", ylabel="%")
        axes.legend()
        save_picture(figure, "decisions-sizes")
