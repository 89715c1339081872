"""The bars that decisions must reach, and whether our standing does."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bench.market.measures import CHEAP
from bench.market.study import BEFORE, ORACLE, OURS, WEIGHED
from bench.retaliation import interval

if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGE: Final = 40_000

_PREFIXES: Final = {OURS: "", WEIGHED: "`decide`: "}
"""The policies that the bars are for, with the beginning of the names of their measures."""


class Bar(NamedTuple):
    """A measure and its bars.

    Attributes:
        measure: The measure.
        mean: Its mean.
        worst: The end of its interval that is worse.
        must: The value that it must reach.
        aim: The value that it should reach.
        is_least: True if more is better.
        unit: The unit, behind figures.
    """

    measure: str
    mean: float
    worst: float
    must: float
    aim: float
    is_least: bool = False
    unit: str = " %"

    def passes(self, bar: float) -> str:
        """Return pass or miss; the interval counts.

        Args:
            bar: The bar.
        """
        return "pass" if (self.worst >= bar if self.is_least else self.worst <= bar) else "miss"


def bars(figures: dict[str, Any]) -> str:
    """Return the bars as a table.

    Args:
        figures: The recorded figures.
    """
    lines = [
        "\n## The bars\n",
        *wrap(
            f"Bars are for {OURS} (no list), and for {WEIGHED} where that is named; the default check is `balanced`. "
            "The worse end of the interval must pass. "
            "In their first market attackers choose among all strategies and drop those that do not pay. In the second "
            "they keep to what paid in the first. "
            f"There the oracle itself leaves them {_left(figures):+.2f} per dollar, see *The profit of attackers*. "
            "All other figures are of the second. Precision and recall of "
            "findings are in [trust-figures.md](trust-figures.md). Strategies that pay are those whose campaigns cost "
            f"more than ${CHEAP:.0f} on average.",
            120,
            break_on_hyphens=False,
        ),
        "",
        "| measure | figure | must | | aim | |",
        "|---|---:|---:|---|---:|---|",
    ]
    reached = _bars(figures)
    if not reached:
        return "\n## The bars\n\nThe recorded run has no figures of our standing: run `make market`.\n"
    for bar in reached:
        sign = "≥" if bar.is_least else "≤"
        shown = f"{bar.mean:.2f}" + (f" (at worst {bar.worst:.2f})" if abs(bar.worst - bar.mean) > 0.005 else "")  # noqa: PLR2004
        lines.append(
            f"| {bar.measure} | {shown}{bar.unit} | {sign} {bar.must:g}{bar.unit} | {bar.passes(bar.must)} | "
            f"{sign} {bar.aim:g}{bar.unit} | {bar.passes(bar.aim)} |"
        )
    return "\n".join(lines) + "\n"


def _left(figures: dict[str, Any]) -> float:
    """Return the profit per dollar that the oracle leaves attackers in the second market."""
    return float(np.mean([row["profit"] for row in figures["policies"][ORACLE]]))


def _bars(figures: dict[str, Any]) -> list[Bar]:
    out: list[Bar] = []
    for name, prefix in _PREFIXES.items():
        out += _attacked(prefix, figures["policies"].get(name, []), figures["policies"].get(ORACLE, []))
    if checked := [rows[0] for rows in figures.get("checked", [])]:
        out += [
            _bar("default check: needs served", [row["served"] for row in checked], 97, 99, is_least=True),
            _bar("default check: money lost to fraud", [row["lost"] for row in checked], 4, 2),
            _bar("default check: good sellers declined", [row["sellers declined"] for row in checked], 0.5, 0.1),
        ]
    for name, prefix in _PREFIXES.items():
        for kind, lost in figures.get("framing", {}).get(name, {}).items():
            out.append(_bar(f"{prefix}revenue lost by framing: {kind}", [lost], 5, 1))
    if free := figures.get("peaceful"):
        for name, prefix in _PREFIXES.items():
            value = _shares(free[name], free[ORACLE])
            out.append(_bar(f"{prefix}without attacks: value received", value, 95, 97, is_least=True))
    for row in figures.get("sizes", []):
        out.append(
            _bar(f"without attacks, {row['accounts']:,} accounts: good held back", [row["held of good"]], 0.5, 0.1)
        )
        if row["accounts"] == _LARGE:
            out += [
                _bar(f"without attacks, {_LARGE:,} accounts: agents held back", [row["held"]], 0.5, 0.1),
                Bar("the same, of the 100 most paid", *2 * (float(row["held of the most paid"]),), 0, 0, unit=""),
                _bar("the same, of payments", [row["held of payments"]], 0.5, 0.1),
            ]
    return out


def _attacked(prefix: str, rows: list[dict[str, Any]], best: list[dict[str, Any]]) -> list[Bar]:
    """Return the bars of a policy in attacked markets; none without figures.

    Args:
        prefix: Goes before each measure.
        rows: The outcomes under the policy.
        best: The outcomes under the oracle, of the same seeds.
    """
    if not rows:
        return []
    return [
        _bar(f"{prefix}money lost to fraud", [row["lost"] for row in rows], 4, 2),
        _bar(f"{prefix}value received, of the oracle's", _shares(rows, best), 89, 94, is_least=True),
        _bar(f"{prefix}good sellers declined, attacked", [row["declined"] for row in rows], 0.5, 0.1),
        *(
            _bar(f"{prefix}attackers' profit per $, {market} market", [row[key] for row in rows], -0.55, -0.75, unit="")
            for market, key in (("first", BEFORE), ("second", "profit"))
        ),
        _bar(f"{prefix}good newcomers without a sale", [row["newcomers"] for row in rows], 27, 18),
        _bar(f"{prefix}needs served", [row["served"] for row in rows], 97, 99, is_least=True),
        Bar(f"{prefix}strategies that pay, and are not cheap", *2 * (_paying(rows),), 0, 0, unit=""),
    ]


def _shares(rows: list[dict[str, Any]], best: list[dict[str, Any]]) -> list[float]:
    """Return the value of each market as a share of the oracle's."""
    return [own["value"] / other["value"] for own, other in zip(rows, best, strict=False)]


def _bar(  # noqa: PLR0913
    measure: str, values: Sequence[float], must: float, aim: float, *, is_least: bool = False, unit: str = " %"
) -> Bar:
    """Return a bar. Values with the unit per cent are shares."""
    mean, low, high = interval([100 * value if unit == " %" else value for value in values])
    return Bar(measure, mean, low if is_least else high, must, aim, is_least, unit)


def _paying(outcomes: list[dict[str, Any]]) -> float:
    """Return the number of strategies that pay although a campaign is not cheap."""
    names = {name for outcome in outcomes for name in outcome["strategies"]}
    count = 0
    for name in names:
        sums = np.sum([outcome["strategies"].get(name, (0, 0, 0, 0)) for outcome in outcomes], axis=0)
        runs, cost, revenue, _ = sums
        count += bool(revenue > cost and cost / max(runs, 1) > CHEAP)
    return float(count)
